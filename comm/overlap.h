/*
 * comm/overlap.h - one communication thread per rank that reduces buckets while the caller computes.
 *
 *     overlap_start(&o, &transport, buckets_max, e)
 *     per step:
 *         overlap_begin(&o, step, buckets, n)        what will come: n spans of the gradient, in launching order
 *         overlap_ready(&o, b)                       from the backward pass, in any order: bucket b is complete
 *         overlap_wait(&o, b + 1, e)                 optional: buckets 0 .. b are reduced, as for an update per bucket
 *         overlap_wait(&o, n, e)                     all are
 *         o.record[0 .. n-1]                         what each cost
 *     overlap_stop(&o)
 *
 * Buckets are launched strictly in the order of their numbers, since all ranks must reduce the same one at the same time:
 * one that is ready early waits for those before it, as in PyTorch. One is in flight at a time.
 *
 * Hand-over: one mutex guards every field below "shared". The span of a bucket belongs to the communication thread from
 * overlap_ready until overlap_wait has covered it, and so does the transport; between a complete wait and the next begin,
 * both are the caller's, who may use the transport for a barrier or a broadcast. Records are to be read after the wait.
 * begin, ready and wait come from one thread, the owner. ready never sleeps on communication: a lock held for moments
 * and, when the thread sleeps, one wake. Nothing is allocated after start.
 *
 * Failure: the first error of the transport stops the queue; every later wait returns it, later readies are ignored,
 * and overlap_stop is all that is left to do. Where the thread runs is the caller's business: it inherits the affinity
 * mask and the signal mask of the thread that calls overlap_start.
 */
#ifndef COMM_OVERLAP_H
#define COMM_OVERLAP_H

#include <pthread.h>
#include <stdbool.h>

#include "comm/transport.h"

struct overlap_bucket {
    float *data;
    size_t n;
};

struct overlap_record {
    uint64_t ready_ns; /* overlap_ready was called */
    struct call call;  /* start_ns minus ready_ns: it queued behind earlier buckets */
};

struct overlap {
    struct transport *transport;
    int buckets_max;
    pthread_t thread;
    bool running;
    struct overlap_record *record; /* [buckets_max] */
    uint64_t slice_ns;             /* of the thread (comm/slice.h), known after the first wait */

    /* shared */
    pthread_mutex_t lock;
    pthread_cond_t work;     /* to the thread: the next bucket is ready, or stop */
    pthread_cond_t progress; /* to the owner: one more is done, or it failed */
    const struct overlap_bucket *bucket;
    bool *is_ready; /* [buckets_max] */
    int n;          /* of this step */
    int done;       /* buckets 0 .. done - 1 are reduced */
    uint32_t step;
    bool stop;
    struct err failure;
};

/* ERR_MEMORY or ERR_CANNOT_CREATE. The transport is borrowed until overlap_stop. */
int overlap_start(struct overlap *o, struct transport *transport, int buckets_max, struct err *e);

/* buckets is borrowed until the last wait. The previous step must have been waited for. ERR_USAGE if n > buckets_max or
 * a step is still in flight; after a failure, that failure. */
int overlap_begin(struct overlap *o, uint32_t step, const struct overlap_bucket *buckets, int n, struct err *e);

/* Bucket b is complete and the owner will not touch it until it has been waited for. */
void overlap_ready(struct overlap *o, int b);

/* Returns when buckets 0 .. n - 1 are reduced, which all have to be ready; -1 with the transport's error. How long that can
 * take is bounded by the transport's own deadlines. */
int overlap_wait(struct overlap *o, int n, struct err *e);

/* Ends the thread after the bucket in flight and frees everything. Accepts a zeroed object. */
void overlap_stop(struct overlap *o);

#endif
