/*
 * report/compare.h - is B faster than A? Two sides, each of one run or of several.
 *
 * With several runs on both sides a run's median is one figure; with one run on each side a figure is the median of a block of
 * its steps, so long that blocks no longer resemble each other (base/resample.h). The two groups of figures are compared by
 * their ranks (base/ranksum.h), exactly up to 50 figures, and the ratio of their medians has an interval from a bootstrap over
 * runs, or over blocks of steps. A side of several runs against one of a single run is compared by runs.
 *
 * A metric is `faster` or `slower` (`higher` or `lower` if it is no time) only if p < alpha, the interval leaves out 1, and the
 * ratio is further from 1 than the noise floor. It is `too few runs` if groups of these sizes cannot reach alpha whatever they
 * hold, else `no change seen`. The verdict of the comparison is that of the step.
 *
 * The noise floor is what is not called a change even if it can be told apart: 1 % between groups of runs; 2 % between two
 * single runs, or by how much the medians of the halves of either run differ, if that is more: two sittings differ more than two
 * halves of one.
 */
#ifndef REPORT_COMPARE_H
#define REPORT_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"

enum { COMPARE_RUNS_MAX = 1000 };

struct compare_side {
    const char *name; /* as it was asked for */
    size_t n;
    json_t **runs;    /* documents; borrowed */
    char **paths;     /* borrowed */
    json_t **digests; /* borrowed */
};

struct compare_options {
    double alpha;       /* 0.05 */
    double noise_floor; /* NaN: chosen as above */
    uint64_t seed;
};

/* [{"condition", "a", "b"}]: in which conditions the runs of both sides are not all alike; empty: comparable. */
json_t *compare_differences(const struct compare_side *a, const struct compare_side *b);

/* Adds verdict, metrics[] and what they rest on to the document; see results/README.md. ERR_DATA if a run has no steps. */
int compare_judge(json_t *document, const struct compare_side *a, const struct compare_side *b,
                  const struct compare_options *options, struct err *e);

#endif
