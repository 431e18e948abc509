/*
 * tests/ring_kit.h - ranks on this machine for the tests of comm/: sockets between them and one thread each.
 */
#ifndef TESTS_RING_KIT_H
#define TESTS_RING_KIT_H

#include "comm/ring.h"

enum { KIT_RANKS_MAX = 5 };

enum kit_link {
    KIT_UNIX,   /* socket pairs */
    KIT_TCP,    /* TCP over loopback, one connection per edge of the ring */
    KIT_DUPLEX, /* two ranks, one TCP connection for both directions */
    KIT_LINKS
};

struct kit_options {
    enum kit_link link;
    bool sealed;      /* TLS 1.3, a key of its own for each edge of the ring */
    int buffer_bytes; /* SO_SNDBUF and SO_RCVBUF; 0: the system's */
    size_t segment_bytes, direct_bytes;
    uint64_t timeout_ns; /* 0: 20 s */
    bool keep_buffers;
};

/* Connected stream sockets; buffer_bytes as above. Stops the test if there are none. */
void kit_connect(enum kit_link link, int buffer_bytes, int fds[2]);

/* Options for one rank whose sockets the test has made. Peers are called rank0, rank1 and so on. */
struct ring_options kit_ring_options(int rank, int world, int next_fd, int prev_fd, const struct kit_options *options);

/* A whole ring of world ranks, and its end. */
void kit_open(struct ring *rings, int world, const struct kit_options *options);
void kit_close_rings(struct ring *rings, int world);

/* work(rank, ctx) on a thread for each rank; returns when all have returned. */
void kit_each_rank(int world, void (*work)(int rank, void *ctx), void *ctx);

#endif
