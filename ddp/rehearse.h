/*
 * ddp/rehearse.h - what a run knows before its first distributed step: each rank's steps alone, and the link they will use.
 *
 * The back-end that will carry the gradients reduces scratch memory, a few bytes and many, first alone and then while every
 * rank takes steps of its own. No gradient is exchanged, no parameter moves. So it is known what all-reduce takes from
 * computing and the other way round, on these nodes and for this model, and a prediction can be made that rests on no
 * step of the run it is about.
 *
 *     rehearse(&r, run, w, alone, n, e)       all ranks, after each was timed alone
 *     rehearsal_fini(&r)
 *
 * Results are those of all ranks, the same on each. Failures are the transport's, and ERR_MEMORY.
 */
#ifndef DDP_REHEARSE_H
#define DDP_REHEARSE_H

#include <stdbool.h>

#include "base/err.h"

struct run;
struct step_worker;

struct rehearsal_step {
    double forward_s, backward_s, optimizer_s; /* of all micro-batches of an update */
};

struct rehearsal {
    bool known;
    int world, steps;
    struct rehearsal_step *step; /* [world][steps]: each rank alone */
    double bytes;                /* of the large all-reduce */
    double small_s, alone_s;     /* of few bytes, of many: nobody computes. Rank 0's */
    double beside_s;             /* of many while this rank computes: rank 0's */
    double *slowdown;            /* [world] of forward and backward, with one all-reduce after another beside them */
    int calls;                   /* of beside_s; 0: none lay within computing */
};

int rehearse(struct rehearsal *r, struct run *run, struct step_worker *w, const struct rehearsal_step *alone, int n,
             struct err *e);
void rehearsal_fini(struct rehearsal *r); /* accepts a zeroed object */

/* Step k of a rank. */
static inline const struct rehearsal_step *rehearsal_step(const struct rehearsal *r, int rank, int k)
{
    return &r->step[rank * r->steps + k];
}

#endif
