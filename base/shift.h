/*
 * base/shift.h - where a series changed its level for good: step detection that one odd figure cannot set off.
 *
 * For every place that leaves SHIFT_SIDE figures on both sides the two sides are compared by their rank sum, exactly; the most
 * telling place is the one with the smallest probability. That it was looked for makes small probabilities common, so what the
 * smallest would be by chance is found by shuffling the series SHIFT_SHUFFLES times, with a fixed seed: p is the share of
 * shuffles that show a place at least as telling. A step is accepted if
 *
 *     the medians of the sides differ by more than the noise floor, as a ratio, and
 *     p <= SHIFT_P_SURE, or p <= SHIFT_P_CLEAR and they differ by more than SHIFT_CLEAR robust deviations (1.4826 MAD of the
 *     figures about the median of their own side)
 *
 * and the parts are then searched in the same way (binary segmentation). Where it cuts is decided by the least absolute deviation
 * from the medians of the parts. A series that went up and came back has no telling cut; so where no step is accepted the
 * most telling stretch within the series is looked for too, and its two ends are steps if p <= SHIFT_P_SURE. tests/check_shift.c measures how often a series
 * without a step is accused. Figures that drift or remember their neighbours are accused more often than that.
 */
#ifndef BASE_SHIFT_H
#define BASE_SHIFT_H

enum { SHIFT_SIDE = 3, SHIFT_SHUFFLES = 999, SHIFT_MAX = 60 };

#define SHIFT_P_SURE 0.002
#define SHIFT_P_CLEAR 0.05
#define SHIFT_CLEAR 3.0

struct shift_level {
    int from, to; /* its figures */
    double median;
};

struct shift {
    int at;                             /* index of the first figure of the last level; 0: no step */
    int from;                           /* of the level before it */
    double before, after;               /* medians of the two levels; without a step both are the median of all */
    struct shift_level lowest, highest; /* of the levels before the last one; medians NaN: there are none */
    double p; /* of the step, or of the best place if that is none; 1 if there are too few figures */
};

/* The last step of x[0..n), n <= SHIFT_MAX (of longer series the last SHIFT_MAX count; indices are into x); floor: 0.02 for
 * 2 %. Positive figures. 0, or -1 if memory is out. */
int shift_last(struct shift *s, const double *x, int n, double floor);

/* Figures that it takes before a step can be seen at all. */
int shift_least(void);

#endif
