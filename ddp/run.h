/*
 * ddp/run.h - one experiment on this node: warm-up, timed steps, floor, and what they measured.
 *
 * run_plan() turns options into a plan (defaults filled in, data opened, checkpoint header checked, memory
 * need compared with the limit) and fails before anything large is allocated; run_execute() maps memory,
 * trains and fills the samples; run_fini() frees all. Everything raw stays in struct run; summaries are
 * functions of it. Interruption: when *options.stop becomes non-zero the step in progress is finished, what
 * was measured is kept, run->interrupted is set and run_execute returns 0.
 *
 * Stopping rule: with steps >= 0 exactly that many timed steps; else until time_s have passed and at
 * least 5 timed steps are in.
 */
#ifndef DDP_RUN_H
#define DDP_RUN_H

#include <signal.h>
#include <stdint.h>

#include "base/err.h"
#include "base/notes.h"
#include "base/stats.h"
#include "model/data.h"
#include "model/net.h"

struct run_options {
    const char *model;             /* "shakespeare-char" unless told otherwise */
    int batch, seq;                /* 0: the model's own */
    int steps;                     /* -1: by time */
    double time_s;                 /* 60 unless told otherwise */
    int warmup;                    /* 2 unless told otherwise */
    int threads;                   /* resolved by the caller (probe's default or the user's); > 0 */
    uint64_t seed;                 /* 1 unless told otherwise */
    double lr;                     /* < 0: the model's own */
    double clip;                   /* 0: off */
    int accum;                     /* micro-batches per update, 1 unless told otherwise */
    const char *data;              /* NULL: built-in */
    const char *checkpoint, *save; /* NULL: none */
    double split;                  /* share of the data that trains, 1 = all of it */
    int eval_batches;              /* batches of the validation part whose mean loss is taken at the end; 0: none */
    int rank, world;               /* 0 of 1 on one node */
    bool drop_last;
    bool floor;                      /* measure the floor too (on unless told otherwise) */
    double memory_limit_bytes;       /* lower of free memory and group limits, from the probe; 0: unknown */
    const char *memory_limit_source; /* where that number comes from, for the error sentence */
    int poison_step;                 /* test hook: one parameter set to NaN before this timed step; -1: never */
    const volatile sig_atomic_t *stop;
};

struct run_sample {
    double step_s, forward_s, backward_s, optimizer_s, data_s; /* step = forward + backward + optimizer, data outside */
    float loss;
    int64_t minor_faults; /* page faults during the step */
};

struct run_progress {
    const char *stage;       /* "warm-up", "training", "floor", "validation" */
    int done, total;         /* total < 0: by time */
    double elapsed_s, eta_s; /* eta < 0: unknown */
    float loss;
};

struct layer_times { /* per layer and kind, seconds per step */
    int layer;
    struct summary forward, backward, optimizer;
};

struct run {
    struct run_options options;
    struct model_spec spec;
    struct net net;
    struct data data;
    struct sampler sampler;
    struct optimizer_spec optimizer;
    uint64_t planned_bytes; /* net memory + batch buffers + samples + OpenBLAS's buffers, known before taking */
    int capacity, n;        /* timed samples */
    struct run_sample *sample;
    double warmup_first_s; /* first warm-up step, which pays for page faults and thread start */
    double *layer_s;       /* [capacity][L + 2][3]: seconds by sample, layer + 1, phase kind */
    double *ready_s;       /* [capacity][tensors]: seconds from the step's start to gradient ready */
    int floor_n;
    double floor_s[16];   /* steps with the null kernels, i.e. matrix products only */
    double stamp_cost_ns; /* measured cost of one time stamp */
    int stamps_per_step;
    int64_t allocated_in_timed_region; /* bytes by which the heap grew between first and last timed step: 0 */
    uint64_t peak_rss_bytes;           /* VmHWM at the end */
    double eval_loss;                  /* NaN without validation */
    uint64_t param_checksum;           /* FNV-1a over the parameters' bytes at the end */
    bool interrupted;
};

int run_plan(struct run *run, const struct run_options *options, struct notes *notes, struct err *e);

/* progress may be NULL; it is called outside the timed part of a step. ERR_WRONG_RESULT on a loss that is
 * not finite (the samples until then are kept). */
int run_execute(struct run *run, void (*progress)(void *ctx, const struct run_progress *p), void *ctx,
                struct notes *notes, struct err *e);
void run_fini(struct run *run);

#endif
