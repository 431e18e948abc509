/* base/resample.c - see resample.h. */
#include "base/resample.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/stats.h"

int resample_block(const double *x, int n)
{
    if (n < 3)
        return 1;
    double mean = 0, variance = 0, tau = 1;
    for (int i = 0; i < n; i++)
        mean += x[i] / n;
    for (int i = 0; i < n; i++)
        variance += (x[i] - mean) * (x[i] - mean);
    for (int lag = 1; variance > 0 && lag < n / 2; lag++) {
        double sum = 0;
        for (int i = lag; i < n; i++)
            sum += (x[i] - mean) * (x[i - lag] - mean);
        if (sum / variance < 2 / sqrt(n))
            break;
        tau += 2 * sum / variance;
    }
    int length = (int)ceil(2 * tau), shortest = (int)ceil(cbrt(n) - 1e-9);
    if (tau <= 1)
        length = shortest; /* nothing is remembered that can be seen */
    length = length > shortest ? length : shortest;
    return length < n ? length : n;
}

int resample_medians(const double *x, int n, int length, double *out)
{
    double *scratch = malloc((size_t)(length > 0 ? length : 1) * sizeof *scratch);
    int blocks = 0;
    if (!scratch)
        return 0;
    for (int at = 0; at + length <= n; at += length) {
        memcpy(scratch, x + at, (size_t)length * sizeof *scratch);
        out[blocks++] = stats_median(scratch, (size_t)length);
    }
    free(scratch);
    return blocks;
}

static double draw(const double *x, int n, int length, double *scratch, struct rng *rng)
{
    for (int filled = 0; filled < n;) {
        int from = (int)rng_below(rng, (uint64_t)(n - length + 1)), take = n - filled < length ? n - filled : length;
        memcpy(scratch + filled, x + from, (size_t)take * sizeof *scratch);
        filled += take;
    }
    return stats_median(scratch, (size_t)n);
}

struct resample_interval resample_ratio(const double *a, int na, int length_a, const double *b, int nb, int length_b,
                                        int draws, double level, uint64_t seed)
{
    struct resample_interval i = {NAN, NAN, NAN};
    struct rng rng;
    int longest = na > nb ? na : nb;
    if (na < 1 || nb < 1 || draws < 1)
        return i;
    double *ratios = malloc(((size_t)draws + (size_t)longest) * sizeof *ratios);
    if (!ratios)
        return i;
    double *scratch = ratios + draws;
    memcpy(scratch, a, (size_t)na * sizeof *a);
    double below = stats_median(scratch, (size_t)na);
    memcpy(scratch, b, (size_t)nb * sizeof *b);
    i.ratio = stats_median(scratch, (size_t)nb) / below;
    rng_init(&rng, seed, 0);
    bool finite = true;
    for (int k = 0; k < draws; k++) {
        double bottom = draw(a, na, length_a, scratch, &rng);
        ratios[k] = draw(b, nb, length_b, scratch, &rng) / bottom;
        finite &= isfinite(ratios[k]);
    }
    if (!finite) { /* the median may be 0: the ratio has no interval */
        free(ratios);
        return i;
    }
    stats_median(ratios, (size_t)draws); /* sorts */
    i.lo = stats_quantile_sorted(ratios, (size_t)draws, 0.5 * (1 - level));
    i.hi = stats_quantile_sorted(ratios, (size_t)draws, 0.5 * (1 + level));
    free(ratios);
    return i;
}
