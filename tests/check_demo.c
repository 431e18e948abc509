/* tests/check_demo.c - lines between a run and whoever draws it, and the rows that are drawn. */
#include <check.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "cli/demo_show.h"
#include "cli/live.h"

static struct run run;
static struct live live;
static int pipe_fd[2];

static void listen_to_run(void)
{
    ck_assert_int_eq(pipe(pipe_fd), 0);
    live = (struct live){.run = &run, .fd = pipe_fd[1]};
}

static struct live_word heard(void)
{
    char line[256];
    size_t n = 0;
    struct live_word word;
    do {
        ck_assert_uint_lt(n, sizeof line);
        ck_assert_int_eq(read(pipe_fd[0], line + n, 1), 1);
    } while (line[n++] != '\n');
    line[n - 1] = '\0';
    ck_assert_msg(live_parse(&word, line), "not understood: %s", line);
    return word;
}

/* work is forward + backward + optimizer, as the document's compute_s */
START_TEST(a_step_arrives_as_it_was)
{
    struct run_sample sample = {
        .step_s = 1.5, .forward_s = 0.25, .backward_s = 0.5, .optimizer_s = 0.125, .exposed_s = 0.625};
    struct run_progress at = {"training", 1, 10, 1.5, -1, NAN};
    run.sample = &sample;
    run.n = 1;
    run.options.rank = 3;
    run.options.world = 4;
    listen_to_run();
    live_show(&live, &at);
    struct live_word w = heard();
    ck_assert(w.step);
    ck_assert_int_eq(w.rank, 3);
    ck_assert_int_eq(w.done, 1);
    ck_assert(w.step_s == 1.5 && w.work_s == 0.875 && w.still_s == 0.625);
}
END_TEST

/* A floor pass reports the same step once more; it is told once. Then a stage of another name. */
START_TEST(a_step_is_told_once)
{
    struct run_sample sample = {.step_s = 1};
    struct run_progress at = {"training", 1, 10, 1, -1, NAN}, other = {"warm-up", 1, 2, 1, -1, NAN};
    run.sample = &sample;
    run.n = 1;
    listen_to_run();
    live_show(&live, &at);
    live_show(&live, &at);
    live_show(&live, &other);
    ck_assert(heard().step);
    ck_assert_str_eq(heard().stage, "warm-up");
    ck_assert_int_eq(live.told, 1);
}
END_TEST

static int told;

static void take(void *others, const struct step_word *word)
{
    ck_assert_ptr_eq(others, &told);
    told = word->done;
}

/* Of three other ranks the second has said something. */
static bool say(void *others, int rank, struct step_word *word)
{
    ck_assert_ptr_eq(others, &told);
    *word = (struct step_word){.done = 5, .work_s = 0.5, .still_s = 0.25};
    return rank == 2;
}

START_TEST(ranks_on_other_nodes_are_told_and_heard)
{
    struct run_sample samples[6] = {{.step_s = 1}};
    struct run_progress at = {"training", 1, 10, 1, -1, NAN}, other = {"warm-up", 1, 2, 1, -1, NAN};
    run.sample = samples;
    run.n = 6;
    run.options.rank = 0;
    run.options.world = 4;
    listen_to_run();
    live.tell = take;
    live.hear = say;
    live.others = &told;
    live_show(&live, &at);
    live_show(&live, &other);
    ck_assert_int_eq(told, 6);
    ck_assert_int_eq(heard().rank, 0);
    struct live_word w = heard();
    ck_assert(w.step);
    ck_assert_int_eq(w.rank, 2);
    ck_assert_int_eq(w.done, 5);
    ck_assert(w.step_s == 0.75 && w.work_s == 0.5 && w.still_s == 0.25);
    ck_assert_str_eq(heard().stage, "warm-up");
}
END_TEST

/* 64 KiB is what a pipe holds: a reader that has gone to sleep must not hold up a run. */
START_TEST(nobody_has_to_listen)
{
    struct run_progress at = {"warm-up", 1, 2, 1, -1, NAN};
    run.n = 0;
    listen_to_run();
    for (int i = 0; i < 10000; i++)
        live_show(&live, &at);
}
END_TEST

START_TEST(other_lines_are_none)
{
    static const char *const bad[] = {
        "", "step", "step 1 2 3 4", "step 1 2 3 4 5 6", "step -1 2 3 4 5", "stage 0 1", "stage 0 1 2 <b>", "plan: x"};
    struct live_word w;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!live_parse(&w, bad[i]), "taken: '%s'", bad[i]);
    ck_assert(live_parse(&w, "stage 0 1 2 warm-up"));
    ck_assert_str_eq(w.stage, "warm-up");
    ck_assert(live_parse(&w, "stage 2 0 -1 baseline"));
    ck_assert_int_eq(w.total, -1);
}
END_TEST

static void bar_is(double work_s, double still_s, double longest_s, int work, int still)
{
    char bar[DEMO_BAR + 1];
    demo_show_bar(bar, work_s, still_s, longest_s);
    ck_assert_uint_eq(strspn(bar, "#"), (size_t)work);
    ck_assert_uint_eq(strspn(bar + work, "."), (size_t)still);
    ck_assert_uint_eq(strlen(bar), (size_t)(work + still));
}

/* In 36ths of the longest row. */
START_TEST(bars_are_in_proportion)
{
    bar_is(1, 1, 2, 18, 18);
    bar_is(2, 0, 2, 36, 0);
    bar_is(0.5, 0.5, 2, 9, 9);
    bar_is(0, 0, 0, 0, 0);
    bar_is(5, 5, 2, 36, 0); /* never longer than the row */
    bar_is(NAN, NAN, 2, 0, 0);
    bar_is(0, 2, 2, 0, 36);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("demo");
    TCase *tc = tcase_create("demo");
    tcase_set_timeout(tc, 20);
    tcase_add_test(tc, a_step_arrives_as_it_was);
    tcase_add_test(tc, a_step_is_told_once);
    tcase_add_test(tc, ranks_on_other_nodes_are_told_and_heard);
    tcase_add_test(tc, nobody_has_to_listen);
    tcase_add_test(tc, other_lines_are_none);
    tcase_add_test(tc, bars_are_in_proportion);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
