/*
 * tests/check_shift.c - steps in a history: how often there is a false alarm, and how often a real one is seen.
 *
 * The rates stand in doc/METHOD.md; seeds are fixed, so they are the same every time.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "base/shift.h"

static const double floor_share = 0.02;

/* A figure of 100 with noise of so many percent; wild > 0: one in that many is 30 % larger. */
static double figure(struct rng *rng, double percent, int wild)
{
    double x = 100 * exp(0.01 * percent * rng_normal(rng));
    return wild && rng_below(rng, (uint64_t)wild) == 0 ? 1.3 * x : x;
}

static int alarms(int series, int n, double percent, int wild, uint64_t seed)
{
    int found = 0;
    for (int k = 0; k < series; k++) {
        struct rng rng;
        double x[SHIFT_MAX];
        struct shift s;
        rng_init(&rng, seed, (uint64_t)k);
        for (int i = 0; i < n; i++)
            x[i] = figure(&rng, percent, wild);
        ck_assert_int_eq(shift_last(&s, x, n, floor_share), 0);
        found += s.at > 0 && s.after > s.before;
    }
    return found;
}

/* Independent runs without a step are accused of having become slower in at most 2 of 100 checks. */
START_TEST(false_alarms)
{
    static const struct {
        int n, wild;
        double percent;
    } of[] = {{9, 0, 3}, {12, 0, 3}, {20, 0, 3}, {30, 0, 3}, {60, 0, 3}, {30, 0, 10}, {30, 8, 3}, {12, 8, 3}};
    int all = 0, found = 0;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        int n = alarms(100, of[i].n, of[i].percent, of[i].wild, 11 + i);
        ck_assert_msg(n <= 6, "%d runs, noise %g %%, wild %d: %d of 100", of[i].n, of[i].percent, of[i].wild, n);
        all += 100;
        found += n;
    }
    ck_assert_msg(found <= all * 2 / 100, "%d of %d", found, all);
}
END_TEST

static int seen(int before, int after, double factor, double percent, int tolerance)
{
    int found = 0;
    for (int k = 0; k < 100; k++) {
        struct rng rng;
        double x[SHIFT_MAX];
        struct shift s;
        rng_init(&rng, 5, (uint64_t)k);
        for (int i = 0; i < before + after; i++)
            x[i] = figure(&rng, percent, 0) * (i < before ? 1 : factor);
        ck_assert_int_eq(shift_last(&s, x, before + after, floor_share), 0);
        found += abs(s.at - before) <= tolerance && s.at > 0 && (s.after > s.before) == (factor > 1);
    }
    return found;
}

/* 10 % with noise of 1 %, three runs after it: seen, and at its place. 5 % with 1 %, five runs: the same. */
START_TEST(real_steps)
{
    ck_assert_int_ge(seen(12, 3, 1.10, 1, 0), 95);
    ck_assert_int_ge(seen(25, 5, 1.05, 1, 1), 95);
    ck_assert_int_ge(seen(12, 6, 0.9, 1, 0), 95);
}
END_TEST

/* One wild run, wherever it stands, is no step; nor is one at the end. */
START_TEST(one_wild_run)
{
    for (int at = 0; at < 20; at++) {
        struct rng rng;
        double x[20];
        struct shift s;
        rng_init(&rng, 2, 0);
        for (int i = 0; i < 20; i++)
            x[i] = figure(&rng, 1, 0) * (i == at ? 3 : 1);
        ck_assert_int_eq(shift_last(&s, x, 20, floor_share), 0);
        ck_assert_int_eq(s.at, 0);
    }
}
END_TEST

/* Up and down again: the last level is that of the beginning, and the step that counts leads down. */
START_TEST(recovered)
{
    struct rng rng;
    double x[30];
    struct shift s;
    rng_init(&rng, 4, 0);
    for (int i = 0; i < 30; i++)
        x[i] = figure(&rng, 1, 0) * (i >= 10 && i < 20 ? 1.2 : 1);
    ck_assert_int_eq(shift_last(&s, x, 30, floor_share), 0);
    ck_assert_int_eq(s.at, 20);
    ck_assert_int_eq(s.from, 10);
    ck_assert_double_eq_tol(s.before, 120, 2);
    ck_assert_double_eq_tol(s.after, 100, 2);
}
END_TEST

/* Up and half way back: the lowest level there was is still known, with its figures. */
START_TEST(partly_recovered)
{
    struct rng rng;
    double x[60];
    struct shift s;
    rng_init(&rng, 4, 0);
    for (int i = 0; i < 60; i++)
        x[i] = figure(&rng, 1, 0) * (i < 20 ? 1 : i < 40 ? 1.5 : 1.4);
    ck_assert_int_eq(shift_last(&s, x, 60, floor_share), 0);
    ck_assert_int_eq(s.at, 40);
    ck_assert_double_eq_tol(s.lowest.median, 100, 2);
    ck_assert_int_eq(s.lowest.from, 0);
    ck_assert_int_eq(s.lowest.to, 20);
    ck_assert_double_eq_tol(s.highest.median, 150, 3);
    ck_assert_int_eq(s.highest.from, 20);
    ck_assert_int_eq(s.highest.to, 40);
}
END_TEST

/* Constant figures, few figures, a step below the floor. Of a long series the last SHIFT_MAX count. */
START_TEST(edges)
{
    double x[SHIFT_MAX + 20];
    struct shift s;
    for (int i = 0; i < SHIFT_MAX + 20; i++)
        x[i] = i < 10 ? 50 : 100;
    ck_assert_int_eq(shift_last(&s, x, SHIFT_MAX + 20, floor_share), 0);
    ck_assert_int_eq(s.at, 0); /* the step lies before the window */
    ck_assert_double_eq_tol(s.after, 100, 1e-9);
    ck_assert_int_eq(shift_last(&s, x + 4, 12, floor_share), 0);
    ck_assert_int_eq(s.at, 6);
    for (int i = 0; i < 20; i++)
        x[i] = i < 10 ? 100 : 101.9;
    ck_assert_int_eq(shift_last(&s, x, 20, floor_share), 0);
    ck_assert_int_eq(s.at, 0);
    for (int i = 0; i < 20; i++)
        x[i] = i < 10 ? 100 : 103;
    ck_assert_int_eq(shift_last(&s, x, 20, floor_share), 0);
    ck_assert_int_eq(s.at, 10);
    ck_assert_int_eq(shift_last(&s, x, shift_least() - 1, floor_share), 0);
    ck_assert_int_eq(s.at, 0);
    ck_assert_double_eq_tol(s.p, 1, 1e-12);
    ck_assert_int_eq(shift_last(&s, x, 0, floor_share), 0);
    ck_assert_int_eq(s.at, 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("shift");
    TCase *t = tcase_create("shift");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, false_alarms);
    tcase_add_test(t, real_steps);
    tcase_add_test(t, one_wild_run);
    tcase_add_test(t, recovered);
    tcase_add_test(t, partly_recovered);
    tcase_add_test(t, edges);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? 1 : 0;
}
