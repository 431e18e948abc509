/*
 * comm/throttle.h - how many strangers from one address are heard: a burst, then so many a second.
 *
 * What costs this node work (a handshake, a proof) is begun only with a permit. Whoever proves a key gives it back, so
 * nodes that belong here are never slowed by their own number; strangers get THROTTLE_BURST, then one every
 * THROTTLE_PERIOD_MS. Addresses are forgotten when their burst is whole again, or when there are too many of them, the one
 * that asked longest ago first. One owner thread; nothing is allocated.
 */
#ifndef COMM_THROTTLE_H
#define COMM_THROTTLE_H

#include <stdbool.h>
#include <stdint.h>

#include "comm/address.h"

enum { THROTTLE_BURST = 10, THROTTLE_PERIOD_MS = 500, THROTTLE_ADDRESSES = 64 };

struct throttle {
    struct {
        struct address from; /* bytes 0: free */
        double permits;
        uint64_t at_ns; /* when there were so many */
    } entry[THROTTLE_ADDRESSES];
};

/* A permit, or 0 ns <= *again_ns: not before then. */
bool throttle_take(struct throttle *throttle, const struct address *from, uint64_t now_ns, uint64_t *again_ns);

/* It was somebody known after all. */
void throttle_return(struct throttle *throttle, const struct address *from, uint64_t now_ns);

#endif
