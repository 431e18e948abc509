/*
 * predict/explain.h - why a prediction is what it is: what limits it, which single change would turn the verdict, where its
 * uncertainty comes from, and how it moves with the tokens per node.
 *
 * Everything is the same replay with one thing changed. Failures are scenario_run()'s.
 */
#ifndef PREDICT_EXPLAIN_H
#define PREDICT_EXPLAIN_H

#include "predict/scenario.h"

/* ---- what limits ---- */

enum limit {
    LIMIT_COMPUTE,
    LIMIT_RATE,
    LIMIT_LAST_BUCKET,
    LIMIT_LATENCY,
    LIMIT_CONTENTION,
    LIMIT_SLOW_NODE,
    LIMIT_JITTER,
    LIMITS
};

struct explain_limit {
    enum limit limit;
    double without[LIMITS]; /* the speed-up if that one did not exist: an endless rate, no latency, ... */
};

/* The term whose absence would raise the speed-up most; LIMIT_COMPUTE if none would by 2 %. A rate limits through the last
 * bucket if hardly more than that one is exposed. */
int explain_limit(const struct scenario *s, const struct outcome *o, struct explain_limit *out, struct err *e);
const char *limit_name(enum limit l);

/* ---- single changes ---- */

struct explain_change {
    const char *name; /* what --what-if takes, word for word */
    struct outcome outcome;
    bool flips; /* another verdict than without it */
};

enum { EXPLAIN_CHANGES_MAX = 12 };

/* Tries them one by one, with the same draws as without them; returns how many, or -1. other_plan: the other schedule's,
 * named other_name, with the optimizer per bucket or not; NULL: none. */
int explain_changes(const struct scenario *s, const struct plan *other_plan, const char *other_name,
                    bool other_by_bucket, struct explain_change change[EXPLAIN_CHANGES_MAX], struct err *e);

/* ---- tokens per node ---- */

struct explain_point {
    double tokens;
    struct outcome outcome;
};

enum { EXPLAIN_CURVE = 7 }; /* 256, 512, .. 16384 */

int explain_curve(const struct scenario *s, struct explain_point curve[EXPLAIN_CURVE], struct err *e);

/* ---- uncertainty ---- */

struct explain_variance {
    double jitter, link, model; /* shares of the variance of log speed-up with only that source; their sum is 1 */
    double together;            /* variance with all of them / sum of the three: 1 if they do not interact */
};

int explain_variance(const struct scenario *s, struct explain_variance *out, struct err *e);

#endif
