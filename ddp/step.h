/*
 * ddp/step.h - one update of one rank, timed part by part; private to ddp/.
 *
 *     step_open(&w, &run, e)         buffers; with a team, the reduction and its thread
 *     step_take(&w, number, row, &sample, e)
 *     step_close(&w)
 *
 * What is timed is forward, backward, the wait for communication and the optimizer. Fetching the batch and copying
 * the records of the buckets happen before and after. Nothing is allocated between open and close. Owner: the thread
 * that drives the net.
 */
#ifndef DDP_STEP_H
#define DDP_STEP_H

#include "base/rng.h"
#include "ddp/feed.h"
#include "ddp/reduce.h"
#include "ddp/run.h"

enum { STEP_LAYERS_MAX = 64 };

struct step_worker { /* what the steps need besides the run */
    struct run *run;
    void *inputs;                       /* [accum][B][T] ids, or [accum][B][dim] values */
    int32_t *targets;                   /* NULL: the model has none */
    struct rng rng;                     /* MLP inputs */
    struct feed *feed;                  /* NULL: this rank reads the data itself */
    bool peeked;                        /* the next batch is in place already */
    struct reduce *reduce;              /* NULL: alone */
    int64_t update;                     /* optimizer updates so far */
    double layer_s[STEP_LAYERS_MAX][3]; /* of the step in progress, by layer + 1 and kind */
};

int step_open(struct step_worker *w, struct run *run, struct err *e);
void step_close(struct step_worker *w); /* accepts a zeroed worker */

/* One whole update. number is named in errors; row < 0 in warm-up, else where the details go. The sample's loss is this
 * rank's own. */
int step_take(struct step_worker *w, int number, int row, struct run_sample *sample, struct err *e);

/* Puts the next batch in place before its time: step_take then finds it there. */
int step_peek(struct step_worker *w, struct err *e);

struct step_alone {
    double step_s;     /* negative: it was abandoned */
    double forward_s;  /* of all micro-batches */
    double backward_s; /* from its start to the end of backward */
    uint64_t start_ns; /* the reduction's seen_ns (ddp/reduce.h) count from here */
};

/* A step with the batch in place on this rank alone, without communication; the parameters are left as they are, the
 * moments are not. */
struct step_alone step_alone(struct step_worker *w);

/* A step alone with its segments, for replay; ready_s[tensors]. Negative: it was abandoned. */
int step_record(struct step_worker *w, struct replay_step *segments, double *ready_s);

/* Seconds for forward and backward with nothing but their matrix products. */
double step_floor(struct step_worker *w);

#endif
