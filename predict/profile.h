/*
 * predict/profile.h - what a prediction knows of one node: its steps alone, and of the model: which bytes travel when.
 *
 * A profile is a list of consecutive steps of a node that trained by itself. They are kept as they came, since a prediction
 * draws blocks of consecutive ones: averages would lose that slow steps come in groups, and that the slowest of several
 * nodes sets the pace. A plan is the list of buckets in the order of sending, each with the point of the last backward pass
 * (0..1) at which it is complete.
 *
 * Both are the caller's; profile_fini and plan_fini free what init took.
 */
#ifndef PREDICT_PROFILE_H
#define PREDICT_PROFILE_H

#include "base/err.h"

struct profile_step {
    double forward_s, backward_s, optimizer_s; /* of all micro-batches of one update */
};

struct profile {
    int n;
    struct profile_step *step;
    int accum;        /* micro-batches per update */
    double tokens;    /* per update */
    int free_cores;   /* usable by the process and not computing */
    double wrapper_s; /* what taking part in a group adds to backward, none in the baseline; 0 */
    int threads;      /* that compute; 0: unknown */
};

enum { PROFILE_STEPS_MAX = 2000 }; /* more say nothing new about a run of some ten steps */

/* n steps of zeros to fill in. ERR_DATA if n < 1. */
int profile_init(struct profile *p, int n, struct err *e);

/* Median step: forward, backward and optimizer. NaN: no memory. */
double profile_step_s(const struct profile *p);
void profile_fini(struct profile *p);

struct plan_bucket {
    double ready; /* 0..1 of the last backward pass */
    double bytes;
    /* Above 0: bytes is only the most there can be; there are so many per token of all nodes' last micro-batch (the rows of
     * an embedding that they touch). */
    double bytes_per_token;
};

struct plan {
    int n;
    struct plan_bucket *bucket;
    double parameter_bytes;          /* what the optimizer updates, as fp32 */
    double blocking_bytes_per_token; /* exchanged before the last micro-batch, of all nodes' tokens in it */
};

int plan_init(struct plan *p, int n, struct err *e);
void plan_fini(struct plan *p);

/* Everything in one bucket that is complete when backward ends: no overlap at all. */
int plan_init_whole(struct plan *p, double bytes, struct err *e);

/* What each bucket is when `tokens` travel in the last micro-batch of all nodes together. */
double plan_bucket_bytes(const struct plan_bucket *b, double tokens);

/* The sum of those. */
double plan_bytes(const struct plan *p, double tokens);

#endif
