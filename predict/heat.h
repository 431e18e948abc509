/*
 * predict/heat.h - how much slower a node computes as it gets warm: a trajectory of points, straight lines between them.
 *
 * Before the first point lies (0 s, 1); after the last one nothing changes any more. Pure functions.
 */
#ifndef PREDICT_HEAT_H
#define PREDICT_HEAT_H

#include "base/err.h"

enum { HEAT_POINTS_MAX = 16 };

struct heat_path {
    int n;
    double time_s[HEAT_POINTS_MAX], factor[HEAT_POINTS_MAX]; /* 1.2: a step takes 1.2 times as long as at the start */
};

/* "60s:1.05,600s:1.2": times ascending, factors 0.1 to 100. ERR_USAGE with what is wrong. */
int heat_parse(struct heat_path *h, const char *text, struct err *e);

double heat_factor(const struct heat_path *h, double time_s);

#endif
