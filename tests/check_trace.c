/*
 * tests/check_trace.c - a saved run read again and made into a trace: clocks brought together, and whatever is wrong with the
 * file told in a sentence.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/runs.h"
#include "report/trace.h"
#include "tests/scratch.h"

/* One step of 1 ms: 0.1 forward, 0.5 backward, 0.3 exposed, 0.1 optimizer; one bucket from 0.5 to 0.9. */
static json_t *step_json(int number, json_int_t start_ns)
{
    return json_pack("{s:i, s:I, s:i, s:{s:[s,s,s,s], s:[i,i,i,i], s:[i,i,i,i]}, s:{s:[s], s:[i], s:[i], s:[i]},"
                     " s:{s:[i], s:[i], s:[i], s:[i], s:[i], s:[i], s:[i], s:[i], s:[i], s:[i], s:[i], s:[i]}}",
                     "step", number, "start_ns", start_ns, "duration_ns", 1000000, "parts", "part", "forward",
                     "backward", "exposed", "optimizer", "start_ns", 0, 100000, 600000, 900000, "duration_ns", 100000,
                     500000, 300000, 100000, "layers", "part", "backward", "layer", 0, "start_ns", 100000,
                     "duration_ns", 500000, "buckets", "bucket", 0, "bytes", 4096, "ready_ns", 400000, "start_ns",
                     500000, "first_byte_ns", 600000, "end_ns", 900000, "wait_ns", 100000, "upstream_ns", 0, "move_ns",
                     250000, "sum_ns", 40000, "check_ns", 6000, "seal_ns", 4000);
}

/* Two ranks whose clocks differ by the offset that nodes[1] has; rank 1 begins 20 us after rank 0. */
static json_t *run_json(json_int_t offset_ns)
{
    json_int_t start = 5000000000;
    return json_pack("{s:i, s:{s:s, s:s}, s:{s:s}, s:[], s:i, s:b, s:[{s:s}, {s:s, s:f, s:f}], s:[{s:i, s:s}],"
                     " s:{s:s, s:[{s:i, s:[o]}, {s:i, s:[o]}]}}",
                     "schema_version", 1, "tool", "name", "ddpbench", "version", "0", "model", "name", "a model",
                     "samples", "world", 2, "same_host", 0, "nodes", "name", "a", "name", "b", "clock_offset_s",
                     (double)offset_ns * 1e-9, "clock_offset_error_s", 0.00001, "layers", "layer", 0, "name", "block 0",
                     "timeline", "kept", "all", "ranks", "rank", 0, "steps", step_json(0, start), "rank", 1, "steps",
                     step_json(0, start + offset_ns + 20000));
}

static json_t *render(const json_t *run)
{
    struct err e = {0};
    char *text = trace_render(run, &e);
    ck_assert_msg(text != NULL, "%s", e.text);
    json_t *trace = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    ck_assert_ptr_nonnull(trace);
    free(text);
    return trace;
}

/* Of the first slice of that category and process. */
static double time_of(const json_t *trace, const char *category, int pid)
{
    json_t *event;
    size_t i;
    json_array_foreach(json_object_get(trace, "traceEvents"), i, event)
    {
        const char *cat = json_string_value(json_object_get(event, "cat"));
        if (cat && strcmp(cat, category) == 0 && json_integer_value(json_object_get(event, "pid")) == pid)
            return json_number_value(json_object_get(event, "ts"));
    }
    return NAN;
}

/* However far the clocks are apart, rank 1 is where it was: 20 us after rank 0. */
START_TEST(clocks_are_brought_together)
{
    static const json_int_t offsets[] = {0, 1, -4000000000, 3600000000000, 8000000000000000 / 2};
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        json_t *run = run_json(offsets[i]), *trace = render(run);
        ck_assert_double_eq(time_of(trace, "step", 1), 0);
        ck_assert_double_eq_tol(time_of(trace, "step", 2), 20, 0.6); /* a double holds 4e6 s to 0.5 ns */
        ck_assert_int_eq(json_integer_value(json_object_get(json_object_get(trace, "otherData"), "arrows_left_out")),
                         0);
        json_decref(trace);
        json_decref(run);
    }
}
END_TEST

/* 1e-5 of drift since a measurement 2 s before the step: the other clock is 20 us further on than the offset says. */
START_TEST(drift_is_followed)
{
    json_t *run = run_json(1000000), *node = json_array_get(json_object_get(run, "nodes"), 1);
    json_object_set_new(node, "clock_drift", json_real(1e-5));
    json_object_set_new(node, "clock_at_ns", json_integer(5000000000 - 2000000000));
    json_t *trace = render(run);
    ck_assert_double_eq_tol(time_of(trace, "step", 2), time_of(trace, "step", 1), 0.01);
    json_decref(trace);
    json_decref(run);
}
END_TEST

/* Clocks are not compared without a measured offset: the step is put where rank 0's is, and the trace says so. */
START_TEST(without_an_offset_steps_are_put_together)
{
    json_t *run = run_json(77000000000);
    json_object_del(json_array_get(json_object_get(run, "nodes"), 1), "clock_offset_s");
    json_t *trace = render(run);
    ck_assert_double_eq(time_of(trace, "step", 2), 0);
    const json_t *clocks = json_object_get(json_object_get(trace, "otherData"), "clocks");
    const char *how = json_string_value(json_object_get(json_array_get(clocks, 1), "aligned"));
    ck_assert_ptr_nonnull(strstr(how, "no clock offset was measured"));
    json_decref(trace);
    json_decref(run);
}
END_TEST

static void check_refused(const json_t *run, const char *what)
{
    struct err e = {0};
    char *text = trace_render(run, &e);
    if (text) {
        json_t *trace = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
        ck_assert_msg(trace != NULL, "%s: no JSON", what);
        json_decref(trace);
    } else {
        ck_assert_msg(e.code == ERR_DATA && *e.text, "%s: code %d", what, e.code);
    }
    free(text);
}

/* Every value in turn, at any depth, is replaced by others; returns how many places there were. */
static int spoil(json_t *run, json_t *at)
{
    static const char *const others[] = {"null", "-1", "9223372036854775807", "1e308", "\"x\"", "[]", "{}", "true"};
    int places = 0;
    size_t n = json_is_array(at) ? json_array_size(at) : json_object_size(at), i = 0;
    void *member = json_object_iter(at);
    for (; i < n; i++) {
        json_t *value = json_is_array(at) ? json_array_get(at, i) : json_object_iter_value(member);
        char key[64] = "";
        if (member)
            snprintf(key, sizeof key, "%s", json_object_iter_key(member));
        json_incref(value);
        for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
            json_t *other = json_loads(others[k], JSON_DECODE_ANY, NULL);
            if (json_is_array(at))
                json_array_set_new(at, i, other);
            else
                json_object_set_new(at, key, other);
            check_refused(run, key);
        }
        if (json_is_array(at))
            json_array_set(at, i, value);
        else
            json_object_set(at, key, value);
        json_decref(value);
        places += 1 + spoil(run, value);
        if (member)
            member = json_object_iter_next(at, member);
    }
    return places;
}

START_TEST(any_spoilt_value_is_refused_or_harmless)
{
    json_t *run = run_json(1000);
    ck_assert_int_gt(spoil(run, run), 100);
    json_decref(run);
}
END_TEST

START_TEST(what_is_missing_is_named)
{
    static const char *const members[] = {"tool", "model", "nodes", "samples"};
    struct err e;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        json_t *without = run_json(0);
        json_object_del(without, members[i]);
        ck_assert_ptr_null(trace_render(without, &e));
        ck_assert_int_eq(e.code, ERR_DATA);
        ck_assert_msg(strstr(e.text, members[i]) != NULL, "%s", e.text);
        json_decref(without);
    }
    json_t *without = run_json(0);
    json_object_del(without, "timeline");
    ck_assert_ptr_null(trace_render(without, &e));
    ck_assert_int_eq(e.code, ERR_DATA);
    ck_assert_ptr_nonnull(strstr(e.text, "no timeline"));
    json_decref(without);
}
END_TEST

START_TEST(a_file_cut_anywhere_is_bad_data)
{
    struct err e;
    json_t *whole = run_json(1000), *run;
    char *text = json_dumps(whole, JSON_INDENT(1));
    size_t n = strlen(text);
    scratch_open();
    run = runs_read(scratch_write("run.json", text, n), &e);
    ck_assert_ptr_nonnull(run);
    json_decref(run);
    for (size_t k = 0; k < n; k++) {
        ck_assert_ptr_null(runs_read(scratch_write("run.json", text, k), &e));
        ck_assert_int_eq(e.code, ERR_DATA);
        ck_assert_ptr_nonnull(strstr(e.text, "run.json"));
    }
    scratch_close();
    free(text);
    json_decref(whole);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trace");
    TCase *all = tcase_create("trace");
    tcase_set_timeout(all, 60);
    tcase_add_test(all, clocks_are_brought_together);
    tcase_add_test(all, drift_is_followed);
    tcase_add_test(all, without_an_offset_steps_are_put_together);
    tcase_add_test(all, any_spoilt_value_is_refused_or_harmless);
    tcase_add_test(all, what_is_missing_is_named);
    tcase_add_test(all, a_file_cut_anywhere_is_bad_data);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
