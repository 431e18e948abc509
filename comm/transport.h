/*
 * comm/transport.h - what carries gradients between ranks, as a table of functions: the seam for back-ends.
 *
 *     tcp     the ring over sockets (ring.h)
 *     gloo    the library that PyTorch uses on CPUs; a module (backend.h)
 *     mpi     the system's MPI; a module too
 *     null    moves nothing and changes nothing, at any world: what is left of a step then is the tool's own cost. Its
 *             results are right for one rank only, and whoever reports them says so.
 *
 * backend.h lists them and says which of them this program can open. Every rank makes the same calls in the same order.
 * One thread at a time; failures and times as in ring.h and call.h.
 * transport_close accepts a zeroed transport.
 */
#ifndef COMM_TRANSPORT_H
#define COMM_TRANSPORT_H

#include <stddef.h>

#include "base/err.h"
#include "comm/call.h"
#include "comm/ring.h"

struct transport;

struct transport_ops {
    const char *name;
    const char *why_opaque; /* why calls do not tell waiting, moving and adding apart; NULL: they do */
    int (*allreduce)(struct transport *t, float *data, size_t n, struct call *call, struct err *e);
    int (*broadcast)(struct transport *t, void *data, size_t bytes, int root, struct call *call, struct err *e);
    int (*barrier)(struct transport *t, struct call *call, struct err *e);
    void (*set_timeout)(struct transport *t, uint64_t timeout_ns);
    void (*close)(struct transport *t);
};

struct transport {
    const struct transport_ops *ops; /* NULL: closed */
    int rank, world;
    struct ring ring; /* tcp's */
    void *state;      /* a module's */
    bool unfinished;  /* an operation was given up that still may write to the memory it was given: that has to stay */
};

/* The sockets in options belong to the transport from here on, also if this fails. */
int transport_open_tcp(struct transport *t, const struct ring_options *options, struct err *e);
void transport_open_null(struct transport *t, int rank, int world);

/* data[i] becomes the sum over ranks, for i in [0, n). */
static inline int transport_allreduce(struct transport *t, float *data, size_t n, struct call *call, struct err *e)
{
    return t->ops->allreduce(t, data, n, call, e);
}

/* Every rank's data becomes root's. */
static inline int transport_broadcast(struct transport *t, void *data, size_t bytes, int root, struct call *call,
                                      struct err *e)
{
    return t->ops->broadcast(t, data, bytes, root, call, e);
}

/* Returns once every rank has called it. */
static inline int transport_barrier(struct transport *t, struct call *call, struct err *e)
{
    return t->ops->barrier(t, call, e);
}

/* How long a rank may be silent before it counts as lost. Between two calls. */
static inline void transport_set_timeout(struct transport *t, uint64_t timeout_ns)
{
    t->ops->set_timeout(t, timeout_ns);
}

static inline void transport_close(struct transport *t)
{
    if (t->ops)
        t->ops->close(t);
    t->ops = NULL;
}

#endif
