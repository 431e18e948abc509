/*
 * comm/ring.h - collectives over a ring of stream sockets: all-reduce (sum, single precision), broadcast, barrier.
 *
 * Each rank sends to the next and receives from the previous one. All-reduce cuts the vector into one chunk per rank:
 * N-1 hops of reduce-scatter, then N-1 hops of all-gather, so a rank sends and receives 2(N-1)/N of the bytes. Hops are
 * cut into segments and pipelined; every rank ends up with the same bits. Two ranks exchange short vectors whole
 * (one hop instead of two): a + b = b + a, so those bits are the ring's too. Any count including 0, any N >= 1.
 *
 *     ring_init(&ring, &options, e)                 the sockets are the ring's now, also if it fails: ring_fini
 *     ring_allreduce(&ring, data, n, &call, e)      all ranks, same n, same order of calls
 *     ring_fini(&ring)
 *
 * All ranks must agree on world, segment_bytes and direct_bytes (the session compares them beforehand). Nothing is
 * allocated between init and fini. One thread at a time; ring_init blocks no signal and starts no thread.
 *
 * With keys the connections are sealed (stream.h): ring_init then waits for both neighbours to do the same, and tampering
 * is ERR_PROTOCOL; frames need no checksum then.
 *
 * Failure: ERR_PEER_LOST names the peer, the step and the bucket, when a connection ends or when no byte has moved for
 * timeout_ns; ERR_PROTOCOL when a frame is damaged or belongs elsewhere; ERR_INTERRUPTED when stop_fd became readable.
 * After a failure the sockets are out of step: data is undefined and every later call returns the first error.
 */
#ifndef COMM_RING_H
#define COMM_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "comm/backlog.h"
#include "comm/call.h"
#include "comm/data_socket.h"

/* Measured with tools/bench_ring: shorter segments cost more calls, longer ones leave the cache; whole vectors are the
 * faster way up to about a megabyte (twice as fast at 64 KiB), beyond it both take the same time and the ring adds half. */
enum { RING_NAME_BYTES = 64, RING_SEGMENT_BYTES = 256 * 1024, RING_DIRECT_BYTES = 1024 * 1024 };

struct ring_options {
    int rank, world;
    int next_fd, prev_fd;                     /* the same one is allowed when world is 2; ignored when it is 1 */
    const char *next_name, *prev_name;        /* copied; at most RING_NAME_BYTES - 1 bytes are kept */
    uint64_t timeout_ns;                      /* without a byte either way */
    int stop_fd;                              /* readable: stop at once (an eventfd, say); -1: none */
    size_t segment_bytes;                     /* 0: RING_SEGMENT_BYTES; rounded up to 64 */
    size_t direct_bytes;                      /* two ranks exchange whole vectors up to this; 0: never */
    const unsigned char *next_key, *prev_key; /* CRYPTO_KEY_BYTES each: those connections are sealed; NULL: in clear */
    bool keep_buffers;                        /* sizes of socket buffers stay as they are */
};

struct stream;

struct ring_peer {
    int fd;
    struct stream *sealed; /* NULL: in clear */
    char name[RING_NAME_BYTES];
};

struct ring {
    bool open; /* the sockets are ours */
    int rank, world;
    struct ring_peer next, prev;
    int stop_fd;
    uint64_t timeout_ns;
    size_t segment_bytes, direct_bytes;
    uint32_t sequence;       /* collectives begun */
    struct data_socket data; /* what next is */
    bool fits_backlog;       /* it is TCP, and its buffer is ours to fit */
    struct backlog backlog;
    int low_water;         /* bytes for which the kernel wakes us, as last set on prev; 0: unknown */
    struct stream *stream; /* of next and of prev; NULL: in clear */
    void *scratch;         /* one segment: what is received to be added */
    struct err broken;     /* the first failure */
};

/* ERR_USAGE for impossible options, ERR_MEMORY, ERR_IO if a socket cannot be set up; with keys also what
 * stream_shake_hands() says. */
int ring_init(struct ring *ring, const struct ring_options *options, struct err *e);

/* data[i] becomes the sum over ranks, for i in [0, n). */
int ring_allreduce(struct ring *ring, float *data, size_t n, struct call *call, struct err *e);

/* Every rank's data becomes root's. */
int ring_broadcast(struct ring *ring, void *data, size_t bytes, int root, struct call *call, struct err *e);

/* Returns once every rank has called it. */
int ring_barrier(struct ring *ring, struct call *call, struct err *e);

/* The cipher suite of sealed connections; NULL: in clear. */
const char *ring_suite(const struct ring *ring);

void ring_fini(struct ring *ring); /* accepts a zeroed ring */

#endif
