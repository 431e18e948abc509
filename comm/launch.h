/*
 * comm/launch.h - ranks that a cluster's own launcher has started (mpirun, srun), through the mpi back-end's module.
 *
 *     launch_open(&l, e)                           first of all: rank, world, and the name of this node
 *     launch_gather(&l, mine, bytes, all, e)       what every rank says, on every rank
 *     launch_transport(&l, &transport, e)          collectives; transport_close changes nothing for the others
 *     launch_tell(&l, failed, text, bytes, s, e)   a rank other than 0, at its end
 *     launch_hear(&l, r, &text, &bytes, s, e)      rank 0
 *     launch_close(&l, code)                       together, or, with a code that is not 0, the end of all of them
 *
 * Calls of MPI never overlap, but come from the thread that drives the steps and from the communication thread, so
 * MPI_THREAD_SERIALIZED is what is asked for. Every wait has a deadline and ends when *abandon becomes true or, on
 * rank 0, when another rank has told that it failed. After that MPI is in the middle of something, and only
 * launch_close with a code is left. Nothing here may be used before a process starts itself again by exec: MPI would be told
 * of a rank that left.
 */
#ifndef COMM_LAUNCH_H
#define COMM_LAUNCH_H

#include <stdatomic.h>

#include "comm/transport.h"

enum { LAUNCH_NODE_BYTES = 64 };

struct launch {
    const struct launch_ops *ops; /* NULL: closed */
    int rank, world;
    char node[LAUNCH_NODE_BYTES]; /* as MPI calls this machine */
    const char *library;          /* which MPI, in a line */
    const atomic_bool *abandon;   /* the caller's; NULL: nobody abandons */
    bool broken;                  /* an operation was left unfinished */
    void *state;
};

/* Private to the module and launch.c. The first three are as the functions below; seconds are a deadline. */
struct launch_ops {
    int (*open)(struct launch *l, struct err *e);
    int (*gather)(struct launch *l, const void *mine, size_t bytes, void *all, struct err *e);
    int (*transport)(struct launch *l, struct transport *t, struct err *e);
    int (*tell)(struct launch *l, bool failed, const char *text, size_t bytes, double seconds, struct err *e);
    int (*hear)(struct launch *l, int rank, char **text, size_t *bytes, double seconds, struct err *e);
    void (*close)(struct launch *l, int code);
};

/* What the environment says before MPI is asked: -1 where it says nothing. rank > 0 means that another process speaks. */
struct launch_hint {
    const char *launcher; /* NULL: none is known to have started this process */
    int rank, world;
};
struct launch_hint launch_look(void);

/* ERR_USAGE if no launcher started this process, ERR_CONFIG if the module is missing or MPI cannot be used. */
int launch_open(struct launch *l, struct err *e);

/* all: [world][bytes]. */
int launch_gather(struct launch *l, const void *mine, size_t bytes, void *all, struct err *e);

/* The transport's failures: ERR_PEER_LOST at the deadline or when a rank told that it failed, ERR_INTERRUPTED when
 * abandoned, ERR_IO when MPI reports an error. */
int launch_transport(struct launch *l, struct transport *t, struct err *e);

/* To rank 0. Returns when it is on its way or the seconds are over. */
int launch_tell(struct launch *l, bool failed, const char *text, size_t bytes, double seconds, struct err *e);

/* text is the caller's to free, with a 0 behind its end. ERR_PEER_LOST when the seconds are over. */
int launch_hear(struct launch *l, int rank, char **text, size_t *bytes, double seconds, struct err *e);

/* code 0: waits for the others to do the same. Else does not return on rank 0: MPI ends all ranks with that code; the
 * other ranks leave that to rank 0, and do it themselves if nothing has happened for ten seconds. Accepts a zeroed or closed
 * launch. */
void launch_close(struct launch *l, int code);

#endif
