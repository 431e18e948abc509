/*
 * ddp/replay.h - recorded compute segments in place of computation: forward, backward with the instants at which gradients
 * become ready, and the optimizer are slept through, while everything that ranks do with each other is real.
 *
 *     replay_init(&r, steps, tensors, e); fill r.step[] and r.ready_s[]     or leave n at 0: replay_record fills it
 *     replay_attach(&r, &net, rank, world, reduces)
 *     replay_begin(&r, communicated)            before each step
 *     ... net_step(), net_update() of that net now replay; loss is NaN ...
 *     replay_wrong(&r, e)                       after a step: a sum over ranks that was not exact
 *     replay_fini(&r)
 *
 * Recorded steps are replayed in their order, again from the first after the last one, so that jitter stays as it came. Rank r of N
 * begins at step r n / N: where all have the same recording, ranks in lockstep would never wait for the one that has a slow step.
 * Sleeps end at absolute instants counted from the start of each call; being late in one segment does not add to the next
 * within a call.
 * Gradients are small whole numbers that depend on rank, step and place, written while forward is slept through; their sum over
 * ranks is known and exact, and what comes back is compared at every 509th place when it would be used. Parameters stay
 * as they are.
 *
 * A step of K micro-batches is cut into K equal parts; recorded instants belong to the last one. With the embedding in two parts
 * (schedule split) the head's parts are done evenly until the first gradient is ready, which is the final norm's.
 *
 * Owner: the thread that drives the net.
 */
#ifndef DDP_REPLAY_H
#define DDP_REPLAY_H

#include "base/err.h"
#include "model/net.h"

struct replay_step {
    double forward_s, backward_s, optimizer_s; /* of all micro-batches of one update */
};

enum { REPLAY_STEPS_MAX = 64 };

struct replay {
    int n, tensors;
    struct replay_step *step; /* [n] */
    double *ready_s;          /* [n][tensors]: from the start of the step, which has to be without communication */
    double slow;              /* all durations of this rank are so many times as long; 0: 1 */
    int accum;

    int rank, world;
    bool reduces;      /* sums over ranks come back */
    int at, k;         /* step and micro-batch in progress */
    bool communicated; /* the step in progress is */
    bool summed;       /* and its sums come back */
    uint32_t number;   /* of communicated steps */
    size_t updated;    /* elements, in this step */
    struct err wrong;
    struct net_stand_in stand_in;
};

/* Room for that many steps; n is then steps. The caller's other members are kept. ERR_MEMORY. */
int replay_init(struct replay *r, int steps, int tensors, struct err *e);

void replay_attach(struct replay *r, struct net *net, int accum, int rank, int world, bool reduces);

/* Before each step: whether its gradients are summed over ranks. */
static inline void replay_begin(struct replay *r, bool communicated)
{
    r->communicated = communicated;
}

/* ERR_WRONG_RESULT once a sum was not exact. */
int replay_wrong(const struct replay *r, struct err *e);

/* The median of the recorded steps, slowed. */
double replay_median_s(const struct replay *r);

void replay_fini(struct replay *r); /* accepts a zeroed one */

#endif
