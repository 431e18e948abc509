/*
 * tests/check_clock.c - clocks of two hosts compared: the true offset is always within the error that is told.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "comm/clock_offset.h"

/* A clock that is ahead by offset at this clock's 0 and gains drift. */
static uint64_t other_ns(uint64_t at_ns, double offset_ns, double drift)
{
    return at_ns + (uint64_t)(int64_t)llround(offset_ns + drift * (double)at_ns);
}

static struct clock_exchange exchange(uint64_t sent_ns, uint64_t there_ns, uint64_t thinks_ns, uint64_t back_ns,
                                      double offset_ns, double drift)
{
    return (struct clock_exchange){
        .sent_ns = sent_ns,
        .arrived_ns = other_ns(sent_ns + there_ns, offset_ns, drift),
        .answered_ns = other_ns(sent_ns + there_ns + thinks_ns, offset_ns, drift),
        .back_ns = sent_ns + there_ns + thinks_ns + back_ns,
    };
}

/* Equal ways: exact. All of the round trip on one way: wrong by half of it, which is the error told. */
START_TEST(offset_is_right_within_half_a_round_trip)
{
    struct clock_reading r = {0};
    struct clock_exchange even = exchange(1000000, 300, 50, 300, 7e12, 0),
                          there = exchange(1000000, 600, 50, 0, -7e12, 0), back = exchange(1000000, 0, 50, 600, 5, 0);
    ck_assert(clock_reading_add(&r, &even));
    ck_assert_double_eq(r.offset_ns, 7e12);
    ck_assert_double_eq(r.error_ns, 300);
    ck_assert_uint_eq(r.at_ns, 1000325);
    r = (struct clock_reading){0};
    ck_assert(clock_reading_add(&r, &there));
    ck_assert_double_eq(r.offset_ns, -7e12 + 300);
    ck_assert_double_eq(r.error_ns, 300);
    r = (struct clock_reading){0};
    ck_assert(clock_reading_add(&r, &back));
    ck_assert_double_eq(r.offset_ns, 5 - 300);
}
END_TEST

START_TEST(shortest_round_trip_counts)
{
    struct rng rng;
    rng_init(&rng, 3, 4);
    for (int run = 0; run < 200; run++) {
        struct clock_reading r = {0};
        double offset_ns = (double)(int64_t)(rng_next(&rng) >> 11) - (double)(1ll << 52), shortest = INFINITY;
        for (int i = 0; i < 40; i++) {
            uint64_t there = rng_next(&rng) % 1000000, back = rng_next(&rng) % 1000000, now = (uint64_t)i * 10000000;
            struct clock_exchange x = exchange(now + 5000000, there, rng_next(&rng) % 1000, back, offset_ns, 0);
            ck_assert(clock_reading_add(&r, &x));
            shortest = fmin(shortest, (double)(there + back));
        }
        ck_assert_double_eq(r.error_ns, shortest / 2);
        ck_assert_double_le(fabs(r.offset_ns - offset_ns), r.error_ns + 1);
    }
}
END_TEST

/* 20 parts in a million over ten minutes; the drift is known to (error + error) / time. */
START_TEST(drift_is_right_within_its_error)
{
    struct clock_offset o = {0};
    double drift, error;
    struct clock_exchange a = exchange(1000000000, 90000, 100, 10000, 1e9, 2e-5),
                          b = exchange(601000000000, 20000, 100, 60000, 1e9, 2e-5);
    ck_assert(!clock_offset_drift(&o, &drift, &error));
    ck_assert(clock_reading_add(&o.before, &a));
    ck_assert(!clock_offset_drift(&o, &drift, &error));
    ck_assert(clock_reading_add(&o.after, &b));
    ck_assert(clock_offset_drift(&o, &drift, &error));
    ck_assert_double_eq_tol(error, (50000 + 40000) / 600e9, 1e-10);
    ck_assert_double_le(fabs(drift - 2e-5), error);
    ck_assert_double_eq_tol(clock_offset_error_ns(&o), 50000, 2);
}
END_TEST

/* Nothing is made of an answer that came before the question, nor of a peer that thinks longer than it took. */
START_TEST(impossible_times_are_refused)
{
    struct clock_reading r = {0};
    struct clock_exchange backwards = {100, 500, 600, 99}, thinks = {100, 500, 900, 200},
                          answers = {100, 500, 400, 200};
    ck_assert(!clock_reading_add(&r, &backwards));
    ck_assert(!clock_reading_add(&r, &thinks));
    ck_assert(!clock_reading_add(&r, &answers));
    ck_assert(!r.known);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("clock");
    TCase *all = tcase_create("clock");
    tcase_add_test(all, offset_is_right_within_half_a_round_trip);
    tcase_add_test(all, shortest_round_trip_counts);
    tcase_add_test(all, drift_is_right_within_its_error);
    tcase_add_test(all, impossible_times_are_refused);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
