/*
 * predict/drift.h - how the time of a step changes over a long run, from the steps alone: one level, one jump, or an approach
 * to another level in one or two exponentials, which may begin late: a boost that holds until its budget of heat is used up.
 *
 * The steps are taken together in blocks whose medians are fitted; a shape with more parameters has to earn them, and a change
 * counts only if it is larger than what blocks differ by and than 2 %. "No drift seen" is an answer. Nothing is said of times
 * after the last step. Pure functions; no memory is taken.
 */
#ifndef PREDICT_DRIFT_H
#define PREDICT_DRIFT_H

#include <stdbool.h>

#include "predict/heat.h"

enum { DRIFT_BLOCKS = 64, DRIFT_STEPS_MIN = 20, DRIFT_BLOCKS_MIN = 10 };

enum drift_shape {
    DRIFT_NONE,
    DRIFT_JUMP,
    DRIFT_EXPONENTIAL,
    DRIFT_LATE_EXPONENTIAL,
    DRIFT_TWO_EXPONENTIALS,
    DRIFT_SHAPES
};
extern const char *const drift_shape_names[DRIFT_SHAPES];

struct drift {
    enum drift_shape shape;
    bool known; /* enough steps; else only n and blocks are set */
    int n, blocks;
    double from_s;                    /* middle of the first block: what was before is not known apart */
    double duration_s;                /* from the first step to the end of the last */
    double noise;                     /* one standard deviation of a block about the fit, relative to the first level */
    double first_s, last_s;           /* a step at the start and at the end, by the fit */
    double jump_at_s;                 /* JUMP */
    double onset_s;                   /* LATE: the first level holds until then; else 0 */
    double level_s, a_s[2], tau_s[2]; /* level + sum a exp(-max(t - onset, 0) / tau); an unused a is 0 */
    double smallest;                  /* change that would have been seen, relative */
};

/* at_s: instant of each step from the start of the load, ascending; step_s: what it took. */
void drift_fit(struct drift *d, const double *at_s, const double *step_s, int n);

/* A step at that time by the fit; constant before the first block and after the last step. */
double drift_at(const struct drift *d, double time_s);

/* The same as factors to the first level, for predictions: at most HEAT_POINTS_MAX points. */
void drift_trajectory(const struct drift *d, struct heat_path *heat);

#endif
