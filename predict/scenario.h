/*
 * predict/scenario.h - what is to be predicted, and the answer: many replayed runs, each drawn from the node's own steps.
 *
 * One replicate is one run of `steps` steps as it would be measured: every node's steps are blocks of consecutive steps out
 * of its profile (which is itself resampled, since it is only a sample), the link's rate, latency and processor cost are
 * drawn once, and so is how far the model itself may be off. Its result is the median step. Beside it stands the median
 * of as many steps of the fastest node alone, drawn in the same way; their ratio in tokens per second is the speed-up.
 * Quantiles over replicates are the interval. Nothing is averaged before the slowest node of a step is found.
 *
 *     struct scenario s;
 *     scenario_init(&s, &profile, &plan, &link);     then change what differs
 *     scenario_run(&s, &outcome, e)
 *
 * A profile of a single step has no spread; with exact set there is one replicate, and intervals and probability are NaN.
 * Everything pointed to is borrowed. The same seed gives the same answer. Any thread.
 */
#ifndef PREDICT_SCENARIO_H
#define PREDICT_SCENARIO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "predict/link_model.h"
#include "predict/profile.h"

/* Relative standard deviation of measured about predicted that no input accounts for, at two nodes; it grows by half of
 * itself with every doubling. doc/METHOD.md says where it comes from. */
#define SCENARIO_DISCREPANCY 0.015
/* Largest number of nodes up to which predictions have been compared with measurements. */
enum { SCENARIO_VALIDATED_NODES = 2 };

struct scenario {
    int nodes;
    const struct profile *own, *partner; /* node 0; the others: NULL for nodes like this one */
    const struct plan *plan;
    struct link_model link;

    double partner_scale;        /* the others compute so many times slower; 1 */
    double slow_node_scale;      /* the last node on top of that; 1 */
    double slow_nic_bytes_per_s; /* of the last node, both directions; 0: like the others */
    double token_scale;          /* tokens per node and update, relative to the profile; 1 */
    int accum;                   /* micro-batches per update; 0: the profile's. Tokens grow with it */
    double wire_scale;           /* bytes on the wire, relative to fp32; 1 */
    double contention_scale;     /* processor cost of communication, relative to the link's; 1 */
    double heat_scale;           /* every node computes so many times slower, the baseline too; 1 */
    double throttle_scale;       /* every node computes so many times slower, but not the baseline; 1 */
    bool optimizer_by_bucket;
    int in_flight;       /* buckets under way at a time; 1 */
    const double *share; /* [nodes] tokens of each relative to an equal share; NULL: equal */
    const double *pace;  /* [nodes] how many times longer each takes for a token than its profile; NULL: as long */

    double discrepancy; /* SCENARIO_DISCREPANCY unless told otherwise */
    int replicates, steps;
    uint64_t seed;
    bool exact;                                     /* the medians of the profile and the link as it is: no draws */
    bool no_jitter, no_link_spread, no_discrepancy; /* for taking the variance apart */
    bool edge_by_edge;
    bool no_tail; /* every bucket is ready when backward begins: what the rule of thumb assumes */
};

struct estimate {
    double median, lo, hi; /* 5 % and 95 % quantiles; NaN: no spread is known */
};

struct outcome {
    struct estimate step_s, speedup, efficiency; /* efficiency: speed-up / (sum of nodes' rates / fastest rate) */
    struct estimate exposed_s;
    double p_faster;                /* NaN: no spread is known */
    double communication_s;         /* buckets under way, of node 0; median */
    double alone_s;                 /* median step of the fastest node alone, with its tokens */
    double tokens, baseline_tokens; /* per update: of all nodes; of the fastest one */
    double log_variance;            /* of the speed-up, over replicates */
    uint64_t events;
};

void scenario_init(struct scenario *s, const struct profile *own, const struct plan *plan,
                   const struct link_model *link);
/* One of the computing threads gives its core to communication: nothing is taken from computing any more, which has one
 * thread less (taken to cost its share of the speed). Returns false if there is no such thread, or a core is free anyway. */
bool scenario_reserve_core(struct scenario *s);

int scenario_run(const struct scenario *s, struct outcome *out, struct err *e);

/* How much slower node i computes than its profile says, and the profile it follows. */
double scenario_scale(const struct scenario *s, int node);
const struct profile *scenario_profile(const struct scenario *s, int node);

/* Medians of a step of node i at this scenario's tokens and accumulation: forward, backward, optimizer. */
struct profile_step scenario_typical(const struct scenario *s, int node);

/* Bytes of one update, as the ring sees them. */
double scenario_bytes(const struct scenario *s);

/* Seconds for those at the link's rate and nothing else: 2 (N-1)/N x bytes / rate x sharing. */
double scenario_floor_s(const struct scenario *s);

enum verdict { VERDICT_HELPS, VERDICT_HURTS, VERDICT_UNDECIDED };

/* From the probability; where there is none, from the speed-up itself. */
enum verdict outcome_verdict(const struct outcome *o);
const char *verdict_name(enum verdict v);

#endif
