/*
 * tests/check_beat.c - signs of life in front of a worker's report: what they say is taken, the report is left alone.
 */
#include <check.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/wait.h"
#include "ddp/beat.h"

static size_t skip(const char *text, struct step_word *word)
{
    return beat_skip(text, strlen(text), word);
}

START_TEST(what_is_in_front_of_a_report_is_taken)
{
    struct step_word w = {0};
    ck_assert_uint_eq(skip("\n\n= 3 0.5 0.25\n{\"a\": 1}\n", &w), 15);
    ck_assert_int_eq(w.done, 3);
    ck_assert_double_eq(w.work_s, 0.5);
    ck_assert_double_eq(w.still_s, 0.25);
    ck_assert_uint_eq(skip("{\n= 9 1 1\n}", &w), 0); /* inside a report nothing is a beat */
    ck_assert_uint_eq(skip("\n= 4 0.5", &w), 1);     /* the rest is still to come */
    ck_assert_uint_eq(skip("", &w), 0);
    ck_assert_int_eq(w.done, 3);
    ck_assert_uint_eq(skip("= 4 0.5 0\n= 5 0.5 0\n", &w), 20);
    ck_assert_int_eq(w.done, 5);
}
END_TEST

START_TEST(what_cannot_be_is_not_taken)
{
    static const char *const lines[] = {"= 0 1 1\n",   "= -1 1 1\n", "= 1 -1 1\n", "= 1 1 nan\n",
                                        "= 1 inf 1\n", "= 1 1\n",    "=\n",        "= 1 1 1e7\n"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct step_word w = {.done = 2};
        ck_assert_uint_eq(skip(lines[i], &w), strlen(lines[i]));
        ck_assert_msg(w.done == 2, "%s", lines[i]);
    }
    char longest[300];
    struct step_word w = {.done = 2};
    memset(longest, '=', sizeof longest);
    longest[298] = '\n';
    longest[299] = '\0';
    ck_assert_uint_eq(skip(longest, &w), 299);
    ck_assert_int_eq(w.done, 2);
}
END_TEST

/* The first beat comes at once and has nothing to say; a later one has. */
START_TEST(a_beat_carries_the_last_word)
{
    int pair[2];
    struct beat beat;
    struct err e = {0};
    struct step_word w = {0};
    char text[4096];
    size_t n = 0;
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    ck_assert_int_eq(beat_start(&beat, pair[1], &e), 0);
    beat_tell(&beat, &(struct step_word){.done = 12, .work_s = 0.125, .still_s = 2});
    uint64_t deadline_ns = wait_deadline(60);
    while (w.done == 0) {
        ck_assert_int_eq(wait_ready(pair[0], POLLIN, deadline_ns, -1, "a beat", &e), 0);
        ssize_t got = read(pair[0], text + n, sizeof text - n);
        ck_assert_int_gt(got, 0);
        n += (size_t)got;
        size_t taken = beat_skip(text, n, &w);
        memmove(text, text + taken, n - taken);
        n -= taken;
    }
    beat_stop(&beat);
    ck_assert_int_eq(w.done, 12);
    ck_assert_double_eq(w.work_s, 0.125);
    ck_assert_double_eq(w.still_s, 2);
    ck_assert_uint_eq(n, 0);
    close(pair[0]);
    close(pair[1]);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("beat");
    TCase *t = tcase_create("beat");
    tcase_set_timeout(t, 90);
    tcase_add_test(t, what_is_in_front_of_a_report_is_taken);
    tcase_add_test(t, what_cannot_be_is_not_taken);
    tcase_add_test(t, a_beat_carries_the_last_word);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
