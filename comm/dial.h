/*
 * comm/dial.h - connects to several peers at once, each at whichever of its addresses answers first.
 *
 * All addresses of all peers are tried side by side under one deadline, so an address that is dead costs no time and a
 * list with one missing node says which, and only which. The sockets are non-blocking, with TCP_NODELAY. Any thread.
 */
#ifndef COMM_DIAL_H
#define COMM_DIAL_H

#include <stdint.h>

#include "comm/address.h"

struct dial {
    const char *name;                  /* as errors name it; borrowed */
    const struct addresses *addresses; /* borrowed */
    bool optional;                     /* if it cannot be reached that is no error, and fd is -1 */
    int fd;                            /* connected, the caller's; -1 if not */
    struct address remote, local;      /* ends of the connection */
};

/* ERR_UNAVAILABLE naming every peer that could not be reached and why, with no socket left open. interface may be
 * NULL. */
int dial_all(struct dial *dials, int n, const char *interface, uint64_t deadline_ns, int stop_fd, struct err *e);

#endif
