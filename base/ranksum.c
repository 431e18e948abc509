/* base/ranksum.c - see ranksum.h. count_sums() is the exact part. Ranks are doubled there, so that means of two are whole. */
#include "base/ranksum.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct figure {
    double x;
    int at;
};

static int ascending(const void *a, const void *b)
{
    const struct figure *x = a, *y = b;
    return (x->x > y->x) - (x->x < y->x);
}

int ranksum_ranks(const double *x, int n, double *rank)
{
    struct figure *f = malloc((size_t)(n > 0 ? n : 1) * sizeof *f);
    if (!f)
        return -1;
    for (int i = 0; i < n; i++)
        f[i] = (struct figure){x[i], i};
    qsort(f, (size_t)n, sizeof *f, ascending);
    for (int i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && !(f[end].x > f[i].x); end++)
            ;
        for (int k = i; k < end; k++)
            rank[f[k].at] = 0.5 * (i + 1 + end);
    }
    free(f);
    return 0;
}

/* Share of the subsets of `size` of the n doubled ranks whose sum is at least `away` from its mean. NaN if memory is out.
 * ways[k * sums + s]: subsets of k of the figures so far with sum s. */
static double count_sums(const int *rank, int n, int size, int away)
{
    size_t sums = (size_t)(2 * n) * (size_t)size + 1;
    double *ways = calloc(((size_t)size + 1) * sums, sizeof *ways), all = 0, far = 0;
    if (!ways)
        return NAN;
    ways[0] = 1;
    for (int i = 0; i < n; i++)
        for (int k = i < size ? i : size - 1; k >= 0; k--)
            for (size_t s = 0; s + (size_t)rank[i] < sums; s++)
                if (ways[(size_t)k * sums + s] > 0)
                    ways[((size_t)k + 1) * sums + s + (size_t)rank[i]] += ways[(size_t)k * sums + s];
    int mean = size * (n + 1); /* of the doubled sum */
    for (size_t s = 0; s < sums; s++) {
        double w = ways[(size_t)size * sums + s];
        all += w;
        if (abs((int)s - mean) >= away)
            far += w;
    }
    free(ways);
    return far / all;
}

static double approximate(const double *rank, int n, int na, double sum)
{
    /* The variance of a sum of na of the ranks, drawn without putting back, as they are: ties are in it. */
    double mean = 0.5 * (n + 1), spread = 0;
    for (int i = 0; i < n; i++)
        spread += (rank[i] - mean) * (rank[i] - mean);
    double variance = spread * na * (n - na) / ((double)n * (n - 1));
    double away = fabs(sum - na * mean) - 0.5;
    return variance > 0 && away > 0 ? erfc(away / sqrt(2 * variance)) : 1;
}

static double least(int na, int nb)
{
    double log_ways = lgamma(na + nb + 1) - lgamma(na + 1) - lgamma(nb + 1), p = 2 * exp(-log_ways);
    return p > 1 ? 1 : p;
}

struct ranksum ranksum_test(const double *a, int na, const double *b, int nb)
{
    struct ranksum t = {0, 1, 1, true};
    int n = na + nb, doubled[RANKSUM_EXACT];
    if (na < 1 || nb < 1)
        return t;
    double *x = malloc(2 * (size_t)n * sizeof *x);
    if (!x)
        return t;
    double *rank = x + n;
    memcpy(x, a, (size_t)na * sizeof *x);
    memcpy(x + na, b, (size_t)nb * sizeof *x);
    if (ranksum_ranks(x, n, rank)) {
        free(x);
        return t;
    }
    for (int i = 0; i < na; i++)
        t.sum += rank[i];
    t.p_least = least(na, nb);
    t.exact = n <= RANKSUM_EXACT;
    if (t.exact) {
        for (int i = 0; i < n; i++)
            doubled[i] = (int)lrint(2 * rank[i]);
        /* Either group tells the same, for the two sums are one constant; the smaller one has less to count. */
        int away = abs((int)lrint(2 * t.sum) - na * (n + 1));
        t.p = count_sums(doubled, n, na < nb ? na : nb, away);
        t.exact = !isnan(t.p);
    }
    if (!t.exact)
        t.p = approximate(rank, n, na, t.sum);
    free(x);
    return t;
}
