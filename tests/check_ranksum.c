/* tests/check_ranksum.c - rank sums against counting every subset; blocks, intervals and their coverage. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/ranksum.h"
#include "base/resample.h"
#include "base/rng.h"

/* Share of all choices of na of the n figures whose rank sum is at least as far from its mean as that of the first na. */
static double count_all(const double *x, int n, int na)
{
    double rank[16] = {0}, seen = 0, mean = 0.5 * na * (n + 1);
    int all = 0, far = 0;
    for (int i = 0; i < n; i++) {
        rank[i] = 0.5;
        for (int k = 0; k < n; k++)
            rank[i] += x[k] < x[i] ? 1 : x[k] == x[i] ? 0.5 : 0;
    }
    for (int i = 0; i < na; i++)
        seen += rank[i];
    for (unsigned set = 0; set < 1u << n; set++) {
        if (__builtin_popcount(set) != na)
            continue;
        double sum = 0;
        for (int i = 0; i < n; i++)
            sum += set >> i & 1 ? rank[i] : 0;
        all++;
        far += fabs(sum - mean) >= fabs(seen - mean) - 1e-9;
    }
    return (double)far / all;
}

/* 3 against 3 without overlap: 2 of the 20 subsets; 4 against 4: 2 of 70. */
START_TEST(known_probabilities)
{
    double x[] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct ranksum t = ranksum_test(x, 3, x + 3, 3);
    ck_assert_double_eq_tol(t.p, 0.1, 1e-12);
    ck_assert_double_eq_tol(t.p_least, 0.1, 1e-12);
    ck_assert_double_eq_tol(t.sum, 6, 1e-12);
    t = ranksum_test(x, 4, x + 4, 4);
    ck_assert_double_eq_tol(t.p, 2.0 / 70, 1e-12);
    ck_assert(t.exact);
    t = ranksum_test(x, 1, x + 1, 1);
    ck_assert_double_eq_tol(t.p, 1, 1e-12);
}
END_TEST

START_TEST(ties_are_counted)
{
    struct rng rng;
    rng_init(&rng, 7, 0);
    for (int k = 0; k < 200; k++) {
        double x[10];
        int na = 2 + (int)rng_below(&rng, 6);
        for (int i = 0; i < 10; i++)
            x[i] = (double)rng_below(&rng, k % 2 ? 4 : 1000);
        struct ranksum t = ranksum_test(x, na, x + na, 10 - na);
        ck_assert_msg(fabs(t.p - count_all(x, 10, na)) < 1e-9, "%d: %g, counted %g", k, t.p, count_all(x, 10, na));
    }
}
END_TEST

START_TEST(all_equal_is_no_difference)
{
    double x[60];
    for (int i = 0; i < 60; i++)
        x[i] = 3;
    ck_assert_double_eq_tol(ranksum_test(x, 5, x + 5, 5).p, 1, 1e-12);
    ck_assert_double_eq_tol(ranksum_test(x, 30, x + 30, 30).p, 1, 1e-12);
    ck_assert_double_eq_tol(ranksum_test(x, 0, x, 5).p, 1, 1e-12);
}
END_TEST

/* Probability that the sum of 25 of the ranks 1..51 is at least `away` from its mean, counted. */
static double count_25_of_51(double away)
{
    static double ways[26][26 * 51];
    double all = 0, far = 0;
    memset(ways, 0, sizeof ways);
    ways[0][0] = 1;
    for (int r = 1; r <= 51; r++)
        for (int k = (r < 25 ? r : 25) - 1; k >= 0; k--)
            for (int s = 0; s + r < 26 * 51; s++)
                ways[k + 1][s + r] += ways[k][s];
    for (int s = 0; s < 26 * 51; s++) {
        all += ways[25][s];
        far += fabs(s - 25 * 26.0) >= away ? ways[25][s] : 0;
    }
    return far / all;
}

/* 25 against 26 figures is the first size that is approximated: within 5 % of the counted probability down to 0.02 and
 * never less than it by more than 5 % down to 0.001, where it is too cautious by up to a quarter. */
START_TEST(the_normal_law_takes_over)
{
    double x[51];
    for (int shift = 0; shift <= 24; shift += 4) {
        for (int i = 0; i < 51; i++)
            x[i] = i < 25 ? 2 * i : 2 * (i - 25) + 1 + shift;
        struct ranksum t = ranksum_test(x, 25, x + 25, 26);
        double counted = count_25_of_51(fabs(t.sum - 25 * 26));
        ck_assert(!t.exact);
        if (counted > 0.001)
            ck_assert_msg(t.p / counted > 0.95 && t.p / counted < (counted > 0.02 ? 1.05 : 1.25),
                          "shift %d: %g, counted %g", shift, t.p, counted);
    }
}
END_TEST

/* A series that remembers nothing has short blocks, one that repeats each figure 20 times has long ones. */
START_TEST(blocks_follow_memory)
{
    struct rng rng;
    double loose[200], sticky[200] = {0}, medians[200];
    rng_init(&rng, 1, 0);
    for (int i = 0; i < 200; i++) {
        loose[i] = 1 + 0.01 * rng_normal(&rng);
        sticky[i] = i % 20 ? sticky[i - 1] : 1 + 0.01 * rng_normal(&rng);
    }
    ck_assert_int_eq(resample_block(loose, 200), 6); /* the cube root of 200 */
    ck_assert_int_ge(resample_block(sticky, 200), 15);
    ck_assert_int_eq(resample_block(loose, 1), 1);
    ck_assert_int_eq(resample_medians(loose, 200, 30, medians), 6);
    ck_assert_int_eq(resample_medians(loose, 5, 30, medians), 0);
}
END_TEST

/* The interval holds the true ratio in about 95 of 100 cases, for figures without memory: between 88 and 99 here. */
START_TEST(intervals_cover)
{
    enum { CASES = 200, N = 60 };
    struct rng rng;
    int inside = 0;
    rng_init(&rng, 3, 0);
    for (int k = 0; k < CASES; k++) {
        double a[N], b[N];
        for (int i = 0; i < N; i++) {
            a[i] = exp(0.05 * rng_normal(&rng));
            b[i] = 1.1 * exp(0.05 * rng_normal(&rng));
        }
        struct resample_interval r = resample_ratio(a, N, 1, b, N, 1, 400, 0.95, (uint64_t)k);
        inside += r.lo <= 1.1 && 1.1 <= r.hi;
    }
    ck_assert_int_ge(inside, CASES * 88 / 100);
    ck_assert_int_le(inside, CASES * 99 / 100);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("ranksum");
    TCase *t = tcase_create("ranksum");
    tcase_add_test(t, known_probabilities);
    tcase_add_test(t, ties_are_counted);
    tcase_add_test(t, all_equal_is_no_difference);
    tcase_add_test(t, the_normal_law_takes_over);
    tcase_add_test(t, blocks_follow_memory);
    tcase_add_test(t, intervals_cover);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? 1 : 0;
}
