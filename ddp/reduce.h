/*
 * ddp/reduce.h - from each rank's gradient to the mean over all ranks, bucket by bucket while backward goes on.
 *
 * Use, on every rank alike:
 *
 *     reduce_init(&r, &net, &transport, &options, e)
 *     per update:
 *         reduce_begin(&r, step, tokens, e)     before the last micro-batch
 *         net_step(&net, ..., reduce_scale(&r) / K, ...)      every micro-batch
 *         reduce_finish(&r, NULL, e)            net.grad is the mean gradient of all ranks, the same bits on each
 *     reduce_fini(&r)
 *
 * The mean is weighted by tokens: a rank scales its loss by its share of all tokens (reduce_scale), so the sum over ranks
 * is the gradient of the mean loss over all tokens, also when ranks have unequal batches. That is the only division.
 *
 * Schedules. ddp: PyTorch's buckets over the tensors in reverse registration order, each sent when its last tensor is
 * complete; the tied embedding is complete only when backward ends. split: what the head gives to the embedding is sent
 * in parts of a quarter of a bucket's size while the head is still at work on the next, and only the rows that some rank's tokens
 * touched are sent at the end (all ranks learn each other's token ids at the start of the step). Both give the same mean
 * up to the order of additions.
 *
 * The optimizer per bucket: given an update, reduce_finish() applies it to the parameters of each bucket as soon as that
 * is reduced, while later ones are on their way. The bits are those of net_update() after reduce_finish(). Not for an
 * optimizer that needs the whole gradient first (clipping).
 *
 * Owner: the thread that drives the net; the communication thread is inside (comm/overlap.h). Failures are the
 * transport's. Nothing is allocated between init and fini.
 */
#ifndef DDP_REDUCE_H
#define DDP_REDUCE_H

#include "comm/bucket.h"
#include "comm/overlap.h"
#include "model/net.h"

enum reduce_schedule { SCHEDULE_DDP, SCHEDULE_SPLIT };

struct reduce_options {
    enum reduce_schedule schedule;
    double bucket_mib;   /* <= 0: PyTorch's default, 1 MiB first and 25 MiB then */
    const int *batch_of; /* [world] sequences of each rank; NULL: all as this one's */
};

enum { REDUCE_HEAD_PART = -1, REDUCE_TOUCHED_ROWS = -2 };

struct reduce_bucket {
    int last; /* the tensor whose completion completes the bucket, or one of the above */
    int tensors;
    size_t offset, count; /* span of grad; for the touched rows count varies from step to step */
};

enum { REDUCE_HEAD_PARTS_MAX = 32, REDUCE_BUCKETS_MAX = TENSORS_MAX + REDUCE_HEAD_PARTS_MAX + 1 };

struct reduce_update { /* update number t, as net_update() */
    const struct optimizer_spec *optimizer;
    int64_t t;
};

struct reduce_times {    /* of one update, on the owner's thread */
    uint64_t begin_ns;   /* in reduce_begin: learning each other's token ids */
    uint64_t exposed_ns; /* in reduce_finish: stood still */
    uint64_t update_ns;  /* in reduce_finish: updated parameters */
    uint64_t hidden_ns;  /* part of update_ns: while a bucket was on its way or due */
};

struct reduce {
    struct net *net;
    struct transport *transport;
    struct overlap overlap;
    bool overlap_running;
    enum reduce_schedule schedule;
    float scale;
    int n;
    struct reduce_bucket bucket[REDUCE_BUCKETS_MAX];
    struct overlap_bucket span[REDUCE_BUCKETS_MAX]; /* what the communication thread is given, set per step */
    int bucket_of[TENSORS_MAX];                     /* the bucket that the tensor completes; -1: none */
    int head_bucket, head_parts, rows_bucket;       /* split: the head's first; -1, 0, -1 else */
    struct reduce_times times;                      /* of the last update */
    uint64_t update_start_ns[REDUCE_BUCKETS_MAX], update_end_ns[REDUCE_BUCKETS_MAX];
    uint64_t seen_ns[REDUCE_BUCKETS_MAX]; /* reduce_watch: when each bucket was complete */

    /* split: all ranks' ids and the rows they touch */
    int positions_max, position0, positions_all; /* B*T of the largest rank, where ours start, of all ranks */
    float *ids;                                  /* [positions_all], exact in fp32 since ids < 2^24 */
    int32_t *row_of_id;                          /* [V], -1: untouched */
    int32_t *id_of_row;                          /* [positions_all] */
    int32_t *row;                                /* [B*T] of this rank */
    float *rows;                                 /* [positions_all][C] */
    int rows_n;
    struct call ids_call; /* what learning each other's ids cost in this step */
};

/* ERR_USAGE: split needs a GPT. The net must have been taken (net_take). */
int reduce_init(struct reduce *r, struct net *net, struct transport *transport, const struct reduce_options *options,
                struct err *e);

/* This rank's tokens / all tokens. */
static inline float reduce_scale(const struct reduce *r)
{
    return r->scale;
}

/* tokens: the ids [B][T] of the last micro-batch (used by split only). */
int reduce_begin(struct reduce *r, uint32_t step, const int32_t *tokens, struct err *e);
/* update NULL: parameters are left to the caller. */
int reduce_finish(struct reduce *r, const struct reduce_update *update, struct err *e);

/* Between updates, for steps that are not communicated: from now on seen_ns[] is when each bucket was complete, until
 * watching is turned off. The touched rows count as complete with the embedding. */
void reduce_watch(struct reduce *r, bool on);

void reduce_fini(struct reduce *r); /* accepts a zeroed object */

/* The plan only, no memory, no thread: fills bucket[], n and the indices from the layout. */
void reduce_plan(struct reduce *r, const struct layout *layout, enum reduce_schedule schedule, double bucket_mib);

#endif
