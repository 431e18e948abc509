/* base/stats.c - see stats.h. */
#include "base/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double stats_quantile_sorted(const double *x, size_t n, double q)
{
    if (n == 0)
        return NAN;
    double rank = q * (double)(n - 1);
    size_t low = (size_t)rank;
    if (low + 1 >= n)
        return x[n - 1];
    return x[low] + (rank - (double)low) * (x[low + 1] - x[low]);
}

double stats_median(double *x, size_t n)
{
    qsort(x, n, sizeof *x, compare);
    return stats_quantile_sorted(x, n, 0.5);
}

struct summary stats_summary(const double *x, size_t n, double *scratch)
{
    if (n == 0)
        return (struct summary){NAN, NAN, 0};
    memcpy(scratch, x, n * sizeof *x);
    double median = stats_median(scratch, n);
    for (size_t i = 0; i < n; i++)
        scratch[i] = fabs(x[i] - median);
    return (struct summary){median, stats_median(scratch, n), n};
}
