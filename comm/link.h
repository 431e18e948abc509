/*
 * comm/link.h - what the way between two nodes carries: latency, rates by size and direction, and what they cost the CPUs.
 *
 * Two ranks, A (0) and B (1), each with the two data sockets that a ring of two has: payload leaves on one and comes in on
 * the other, as in training, with one thread that does both. The idle direction of each socket carries marks of 4 bytes:
 * "go", "done", pings. So a ping passes a busy link beside the payload and not behind what this socket has buffered.
 *
 * Rank 0 gives orders; both ends carry an order out and each tells what it saw. What was received is counted where it
 * is received, by that end's own clock: what a sender has handed to its kernel has not arrived anywhere.
 *
 *     link_open(&link, session, e)              takes the session's data sockets
 *     link_lead(&link, session, &order, result, e)      rank 0: result[0] its own, result[1] the peer's
 *     link_follow(&link, session, e)                    rank 1: until rank 0 has no more orders
 *     link_close(&link)
 *
 * One owner thread. Errors: ERR_PEER_LOST, ERR_INTERRUPTED (session_reason() explains), ERR_PROTOCOL, ERR_MEMORY.
 */
#ifndef COMM_LINK_H
#define COMM_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comm/backlog.h"
#include "comm/link_order.h"
#include "comm/session.h"

/* Payload is read from and written to memory of this size, as gradients are, and not to one buffer that stays in a cache. */
enum { LINK_CHUNK_BYTES = 256 * 1024, LINK_MEMORY_BYTES = 64 * 1024 * 1024, LINK_STALL_S = 60 };

/* Something to compute while the link is busy, injected from above. */
struct link_work {
    const char *name;
    int (*begin)(void *ctx, int threads, struct err *e); /* on the computing thread, before the first unit */
    void (*unit)(void *ctx, int threads);                /* some milliseconds of work, the same each time */
    void (*end)(void *ctx);
    void *ctx;
};

struct link {
    int rank;
    int out_fd, in_fd; /* payload leaves, payload comes */
    int stop_fd;
    char peer[PEER_TEXT_BYTES];
    uint64_t stall_ns; /* without a byte: the peer is lost */
    char *memory;      /* LINK_MEMORY_BYTES to send from, as many to receive into */
    struct backlog backlog;
    int low_water;
    unsigned char marks[256]; /* read and not looked at yet */
    size_t marks_n;
    const struct link_work *works;    /* ends with a row without a name; NULL: none */
    struct link_reduction *reduction; /* back-ends that are open; see link_reduce.h */
    int alter;                        /* for tests: this element of a sum is altered; -1: none */
};

int link_open(struct link *link, struct session *session, struct err *e);

/* The same on sockets that the caller has connected; they are the link's from here on, also if this fails. */
int link_start(struct link *link, int rank, int out_fd, int in_fd, int stop_fd, const char *peer, struct err *e);
void link_close(struct link *link); /* accepts a zeroed link */

int link_lead(struct link *link, struct session *session, const struct link_order *order, struct link_result result[2],
              struct err *e);
int link_follow(struct link *link, struct session *session, struct err *e);

/* Rank 0: no more orders; the peer's goodbye. */
int link_lead_end(struct session *session, struct err *e);

/* One end's part of an order, without the session; result is the caller's to finish, also after a failure. */
int link_perform(struct link *link, const struct link_order *order, struct link_result *result, struct err *e);

#endif
