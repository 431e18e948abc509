/*
 * cli/launched.h - the other ranks of a run when a launcher has started all of them (--comm mpi): every process runs this
 * same command, rank 0 speaks.
 *
 *     launched_open(&l, e)                            which rank this is
 *     launched_meet(&l, usable, own, e)               twice: with the CPUs that this rank may use, and before the first
 *                                                     step. -1: some rank cannot go on, and e is the first one's reason
 *     team_open with &l.launch
 *     launched_report(&l, report, own)                a rank other than 0, at its end
 *     launched_hear(&l, report, err)                  rank 0: what the others measured, or whose fault it was
 *     launched_close(&l, code)                        after the last word
 *
 * Before the second meeting a rank that fails meets the others once more with its error, so that all of them end in peace
 * and rank 0 says why. Afterwards rank 0 ends them through MPI.
 *
 * Owner: the main thread; launched_abandon() is for signal handlers.
 */
#ifndef CLI_LAUNCHED_H
#define CLI_LAUNCHED_H

#include "base/json.h"
#include "comm/launch.h"
#include "probe/cpus.h"

struct launched {
    struct launch launch;
    int meetings;
    bool settled;      /* one of them found that a rank cannot go on, and all know it */
    int here;          /* ranks on this node */
    int sharing, seat; /* ranks on CPUs of this one, itself included, and how many of them come before it */
    atomic_bool abandoned;
};

/* Both meetings went well: the ranks are in the run together. */
static inline bool launched_together(const struct launched *l)
{
    return l->meetings == 2 && !l->settled;
}

int launched_open(struct launched *l, struct err *e);

/* usable NULL: not known. own: code 0, or why this rank cannot go on. */
int launched_meet(struct launched *l, const struct cpus *usable, const struct err *own, struct err *e);

/* own: how this rank's part ended. */
void launched_report(struct launched *l, const json_t *report, const struct err *own);

/* report[r - 1] becomes what rank r told, to be freed, or NULL. err: what ended the run, if anything did; a rank that failed
 * by itself becomes the cause. */
void launched_hear(struct launched *l, json_t **report, struct err *err);

/* The run ends within a layer. */
void launched_abandon(struct launched *l);

/* code: how this rank's part ended. Does not return on rank 0 if the run has ended badly while others were in it. Accepts a
 * zeroed or closed one. */
void launched_close(struct launched *l, int code);

#endif
