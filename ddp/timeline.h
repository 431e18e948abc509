/*
 * ddp/timeline.h - what one rank did when, for some of the timed steps: raw material for a picture.
 *
 *     timeline_open(&t, &shape, e)                        memory for all of it
 *     per timed step, in order, number 0 first:
 *         timeline_begin(&t, number, start_ns)
 *         timeline_micro_batch(&t, phases, n, k, of, communicates)     after each
 *         timeline_layers(&t, phases, n)                               the optimizer's
 *         timeline_update(&t, from_ns, to_ns, communicates)            each stretch of the optimizer, in order
 *         timeline_bucket(&t, ...)                                     each exchange
 *         timeline_end(&t, end_ns)
 *     timeline_kept(&t, kept)                             the steps that are left, oldest first
 *     timeline_close(&t)
 *
 * A step is cut into parts without gap or overlap: forward and backward of each micro-batch, exposed (the step stood still
 * for communication) and optimizer. What lies before the first phase of the micro-batch whose gradients are sent, and
 * between its last phase and the optimizer or between two of its stretches, is exposed if the rank communicates; other
 * gaps are nanoseconds and belong to the part before. Layers are inside parts; those of micro-batches between the first
 * and the last are left out, and past TIMELINE_MICRO_BATCHES all but the last are one part.
 *
 * Kept are the first steps, the last ones, and between them every 1st, 2nd, 4th, 8th ..., so that the number is bounded
 * however long the run; ends and stride say which. All ranks of a run keep the same steps. No time stamp is taken here,
 * nothing is allocated after open, and kept steps are exchanged by pointer. Owner: the thread that drives the steps.
 */
#ifndef DDP_TIMELINE_H
#define DDP_TIMELINE_H

#include <stdbool.h>

#include "comm/call.h"
#include "model/net.h"

enum { TIMELINE_MICRO_BATCHES = 32, TIMELINE_STEPS_MAX = 16, TIMELINE_NUMBERS = 6000 };

enum timeline_kind { TIMELINE_FORWARD, TIMELINE_BACKWARD, TIMELINE_OPTIMIZER, TIMELINE_EXPOSED, TIMELINE_MIXED };

struct timeline_part { /* MIXED: forward and backward of several micro-batches, or what has no room of its own */
    enum timeline_kind kind;
    uint64_t start_ns, end_ns;
};

struct timeline_bucket {
    int bucket; /* -1: the token ids of schedule split */
    uint64_t bytes;
    uint64_t ready_ns; /* 0: there was nothing to get ready */
    struct call call;
};

struct timeline_step {
    int step;
    uint64_t start_ns, end_ns;
    int parts_n, layers_n, buckets_n;
    struct timeline_part *part;
    struct phase *layer;
    struct timeline_bucket *bucket;
};

struct timeline_shape {
    int layers, accum, buckets; /* rows of a sample's layers; micro-batches; exchanges per step, 0 for one rank */
    int slices;                 /* of the head (net_head_slices), in which forward and backward take turns */
};

struct timeline {
    int parts_max, layers_max, buckets_max;
    int passes_max; /* of the parts: what forward and backward may have, for the others to have room */
    int ends, between_max, between, stride; /* steps kept at each end; room, steps and distance between them */
    int n;                                  /* steps that were ended */
    struct timeline_step *step;             /* [slots]: first, between, the ring of the last, and the one in progress */
    void *memory;
    struct timeline_step *now; /* NULL: not between begin and end */
    uint64_t at_ns;            /* parts cover the step up to here */
};

/* ERR_MEMORY. */
int timeline_open(struct timeline *t, const struct timeline_shape *shape, struct err *e);

void timeline_begin(struct timeline *t, int number, uint64_t start_ns);
void timeline_micro_batch(struct timeline *t, const struct phase *phase, int n, int k, int of, bool communicates);
void timeline_layers(struct timeline *t, const struct phase *phase, int n);
void timeline_update(struct timeline *t, uint64_t from_ns, uint64_t to_ns, bool communicates);
void timeline_bucket(struct timeline *t, int bucket, uint64_t bytes, uint64_t ready_ns, const struct call *call);
void timeline_end(struct timeline *t, uint64_t end_ns);

/* A step that was begun and not ended is forgotten. */
static inline void timeline_drop(struct timeline *t)
{
    t->now = NULL;
}

/* Fills kept[TIMELINE_STEPS_MAX], borrowed until close, and returns how many. */
int timeline_kept(const struct timeline *t, const struct timeline_step **kept);

void timeline_close(struct timeline *t); /* accepts a zeroed one */

#endif
