/*
 * tests/check_patience.c - how long ranks wait for progress: max(60 s, 10 x the median step), whatever single steps took.
 */
#include <check.h>

#include "ddp/patience.h"

START_TEST(a_minute_is_the_least)
{
    struct patience p = {0};
    ck_assert_double_eq_tol(patience_s(&p), 600, 1e-9); /* nothing is known yet */
    patience_expect(&p, 0.25);
    ck_assert_double_eq_tol(patience_s(&p), 60, 1e-9);
    p.least_s = 2;
    ck_assert_double_eq_tol(patience_s(&p), 2.5, 1e-9); /* 10 x 0.25 */
}
END_TEST

START_TEST(slow_steps_make_patient)
{
    struct patience p = {0};
    patience_expect(&p, 30);
    ck_assert_double_eq_tol(patience_s(&p), 300, 1e-9);
    patience_note(&p, 40);
    ck_assert_double_eq_tol(patience_s(&p), 350, 1e-9); /* the median of two is their mean */
}
END_TEST

/* One step that stood still for a minute must not make the next stall last ten. */
START_TEST(a_stall_does_not)
{
    struct patience p = {0};
    patience_expect(&p, 8);
    patience_note(&p, 8);
    patience_note(&p, 70);
    ck_assert_double_eq_tol(patience_s(&p), 80, 1e-9);
}
END_TEST

/* A node that has become slow for good is waited for as such: after so many steps none of the fast ones is left. Each count
 * of steps before is another place in the circle. */
START_TEST(what_was_long_ago_is_forgotten)
{
    struct patience p = {0};
    patience_expect(&p, 1);
    for (int i = 0; i < _i; i++)
        patience_note(&p, 1);
    for (int i = 0; i < PATIENCE_MEMORY / 2; i++)
        patience_note(&p, 20);
    if (_i >= PATIENCE_MEMORY)
        ck_assert_double_eq_tol(patience_s(&p), 60, 1e-9); /* 8 of 15 are fast */
    patience_note(&p, 20);
    if (_i >= PATIENCE_MEMORY)
        ck_assert_double_eq_tol(patience_s(&p), 200, 1e-9); /* 8 of 15 are slow */
    for (int i = PATIENCE_MEMORY / 2 + 1; i < PATIENCE_MEMORY; i++)
        patience_note(&p, 20);
    for (int i = 0; i < PATIENCE_MEMORY; i++)
        ck_assert_double_eq_tol(p.step_s[i], 20, 1e-9);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("patience");
    TCase *t = tcase_create("progress");
    tcase_add_test(t, a_minute_is_the_least);
    tcase_add_test(t, slow_steps_make_patient);
    tcase_add_test(t, a_stall_does_not);
    tcase_add_loop_test(t, what_was_long_ago_is_forgotten, 0, 3 * PATIENCE_MEMORY);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? 1 : 0;
}
