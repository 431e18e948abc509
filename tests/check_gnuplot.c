/*
 * tests/check_gnuplot.c - gnuplot at arm's length: programs that take its place and are missing, fail, hang, lie, or stop in the
 * middle. What a real one draws is tests/report.sh's.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "report/gnuplot.h"
#include "tests/scratch.h"

static char program[4096], folder[4096], why[300];
static bool drawn[3];
static const char *const names[] = {"one", "two", "three"};

/* The folder and a program in it; what it does is said in shell. Arguments from $5 on are scripts. */
static int draw_with(const char *text, double deadline_s)
{
    char script[2048];
    snprintf(script, sizeof script, "#!/bin/sh\n%s\n", text);
    snprintf(program, sizeof program, "%s", scratch_write("stub", script, strlen(script)));
    ck_assert_int_eq(chmod(program, 0755), 0);
    snprintf(folder, sizeof folder, "%s", program);
    *strrchr(folder, '/') = '\0';
    return gnuplot_draw(&(struct gnuplot){program, deadline_s}, folder, names, 3, "svg", drawn, why, sizeof why);
}

/* Draws every script it is given, at length: a picture below 64 bytes is none. */
#define DRAW "shift 3; for s; do printf '%s%60s%s' '<svg>' '' '</svg>' >\"${s%.gp}.svg\"; done; "

static char *read_text(const char *name, size_t *n)
{
    char *text = (char *)scratch_read(scratch_path(name), n);
    ck_assert_ptr_nonnull(text);
    text[*n > 0 ? *n - 1 : 0] = '\0'; /* in place of its last new line */
    return text;
}

START_TEST(all_are_drawn)
{
    ck_assert_int_eq(draw_with(DRAW, 20), 3);
    ck_assert(drawn[0] && drawn[1] && drawn[2]);
    ck_assert_str_eq(why, "");
}
END_TEST

START_TEST(a_missing_one_is_named)
{
    draw_with("exit 0", 20); /* makes the folder */
    struct gnuplot none = {"no-such-gnuplot-anywhere", 20};
    ck_assert_int_eq(gnuplot_draw(&none, folder, names, 3, "svg", drawn, why, sizeof why), 0);
    ck_assert_str_eq(why, "gnuplot is not installed");
}
END_TEST

START_TEST(a_failure_tells_its_first_line)
{
    ck_assert_int_eq(
        draw_with("echo '\"one.gp\" line 8: unknown or ambiguous terminal type' >&2; echo more >&2; exit 1", 20), 0);
    ck_assert_str_eq(why, "gnuplot failed with status 1: \"one.gp\" line 8: unknown or ambiguous terminal type");
}
END_TEST

/* It stops at the second of three; the third is given to a next one. */
START_TEST(one_bad_figure_costs_no_other)
{
    ck_assert_int_eq(draw_with("shift 3; for s; do [ $s = two.gp ] && exit 3; "
                               "printf '%s%60s%s' '<svg>' '' '</svg>' >${s%.gp}.svg; done",
                               20),
                     2);
    ck_assert(drawn[0] && !drawn[1] && drawn[2]);
    ck_assert_str_eq(why, "gnuplot failed with status 3");
}
END_TEST

/* A hanging one is ended with whatever it has started. The process it leaves sleeping would hold the pipe open. */
START_TEST(a_hanging_one_is_ended)
{
    uint64_t from = clock_now_ns();
    ck_assert_int_eq(draw_with("sleep 100 & echo $! >child; sleep 100", 3), 0);
    ck_assert_double_lt(clock_seconds(from, clock_now_ns()), 80);
    ck_assert_str_eq(why, "gnuplot had not finished after 3 s and was ended");
    size_t n;
    char *pid = read_text("child", &n), stat[64];
    snprintf(stat, sizeof stat, "/proc/%d/stat", atoi(pid));
    free(pid);
    char state = 0;
    FILE *f = NULL;
    for (int i = 0; i < 200 && (f = fopen(stat, "r")); i++) { /* gone, or dead and not yet fetched by its new parent */
        if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
            state = 'X';
        fclose(f);
        if (state == 'Z' || state == 'X')
            return;
        usleep(20000);
    }
    ck_assert_ptr_null(f);
}
END_TEST

START_TEST(a_lie_is_noticed)
{
    ck_assert_int_eq(draw_with("exit 0", 20), 0);
    ck_assert_str_eq(why, "gnuplot reported success but wrote no complete picture");
    ck_assert_int_eq(draw_with("shift 3; for s; do printf '%s%90s' '<svg>' '' >\"${s%.gp}.svg\"; done", 20), 0);
    ck_assert_int_eq(access(scratch_path("one.svg"), F_OK), -1); /* half a picture is none */
}
END_TEST

START_TEST(an_old_picture_is_not_taken_for_a_new_one)
{
    char text[100];
    memset(text, ' ', sizeof text);
    memcpy(text + sizeof text - 6, "</svg>", 6);
    scratch_write("one.svg", text, sizeof text);
    ck_assert_int_eq(draw_with("exit 0", 20), 0);
}
END_TEST

START_TEST(what_it_is_given)
{
    setenv("LC_ALL", "de_DE.UTF-8", 1);
    setenv("GNUTERM", "x11", 1);
    ck_assert_int_eq(draw_with("env >env; echo \"$@\" >args; " DRAW, 20), 3);
    size_t n;
    char *env = read_text("env", &n), *args = read_text("args", &n);
    ck_assert_ptr_nonnull(strstr(env, "LC_ALL=C.UTF-8"));
    ck_assert_ptr_null(strstr(env, "de_DE"));
    ck_assert_ptr_null(strstr(env, "GNUTERM"));
    ck_assert_str_eq(args, "-d -e format='svg' one.gp two.gp three.gp");
    free(env);
    free(args);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gnuplot");
    TCase *all = tcase_create("gnuplot");
    tcase_set_timeout(all, 60);
    tcase_add_checked_fixture(all, scratch_open, scratch_close);
    tcase_add_test(all, all_are_drawn);
    tcase_add_test(all, a_missing_one_is_named);
    tcase_add_test(all, a_failure_tells_its_first_line);
    tcase_add_test(all, one_bad_figure_costs_no_other);
    tcase_add_test(all, a_hanging_one_is_ended);
    tcase_add_test(all, a_lie_is_noticed);
    tcase_add_test(all, an_old_picture_is_not_taken_for_a_new_one);
    tcase_add_test(all, what_it_is_given);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
