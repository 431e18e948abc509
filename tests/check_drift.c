/* tests/check_drift.c - the drift of a step's time, from steps made of known levels and times with known noise. */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "predict/drift.h"

enum { STEPS = 2000 };

static double at_s[STEPS], step_s[STEPS];
static struct drift d;

/* Steps that follow each other; shape(t) seconds each, with noise in parts of that. */
static void make(int n, double (*shape)(double t), double noise)
{
    double t = 0;
    struct rng r;
    rng_init(&r, 7, 0);
    for (int i = 0; i < n; i++) {
        at_s[i] = t;
        step_s[i] = shape(t) * (1 + noise * rng_normal(&r));
        t += step_s[i];
    }
    drift_fit(&d, at_s, step_s, n);
}

static double flat(double t)
{
    (void)t;
    return 0.5;
}

static double jump(double t)
{
    return t < 300 ? 0.5 : 0.6;
}

static double warm(double t)
{
    return 0.6 - 0.1 * exp(-t / 120);
}

/* A boost that ends within half a minute, and a case that gets warm within minutes. */
static double boost_and_warm(double t)
{
    return 0.75 - 0.1 * exp(-t / 20) - 0.15 * exp(-t / 300);
}

/* Held for a minute, then throttled more and more. */
static double held(double t)
{
    return 0.5 / (t < 60 ? 1 : 0.7 + 0.3 * exp(-(t - 60) / 120));
}

static double a_little(double t)
{
    return t < 300 ? 0.5 : 0.507;
}

static void is_about(double value, double want, double relative)
{
    ck_assert_msg(fabs(value - want) <= relative * fabs(want), "%g, not %g", value, want);
}

START_TEST(no_drift)
{
    make(1000, flat, 0.03);
    ck_assert(d.known);
    ck_assert_int_eq(d.shape, DRIFT_NONE);
    is_about(d.first_s, 0.5, 0.005);
    ck_assert_double_eq(d.last_s, d.first_s);
    ck_assert(d.smallest >= 0.02 && d.smallest < 0.05);
    make(1000, flat, 0); /* to the last digit */
    ck_assert_int_eq(d.shape, DRIFT_NONE);
    make(1000, a_little, 0.005); /* 1.4 % */
    ck_assert_int_eq(d.shape, DRIFT_NONE);
}
END_TEST

START_TEST(a_jump)
{
    make(1200, jump, 0.02);
    ck_assert_int_eq(d.shape, DRIFT_JUMP);
    is_about(d.first_s, 0.5, 0.01);
    is_about(d.last_s, 0.6, 0.01);
    is_about(d.jump_at_s, 300, 0.04); /* a block is ten seconds */
    struct heat_path heat;
    drift_trajectory(&d, &heat);
    is_about(heat_factor(&heat, 100), 1.0, 1e-9);
    is_about(heat_factor(&heat, 290), 1.0, 0.01);
    is_about(heat_factor(&heat, 400), 1.2, 0.02);
    is_about(heat_factor(&heat, 4000), 1.2, 0.02);
}
END_TEST

START_TEST(one_exponential)
{
    make(1200, warm, 0.01);
    ck_assert_msg(d.shape == DRIFT_EXPONENTIAL, "%s", drift_shape_names[d.shape]);
    is_about(d.tau_s[0], 120, 0.3); /* the grid is a quarter apart */
    is_about(d.level_s, 0.6, 0.01);
    is_about(d.last_s / d.first_s, 1.2, 0.02);
    for (double t = 10; t < 600; t *= 1.5)
        is_about(drift_at(&d, t), warm(t), 0.015);
}
END_TEST

/* The first level is what the steps took, not what a curve through the others would have been. */
START_TEST(an_onset)
{
    make(1000, held, 0.02);
    ck_assert_msg(d.shape == DRIFT_LATE_EXPONENTIAL, "%s", drift_shape_names[d.shape]);
    is_about(d.first_s, 0.5, 0.02);
    is_about(d.onset_s, 60, 0.5);
    is_about(d.last_s, held(d.duration_s), 0.02);
    for (double t = 10; t < 600; t *= 1.2)
        is_about(drift_at(&d, t), held(t), 0.03);
    struct heat_path heat;
    drift_trajectory(&d, &heat);
    ck_assert_int_le(heat.n, HEAT_POINTS_MAX);
    is_about(heat_factor(&heat, 10), 1, 1e-9);
    is_about(heat_factor(&heat, d.onset_s), 1, 1e-9);
    for (int i = 1; i < heat.n; i++)
        ck_assert(heat.time_s[i] > heat.time_s[i - 1]);
    is_about(heat.time_s[heat.n - 1], d.duration_s, 1e-9);
    for (double t = 100; t < 600; t *= 1.2)
        is_about(heat_factor(&heat, t), drift_at(&d, t) / d.first_s, 0.03);
}
END_TEST

START_TEST(two_exponentials)
{
    make(2000, boost_and_warm, 0.003);
    ck_assert_msg(d.shape == DRIFT_TWO_EXPONENTIALS, "%s", drift_shape_names[d.shape]);
    for (double t = 12; t < 1200; t *= 1.5)
        is_about(drift_at(&d, t), boost_and_warm(t), 0.01);
    struct heat_path heat;
    drift_trajectory(&d, &heat);
    ck_assert_int_le(heat.n, HEAT_POINTS_MAX);
    for (int i = 0; i < heat.n; i++) {
        ck_assert(heat.time_s[i] > (i ? heat.time_s[i - 1] : 0));
        is_about(heat.factor[i], drift_at(&d, heat.time_s[i]) / d.first_s, 1e-9);
    }
    is_about(heat.time_s[heat.n - 1], d.duration_s, 1e-9);
}
END_TEST

/* Disturbed steps are no drift, however long they took. */
START_TEST(odd_steps)
{
    make(1000, flat, 0.01);
    for (int i = 50; i < 1000; i += 97)
        step_s[i] *= 8;
    drift_fit(&d, at_s, step_s, 1000);
    ck_assert_int_eq(d.shape, DRIFT_NONE);
    is_about(d.first_s, 0.5, 0.01);
}
END_TEST

/* Noise that remembers, as that of real machines: each step keeps nine tenths of the deviation before it, one percent in
 * all. Of fifty such runs a few may be taken for drift, by a few percent at most. */
START_TEST(noise_that_remembers)
{
    int seen = 0;
    struct rng r;
    rng_init(&r, 11, 0);
    for (int k = 0; k < 50; k++) {
        double t = 0, off = 0;
        for (int i = 0; i < 600; i++) {
            off = 0.9 * off + 0.01 * sqrt(1 - 0.81) * rng_normal(&r);
            at_s[i] = t;
            step_s[i] = 0.5 * (1 + off);
            t += step_s[i];
        }
        drift_fit(&d, at_s, step_s, 600);
        seen += d.shape != DRIFT_NONE;
        ck_assert(fabs(d.last_s / d.first_s - 1) < 0.05);
    }
    ck_assert_int_le(seen, 3);
}
END_TEST

START_TEST(too_few_steps)
{
    make(19, flat, 0.01);
    ck_assert(!d.known);
    make(20, flat, 0.01);
    ck_assert(d.known);
    ck_assert_int_eq(d.blocks, 10);
    drift_fit(&d, at_s, step_s, 0);
    ck_assert(!d.known);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("drift");
    TCase *c = tcase_create("shapes");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, no_drift);
    tcase_add_test(c, a_jump);
    tcase_add_test(c, one_exponential);
    tcase_add_test(c, an_onset);
    tcase_add_test(c, two_exponentials);
    tcase_add_test(c, odd_steps);
    tcase_add_test(c, noise_that_remembers);
    tcase_add_test(c, too_few_steps);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
