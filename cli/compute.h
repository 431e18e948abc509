/*
 * cli/compute.h - --compute's text, and recorded steps out of a saved result.
 *
 *     real                                    the default
 *     replay[:RUN.json][,slow=RANK:FACTOR]..  recorded segments are slept through (ddp/replay.h); without a file each rank
 *                                             records its own first, one after the other
 *
 * A slowed rank takes FACTOR times as long in all it would compute.
 */
#ifndef CLI_COMPUTE_H
#define CLI_COMPUTE_H

#include <limits.h>
#include <stdbool.h>

#include "ddp/run.h"

enum { COMPUTE_SLOW_MAX = 8 };

struct compute {
    bool replay;
    char path[PATH_MAX]; /* "": none */
    int slow_n;
    struct {
        int rank;
        double factor;
    } slow[COMPUTE_SLOW_MAX];
};

/* ERR_USAGE with one sentence. */
int compute_parse(struct compute *c, const char *text, struct err *e);

/* 1 unless it was slowed. */
double compute_slow(const struct compute *c, int rank);

/* The recorded steps of c->path for a run that was planned. ERR_NO_INPUT, or ERR_DATA: not a result of this kind, of one rank,
 * of this model, batch, sequence length and number of micro-batches. */
int compute_load(const struct compute *c, struct replay *replay, const struct run *run, struct err *e);

#endif
