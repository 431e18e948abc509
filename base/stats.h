/*
 * base/stats.h - robust summaries of a few samples.
 *
 * MAD is the median absolute deviation from the median, not scaled. Functions that need order sort a
 * caller's scratch copy, so they allocate nothing; n == 0 gives NaN, which the JSON layer turns into
 * null with a reason.
 */
#ifndef BASE_STATS_H
#define BASE_STATS_H

#include <stddef.h>

struct summary {
    double median;
    double mad;
    size_t n;
};

/* Median of x[0..n), which is sorted in place. Even n: mean of the middle two. */
double stats_median(double *x, size_t n);

/* x is left as it is; scratch holds n values. */
struct summary stats_summary(const double *x, size_t n, double *scratch);

/* Quantile 0 <= q <= 1 of sorted x, linear between ranks (R type 7). */
double stats_quantile_sorted(const double *x, size_t n, double q);

#endif
