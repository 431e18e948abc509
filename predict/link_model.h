/*
 * predict/link_model.h - one link in numbers: latency, rate, who shares it, and what using it takes from computing.
 *
 * Stated (a rate, or a medium by name) or fitted to measured transfers. A transfer of S bytes takes alpha + beta S, with
 * alpha and beta of the piece that S falls into: small transfers meet windows and caches that large ones do not. beta is of
 * both directions at once, for that is how a ring uses a link.
 *
 * Computing and communication meet at the processor: moving a byte costs cpu_s_per_byte seconds of one core. With no core
 * to spare these are taken from computing; a fair scheduler takes at most half of a core for communication while computing
 * wants all of it, unless busy_share says what was left (link_model_contend()).
 *
 * Spreads are relative standard deviations, 0 for what was stated as a fact. Pure functions over the caller's storage.
 */
#ifndef PREDICT_LINK_MODEL_H
#define PREDICT_LINK_MODEL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "predict/cost.h"

enum { LINK_PIECES_MAX = 3 };

struct link_piece {
    double upto_bytes; /* of a transfer; the last piece's is infinite */
    double alpha_s, beta_s_per_byte;
    double alpha_lo_s, alpha_hi_s, beta_lo, beta_hi; /* 90 % intervals */
};

struct link_model {
    int n;
    struct link_piece piece[LINK_PIECES_MAX];
    enum cost_medium medium;
    double launch_s;                /* per bucket: waking the communication thread, agreeing */
    double sum_s_per_byte;          /* of adding, as far as a transfer does not hide it */
    double cpu_s_per_byte;          /* of this node, per byte of a vector sent while as much is received */
    double own_scale, others_scale; /* what node 0, and every other one, loses of it relative to that; 1 */
    double busy_share; /* of the rate that is left while both ends compute and no core is free; 0: not measured */
    double
        seen_bytes_per_s; /* the rate that was measured, and that busy_share is of, whatever rate is asked about; 0: none */
    double rate_spread, latency_spread, cpu_spread;
    double rtt_s; /* what latency rests on */
    bool measured, cpu_measured, launch_measured;
};

/* What is assumed unless measured, with where it comes from: doc/METHOD.md. */
#define LINK_CPU_S_PER_BYTE 1.0e-9
#define LINK_CPU_SPREAD 0.3
#define LINK_LOSS_MAX 0.95 /* a share of the processor that drawing the cost at random cannot exceed */
#define LINK_LAUNCH_S 0.2e-3
#define LINK_RTT_S 0.2e-3
#define LINK_WIFI_BYTES_PER_S 30e6
#define LINK_WIFI_RTT_S 3e-3
#define LINK_WIFI_SPREAD 0.3

/* All the rest 0: nothing but a rate and half of a round trip per transfer. */
void link_model_state(struct link_model *m, double bytes_per_s, double rtt_s, enum cost_medium medium);

/* A radio cell as homes have it: what two stations get through one access point, which varies by the hour. */
void link_model_wifi(struct link_model *m);

/* Adds what comes on top of a rate on this kind of node: launch and processor time, assumed. */
void link_model_assume_costs(struct link_model *m);

/* Of large transfers. */
double link_model_rate(const struct link_model *m);

const struct link_piece *link_model_piece(const struct link_model *m, double bytes);

struct link_point {
    double bytes, seconds; /* of one transfer, the other direction busy too */
};

/* Fits at most three pieces to the points on relative errors, robustly; the order of points is free. ERR_DATA with what is
 * wrong: fewer than 3 points or 2 sizes, anything not positive, a rate that is not. seed serves the intervals. */
int link_model_fit(struct link_model *m, const struct link_point *point, size_t n, unsigned long seed, struct err *e);

/* The two ways in which computing and communication slow each other at a rate: share of the processor's speed that computing
 * loses, and the rate that is left while it computes. free_cores: not used by computing. */
struct contention {
    double compute_loss;
    double busy_bytes_per_s, idle_bytes_per_s;
};
struct contention link_model_contend(const struct link_model *m, double bytes_per_s, int free_cores);

#endif
