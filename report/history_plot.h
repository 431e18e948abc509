/*
 * report/history_plot.h - a metric of one group of runs over time, drawn.
 *
 * The group is the one that the newest wanted run belongs to. Runs stand at equal distances, the oldest on the left, for dates are
 * no measure of what changed; the axis names labels, or versions where a run has none. A level shift that `--check` would find
 * is marked where it begins.
 *
 * Errors: ERR_NO_INPUT if there is no such run, ERR_DATA if the group does not have the metric.
 */
#ifndef REPORT_HISTORY_PLOT_H
#define REPORT_HISTORY_PLOT_H

#include "report/history.h"

struct history_plot {
    char title[300];
    const char *metric, *unit; /* borrowed from digest.h */
    int n;
    double *y;
    char **name;          /* label or version; borrowed from the history */
    int shift;            /* index of the run with which the last level begins; 0: none */
    int from;             /* and of the level before it */
    double before, after; /* medians of the levels; equal without a shift */
};

/* metric: a path or a name of digest_metrics[]; NULL: the step. */
int history_plot_make(struct history_plot *p, const struct history *h, const struct history_filter *filter,
                      const char *metric, double noise_floor, struct err *e);
void history_plot_free(struct history_plot *p);

/* For a terminal of so many columns; to be freed, NULL if memory is out. Runs that share a column show their median. */
char *history_plot_text(const struct history_plot *p, int columns);

/* The same as SVG of 900 x 420, self-contained, readable in black and white; to be freed. */
char *history_plot_svg(const struct history_plot *p);

#endif
