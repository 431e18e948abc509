/*
 * ddp/run.h - one experiment as one rank sees it: warm-up, timed steps, floor, and what they measured.
 *
 * run_plan() turns options into a plan (defaults filled in, data opened, checkpoint header checked, memory
 * need compared with the limit) and fails before anything large is allocated; run_execute() maps memory,
 * trains and fills the samples; run_fini() frees all. Everything raw stays in struct run; summaries are
 * functions of it. Interruption: when *options.stop becomes non-zero the step in progress is finished, what
 * was measured is kept, run->interrupted is set and run_execute returns 0.
 *
 * Several ranks (options.team): all call run_plan and run_execute with the same options but for rank, and every rank fills
 * its own struct run. Rank 0's parameters are broadcast; gradients are averaged over all ranks (ddp/reduce.h); the loss of a
 * sample is the mean over all tokens of the step. Between steps, outside what is timed, the ranks agree on what to do
 * next: rank 0 decides, and any rank that was asked to stop stops all. Before the first and after the last step every rank
 * times its own step alone, all at once and without communication. Parameters that differ between ranks are
 * ERR_WRONG_RESULT with the rank and the step.
 *
 * Replay (options.replay): nothing is computed, recorded segments are slept through (ddp/replay.h). If none are given, each
 * rank first records its own steps alone, one rank after the other. Losses are NaN then, and there is no floor.
 *
 * Stopping rule: with steps >= 0 exactly that many timed steps; else until time_s have passed and at
 * least 5 timed steps are in.
 */
#ifndef DDP_RUN_H
#define DDP_RUN_H

#include <signal.h>
#include <stdint.h>

#include "base/err.h"
#include "base/footprint.h"
#include "base/notes.h"
#include "base/stats.h"
#include "ddp/patience.h"
#include "ddp/reduce.h"
#include "ddp/rehearse.h"
#include "ddp/replay.h"
#include "ddp/team.h"
#include "ddp/timeline.h"
#include "model/data.h"
#include "model/net.h"

/* When parameters are updated: all at the end of the step; those of a bucket as soon as it is reduced. AUTO is BUCKET with
 * schedule split, and END with ddp, as in a PyTorch loop that calls optimizer.step(), and with clipping. */
enum run_update { RUN_UPDATE_AUTO, RUN_UPDATE_END, RUN_UPDATE_BUCKET };

struct run;

struct run_options {
    const char *model;             /* "shakespeare-char" unless told otherwise */
    int batch, seq;                /* of this rank; 0: the model's own */
    int global_batch;              /* sequences per update over all ranks, in place of batch; 0: not given */
    const char *shares;            /* "5:3": how the global batch is divided; NULL: equally */
    int steps;                     /* -1: by time */
    double time_s;                 /* 60 unless told otherwise */
    int warmup;                    /* 2 unless told otherwise */
    int threads;                   /* resolved by the caller (probe's default or the user's); > 0 */
    double quota_cpus;             /* what a control group lets this rank use, in CPUs; 0: no limit, or not known */
    uint64_t seed;                 /* 1 unless told otherwise */
    double lr;                     /* < 0: the model's own */
    double clip;                   /* 0: off */
    int accum;                     /* micro-batches per update, 1 unless told otherwise */
    const char *data;              /* NULL: built-in */
    uint64_t data_tokens;          /* the data are rank 0's and this rank has no file: how many tokens, 0: it has */
    int data_vocabulary;           /* and of how many different ids */
    const char *checkpoint, *save; /* NULL: none */
    double split;                  /* share of the data that trains, 1 = all of it */
    int eval_batches;              /* batches of the validation part whose mean loss is taken at the end; 0: none */
    int rank, world;               /* 0 of 1 on one node */
    bool drop_last;
    bool floor;                      /* measure the floor too (on unless told otherwise) */
    double memory_limit_bytes;       /* lower of free memory and group limits, from the probe; 0: unknown */
    const char *memory_limit_source; /* where that number comes from, for the error sentence */
    int poison_step;                 /* test hook: one parameter set to NaN before this timed step; -1: never */
    int alter_step;                  /* test hook: one parameter of the last rank altered after it; -1: never */
    double patience_s;               /* test hook: in place of PATIENCE_LEAST_S; 0: that */
    const volatile sig_atomic_t *stop;
    struct team *team; /* NULL: alone. Borrowed; as rank and world say */
    enum reduce_schedule schedule;
    enum run_update update;     /* AUTO in the options, one of the others in the plan */
    double bucket_mib;          /* 0: PyTorch's default */
    bool verify;                /* compare parameters after every step; small models are always compared */
    bool baseline;              /* with a team: time each rank alone (on unless told otherwise) */
    struct replay *replay;      /* NULL: the network computes. Borrowed; filled by the run if it has no steps */
    const atomic_bool *abandon; /* true: give up within a layer, ERR_PEER_LOST; may be NULL */
    bool rehearse; /* with baseline and a team: measure what a prediction needs before the first distributed step */
    /* Called on rank 0 once rehearsal and steps alone are there, before that step; may be NULL. */
    void (*foretell)(void *ctx, const struct run *run);
    void *foretell_ctx;
    /* Called with true and then false around looks at what the process holds, so that helpers hold nothing meanwhile; may be
     * NULL. */
    void (*hush)(void *ctx, bool on);
    void *hush_ctx;
    /* Called around the start of the communication thread, which inherits where the calling thread may run; may be NULL. */
    void (*roam)(void *ctx, bool on);
    void *roam_ctx;
};

struct run_sample {
    /* step = forward + backward + exposed + optimizer; data outside */
    double step_s, forward_s, backward_s, optimizer_s, data_s;
    float loss;
    int64_t minor_faults; /* page faults during the step */
    uint64_t start_ns;    /* when it began, on this node's monotonic clock */
    /* with a team: */
    double exposed_s;       /* the step stood still for communication */
    double communication_s; /* the buckets, and what else was exchanged, from start to end of each */
    double seal_s;          /* part of it: encrypting and decrypting */
    double payload_bytes;   /* of the gradient, to the next rank */
    double wait_s;          /* part of it: the previous rank had nothing to give (comm/call.h); NaN: not told */
    double cpu_s;           /* processor time of the communication thread for them; NaN: not told */
    double hidden_update_s; /* part of optimizer_s: while buckets were still on their way */
    double sent_bytes;      /* to the next rank, as the kernel counts; NaN: unknown */
    double agree_s;         /* outside the step: agreeing with the others before and after it */
};

/* Of a bucket in a step: instants from the start of the step, then durations, which add up to end - start. What the
 * transport does not tell is NaN. */
enum {
    RUN_BUCKET_READY,
    RUN_BUCKET_START,
    RUN_BUCKET_FIRST_BYTE,
    RUN_BUCKET_END,
    RUN_BUCKET_WAIT,
    RUN_BUCKET_MOVE,
    RUN_BUCKET_SUM,
    RUN_BUCKET_CHECK,
    RUN_BUCKET_SEAL,
    RUN_BUCKET_BYTES,
    RUN_BUCKET_COLUMNS
};

enum { RUN_ALONE_MAX = 16 };

/* Floor passes: so many at least (as far as there are steps) and at most; about one part in so many of the time. */
enum { RUN_FLOOR_MIN = 5, RUN_FLOOR_MAX = 16, RUN_FLOOR_SHARE = 5 };

struct run_progress {
    const char *stage;       /* "warm-up", "training", "baseline", "validation" */
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
    int *batch_of;               /* [world] sequences per micro-batch of each rank */
    int batch_before, batch_all; /* of the ranks below this one; of all */
    bool unequal;                /* not all have the same */
    uint64_t planned_bytes;      /* net memory + batch buffers + samples + OpenBLAS's buffers, known before taking */
    int capacity, n;             /* timed samples */
    struct run_sample *sample;
    double warmup_first_s;    /* the first step of all, which pays for page faults and thread start */
    double *layer_s;          /* [capacity][L + 2][3]: seconds by sample, layer + 1, phase kind */
    double *ready_s;          /* [capacity][tensors]: seconds from the step's start to gradient ready */
    struct timeline timeline; /* some of the timed steps, event by event */
    int floor_n;
    double floor_s[RUN_FLOOR_MAX]; /* steps with the null kernels, i.e. matrix products only */
    double stamp_cost_ns;          /* measured cost of one time stamp */
    int stamps_per_step;
    int64_t allocated_in_timed_region; /* bytes by which the heap grew between first and last timed step: 0 */
    uint64_t peak_rss_bytes;           /* VmHWM at the end */
    bool timed;                        /* the first timed step was reached: */
    struct footprint before, after;    /* right before it, and after the last one, however that ended */
    double eval_loss;                  /* NaN without validation */
    uint64_t param_checksum;           /* FNV-1a over the parameters' bytes at the end */
    bool interrupted;
    const char *stage; /* what it was doing last: as in struct run_progress, "preparing", "baseline" */
    int stage_done;    /* steps of that which were done */

    /* with a team */
    const char *transport;  /* what carried the gradients: as in comm/backend.h; NULL: it did not come to that */
    const char *why_opaque; /* why it does not tell the parts of a bucket's time; NULL: it does */
    int buckets;
    struct reduce_bucket *bucket; /* [buckets] */
    double *bucket_s;             /* [capacity][buckets][RUN_BUCKET_COLUMNS] */
    double agreeing_s;            /* with others, since it was last set to 0 */
    struct patience patience;     /* with ranks of which nothing is heard */
    int alone_n, alone_before;    /* steps of this rank alone; how many of them before the first timed one */
    double alone_s[RUN_ALONE_MAX];
    struct rehearsal_step alone_part[RUN_ALONE_MAX];
    struct rehearsal rehearsal;
    double alone_backward_s[RUN_ALONE_MAX]; /* from its start to the end of backward */
    double *alone_ready_s;                  /* [RUN_ALONE_MAX][buckets]: from its start until the bucket was complete */
    double agree_s; /* the shortest exchange of a few words between steps; NaN: there was none */
    char congestion[CONGESTION_NAME_BYTES]; /* control of the ring's TCP connection; "": it has none */
    uint64_t slice_ns;                      /* of the communication thread (comm/slice.h); 0: unknown */
    bool shares_processor; /* the communication thread has no CPU beside those of the compute threads */
};

int run_plan(struct run *run, const struct run_options *options, struct notes *notes, struct err *e);

/* progress may be NULL; it is called outside the timed part of a step. ERR_WRONG_RESULT on a loss that is
 * not finite (the samples until then are kept). */
int run_execute(struct run *run, void (*progress)(void *ctx, const struct run_progress *p), void *ctx,
                struct notes *notes, struct err *e);
void run_fini(struct run *run);

#endif
