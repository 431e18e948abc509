/*
 * predict/cost.h - what communication costs in closed form, and the rule of thumb that people use.
 *
 * A ring of N ranks cuts S bytes into N chunks; 2 (N-1) times every rank sends one chunk on and receives one, first to add
 * (N-1 of them), then to pass results round. A link that carries both directions at full rate therefore is busy for at
 * least 2 (N-1)/N S / rate: the floor, and no algorithm moves fewer bytes per rank. Derivations: doc/METHOD.md. Pure
 * functions; N < 2 costs nothing.
 */
#ifndef PREDICT_COST_H
#define PREDICT_COST_H

/* How the two directions and the pairs of nodes share what carries them. */
enum cost_medium {
    COST_DUPLEX, /* a switch: every edge and direction has the rate for itself */
    COST_HALF,   /* an interface has it for both directions together, and a ring uses both at once */
    COST_SHARED, /* all edges together: a radio cell */
};

/* How many transfers of a ring step divide the rate among them. */
double cost_sharing(enum cost_medium medium, int nodes);

/* Seconds for the bytes alone: 2 (N-1)/N x bytes / rate x sharing. */
double cost_floor_s(double bytes, int nodes, double bytes_per_s, enum cost_medium medium);

/* The floor and what comes on top per bucket: launch_s, latency per ring step, and the part of the sum that a transfer does
 * not hide. At two nodes, where both halves are exchanged at once, one latency. */
double cost_allreduce_s(double bytes, int nodes, double bytes_per_s, enum cost_medium medium, double launch_s,
                        double latency_s, double sum_s_per_byte);

/* The rule of thumb: communication hides behind backward, and what does not is added. */
double cost_naive_step_s(double forward_s, double backward_s, double optimizer_s, double communication_s);

#endif
