/*
 * tests/check_shares.c - how a batch is divided. The right values are the method of largest remainders by hand, e.g. 8 in
 * 5:3 is 5 and 3; 7 in 1:1:1 is 2 1/3 each, so the first rank gets the one that is left.
 */
#include <check.h>
#include <string.h>

#include "ddp/shares.h"

enum { RANKS = 4 };

static const struct {
    const char *text;
    int total, world;
    int part[RANKS];
} cases[] = {
    {NULL, 8, 1, {8}},
    {NULL, 8, 2, {4, 4}},
    {NULL, 7, 3, {3, 2, 2}},
    {NULL, 4, 4, {1, 1, 1, 1}},
    {"5:3", 8, 2, {5, 3}},
    {"5:3", 16, 2, {10, 6}},
    {"5:3", 7, 2, {4, 3}},                   /* 4.375 and 2.625 */
    {"1:2:4", 9, 3, {1, 3, 5}},              /* 1.286, 2.571, 5.143 */
    {"1:1:1:997", 8, 4, {0}},                /* nothing is left for the first */
    {"1000000:1", 1048576, 2, {1048575, 1}}, /* 1.049 */
};

START_TEST(largest_remainders)
{
    int weight[RANKS], part[RANKS];
    struct err e;
    ck_assert_int_eq(shares_parse(cases[_i].text, cases[_i].world, weight, &e), 0);
    int result = shares_divide(cases[_i].total, weight, cases[_i].world, part, &e);
    if (cases[_i].part[0] == 0) {
        ck_assert_int_eq(result, -1);
        ck_assert_int_eq(e.code, ERR_USAGE);
        ck_assert_ptr_nonnull(strstr(e.text, "rank 0"));
        return;
    }
    ck_assert_int_eq(result, 0);
    for (int r = 0; r < cases[_i].world; r++)
        ck_assert_int_eq(part[r], cases[_i].part[r]);
}
END_TEST

START_TEST(strange_texts)
{
    static const char *const texts[] = {"",     "5",    "5:",  "5:3:2",     "5:0",
                                        "5:-3", "5:3 ", "a:b", "5:1000001", "5:99999999999"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        int weight[2];
        struct err e = {0};
        ck_assert_int_eq(shares_parse(texts[i], 2, weight, &e), -1);
        ck_assert_int_eq(e.code, ERR_USAGE);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shares");
    TCase *tc = tcase_create("shares");
    tcase_add_loop_test(tc, largest_remainders, 0, sizeof cases / sizeof *cases);
    tcase_add_test(tc, strange_texts);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
