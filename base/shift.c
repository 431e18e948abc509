/*
 * base/shift.c - see shift.h. Start at shift_last(), then search(): one segment. The probability of a rank sum is looked up in a
 * table per size of the smaller side, which serves the series and all its shuffles.
 */
#include "base/shift.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/ranksum.h"
#include "base/rng.h"
#include "base/stats.h"

enum { HALF = SHIFT_MAX / 2, DISTANCES = SHIFT_MAX * SHIFT_MAX / 2 + 1 };

/* log_p[m][d]: log of the probability that the doubled sum of m of the ranks 1..n is at least d / 2 x 2 away from its mean. */
struct table {
    int n;
    double log_p[HALF + 1][DISTANCES];
    double ways[HALF + 1][SHIFT_MAX * HALF + 1];
};

/* Subsets of 1..n by size and sum, then tails. Distances are of doubled sums, so that a mean of x.5 is whole. */
static void fill(struct table *t, int n)
{
    if (t->n == n)
        return;
    t->n = n;
    memset(t->ways, 0, sizeof t->ways);
    t->ways[0][0] = 1;
    for (int r = 1; r <= n; r++)
        for (int k = (r < n / 2 ? r : n / 2) - 1; k >= 0; k--)
            for (int s = k * r; s >= 0; s--)
                t->ways[k + 1][s + r] += t->ways[k][s];
    for (int m = SHIFT_SIDE; m <= n / 2; m++) {
        double all = 0, *tail = t->log_p[m];
        for (int d = 0; d < DISTANCES; d++)
            tail[d] = 0;
        for (int s = 0; s <= m * n; s++) {
            int d = abs(2 * s - m * (n + 1));
            all += t->ways[m][s];
            if (t->ways[m][s] > 0 && d < DISTANCES)
                tail[d] += t->ways[m][s];
        }
        for (int d = DISTANCES - 2; d >= 0; d--)
            tail[d] += tail[d + 1];
        for (int d = 0; d < DISTANCES; d++)
            tail[d] = tail[d] > 0 ? log(tail[d] / all) : log(0.5 / all);
    }
}

/* The most telling place of ranks in this order. */
static double best(const struct table *t, const double *rank, int n, int *at)
{
    double left = 0, smallest = 1;
    for (int i = 0; i < n - SHIFT_SIDE; i++) {
        left += rank[i];
        int m = i + 1, side = m < n - m ? m : n - m;
        if (m < SHIFT_SIDE)
            continue;
        int d = (int)lrint(fabs(2 * left - m * (n + 1))); /* the same for both sides */
        double p = t->log_p[side][d < DISTANCES ? d : DISTANCES - 1];
        if (p < smallest) {
            smallest = p;
            *at = m;
        }
    }
    return smallest;
}

static double median_of(const double *x, int n)
{
    double copy[SHIFT_MAX];
    memcpy(copy, x, (size_t)n * sizeof *x);
    return stats_median(copy, (size_t)n);
}

/* Robust deviation of the figures about the median of their own side. */
static double deviation(const double *x, int n, int at)
{
    double off[SHIFT_MAX], low = median_of(x, at), high = median_of(x + at, n - at);
    for (int i = 0; i < n; i++)
        off[i] = fabs(x[i] - (i < at ? low : high));
    return 1.4826 * stats_median(off, (size_t)n);
}

/* The most telling stretch inside a series, with figures on both of its sides: up and down again, which one cut halves. */
static double best_stretch(const struct table *t, const double *rank, int n, int *from, int *to)
{
    double sum[SHIFT_MAX + 1] = {0}, smallest = 1;
    for (int i = 0; i < n; i++)
        sum[i + 1] = sum[i] + rank[i];
    for (int i = SHIFT_SIDE; i <= n - 2 * SHIFT_SIDE; i++)
        for (int j = i + SHIFT_SIDE; j <= n - SHIFT_SIDE; j++) {
            int m = j - i, side = m < n - m ? m : n - m;
            int d = (int)lrint(fabs(2 * (sum[j] - sum[i]) - m * (n + 1)));
            double p = t->log_p[side][d < DISTANCES ? d : DISTANCES - 1];
            if (p < smallest) {
                smallest = p;
                *from = i;
                *to = j;
            }
        }
    return smallest;
}

/* Where a step is, once it is known that there is one: the cut that leaves the least absolute deviation from the two medians.
 * Ranks alone would often move it by one figure that happens to be high. */
static int place(const double *x, int n)
{
    int at = SHIFT_SIDE;
    double least = INFINITY;
    for (int i = SHIFT_SIDE; i <= n - SHIFT_SIDE; i++) {
        double low = median_of(x, i), high = median_of(x + i, n - i), cost = 0;
        for (int k = 0; k < n; k++)
            cost += fabs(x[k] - (k < i ? low : high));
        if (cost < least) {
            least = cost;
            at = i;
        }
    }
    return at;
}

static void shuffle(double *x, int n, struct rng *rng)
{
    for (int i = n - 1; i > 0; i--) {
        int j = (int)rng_below(rng, (uint64_t)i + 1);
        double swap = x[i];
        x[i] = x[j];
        x[j] = swap;
    }
}

/* Whether medians are apart by more than the floor, and by how many deviations. */
static bool apart(const double *x, int n, int at, double floor, double *deviations)
{
    double before = median_of(x, at), after = median_of(x + at, n - at), gap = fabs(after - before);
    *deviations = gap / deviation(x, n, at);
    return gap > floor * before;
}

/* One segment: at[] gets the places of its steps, of which there are none, one or two; *p is what the best place has. */
static int search(struct table *t, const double *x, int n, double floor, int at[2], double *p)
{
    double rank[SHIFT_MAX], order[SHIFT_MAX], deviations;
    int cut = 0, from = 0, to = 0, ignored[2], as_telling = 0, as_telling_stretch = 0;
    struct rng rng;
    *p = 1;
    if (n < shift_least() || ranksum_ranks(x, n, rank))
        return 0;
    fill(t, n);
    double seen = best(t, rank, n, &cut), seen_stretch = best_stretch(t, rank, n, &from, &to);
    memcpy(order, rank, sizeof order);
    rng_init(&rng, 1, (uint64_t)n);
    for (int k = 0; k < SHIFT_SHUFFLES; k++) {
        shuffle(order, n, &rng);
        as_telling += best(t, order, n, ignored) <= seen + 1e-9;
        as_telling_stretch += to > 0 && best_stretch(t, order, n, ignored, ignored + 1) <= seen_stretch + 1e-9;
    }
    *p = (as_telling + 1.0) / (SHIFT_SHUFFLES + 1);
    at[0] = place(x, n);
    if (cut > 0 && apart(x, n, at[0], floor, &deviations) &&
        (*p <= SHIFT_P_SURE || (*p <= SHIFT_P_CLEAR && deviations > SHIFT_CLEAR)))
        return 1;
    double p_stretch = (as_telling_stretch + 1.0) / (SHIFT_SHUFFLES + 1);
    if (to == 0 || p_stretch > SHIFT_P_SURE)
        return 0;
    at[0] = place(x, to);
    at[1] = at[0] + place(x + at[0], n - at[0]);
    if (at[1] - at[0] < SHIFT_SIDE || !apart(x, at[1], at[0], floor, &deviations) ||
        !apart(x + at[0], n - at[0], at[1] - at[0], floor, &deviations))
        return 0;
    *p = p_stretch;
    return 2;
}

/* Marks the steps of a segment: binary segmentation. p[i] is of the step at i; p[0] of none. */
static void divide(struct table *t, const double *x, int from, int to, double floor, bool *step, double *p)
{
    int at[2], begin = from;
    double mine;
    int steps = search(t, x + from, to - from, floor, at, &mine);
    if (steps == 0 && from == 0 && to > 0)
        p[0] = mine;
    for (int i = 0; i < steps; i++) {
        int end = from + at[i];
        step[end] = true;
        p[end] = mine;
        divide(t, x, begin, end, floor, step, p);
        begin = end;
    }
    if (steps > 0)
        divide(t, x, begin, to, floor, step, p);
}

int shift_least(void)
{
    return 3 * SHIFT_SIDE;
}

int shift_last(struct shift *s, const double *x, int n, double floor)
{
    bool step[SHIFT_MAX] = {false};
    double p[SHIFT_MAX];
    int skipped = n > SHIFT_MAX ? n - SHIFT_MAX : 0;
    x += skipped;
    n -= skipped;
    double all = n > 0 ? median_of(x, n) : NAN;
    *s = (struct shift){0, 0, all, all, {0, 0, NAN}, {0, 0, NAN}, 1};
    struct table *t = calloc(1, sizeof *t);
    if (!t)
        return -1;
    for (int i = 0; i < SHIFT_MAX; i++)
        p[i] = 1;
    divide(t, x, 0, n, floor, step, p);
    free(t);
    int at = n - 1;
    while (at > 0 && !step[at])
        at--;
    s->p = p[at > 0 ? at : 0];
    if (at <= 0)
        return 0;
    int from = at - 1;
    while (from > 0 && !step[from])
        from--;
    s->at = at + skipped;
    s->from = from + skipped;
    s->before = median_of(x + from, at - from);
    s->after = median_of(x + at, n - at);
    for (int begin = 0, end = 1; end <= at; end++) {
        if (!step[end])
            continue;
        struct shift_level level = {begin + skipped, end + skipped, median_of(x + begin, end - begin)};
        if (!(level.median >= s->lowest.median)) /* NaN: the first one */
            s->lowest = level;
        if (!(level.median <= s->highest.median))
            s->highest = level;
        begin = end;
    }
    return 0;
}
