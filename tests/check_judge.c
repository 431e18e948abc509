/*
 * tests/check_judge.c - marks, the steady part and grades, from steps and readings filled in by hand: a step starts every
 * second and takes 0.8 s, a reading is taken every two seconds, so rows 0, 1, 2 ... lie at 0, 2, 4 ... s.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/judge.h"

#define SECOND 1000000000u

enum { STEPS = 40, ROWS = STEPS / 2 + 1 };

static struct run run;
static struct run_sample samples[STEPS];
static struct probe probe;
static struct health health;
static struct judgement j;
static struct judge_known known;

static void fill(int steps)
{
    memset(&run, 0, sizeof run);
    memset(&probe, 0, sizeof probe);
    memset(&health, 0, sizeof health);
    run.options = (struct run_options){.world = 1, .threads = 2};
    run.sample = samples;
    run.n = steps;
    for (int i = 0; i < steps; i++)
        samples[i] =
            (struct run_sample){.step_s = 0.8 + 0.001 * (i % 3), .start_ns = (uint64_t)i * SECOND + SECOND / 10};
    probe.online_cpus = 2;
    probe.root.live = true;
    strcpy(probe.frequency.current_source, "cpufreq/scaling_cur_freq");
    strcpy(probe.frequency.governor, "performance");
    health.probe = &probe;
    health.n = ROWS;
    for (int i = 0; i < ROWS; i++)
        health.row[i] = (struct health_row){.at_ns = 2 * (uint64_t)i * SECOND,
                                            .clock_hz = 3e9,
                                            .mdegc = 60000,
                                            .joules = NAN,
                                            .events = {100, 100},
                                            .busy_s = 4.0 * i, /* all of it this process's */
                                            .own_s = 4.0 * i,
                                            .stolen_s = 7,
                                            .running = 2,
                                            .source = POWER_MAINS,
                                            .battery_percent = -1};
    known = (struct judge_known){.alone_here = true, .unsteady = false, .stall_limit_s = 5};
}

static void judge(void)
{
    struct err e = {0};
    judge_fini(&j);
    ck_assert_msg(judge_run(&j, &run, &health, &known, &e) == 0, "%s", e.text);
    ck_assert_int_eq(j.n, run.n); /* nothing is dropped */
}

static void fini(void)
{
    judge_fini(&j);
}

/* Steps from..to have the mark, and no other step has. */
static void is_marked(enum judge_mark mark, int from, int to)
{
    for (int i = 0; i < run.n; i++)
        ck_assert_msg(!(j.mark[i] & 1u << mark) == !(i >= from && i <= to), "step %d: %s", i, judge_mark_names[mark]);
    ck_assert_int_eq(j.count[mark], to - from + 1);
}

static void is_graded(char grade, const char *reason)
{
    ck_assert_msg(j.grade == grade, "%c, not %c: %s", j.grade ? j.grade : '-', grade,
                  j.findings ? j.finding[0].reason : "nothing found");
    if (reason)
        ck_assert_msg(strstr(j.finding[0].reason, reason) != NULL, "%s", j.finding[0].reason);
    for (int i = 0; i < j.findings; i++)
        ck_assert_int_gt((int)strlen(j.finding[i].remedy), 10);
}

START_TEST(nothing_happened)
{
    fill(STEPS);
    judge();
    for (int m = 0; m < JUDGE_MARKS; m++)
        ck_assert_int_eq(j.count[m], 0);
    is_graded('A', NULL);
    ck_assert_int_eq(j.findings, 0);
    ck_assert_int_eq(j.steady_from, 0);
    ck_assert_double_eq_tol(j.steady.median, 0.801, 1e-9);
}
END_TEST

/* Counted between 10 and 12 s: the steps at 10.1 and 11.1 s. One of 40 is 2.5 %, two are 5 %, which is not more than that. */
START_TEST(heat_that_the_kernel_counts)
{
    fill(STEPS);
    for (int i = 6; i < ROWS; i++)
        health.row[i].events.core = 103;
    judge();
    is_marked(MARK_THROTTLED, 10, 11);
    is_graded('C', "heat (3 times; during 2 of 40");
    for (int i = 7; i < ROWS; i++)
        health.row[i].events.package = 101; /* and again between 12 and 14 s */
    judge();
    is_marked(MARK_THROTTLED, 10, 13);
    is_graded('D', "heat");
}
END_TEST

/* No counter: a clock below nine tenths of the usual one counts only where steps took longer. */
START_TEST(heat_that_only_the_clock_shows)
{
    fill(STEPS);
    for (int i = 0; i < ROWS; i++)
        health.row[i].events = (struct heat_events){-1, -1};
    for (int i = 10; i < ROWS; i++)
        health.row[i].clock_hz = 2.4e9;
    judge();
    ck_assert_int_eq(j.count[MARK_THROTTLED], 0);
    for (int i = 30; i < 34; i++)
        samples[i].step_s = 0.95; /* 19 % longer */
    judge();
    is_marked(MARK_THROTTLED, 30, 33);
    is_graded('D', "the clock fell while 4 of 40");
}
END_TEST

START_TEST(a_quota_that_holds_back)
{
    fill(STEPS);
    for (int i = 0; i < ROWS; i++)
        health.row[i].quota = (struct throttle_count){true, i >= 15 ? 12 : 10, i >= 15 ? 5.1 : 5};
    judge();
    is_marked(MARK_THROTTLED, 28, 29); /* between 28 and 30 s */
    is_graded('C', "quota held it back in 2 periods");
    for (int i = 15; i < ROWS; i++)
        health.row[i].quota.seconds = 6; /* of two threads: half a second each of 40 */
    judge();
    is_graded('D', "quota");
}
END_TEST

/* One heat event somewhere does not make the quota's steps hot, and one period of the quota does not hide a clock that fell. */
START_TEST(each_cause_has_its_own_steps)
{
    fill(STEPS);
    for (int i = 0; i < ROWS; i++)
        health.row[i].quota = (struct throttle_count){true, 10 + (uint64_t)i, 5};
    health.row[ROWS - 1].events.core = 101; /* after the last step began */
    judge();
    is_marked(MARK_THROTTLED, 0, STEPS - 1);
    ck_assert_int_le(j.hot, 2);
    is_graded('C', NULL);
    fill(STEPS);
    for (int i = 10; i < ROWS; i++)
        health.row[i].clock_hz = 2.4e9;
    for (int i = 30; i < 34; i++)
        samples[i].step_s = 0.95;
    for (int i = 2; i < ROWS; i++)
        health.row[i].quota = (struct throttle_count){true, 1, 0};
    for (int i = 0; i < 2; i++)
        health.row[i].quota = (struct throttle_count){true, 0, 0};
    judge();
    ck_assert_int_eq(j.slow_clock, 4);
    is_graded('D', "the clock fell while 4 of 40");
}
END_TEST

/* The last fifth is slower than the second half's median: no window there has it, so it was not steady. */
START_TEST(a_slow_tail)
{
    fill(STEPS);
    for (int i = STEPS - 8; i < STEPS; i++)
        samples[i].step_s = 1.2;
    judge();
    ck_assert_int_eq(j.steady_from, -1);
    ck_assert_ptr_nonnull(strstr(j.unsteady_why, "still changed"));
}
END_TEST

START_TEST(a_step_that_stood_still)
{
    fill(STEPS);
    samples[7].step_s = 6;
    judge();
    is_marked(MARK_STALLED, 7, 7);
    ck_assert_int_eq(j.count[MARK_NOISY], 0); /* one word for it is enough */
    is_graded('C', "1 of 40 steps stood still");
    ck_assert_int_eq(samples[7].step_s == 6, 1);
    known.stall_limit_s = NAN; /* fewer than three steps have none */
    judge();
    ck_assert_int_eq(j.count[MARK_STALLED], 0);
}
END_TEST

START_TEST(a_step_longer_than_its_neighbours)
{
    fill(STEPS);
    samples[20].step_s = 0.88; /* 10 % */
    samples[30].step_s = 0.83; /* 4 %: less than 5 % is what any machine does */
    judge();
    is_marked(MARK_NOISY, 20, 20);
}
END_TEST

/* Half a percent more with each step doubles nothing at once: drift is no noise. */
START_TEST(drift_is_no_noise)
{
    fill(STEPS);
    for (int i = 0; i < STEPS; i++)
        samples[i].step_s = 0.7 * (1 + 0.005 * i);
    known.unsteady = true;
    judge();
    ck_assert_int_eq(j.count[MARK_NOISY], 0);
    ck_assert_int_eq(j.steady_from, -1);
    ck_assert_ptr_nonnull(strstr(j.unsteady_why, "still changed"));
    is_graded('C', NULL);
}
END_TEST

/* 4 s of 2 threads x 2 s would be all; 0.2 s are 5 %. */
START_TEST(others_take_the_processor)
{
    fill(STEPS);
    for (int i = 3; i < ROWS; i++)
        health.row[i].stolen_s = 7.2;
    judge();
    is_marked(MARK_NOISY, 4, 5);
    is_graded('A', NULL); /* 0.2 of 80 s */
    for (int i = 0; i < ROWS; i++)
        health.row[i].stolen_s = 0.4 * i; /* a tenth of 4 s in every two seconds */
    judge();
    is_marked(MARK_NOISY, 0, STEPS - 1);
    is_graded('C', "10.0 % of the threads");

    fill(STEPS);
    for (int i = 11; i < ROWS; i++)
        health.row[i].own_s -= 1; /* between 20 and 22 s another process used half a CPU of the two */
    judge();
    is_marked(MARK_NOISY, 20, 21);
    probe.online_cpus = 3; /* and now one was free for it */
    judge();
    ck_assert_int_eq(j.count[MARK_NOISY], 0);
    probe.online_cpus = 2;
    known.alone_here = false; /* or it was another rank */
    judge();
    ck_assert_int_eq(j.count[MARK_NOISY], 0);
}
END_TEST

START_TEST(a_machine_that_slept)
{
    fill(STEPS);
    for (int i = 9; i < ROWS; i++)
        health.row[i].suspended_s = 300;
    judge();
    is_marked(MARK_SUSPENDED, 16, 17);
    is_graded('D', "slept for 300 s");
}
END_TEST

START_TEST(warming_up_is_found)
{
    fill(STEPS);
    for (int i = 0; i < 8; i++)
        samples[i].step_s = 1.0;
    judge();
    /* a window of five is like the rest once three of its steps are: from step 6 on */
    ck_assert_int_eq(j.steady_from, 6);
    fill(9);
    judge();
    ck_assert_int_eq(j.steady_from, -1);
    ck_assert_ptr_nonnull(strstr(j.unsteady_why, "fewer than ten"));
}
END_TEST

START_TEST(grades_of_the_node)
{
    fill(STEPS);
    health.row[ROWS - 1].source = POWER_BATTERY;
    judge();
    is_graded('C', "changed between mains and battery");
    fill(STEPS);
    strcpy(probe.frequency.governor, "powersave");
    strcpy(probe.frequency.driver, "acpi-cpufreq");
    judge();
    is_graded('B', "powersave");
    strcpy(probe.frequency.driver, "intel_pstate"); /* whose powersave is what others call ondemand at full speed */
    judge();
    is_graded('A', NULL);
    fill(STEPS);
    *probe.frequency.current_source = '\0';
    for (int i = 0; i < ROWS; i++) {
        health.row[i].events = (struct heat_events){-1, -1};
        health.row[i].mdegc = INT64_MIN;
    }
    judge();
    is_graded('B', "would go unseen");
    for (int i = 0; i < STEPS; i++)
        samples[i].step_s = i % 2 ? 0.8 : 0.86;
    judge(); /* MAD 0.03 of 0.83: sigma 5 % */
    is_graded('B', NULL);
    ck_assert_int_eq(j.findings, 2);
    health.row[2].source = POWER_BATTERY; /* the worst comes first */
    judge();
    ck_assert_int_eq(j.findings, 3);
    is_graded('C', "battery");
}
END_TEST

START_TEST(no_grade_without_grounds)
{
    struct err e;
    fill(4);
    judge();
    ck_assert_int_eq(j.grade, 0);
    ck_assert_ptr_nonnull(strstr(j.ungraded_why, "fewer than five"));
    fill(STEPS);
    samples[20].step_s = 0.88;
    judge_fini(&j);
    ck_assert_int_eq(judge_run(&j, &run, NULL, &known, &e), 0);
    ck_assert_int_eq(j.grade, 0);
    ck_assert_ptr_nonnull(strstr(j.ungraded_why, "no readings"));
    is_marked(MARK_NOISY, 20, 20); /* the times alone tell that */
    fill(0);
    judge();
    ck_assert_int_eq(j.grade, 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("judge");
    TCase *c = tcase_create("rules");
    tcase_add_checked_fixture(c, NULL, fini);
    tcase_add_test(c, nothing_happened);
    tcase_add_test(c, heat_that_the_kernel_counts);
    tcase_add_test(c, heat_that_only_the_clock_shows);
    tcase_add_test(c, a_quota_that_holds_back);
    tcase_add_test(c, each_cause_has_its_own_steps);
    tcase_add_test(c, a_slow_tail);
    tcase_add_test(c, a_step_that_stood_still);
    tcase_add_test(c, a_step_longer_than_its_neighbours);
    tcase_add_test(c, drift_is_no_noise);
    tcase_add_test(c, others_take_the_processor);
    tcase_add_test(c, a_machine_that_slept);
    tcase_add_test(c, warming_up_is_found);
    tcase_add_test(c, grades_of_the_node);
    tcase_add_test(c, no_grade_without_grounds);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
