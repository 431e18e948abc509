/*
 * report/history_check.h - has something become slower for good? Level shifts in a history, ratios before seconds.
 *
 * Complete runs are divided into groups of the same conditions (report/digest.h); only runs of one group are compared, and only the
 * newest SHIFT_MAX of them. In each group the series of every watched metric is searched for its last change of level
 * (base/shift.h). Ratios come first: step / floor, for one rank, and speed-up, for several, compare two things that were measured in
 * the same minutes, so a slower machine moves them little. The step in seconds is then judged like this:
 *
 *     it moved, and so did the floor (the matrix products alone), by as much within the noise floor: `machine`, no regression
 *     it moved for the worse otherwise: `regression`
 *
 * A regression stays one until it is mended or has left the window. One run that is off is none: a level has three runs at least.
 *
 * Verdicts: regression, improvement, machine, steady, `no baseline` (too few runs for a step to be seen; `least` says how many).
 */
#ifndef REPORT_HISTORY_CHECK_H
#define REPORT_HISTORY_CHECK_H

#include "report/history.h"

struct history_check {
    int groups, judged; /* of the wanted runs; those with enough runs */
    int regressions;    /* metrics with one */
    int left_out;       /* wanted runs that are not fit: interrupted, failed */
};

/* Adds verdict, groups[] and left_out to the document. noise_floor: 0.02. ERR_MEMORY. */
int history_check(struct history_check *check, json_t *document, const struct history *h,
                  const struct history_filter *filter, double noise_floor, struct err *e);

/* What is fit and wanted, by conditions: groups[] of arrays of rows' indices, oldest first; to be freed by json_decref(). */
json_t *history_groups(const struct history *h, const struct history_filter *filter, int *left_out);

/* "gpt2-124m 4x256, 2 ranks, 1 thread": what a group is, in a line. Returns buf. */
const char *history_group_name(char *buf, size_t size, const json_t *digest);

#endif
