/*
 * report/history_export.h - the history in the formats of other programs.
 *
 *     csv                       one line per run, oldest first, the first line names the columns; metrics by their paths
 *     json                      the list as `history --json` has it, without the checks
 *     openmetrics               gauges of the newest runs of every group, with the group's conditions as labels; ends with # EOF
 *     github-action-benchmark   [{"name", "unit", "value", "range", "extra"}], its tool customSmallerIsBetter: metrics of which
 *                               more is worse
 *     bencher                   Bencher Metric Format: {benchmark: {measure: {"value", "lower_value", "upper_value"}}}, its own
 *                               measures latency (ns) and throughput (per s), and step-floor-ratio
 *
 * "The newest runs" of a group are those at its end that have the version and the label of the last one: a job that measures three
 * times exports the median of the three, with their range. Runs that are not fit for a history (digest_unfit) are left out of all
 * formats but csv and json, whose column `status` tells them.
 */
#ifndef REPORT_HISTORY_EXPORT_H
#define REPORT_HISTORY_EXPORT_H

#include "report/history.h"

struct history_format {
    const char *name;
    char *(*render)(const struct history *h, const struct history_filter *filter); /* NULL: out of memory */
};

extern const struct history_format history_formats[]; /* ends with a row of NULLs */

/* ERR_USAGE with what is accepted if there is none of that name. */
const struct history_format *history_format_find(const char *name, struct err *e);

#endif
