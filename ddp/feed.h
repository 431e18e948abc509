/*
 * ddp/feed.h - token ids for ranks that do not have the data: rank 0 reads, and gives each step's batch to all.
 *
 *     feed_open(&feed, run, e)            all ranks; feed.on if at least one of them has no data
 *     feed_take(&feed, run, inputs, targets, e)     this rank's next batches, before what is timed
 *     feed_close(&feed)
 *
 * The ids of a step are broadcast over the ring, 2 bytes each, in windows of T + 1: micro-batch by micro-batch, in each the
 * sequences of rank 0, then of rank 1, and so on. How many there are follows from the plan, which all ranks have alike;
 * memory holds one step's, whatever the size of the data and the length of the run. A rank takes its own windows and
 * checks each of its ids against the vocabulary. The order is that of ranks which read the data themselves, so the
 * numbers of the run are too. Nothing is allocated between open and close. Owner: the thread that drives the steps.
 */
#ifndef DDP_FEED_H
#define DDP_FEED_H

#include "ddp/run.h"

struct feed {
    bool on, given_up; /* an exchange of tokens was, and may still write to them */
    uint16_t *token;   /* [accum][sequences of all ranks][T + 1] */
    size_t bytes;
    struct sampler *sampler; /* rank 0: of each rank; with unequal batches only the first, which walks for all */
};

/* Of a feed, should one be needed: what plans add up. */
size_t feed_bytes(const struct run *run);

int feed_open(struct feed *feed, const struct run *run, struct err *e);

/* inputs and targets [accum][B][T]. ERR_PROTOCOL for an id that the model does not have; else the ring's errors. */
int feed_take(struct feed *feed, const struct run *run, int32_t *inputs, int32_t *targets, struct err *e);

void feed_close(struct feed *feed); /* accepts a zeroed feed */

#endif
