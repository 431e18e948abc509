/*
 * predict/simulate.h - one training step of N nodes, replayed event by event.
 *
 * Every node computes along a line: work before the last backward pass, that pass, then the optimizer. A bucket becomes ready
 * at a point of a node's backward pass. Buckets travel in order: a node takes the next one up when it is ready there and the
 * one before has ended there; the ring's 2 (N-1) steps then run edge by edge, and edge i, from node i-1 to node i, begins
 * step s when both its ends have finished step s-1:
 *
 *     T_s(i) = max(T_{s-1}(i), T_{s-1}(i-1)) + c_i
 *
 * so a slow node or a slow edge holds up its neighbours and nobody else until it reaches them. Two nodes exchange a bucket
 * at once (one step with the whole bucket). While a node has a bucket under way it computes slower; while one end of an
 * edge computes the edge may be slower: both are settled anew whenever a bucket begins or ends and whenever a node has
 * finished computing.
 *
 * With sim.in_flight above 1 (back-ends that keep several buckets under way) buckets that are ready everywhere share the
 * rate of the slowest edge, in order of their start; that replay treats the ring as a whole.
 *
 * Exact symmetry: if all edges cost the same and no node changes its state on the way, T_s(i) is the latest start among
 * the nodes plus s c once s >= N-1. That shortcut is used unless sim.edge_by_edge; it changes nothing but rounding.
 *
 *     sim_init(&sim, nodes, buckets, e); fill in; sim_step(&sim); read results; ... sim_fini(&sim)
 *
 * Nothing is allocated in sim_step(). One owner thread.
 */
#ifndef PREDICT_SIMULATE_H
#define PREDICT_SIMULATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum { SIM_NODES_MAX = 4096, SIM_BUCKETS_MAX = 1024, SIM_FLIGHT_MAX = 4 };

struct sim {
    int nodes, buckets;
    int in_flight;            /* 1 unless told otherwise */
    bool edge_by_edge;        /* no shortcut */
    bool optimizer_by_bucket; /* a bucket's parameters are updated as soon as it has ended and backward too */

    /* per node: seconds of undisturbed work; edges into the node */
    double *before;       /* until the last backward pass begins */
    double *backward;     /* the last one */
    double *optimizer;    /* of all buckets */
    double *compute_loss; /* share of its speed that a node loses while a bucket is under way, below 1 */
    double *beta_idle;    /* seconds per byte of the edge, while neither end computes */
    double *beta_busy;    /* while one does; >= beta_idle */
    double *alpha;        /* seconds per ring step of the edge */

    /* per bucket */
    double *ready;         /* point of the last backward pass, 0..1 */
    double *bytes;         /* on the wire */
    double *weight;        /* its share of the optimizer */
    double launch_s;       /* of every bucket */
    double blocking_bytes; /* exchanged at the very start, while everybody waits; 0: none */
    double sum_s_per_byte; /* of a chunk that was received, not hidden */

    /* results, seconds from the start of the step */
    double step_s;                     /* until the last node has updated its parameters */
    double *finish;                    /* [nodes] backward finished */
    double *end;                       /* [nodes] last bucket ended */
    double *done;                      /* [nodes] updated */
    double exposed_s;                  /* largest over nodes: end - finish, and the exchange at the start */
    double communication_s;            /* of node 0: buckets from start to end, summed */
    double *bucket_start, *bucket_end; /* [buckets] of node 0 */
    uint64_t events; /* since sim_init: transfers over an edge, instants at which a bucket was ready, starts, ends */

    double *memory, *t, *work_done, *stop, *edge_stop, *busy, *idle, *ended; /* inside */
};

/* ERR_USAGE if there are too many of either. */
int sim_init(struct sim *sim, int nodes, int buckets, struct err *e);
void sim_fini(struct sim *sim); /* accepts a zeroed object */

void sim_step(struct sim *sim);

#endif
