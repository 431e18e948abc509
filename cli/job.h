/*
 * cli/job.h - one run of a command, from the request to the printed result: what cmd_run.c, which leads it, shares with those who
 * judge it and write it down. Owner: the main thread.
 */
#ifndef CLI_JOB_H
#define CLI_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "base/notes.h"
#include "cli/commands.h"
#include "cli/judge.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/ranks.h"
#include "cli/run_kind.h"
#include "ddp/run.h"
#include "model/blas_choice.h"
#include "model/gemm.h"
#include "probe/probe.h"
#include "probe/watch.h"

#define JOB_RATE_SECONDS 0.5 /* for the rate of matrix products, right before the steps */

struct counters { /* that only grow; a run is their difference */
    struct throttle_count throttled;
    struct heat_events heat;
    double stolen_s;
    uint64_t at_ns;
};

struct job { /* one run of the command, from the request to the printed result */
    const struct invocation *in;
    const struct run_kind *kind;
    struct options options;
    struct ranks ranks;
    struct notes notes;
    int notes_told;
    struct blas_choice blas;
    struct probe probe;
    struct run run;
    struct replay replay;
    struct gemm_rate rate;
    bool executed;
    struct counters before, after;
    struct health health; /* of this node, if this rank takes the readings */
    struct watch watch;
    bool watches;
    struct judgement judgement;
    bool judged;
    char started[21];
    struct progress progress;
    json_t *prediction;     /* of a run with peers, made before it; NULL: none */
    struct err unpredicted; /* why */
    struct err err;         /* what ended the run; code 0: nothing */
};

/* What makes the figures of the run doubtful, in words, and marks on its steps; the second one after the ranks have left. */
void job_judge(struct job *job);
void job_doubt_emulation(struct job *job);

/* Saves what is worth it, then prints: the measurement is shown even if it cannot be kept. The exit status. */
int job_deliver(struct job *job);

/* A worker's last word, to rank 0. The exit status, for those who look at processes. */
int job_report(struct job *job);

#endif
