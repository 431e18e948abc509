/*
 * cli/ranks.h - the other ranks of a run, from a command's point of view: rank 0 starts, hears and buries them, a worker
 * finds its place and gives its last word. For one rank alone every function does nothing.
 *
 *     ranks_place(&ranks, &options, e)        first: which rank this is
 *     ranks_start(&ranks, &options, argv, e)  when the request is known to be possible; ranks.team is then open
 *     ranks_leave(&ranks, run, notes, err)    connections closed; rank 0: all workers gone, err their fault if it was
 *     ranks_fini(&ranks)
 *
 * Owner: the main thread.
 */
#ifndef CLI_RANKS_H
#define CLI_RANKS_H

#include "base/notes.h"
#include "cli/options.h"
#include "ddp/spawn.h"
#include "ddp/team.h"

struct ranks {
    int rank, world;
    struct spawn_place place; /* of a worker */
    struct spawn spawn;       /* rank 0's */
    struct team team;
};

/* ERR_USAGE if a worker was not started by rank 0. */
int ranks_place(struct ranks *ranks, const struct options *o, struct err *e);

int ranks_start(struct ranks *ranks, const struct options *o, char *const *argv, struct err *e);

/* err holds what ended the run, if anything did. Rank 0: a lost peer or a failed worker becomes the cause that the worker
 * told or died of; the workers' warnings are added with their rank, each text once. run may not have been planned. */
void ranks_leave(struct ranks *ranks, const struct run *run, struct notes *notes, struct err *err);

void ranks_fini(struct ranks *ranks);

#endif
