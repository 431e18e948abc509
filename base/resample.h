/*
 * base/resample.h - how far the ratio of two medians can be trusted: a bootstrap that keeps neighbours together.
 *
 * Consecutive steps resemble each other (heat, another program), so drawing them one by one would claim more than they say.
 * Blocks of consecutive figures are drawn instead. A block is as long as figures remember: with the autocorrelation r(k) summed
 * until it first falls below twice its standard error, tau = 1 + 2 (r(1) + r(2) + ...), the block has ceil(2 tau) figures, and at
 * least ceil(n^(1/3)). Deterministic for a seed. Pure but for memory.
 */
#ifndef BASE_RESAMPLE_H
#define BASE_RESAMPLE_H

#include <stdint.h>

struct resample_interval {
    double ratio, lo, hi; /* median(b) / median(a), and its central interval; NaN: nothing to draw from, or no memory */
};

/* Figures per block for a series in the order in which it was measured; 1 <= length <= n (1 for n <= 1). */
int resample_block(const double *x, int n);

/* Medians of consecutive blocks of `length`, what does not fill one left out; returns how many. out holds n / length. */
int resample_medians(const double *x, int n, int length, double *out);

/* level: 0.95. Blocks of length_a and length_b, 1 for figures that are independent. */
struct resample_interval resample_ratio(const double *a, int na, int length_a, const double *b, int nb, int length_b,
                                        int draws, double level, uint64_t seed);

#endif
