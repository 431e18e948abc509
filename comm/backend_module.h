/*
 * comm/backend_module.h - what a module exports: one symbol, ddpbench_backend, of this type. Private to backend.c,
 * launch.c and the modules.
 *
 * A module has a copy of base/err.c of its own and calls the program only through the tables of the
 * transports that it is given. The first two members tell modules of another version apart before anything else is looked at.
 */
#ifndef COMM_BACKEND_MODULE_H
#define COMM_BACKEND_MODULE_H

#include "comm/backend.h"

enum { BACKEND_MODULE_VERSION = 1 };

#define BACKEND_MODULE_SYMBOL "ddpbench_backend"

struct launch_ops; /* launch.h */

struct backend_module {
    uint32_t version, transport_bytes; /* BACKEND_MODULE_VERSION, sizeof(struct transport) */
    int (*open)(struct transport *t, struct transport *ring, int stop_fd, struct err *e); /* BACKEND_BESIDE */
    const struct launch_ops *launch;                                                      /* BACKEND_LAUNCHED */
};

/* ERR_CONFIG in one sentence. */
int backend_load(const struct backend *backend, const struct backend_module **module, struct err *e);

#endif
