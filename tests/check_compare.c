/* tests/check_compare.c - verdicts on made-up runs whose truth is known; what makes runs unlike; ratios before seconds. */
#include "config.h" /* _GNU_SOURCE */

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "report/compare.h"
#include "report/digest.h"
#include "report/fields.h"
#include "report/history_check.h"

static const struct compare_options options = {.alpha = 0.05, .noise_floor = NAN, .seed = 1};

/* A run of so many steps around `step`: noise of 2 %, each step resembles the one before by `memory`. */
static json_t *make_run(double step, int steps, double memory, uint64_t seed)
{
    struct rng rng;
    json_t *d = json_pack("{s:i, s:s, s:{s:s, s:i, s:i}, s:i, s:[{s:s, s:s, s:i, s:s}]}", "schema_version", 1, "status",
                          "complete", "model", "name", "mlp-768", "batch", 4, "seq", 1, "world", 1, "nodes", "name",
                          "host", "cpu", "a processor", "threads", 2, "blas_kernel", "SkylakeX");
    json_t *samples = json_array();
    double x[1000] = {0}, sorted[1000] = {0}, noise = 0;
    rng_init(&rng, seed, 0);
    for (int i = 0; i < steps; i++) {
        noise = memory * noise + sqrt(1 - memory * memory) * rng_normal(&rng);
        x[i] = sorted[i] = step * exp(0.02 * noise);
        json_array_append_new(samples, json_pack("{s:f}", "step_s", x[i]));
    }
    json_object_set_new(d, "samples", samples);
    json_object_set_new(
        d, "summary",
        json_pack("{s:o}", "step_s",
                  json_summary((struct summary){stats_median(sorted, (size_t)steps), 0, (size_t)steps})));
    double first = stats_median(memcpy(sorted, x, sizeof(double) * (size_t)steps), (size_t)steps / 2);
    double second = stats_median(memcpy(sorted, x + steps / 2, sizeof(double) * (size_t)(steps - steps / 2)),
                                 (size_t)(steps - steps / 2));
    json_object_set_new(d, "halves", json_pack("{s:f, s:f}", "first_step_s", first, "second_step_s", second));
    return d;
}

static struct compare_side make_side(size_t n, double step, int steps, double memory, uint64_t seed)
{
    struct compare_side s = {.name = "side", .n = n};
    s.runs = calloc(n, sizeof *s.runs);
    s.digests = calloc(n, sizeof *s.digests);
    s.paths = calloc(n, sizeof *s.paths);
    for (size_t i = 0; i < n; i++) {
        s.runs[i] = make_run(step, steps, memory, seed + i);
        s.digests[i] = digest_make(s.runs[i]);
        s.paths[i] = strdup("run.json");
    }
    return s;
}

static void free_side(struct compare_side *s)
{
    for (size_t i = 0; i < s->n; i++) {
        json_decref(s->runs[i]);
        json_decref(s->digests[i]);
        free(s->paths[i]);
    }
    free(s->runs);
    free(s->digests);
    free(s->paths);
}

/* The verdict on two sides, which are freed; static. */
static const char *verdict(struct compare_side a, struct compare_side b, json_t **document)
{
    static char text[64];
    struct err e;
    json_t *d = json_object();
    ck_assert_msg(compare_judge(d, &a, &b, &options, &e) == 0, "%s", e.text);
    snprintf(text, sizeof text, "%s", json_string_value(json_object_get(d, "verdict")));
    free_side(&a);
    free_side(&b);
    if (document)
        *document = d;
    else
        json_decref(d);
    return text;
}

START_TEST(single_runs)
{
    ck_assert_str_eq(verdict(make_side(1, 0.1, 200, 0, 1), make_side(1, 0.12, 200, 0, 2), NULL), "slower");
    ck_assert_str_eq(verdict(make_side(1, 0.1, 200, 0, 1), make_side(1, 0.08, 200, 0, 2), NULL), "faster");
    ck_assert_str_eq(verdict(make_side(1, 0.1, 200, 0, 1), make_side(1, 0.1, 200, 0, 2), NULL), "no change seen");
    ck_assert_str_eq(verdict(make_side(1, 0.1, 4, 0, 1), make_side(1, 0.2, 4, 0, 2), NULL), "too few runs");
    /* 1.2 %, which 1000 steps can tell apart, is less than single runs differ for no reason. */
    ck_assert_str_eq(verdict(make_side(1, 0.1, 1000, 0, 1), make_side(1, 0.1012, 1000, 0, 2), NULL), "no change seen");
}
END_TEST

/* 3 of each: the smallest p is 2 of 20. 4 of each: 2 of 70. */
START_TEST(groups_of_runs)
{
    ck_assert_str_eq(verdict(make_side(3, 0.1, 20, 0, 1), make_side(3, 0.2, 20, 0, 11), NULL), "too few runs");
    ck_assert_str_eq(verdict(make_side(1, 0.1, 20, 0, 1), make_side(3, 0.2, 20, 0, 11), NULL), "too few runs");
    json_t *d;
    ck_assert_str_eq(verdict(make_side(4, 0.1, 20, 0, 1), make_side(4, 0.2, 20, 0, 11), &d), "slower");
    ck_assert_double_eq_tol(json_real_value(json_object_get(d, "p")), 2.0 / 70, 1e-12);
    ck_assert_double_eq_tol(json_real_value(json_object_get(json_object_get(d, "ratio"), "median")), 2, 0.05);
    json_decref(d);
    ck_assert_str_eq(verdict(make_side(5, 0.1, 20, 0, 1), make_side(5, 0.1, 20, 0, 11), NULL), "no change seen");
}
END_TEST

/* Two runs of the same truth whose steps remember their neighbours: a difference is claimed in at most 5 of 100. */
START_TEST(memory_is_no_difference)
{
    int claimed = 0;
    for (uint64_t k = 0; k < 100; k++)
        claimed +=
            strcmp(verdict(make_side(1, 0.1, 150, 0.8, 100 + 2 * k), make_side(1, 0.1, 150, 0.8, 101 + 2 * k), NULL),
                   "no change seen") != 0;
    ck_assert_msg(claimed <= 5, "%d of 100", claimed);
}
END_TEST

static void expect_difference(const char *member, json_t *value, const char *condition)
{
    struct compare_side a = make_side(1, 0.1, 10, 0, 1), b = make_side(1, 0.1, 10, 0, 2);
    json_t *node = json_array_get(json_object_get(b.runs[0], "nodes"), 0);
    json_object_set_new(json_object_get(node, member) ? node : b.runs[0], member, value);
    json_decref(b.digests[0]);
    b.digests[0] = digest_make(b.runs[0]);
    json_t *list = compare_differences(&a, &b);
    ck_assert_int_eq((int)json_array_size(list), 1);
    ck_assert_str_eq(json_string_value(json_object_get(json_array_get(list, 0), "condition")), condition);
    json_decref(list);
    free_side(&a);
    free_side(&b);
}

START_TEST(unlike_runs)
{
    expect_difference("threads", json_integer(1), "threads");
    expect_difference("blas_kernel", json_string("Prescott"), "blas kernel");
    expect_difference("cpu", json_string("another processor"), "machine");
    expect_difference("world", json_integer(2), "world");
    expect_difference("emulated", json_pack("{s:s}", "option", "rate=100Mbit"), "emulated link");
    expect_difference("compute", json_string("replay"), "compute");
}
END_TEST

/* A metric that A lacks is new, and the others are compared. */
START_TEST(new_metric)
{
    struct compare_side a = make_side(1, 0.1, 100, 0, 1), b = make_side(1, 0.1, 100, 0, 2);
    json_object_set_new(b.runs[0], "memory", json_pack("{s:i}", "peak_bytes", 1000));
    json_decref(b.digests[0]);
    b.digests[0] = digest_make(b.runs[0]);
    json_t *d;
    ck_assert_str_eq(verdict(a, b, &d), "no change seen");
    json_t *list = json_object_get(d, "metrics");
    ck_assert_int_eq((int)json_array_size(list), 2);
    ck_assert_str_eq(json_string_value(json_object_get(json_array_get(list, 1), "verdict")), "new");
    json_decref(d);
}
END_TEST

/* ---- history ---- */

static struct history make_history(int n, double (*step)(int i), double (*floor)(int i))
{
    struct history h = {.n = n, .rows = calloc((size_t)n, sizeof *h.rows)};
    for (int i = 0; i < n; i++) {
        struct rng rng;
        rng_init(&rng, 9, (uint64_t)i);
        double noise = exp(0.005 * rng_normal(&rng)), floor_noise = exp(0.005 * rng_normal(&rng));
        json_t *d = make_run(step(i) * noise, 5, 0, (uint64_t)i);
        json_t *median = json_object_get(json_object_get(d, "summary"), "step_s");
        json_object_set_new(median, "median", json_real(step(i) * noise));
        json_object_set_new(d, "floor",
                            json_pack("{s:f, s:f}", "step_s", floor(i) * floor_noise, "ratio",
                                      step(i) * noise / (floor(i) * floor_noise)));
        h.rows[i].digest = digest_make(d);
        h.rows[i].file = strdup("run.json");
        json_decref(d);
    }
    return h;
}

static double steady(int i)
{
    (void)i;
    return 0.1;
}

static double slower_from_12(int i)
{
    return i < 12 ? 0.12 : 0.144;
}

static double faster_from_12(int i)
{
    return i < 12 ? 0.12 : 0.1;
}

static void expect_check(double (*step)(int i), double (*floor)(int i), int regressions, const char *of_ratio,
                         const char *of_step)
{
    struct history h = make_history(18, step, floor);
    struct history_check check;
    struct err e;
    json_t *d = json_object();
    ck_assert_int_eq(history_check(&check, d, &h, &(struct history_filter){NULL, NULL, NULL}, 0.02, &e), 0);
    ck_assert_int_eq(check.regressions, regressions);
    json_t *metrics = json_object_get(json_array_get(json_object_get(d, "groups"), 0), "metrics");
    ck_assert_int_eq((int)json_array_size(metrics), 2);
    ck_assert_str_eq(json_string_value(json_object_get(json_array_get(metrics, 0), "verdict")), of_ratio);
    ck_assert_str_eq(json_string_value(json_object_get(json_array_get(metrics, 1), "verdict")), of_step);
    json_decref(d);
    history_close(&h);
}

START_TEST(ratios_before_seconds)
{
    expect_check(steady, steady, 0, "steady", "steady");
    expect_check(slower_from_12, steady, 2, "regression", "regression");
    expect_check(slower_from_12, slower_from_12, 0, "steady", "machine"); /* the machine became slower */
    expect_check(faster_from_12, steady, 0, "improvement", "improvement");
}
END_TEST

/* Also where the list has the figure under another path. */
START_TEST(metrics_are_figures_of_the_list)
{
    for (const struct digest_metric *m = digest_metrics; m->path; m++) {
        const struct field *f = field_find(m->listed ? m->listed : m->path);
        ck_assert_msg(f && f->brief, "%s", m->path);
        ck_assert_ptr_eq(digest_metric_find(f->brief), m);
        ck_assert_ptr_eq(digest_metric_find(m->path), m);
    }
    ck_assert_ptr_null(digest_metric_find("nosuch"));
    ck_assert_str_eq(digest_unit(digest_metric_find("communication")), "s");
    ck_assert_str_eq(digest_unit(digest_metric_find("tokens/s")), "per s");
    ck_assert_str_eq(digest_unit(digest_metric_find("step / floor")), "ratio");
    ck_assert_str_eq(digest_unit(digest_metric_find("memory")), "bytes");
}
END_TEST

/* ---- digests from a part of the text ---- */

/* What a digest needs, between things that it does not, which hold all that could be taken for an end. */
static json_t *make_full(void)
{
    json_t *d = make_run(0.1, 40, 0, 7), *node = json_array_get(json_object_get(d, "nodes"), 0);
    const char *misleading = "]}\\\"[{\\\\";
    json_object_set_new(d, "timeline", json_pack("{s:[[i,i],{s:s},[]], s:{}}", "a", 1, 2, "x", misleading, "b"));
    json_object_set_new(node, "health", json_pack("{s:[f,n,b], s:s}", "series", 0.5, 1, misleading, misleading));
    json_object_set_new(d, "machine", json_pack("{s:{s:s}, s:[i]}", "processor", "hypervisor", "kvm", "caches", 1));
    json_object_set_new(d, "communication", json_pack("{s:s, s:[{s:i}]}", "transport", "tcp", "buckets", "bytes", 1));
    json_object_set_new(d, "speedup", json_null());
    json_object_set_new(d, "label", json_string("\xc3\xbc \\ \" ]}"));
    return d;
}

START_TEST(a_part_of_the_text_is_enough)
{
    static const size_t flags[] = {JSON_COMPACT, JSON_INDENT(2), JSON_ENSURE_ASCII, JSON_SORT_KEYS};
    json_t *d = make_full(), *want = digest_make(d);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        char *text = json_dumps(d, flags[i]);
        size_t n = strlen(text);
        char *part = malloc(n + 1);
        ck_assert(skim(part, text, digest_needs));
        ck_assert_uint_lt(strlen(part), n / 2);
        json_t *small = json_loads(part, JSON_REJECT_DUPLICATES, NULL), *got = digest_make(small);
        ck_assert_msg(json_equal(got, want), "%s", json_dumps(got, 0));
        ck_assert_ptr_null(json_object_get(small, "timeline"));
        while (n-- > 0) { /* cut anywhere, it is left to the parser */
            text[n] = '\0';
            ck_assert_msg(!skim(part, text, digest_needs), "%s", text);
        }
        json_decref(small);
        json_decref(got);
        free(part);
        free(text);
    }
    json_decref(want);
    json_decref(d);
}
END_TEST

START_TEST(unusual_texts_are_left_to_the_parser)
{
    static const char *const unusual[] = {"",
                                          "[]",
                                          "1",
                                          "{\"a\": [1}}",
                                          "{\"a\": {]}",
                                          "{\"a\": 1}}",
                                          "{\"a\": 1} x",
                                          "{\"a\" 1}",
                                          "{a: 1}",
                                          "{\"a\": }",
                                          "{\"stat\\u0075s\": \"x\"}",
                                          "{\"a\": 1 2}",
                                          "{\"nodes\": [1 2]}",
                                          "{\"samples\": [1, , 2]}",
                                          "{\"a\": 1,}"};
    char part[64];
    for (size_t i = 0; i < sizeof unusual / sizeof *unusual; i++)
        ck_assert_msg(!skim(part, unusual[i], digest_needs), "%s", unusual[i]);
    char deep[1024] = "{\"a\": ", out[1024];
    memset(deep + strlen(deep), '[', 400);
    memset(deep + strlen(deep), ']', 400);
    strcat(deep, "}");
    ck_assert(!skim(out, deep, digest_needs));
    ck_assert(skim(part, " {\"a\": [] , \"world\" : 2 }\n", digest_needs));
    ck_assert_str_eq(part, "{\"world\":2}");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compare");
    TCase *t = tcase_create("compare");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, single_runs);
    tcase_add_test(t, groups_of_runs);
    tcase_add_test(t, memory_is_no_difference);
    tcase_add_test(t, unlike_runs);
    tcase_add_test(t, new_metric);
    tcase_add_test(t, ratios_before_seconds);
    tcase_add_test(t, metrics_are_figures_of_the_list);
    tcase_add_test(t, a_part_of_the_text_is_enough);
    tcase_add_test(t, unusual_texts_are_left_to_the_parser);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
