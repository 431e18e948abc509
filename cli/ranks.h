/*
 * cli/ranks.h - the other ranks of a run, from a command's point of view: rank 0 starts, hears and buries them, a worker
 * finds its place and gives its last word. The other ranks are processes on this node (ddp/spawn.h), nodes that serve
 * (peers.h), or all started by a launcher (launched.h). For one rank alone every function does nothing.
 *
 *     ranks_place(&ranks, &options, e)        first: which rank this is, and whether the peers can be meant
 *     ranks_meet(&ranks, usable, e)           which of the ranks share this node and its CPUs
 *     ranks_start(&ranks, &options, plan, in, e)  when the request is known to be possible; ranks.team is then open
 *     ranks_leave(&ranks, run, notes, err)    connections closed; rank 0: all workers gone, err their fault if it was
 *     ranks_report(&ranks, report, &err)      a worker's last word
 *     ranks_fini(&ranks)
 *
 * Owner: the main thread.
 */
#ifndef CLI_RANKS_H
#define CLI_RANKS_H

#include "base/notes.h"
#include "cli/commands.h"
#include "cli/launched.h"
#include "cli/options.h"
#include "cli/peers.h"
#include "comm/pacer.h"
#include "ddp/spawn.h"
#include "ddp/team.h"

struct ranks {
    int rank, world, here;               /* here: ranks that share this node */
    int sharing, seat;                   /* ranks that share this one's CPUs, and how many of them come before it */
    const char *node;                    /* this node's name as a launcher knows it; NULL: there is none */
    struct spawn_place place;            /* of a worker */
    struct beat beat;                    /* its sign of life, until it reports */
    const char *program;                 /* rank 0: as warnings call it */
    struct spawn spawn;                  /* rank 0's */
    struct peers peers;                  /* or these */
    struct launched launched;            /* or these, every rank's */
    int end;                             /* the code of what ended the run, from ranks_leave() */
    json_t **report;                     /* rank 0: what rank r said at [r - 1] after ranks_leave(); NULL: nothing */
    const atomic_bool *lost;             /* a rank is lost; NULL: nobody watches */
    char local_addr[ADDRESS_TEXT_BYTES]; /* this node's on the way to the first of the others */
    bool same_host;
    struct pacer pacer; /* --emulate: of all ranks here, or of this one's connections to other nodes */
    char wire[80];      /* team_wire(); empty: there are no other ranks */
    struct team team;
};

/* ERR_USAGE if a worker was not started by this program, or for an emulated link of one rank alone; else as
 * peers_check() or launched_open(), after which this program must not start itself again. */
int ranks_place(struct ranks *ranks, const struct options *o, struct err *e);

/* usable: the CPUs of this rank. -1: some rank of a launcher cannot go on. */
int ranks_meet(struct ranks *ranks, const struct cpus *usable, struct err *e);

/* plan: what peers have to agree with; borrowed, NULL without peers. */
int ranks_start(struct ranks *ranks, const struct options *o, json_t *plan, const struct invocation *in, struct err *e);

/* While the run goes on: what this rank's last step was like, for a rank 0 on another node; and, on rank 0, what a rank on
 * another node said last of its own, false: nothing, or it is on this node and tells by itself. */
void ranks_tell_step(struct ranks *ranks, const struct step_word *word);
bool ranks_step(struct ranks *ranks, int rank, struct step_word *word);

/* What was on an emulated link is delivered, and ranks->pacer.cost is known then. err holds what ended the run, if anything
 * did. Rank 0: a lost peer or a failed worker becomes the cause that the worker
 * told or died of; the workers' warnings are added with their rank, each text once. run may not have been planned. */
void ranks_leave(struct ranks *ranks, const struct run *run, struct notes *notes, struct err *err);

/* To rank 0, which may not listen any more: its own end tells it. */
void ranks_report(struct ranks *ranks, const json_t *report, const struct err *own);

/* After a run that a launcher's ranks did not end together it does not return; all that is to be said has been said. */
void ranks_fini(struct ranks *ranks);

#endif
