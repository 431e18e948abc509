/*
 * comm/backend.h - the back-ends by name: which there are, which of them this program can open, and how.
 *
 *     const struct backend *b = backend_find("gloo");      NULL: there is none of that name
 *     backend_check(b, e)                                  ERR_CONFIG: what is missing and what brings it
 *     backend_open(&transport, b, &ring, stop_fd, e)       among the ranks that ring connects
 *     ...
 *     transport_close(&transport)                          before the ring is closed
 *
 * gloo and mpi are modules, ddpbench-gloo.so and ddpbench-mpi.so, built where configure finds the library, and loaded when
 * they are opened: a program that uses neither needs and loads neither. A module is looked for in the program's
 * folder (the build tree), in the folder it was installed in, and in ../libexec/ddpbench from the program's. mpi comes with its own launcher and is not opened here
 * but in launch.h.
 *
 * Owner: any thread, one at a time. A module stays loaded.
 */
#ifndef COMM_BACKEND_H
#define COMM_BACKEND_H

#include "comm/transport.h"

enum backend_kind {
    BACKEND_RING,     /* the ring itself */
    BACKEND_NOTHING,  /* null */
    BACKEND_BESIDE,   /* a module with connections of its own, which ranks make when a ring already connects them */
    BACKEND_LAUNCHED, /* a module whose launcher started the ranks */
};

struct backend {
    const char *name, *help;
    enum backend_kind kind;
    bool built;          /* by this configuration; a module's file may still be missing */
    const char *package; /* Debian's, that configure looks for; NULL: nothing */
};

extern const struct backend backends[]; /* ends with name NULL */

const struct backend *backend_find(const char *name);

/* Looks, loads nothing. */
int backend_check(const struct backend *backend, struct err *e);

/* All ranks call it alike. ring is an open tcp transport, borrowed until transport_close, and carries what ranks need to
 * find each other; nothing else may be in flight on it meanwhile. stop_fd as in ring.h. For null the ring only says how many
 * ranks there are. ERR_USAGE for tcp, which is the ring itself, and for mpi; ERR_CONFIG if the module cannot be
 * loaded; ERR_PEER_LOST, ERR_UNAVAILABLE or ERR_IO if the ranks do not come together. */
int backend_open(struct transport *t, const struct backend *backend, struct transport *ring, int stop_fd,
                 struct err *e);

/* For tests: look here instead; NULL: as above. Borrowed. */
void backend_look_in(const char *folder);

#endif
