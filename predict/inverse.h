/*
 * predict/inverse.h - the question turned round: what would have to be different for the speed-up to reach a target.
 *
 * Each answer changes one thing of the scenario and keeps the rest, and is found by bisection: speed-up rises with the rate,
 * with tokens per node and with accumulation, and falls with the slowness of the partners. NaN, or 0 for a count, means that
 * no value within the range does it; `best` is then what the end of the range reaches. Uses the scenario's medians of
 * a few replicates with the same luck throughout. ERR_MEMORY is the only failure.
 */
#ifndef PREDICT_INVERSE_H
#define PREDICT_INVERSE_H

#include "predict/scenario.h"

#define INVERSE_RATE_MIN 1e3 /* bytes per second */
#define INVERSE_RATE_MAX 1e12
enum { INVERSE_TOKENS_FACTOR = 4096, INVERSE_ACCUM_MAX = 1024, INVERSE_PARTNER_MAX = 64 };

struct inverse {
    double value; /* NaN: none */
    double best;  /* the speed-up at the favourable end of the range */
};

/* Rate of the link in bytes per second, all its pieces scaled alike. */
int inverse_rate(const struct scenario *s, double target, struct inverse *out, struct err *e);

/* Tokens per node and update, in larger micro-batches. */
int inverse_tokens(const struct scenario *s, double target, struct inverse *out, struct err *e);

/* Micro-batches per update of the same size as now; a whole number. */
int inverse_accum(const struct scenario *s, double target, struct inverse *out, struct err *e);

/* How many times slower than this node all others may be, with equal batches. */
int inverse_partner(const struct scenario *s, double target, struct inverse *out, struct err *e);

/* The median speed-up as these functions see it. */
int inverse_speedup(const struct scenario *s, double *speedup, struct err *e);

/* The scenario's link at another rate. */
void inverse_set_rate(struct scenario *s, double bytes_per_s);

#endif
