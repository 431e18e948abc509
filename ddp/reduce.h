/*
 * ddp/reduce.h - from each rank's gradient to the mean over all ranks, bucket by bucket while backward goes on.
 *
 * Use, on every rank alike:
 *
 *     reduce_init(&r, &net, &transport, &options, e)
 *     per update:
 *         reduce_begin(&r, step, tokens, e)     before the last micro-batch
 *         net_step(&net, ..., reduce_scale(&r) / K, ...)      every micro-batch
 *         reduce_finish(&r, e)                  net.grad is the mean gradient of all ranks, the same bits on each
 *     reduce_fini(&r)
 *
 * The mean is weighted by tokens: a rank scales its loss by its share of all tokens (reduce_scale), so the sum over ranks
 * is the gradient of the mean loss over all tokens, also when ranks have unequal batches. That is the only division.
 *
 * Schedules. ddp: PyTorch's buckets over the tensors in reverse registration order, each sent when its last tensor is
 * complete; the tied embedding is complete only when backward ends. split: what the head gives to the embedding is sent
 * as soon as the head is done, and only the rows that some rank's tokens touched are sent at the end (all ranks learn
 * each other's token ids at the start of the step). Both give the same mean up to the order of additions.
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

struct reduce_bucket {
    int last; /* the tensor whose completion completes the bucket; -1: the head, -2: the touched rows */
    int tensors;
    size_t offset, count; /* span of grad; for the touched rows count varies from step to step */
};

struct reduce {
    struct net *net;
    struct transport *transport;
    struct overlap overlap;
    bool overlap_running;
    enum reduce_schedule schedule;
    float scale;
    int n;
    struct reduce_bucket bucket[TENSORS_MAX + 2];
    struct overlap_bucket span[TENSORS_MAX + 2]; /* what the communication thread is given, set per step */
    int bucket_of[TENSORS_MAX];                  /* the bucket that the tensor completes; -1: none */
    int head_bucket, rows_bucket;                /* split; -1 else */

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
int reduce_finish(struct reduce *r, struct err *e);
void reduce_fini(struct reduce *r); /* accepts a zeroed object */

/* The plan only, no memory, no thread: fills bucket[], n and the indices from the layout. */
void reduce_plan(struct reduce *r, const struct layout *layout, enum reduce_schedule schedule, double bucket_mib);

#endif
