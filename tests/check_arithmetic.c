/* tests/check_arithmetic.c - what a plan of buckets allows, against timelines worked out by hand. */
#include <check.h>

#include "ddp/arithmetic.h"
#include "tests/kit.h"

static void is(double got, double expected)
{
    ck_assert_double_eq_tol(got, expected, 1e-12);
}

/* Two ranks, 100 bytes/s. Bucket 0: 1 .. 3; bucket 1 is complete at 2, starts at 3, ends at 4; bucket 2 is complete when
 * backward ends at 5, 5 .. 8. Exposed 3, then 0.6 of updates. */
START_TEST(buckets_queue)
{
    struct arithmetic_bucket bucket[] = {{1, 200, 0.1}, {2, 100, 0.2}, {5, 300, 0.3}};
    struct arithmetic a = {.n = 3, .world = 2, .bucket = bucket, .backward_s = 5, .rate_bytes_per_s = 100};
    struct arithmetic_step s = arithmetic_step(&a);
    is(s.backward_end_s, 5);
    is(s.end_s, 8);
    is(s.exposed_s, 3);
    is(s.step_s, 8.6);
    /* per bucket: 0 and 1 are there at 5, updated until 5.3; the last is waited for from then until 8, updated until 8.3 */
    a.update_per_bucket = true;
    s = arithmetic_step(&a);
    is(s.exposed_s, 2.7);
    is(s.step_s, 8.3);
}
END_TEST

/* Four ranks send 2 x 3/4 of the bytes: 1.5 x 200 / 100 = 3 s, and half a second before: 1 .. 4.5. Backward lasts until 6, so
 * nothing is exposed. */
START_TEST(ranks_and_latency)
{
    struct arithmetic_bucket bucket[] = {{1, 200, 0.25}};
    struct arithmetic a = {
        .n = 1, .world = 4, .bucket = bucket, .backward_s = 6, .rate_bytes_per_s = 100, .latency_s = 0.5};
    struct arithmetic_step s = arithmetic_step(&a);
    is(s.end_s, 4.5);
    is(s.exposed_s, 0);
    is(s.step_s, 6.25);
    a.update_per_bucket = true;
    is(arithmetic_step(&a).step_s, 6.25);
}
END_TEST

/* A quarter of the processor goes to communication. Bucket 0 moves 1 .. 5, in which 3 of work are done: 4 of 6. So bucket 1,
 * complete at 4, starts at 5, moves until 6, in which 0.75 are done; bucket 2, complete at 6 of work, 1.25 later: 7.25 ..
 * 8.25; backward ends at 7.25. */
START_TEST(communication_takes_processor_time)
{
    struct arithmetic_bucket bucket[] = {{1, 400, 0}, {4, 100, 0}, {6, 100, 1}};
    struct arithmetic a = {
        .n = 3, .world = 2, .bucket = bucket, .backward_s = 6, .rate_bytes_per_s = 100, .stolen = 0.25};
    struct arithmetic_step s = arithmetic_step(&a);
    is(s.backward_end_s, 7.25);
    is(s.end_s, 8.25);
    is(s.exposed_s, 1);
    is(s.step_s, 9.25);
    a.stolen =
        1; /* computing stands still while bytes move: 1 .. 5, then 3 more until 8, 8 .. 9, 2 more until 11 .. 12 */
    s = arithmetic_step(&a);
    is(s.backward_end_s, 11);
    is(s.end_s, 12);
}
END_TEST

/* No bucket: the computing alone. */
START_TEST(nothing_to_send)
{
    struct arithmetic a = {.world = 2, .backward_s = 4, .rate_bytes_per_s = 100};
    struct arithmetic_step s = arithmetic_step(&a);
    is(s.step_s, 4);
    is(s.exposed_s, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arithmetic");
    TCase *tc = tcase_create("arithmetic");
    tcase_add_test(tc, buckets_queue);
    tcase_add_test(tc, ranks_and_latency);
    tcase_add_test(tc, communication_takes_processor_time);
    tcase_add_test(tc, nothing_to_send);
    suite_add_tcase(suite, tc);
    return kit_main(suite);
}
