/*
 * tests/check_report.c - reports: texts of strangers are inert in every format, numbers are the document's own, and no document,
 * however broken, makes one fail.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/advice.h"
#include "report/clean.h"
#include "report/export.h"
#include "report/fields.h"
#include "report/outlook.h"
#include "report/page.h"
#include "report/page_compare.h"
#include "report/plot.h"
#include "report/runs.h"
#include "report/svg.h"
#include "report/term.h"
#include "report/verdict.h"
#include "tests/scratch.h"

/* A name that closes elements and attributes, ends strings of gnuplot and the shell, moves a cursor, turns the direction of
 * writing, and is a formula. */
#define HOSTILE "=<script>x</script>&\"'`$(id)\\\n\x1b[31m\xe2\x80\xae|*_,"

static char written[4096];

static const char *as(void (*clean)(FILE *, const char *), const char *text)
{
    FILE *f = fmemopen(written, sizeof written, "w");
    clean(f, text);
    fclose(f);
    return written;
}

/* ---- texts ---- */

START_TEST(texts_are_cleaned)
{
    char buf[32];
    ck_assert_str_eq(clean_text(buf, sizeof buf, "a\nb\x1b[1m\x7f"), "a?b?[1m?");
    ck_assert_str_eq(clean_text(buf, sizeof buf, "x\xe2\x80\xaey\xe2\x81\xa6z\xc2\x9b"),
                     "x?y?z?"); /* U+202E U+2066 U+009B */
    ck_assert_str_eq(clean_text(buf, sizeof buf, "gr\xc3\xbc\xc3\x9f \xe4\xb8\xad"), "gr\xc3\xbc\xc3\x9f \xe4\xb8\xad");
    ck_assert_str_eq(clean_text(buf, 4, "ab\xc3\xbc"), "ab"); /* not half of a character */
    ck_assert_str_eq(clean_text(buf, sizeof buf, NULL), "");
}
END_TEST

START_TEST(texts_are_escaped)
{
    ck_assert_str_eq(as(clean_html, "<a href=\"x\">'`&"), "&lt;a href=&quot;x&quot;&gt;&#39;&#96;&amp;");
    ck_assert_str_eq(as(clean_csv, "a,\"b\""), "\"a,\"\"b\"\"\"");
    ck_assert_str_eq(as(clean_csv, "=1+2"), "\"'=1+2\"");
    ck_assert_str_eq(as(clean_csv, "  @x"), "\"'  @x\"");
    ck_assert_str_eq(as(clean_csv, "-5"), "\"'-5\"");
    ck_assert_str_eq(as(clean_label, "a\"b\\c\nd"), "a\\\"b\\\\c?d");
    ck_assert_str_eq(as(clean_gnuplot, "it's `id` \"x\""), "'it''s `id` \"x\"'");
    ck_assert_str_eq(as(clean_datum, "a\"b\\n"), "\"a'b/n\"");
    ck_assert_str_eq(as(clean_markdown, "a|b_c"), "a&#124;b&#95;c");
}
END_TEST

/* ---- numbers as people read them ---- */

START_TEST(numbers_are_formatted)
{
    static const struct {
        enum field_unit unit;
        double x;
        const char *text;
    } cases[] = {{UNIT_SECONDS, 5.730219431, "5.730 s"},  {UNIT_SECONDS, 0.0412349, "41.23 ms"},
                 {UNIT_SECONDS, 8.41e-7, "0.8410 µs"},    {UNIT_SECONDS, 0, "0 s"},
                 {UNIT_BYTES, 497759232, "497.8 MB"},     {UNIT_RATIO, 1.42345, "1.423"},
                 {UNIT_FLOPS, 2.649e11, "264.9 GFLOP/s"}, {UNIT_NONE, 13, "13"},
                 {UNIT_TOKENS_PER_S, 357.40716, "357.4"}, {UNIT_BYTES_PER_S, 117687500, "941.5 Mbit/s (117.7 MB/s)"}};
    char buf[64];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_str_eq(field_format(buf, sizeof buf, cases[i].unit, cases[i].x), cases[i].text);
    ck_assert_str_eq(field_format(buf, sizeof buf, UNIT_SECONDS, NAN), "-");
}
END_TEST

/* ---- a document ---- */

static json_t *summary(double median)
{
    return json_pack("{s:f, s:f, s:i}", "median", median, "mad", median / 100, "n", 6);
}

/* Two ranks, six steps, two buckets: 100 ms forward, 200 backward, 50 exposed, 10 optimizer. */
static json_t *document(void)
{
    json_t *d = json_pack("{s:i, s:s, s:{s:s, s:s}, s:s, s:i, s:b, s:[], s:{}}", "schema_version", 1, "status",
                          "complete", "tool", "name", "ddpbench", "version", "0.1", "started", "2026-11-30T18:00:00Z",
                          "world", 2, "same_host", 0, "warnings", "reasons");
    json_object_set_new(d, "model",
                        json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:s}", "name", HOSTILE, "unique_parameters",
                                  3000000, "gradient_bytes", 12000000, "batch", 4, "global_batch", 8, "seq", 64,
                                  "accum", 1, "tokens_per_step", 512, "dtype", "fp32"));
    json_object_set_new(d, "summary",
                        json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "step_s", summary(0.36), "forward_s", summary(0.1),
                                  "backward_s", summary(0.2), "exposed_s", summary(0.05), "optimizer_s", summary(0.01),
                                  "tokens_per_s", summary(512 / 0.36)));
    json_t *nodes = json_array(), *samples = json_array(), *layers = json_array(), *buckets = json_array(),
           *ranks = json_array();
    for (int i = 0; i < 2; i++) {
        json_array_append_new(nodes, json_pack("{s:s, s:s, s:i, s:i, s:o, s:f, s:{s:o, s:o, s:o}}", "name", HOSTILE,
                                               "cpu", HOSTILE, "threads", 1, "rank", i, "alone_step_s", summary(0.3),
                                               "alone_tokens_per_s", 256 / 0.3, "summary", "step_s", summary(0.36),
                                               "compute_s", summary(0.31), "exposed_s", summary(0.05)));
        json_array_append_new(layers, json_pack("{s:s, s:o, s:o, s:o}", "name", HOSTILE, "forward_s", summary(0.05),
                                                "backward_s", summary(0.1), "optimizer_s", summary(0.005)));
        json_array_append_new(buckets, json_pack("{s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "tensors", 2, "bytes",
                                                 6000000, "ready_s", summary(0.2 + 0.1 * i), "start_s",
                                                 summary(0.21 + 0.1 * i), "end_s", summary(0.3 + 0.1 * i), "wait_s",
                                                 summary(0.01), "move_s", summary(0.07), "sum_s", summary(0.01)));
        json_t *step = json_pack("{s:i, s:I, s:i, s:{s:[s,s,s,s], s:[i,i,i,i], s:[i,i,i,i]},"
                                 " s:{s:[i,i], s:[i,i], s:[i,i], s:[i,i], s:[i,i], s:[i,i], s:[i,i], s:[i,i]}}",
                                 "step", 3, "start_ns", (json_int_t)5000000000, "duration_ns", 360000000, "parts",
                                 "part", "forward", "backward", "exposed", "optimizer", "start_ns", 0, 100000000,
                                 300000000, 350000000, "duration_ns", 100000000, 200000000, 50000000, 10000000,
                                 "buckets", "bucket", 0, 1, "bytes", 6000000, 6000000, "ready_ns", 200000000, 300000000,
                                 "start_ns", 210000000, 300000000, "end_ns", 300000000, 350000000, "wait_ns", 10000000,
                                 0, "move_ns", 70000000, 45000000, "sum_ns", 10000000, 5000000);
        json_array_append_new(ranks, json_pack("{s:i, s:[o]}", "rank", i, "steps", step));
    }
    for (int i = 0; i < 6; i++)
        json_array_append_new(samples, json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "step_s", 0.355 + 0.002 * i,
                                                 "forward_s", 0.1, "backward_s", 0.2, "optimizer_s", 0.01, "exposed_s",
                                                 0.045 + 0.002 * i, "loss", 4.2));
    json_object_set_new(d, "nodes", nodes);
    json_object_set_new(d, "samples", samples);
    json_object_set_new(d, "layers", layers);
    json_object_set_new(d, "timeline", json_pack("{s:s, s:o}", "kept", "all", "ranks", ranks));
    json_object_set_new(d, "communication",
                        json_pack("{s:s, s:s, s:f, s:f, s:f, s:i, s:o, s:{s:f}}", "transport", "tcp", "schedule", "ddp",
                                  "total_s", 0.18, "exposed_s", 0.05, "hidden_s", 0.13, "bytes_per_step", 12000600,
                                  "buckets", buckets, "arithmetic", "rate_bytes_per_s", 117.7e6));
    json_object_set_new(d, "speedup",
                        json_pack("{s:f, s:f, s:s, s:f}", "measured", 1.6666666666666667, "scaling", 0.8333333333333334,
                                  "baseline_node", HOSTILE, "baseline_step_s", 0.3));
    return d;
}

/* Everything that is made of a document. with: also what predict/ says, which takes a while. */
static void all_of(const json_t *d, bool with)
{
    static struct outlook o;
    struct plots plots;
    struct err e;
    struct report_verdict v;
    struct advice a;
    struct term_style style = {false, true, 80};
    o = (struct outlook){.now = NAN, .why = "left out"};
    if (with)
        ck_assert_int_eq(outlook_make(&o, d, &e), 0);
    report_verdict(&v, d);
    ck_assert_int_gt(strlen(v.word), 0);
    advice_make(&a, d, &o);
    ck_assert_int_eq(plots_make(&plots, d, &o, &e), 0);
    for (int i = 0; i < plots.n; i++)
        ck_assert_ptr_nonnull(strstr(plots.plot[i].script, "\nplot "));
    struct page page = {.document = d, .run = "x.json", .outlook = &o, .plots = &plots, .version = "0"};
    char *text = page_render(&page, &e);
    ck_assert_ptr_nonnull(text);
    ck_assert_ptr_nonnull(strstr(text, "</html>"));
    ck_assert_ptr_null(strstr(text, "<script"));
    free(text);
    text = term_render(d, &o, &style);
    ck_assert_ptr_nonnull(text);
    ck_assert_ptr_null(strchr(text, '\x1b'));
    free(text);
    for (const struct export_format *f = export_formats; f->name; f++) {
        text = f->render(d, "x.json");
        ck_assert_ptr_nonnull(text);
        if (strcmp(f->name, "json") != 0 && strcmp(f->name, "jsonl") != 0) {
            ck_assert_ptr_null(strchr(text, '\x1b'));
            ck_assert_ptr_null(strstr(text, "\xe2\x80\xae"));
        }
        free(text);
    }
    plots_fini(&plots);
}

START_TEST(a_hostile_document_is_inert)
{
    json_t *d = document();
    all_of(d, true);
    json_decref(d);
}
END_TEST

/* Scripts and data hold a hostile name in quotes that it cannot leave. */
START_TEST(scripts_are_inert)
{
    json_t *d = document();
    static struct outlook o;
    struct plots plots;
    struct err e;
    o = (struct outlook){.now = NAN, .why = HOSTILE};
    json_object_set_new(json_object_get(d, "reasons"), "nodes[0].health.series.clock_hz",
                        json_string("it's\n'; system('id') #"));
    ck_assert_int_eq(plots_make(&plots, d, &o, &e), 0);
    for (int i = 0; i < plots.n; i++) {
        for (char *line = strtok(plots.plot[i].data, "\n"); line; line = strtok(NULL, "\n")) {
            int quotes = 0;
            for (char *c = line; *c; c++)
                quotes += *c == '"';
            ck_assert_msg(*line == '#' || quotes == 0 || quotes == 2, "%s: %s", plots.plot[i].name, line);
            ck_assert_ptr_null(strchr(line, '\\'));
            ck_assert_ptr_null(strchr(line, '\x1b'));
        }
        for (char *line = strtok(plots.plot[i].script, "\n"); line; line = strtok(NULL, "\n")) {
            int quotes = 0;
            for (char *c = line; *c; c++)
                quotes += *c == '\'';
            ck_assert_msg(*line == '#' || quotes % 2 == 0, "%s: %s", plots.plot[i].name, line);
            ck_assert_ptr_null(strchr(line, '`') && !strchr(line, '\'') ? line : NULL);
        }
    }
    plots_fini(&plots);
    json_decref(d);
}
END_TEST

/* Each member, and each member of those, in turn: gone, null, a text, a number that fits nowhere, an empty list. */
static void mangle(json_t *root, json_t *o)
{
    json_t *keys = json_array(), *key;
    const char *name;
    json_t *value;
    size_t i;
    json_object_foreach(o, name, value)
    {
        json_array_append_new(keys, json_string(name));
    }
    json_array_foreach(keys, i, key)
    {
        json_t *old = json_incref(json_object_get(o, json_string_value(key)));
        json_object_del(o, json_string_value(key));
        all_of(root, false);
        json_t *worse[] = {json_null(), json_string("x"), json_real(-1e300), json_array(), json_object()};
        for (size_t k = 0; k < sizeof worse / sizeof *worse; k++) {
            json_object_set_new(o, json_string_value(key), worse[k]);
            all_of(root, o == root && k < 3);
        }
        json_object_set_new(o, json_string_value(key), old);
    }
    json_decref(keys);
}

START_TEST(broken_documents_do_not_break_a_report)
{
    json_t *d = document();
    static const char *const inner[] = {"model", "summary", "communication", "timeline", "speedup"};
    mangle(d, d);
    for (size_t i = 0; i < sizeof inner / sizeof *inner; i++)
        mangle(d, json_object_get(d, inner[i]));
    mangle(d, json_array_get(json_object_get(d, "nodes"), 1));
    mangle(d, json_array_get(json_object_get(d, "samples"), 5));
    json_decref(d);
}
END_TEST

/* A file that ends anywhere before its last bracket is no document: 65, and nothing else happens. */
START_TEST(files_that_were_cut_are_refused)
{
    json_t *d = document();
    char *text = json_dumps(d, JSON_COMPACT);
    size_t n = strlen(text);
    for (size_t i = 0; i < n; i++) {
        struct err e = {ERR_OK, ""};
        ck_assert_ptr_null(runs_read(scratch_write("cut.json", text, i), &e));
        ck_assert_int_eq(e.code, ERR_DATA);
    }
    free(text);
    json_decref(d);
}
END_TEST

/* ---- fields ---- */

static json_t *field_of(const json_t *list, const char *path)
{
    json_t *o;
    size_t i;
    json_array_foreach((json_t *)list, i, o)
    {
        if (strcmp(json_string_value(json_object_get(o, "path")), path) == 0)
            return o;
    }
    return NULL;
}

START_TEST(fields_hold_the_documents_values)
{
    json_t *d = document();
    json_object_set_new(json_object_get(d, "speedup"), "scaling", json_null());
    json_object_set_new(json_object_get(d, "reasons"), "speedup.scaling", json_string("a reason"));
    struct err e;
    char *text = export_find("json", &e)->render(d, "x");
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL), *list = json_object_get(root, "fields");
    ck_assert_int_gt(json_array_size(list), 20);
    json_t *step = field_of(list, "summary.step_s.median"), *node = field_of(list, "nodes[1].alone_tokens_per_s");
    ck_assert(json_real_value(json_object_get(step, "value")) == 0.36);
    ck_assert_str_eq(json_string_value(json_object_get(step, "unit")), "s");
    ck_assert(json_real_value(json_object_get(node, "value")) == 256 / 0.3);
    json_t *null = field_of(list, "speedup.scaling");
    ck_assert(json_is_null(json_object_get(null, "value")));
    ck_assert_str_eq(json_string_value(json_object_get(null, "reason")), "a reason");
    ck_assert_ptr_null(field_of(list, "link.rtt_s")); /* a run has none */
    json_decref(root);
    free(text);
    ck_assert_ptr_null(export_find("xml", &e));
    ck_assert_int_eq(e.code, ERR_USAGE);
    json_decref(d);
}
END_TEST

START_TEST(names_of_fields_are_unique)
{
    for (const struct field *a = fields; a->path; a++)
        for (const struct field *b = a + 1; b->path; b++)
            ck_assert_msg(strcmp(a->name, b->name) != 0 && strcmp(a->path, b->path) != 0, "%s", a->name);
}
END_TEST

/* A family of samples is never interrupted and is closed by # EOF; numbers have the document's digits. */
START_TEST(openmetrics_is_in_order)
{
    json_t *d = document();
    struct err e;
    char *text = export_find("openmetrics", &e)->render(d, "x\"y");
    ck_assert_ptr_nonnull(strstr(text, "\nddpbench_speedup_ratio{run=\"x\\\"y\"} 1.6666666666666667\n"));
    ck_assert_ptr_nonnull(strstr(text, "# UNIT ddpbench_step_median_seconds seconds\n"));
    ck_assert_str_eq(text + strlen(text) - strlen("# EOF\n"), "# EOF\n");
    char family[128] = "";
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        char name[128];
        if (sscanf(line, "# TYPE %127s", name) == 1)
            strcpy(family, name);
        else if (*line != '#')
            ck_assert_msg(strncmp(line, family, strlen(family)) == 0, "%s in %s", line, family);
    }
    free(text);
    json_decref(d);
}
END_TEST

/* ---- verdict ---- */

START_TEST(verdicts_say_no_more_than_they_know)
{
    json_t *d = document();
    struct report_verdict v;
    report_verdict(&v, d);
    ck_assert_str_eq(v.word, "helps");
    ck_assert_ptr_nonnull(strstr(v.head, "1.67 times"));
    json_object_set_new(json_object_get(d, "speedup"), "measured", json_real(0.82));
    report_verdict(&v, d);
    ck_assert_str_eq(v.word, "hurts");
    json_object_set_new(json_object_get(d, "speedup"), "measured", json_real(1.02));
    report_verdict(&v, d);
    ck_assert_str_eq(v.word, "undecided");
    json_object_set_new(d, "same_host", json_true());
    report_verdict(&v, d);
    ck_assert_str_eq(v.word, "one host");
    ck_assert_int_eq(v.tone, TONE_OPEN);
    json_object_set_new(json_object_get(d, "speedup"), "measured", json_null());
    json_object_set_new(json_object_get(d, "reasons"), "speedup", json_string("no baseline was asked for"));
    report_verdict(&v, d);
    ck_assert_str_eq(v.word, "not known");
    ck_assert_ptr_nonnull(strstr(v.detail, "no baseline was asked for"));
    json_decref(d);
}
END_TEST

static bool advises(const json_t *d, const char *option)
{
    static struct outlook o;
    struct advice a;
    bool told = false;
    o = (struct outlook){.now = NAN, .why = "left out"};
    advice_make(&a, d, &o);
    for (int i = 0; i < a.n; i++)
        told |= strcmp(a.item[i].option, option) == 0;
    return told;
}

/* The last bucket has 6 MB: splitting the tied embedding helps where it is most of them. */
START_TEST(only_a_large_embedding_is_worth_splitting)
{
    json_t *d = document();
    ck_assert(!advises(d, "--schedule split"));
    json_object_set_new(d, "gradients", json_pack("[{s:s, s:i}]", "name", "wte.weight", "bytes", 100000));
    ck_assert(!advises(d, "--schedule split"));
    json_object_set_new(d, "gradients", json_pack("[{s:s, s:i}]", "name", "wte.weight", "bytes", 5000000));
    ck_assert(advises(d, "--schedule split"));
    json_decref(d);
}
END_TEST

/* What two nodes lack alike is told once, with both names. */
START_TEST(one_remedy_for_two_nodes)
{
    json_t *d = document();
    static struct outlook o;
    struct advice a;
    o = (struct outlook){.now = NAN, .why = "left out"};
    for (size_t i = 0; i < 2; i++) {
        json_t *node = json_array_get(json_object_get(d, "nodes"), i);
        json_object_set_new(node, "name", json_string(i ? "right" : "left"));
        json_object_set_new(
            node, "health",
            json_pack("{s:[{s:s, s:s}]}", "findings", "reason", "it is warm", "remedy", "open a window"));
    }
    advice_make(&a, d, &o);
    int told = 0;
    for (int i = 0; i < a.n; i++)
        if (strcmp(a.item[i].detail, "It is warm: open a window.") == 0) {
            ck_assert_str_eq(a.item[i].head, "Measure better on left, right");
            told++;
        }
    ck_assert_int_eq(told, 1);
    json_decref(d);
}
END_TEST

/* Alone 0.3 s, together 256 tokens each: with an endless link and no jitter two nodes come near 2; with 117.7 MB/s the last 6 MB,
 * ready when backward ends, take 51 ms more: 2 x 300 / (310 + 51 or so). */
START_TEST(the_outlook_is_the_replays)
{
    json_t *d = document();
    static struct outlook o;
    struct err e;
    ck_assert_int_eq(outlook_make(&o, d, &e), 0);
    ck_assert_msg(o.n > 0, "%s", o.why);
    ck_assert(o.node[0].x == 1 && fabs(o.node[0].speedup.median - 1) < 0.02);
    ck_assert(o.node[1].x == 2);
    ck_assert_msg(fabs(o.node[1].speedup.median - 600.0 / 356) < 0.1, "%g", o.node[1].speedup.median);
    ck_assert_int_eq(o.pair, 2);
    for (int i = 1; i < o.rates; i++) /* a faster link is never worse, but for luck */
        ck_assert(o.rate[i].efficiency.median > o.rate[i - 1].efficiency.median - 0.02);
    ck_assert_msg(o.rate[OUTLOOK_RATES - 1].efficiency.median > 0.93, "%g",
                  o.rate[OUTLOOK_RATES - 1].efficiency.median);
    json_decref(d);
}
END_TEST

/* ---- a page ---- */

static int times_in(const char *text, const char *word)
{
    int n = 0;
    for (text = strstr(text, word); text; text = strstr(text + 1, word))
        n++;
    return n;
}

/* A reason that holds for a whole group is told once, a label that nobody gave is not "not known", and two nodes stand side by
 * side, which a phone can show. */
START_TEST(pages_are_short)
{
    json_t *d = document();
    struct plots plots = {0};
    struct outlook o = {.now = NAN, .why = "left out"};
    struct page page = {.document = d, .run = "x.json", .outlook = &o, .plots = &plots, .version = "0"};
    struct err e;
    json_object_set_new(d, "speedup", json_null());
    json_object_set_new(d, "label", json_null());
    json_object_set_new(json_object_get(d, "reasons"), "speedup", json_string("nobody wanted it"));
    char *text = page_render(&page, &e);
    ck_assert_ptr_nonnull(text);
    ck_assert_int_eq(times_in(text, "not known: nobody wanted it"), 1);
    ck_assert_ptr_nonnull(strstr(text, "<td class=\"wide\">label</td><td><span class=\"unknown\">none: not given<"));
    ck_assert_ptr_nonnull(strstr(text, "<tr><th>name</th><th>"));
    const char *row = strstr(text, "<tr><th>step alone</th>"), *end = row ? strstr(row, "</tr>") : NULL;
    ck_assert_ptr_nonnull(end);
    ck_assert_int_eq(times_in(row, "data-path=\"nodes[0].alone_step_s.median\""), 1);
    const char *second = strstr(row, "nodes[1].alone_step_s.median");
    ck_assert(second && second < end);
    free(text);
    json_decref(d);
}
END_TEST

/* Texts of strangers are inert, a bar is as long as its step, and what is not known or beyond the axis draws nothing outside. */
START_TEST(a_comparison_is_a_page)
{
    struct err e;
    json_t *d = json_loads(
        "{\"verdict\": \"slower\", \"unit\": \"runs\", \"noise_floor\": 0.01, \"noise_floor_source\": \"chosen\","
        "\"ratio\": {\"median\": 2, \"lo\": 1.9, \"hi\": 2.1},"
        "\"ways\": [{\"interface\": \"<script>x\", \"kind\": \"\\\" onload=\\\"y\", \"step_s\": 1, \"exposed_s\": 0.25,"
        " \"rate_bytes_per_s\": 117687500, \"rtt_s\": null},"
        " {\"interface\": \"wlan0\", \"step_s\": 2, \"exposed_s\": 1.5, \"measured_speedup\": 0.5}],"
        "\"a\": {\"name\": \"a\", \"runs\": [{\"run\": \"</td>\", \"steps\": 8}]}, \"b\": {\"name\": \"b\", \"runs\": "
        "[]},"
        "\"metrics\": [{\"name\": \"step\", \"unit\": \"s\", \"a\": 1, \"b\": 2, \"p\": 0.0286, \"verdict\": "
        "\"slower\","
        " \"ratio\": {\"median\": 2, \"lo\": 1.9, \"hi\": 1e9}},"
        " {\"name\": \"exposed\", \"unit\": \"s\", \"a\": 0, \"b\": 2, \"p\": null, \"verdict\": \"no ratio to 0\", "
        "\"ratio\": null}]}",
        0, NULL);
    ck_assert_ptr_nonnull(d);
    char *text = page_compare_render(d, "0", &e);
    ck_assert_ptr_nonnull(text);
    ck_assert_ptr_null(strstr(text, "<script"));
    ck_assert_ptr_null(strstr(text, "onload=\""));
    ck_assert_ptr_null(strstr(text, "nan"));
    ck_assert_ptr_null(strstr(text, "inf\""));
    ck_assert_ptr_nonnull(strstr(text, "<p class=\"word\">wlan0 is slower</p>"));
    ck_assert_ptr_nonnull(
        strstr(text, "A step of wlan0 takes 2.000 of one of &lt;script&gt;x (95 %: 1.900 .. 2.100)."));
    ck_assert_ptr_nonnull(strstr(text, "two nodes are 0.50 times as fast as one: the second one makes it slower"));
    /* 540 units are the longest step: 2 s; work is filled, standing still hatched */
    ck_assert_ptr_nonnull(strstr(text, "width=\"202.5\" height=\"24\" fill=\"#2f5f9e\""));
    ck_assert_ptr_nonnull(strstr(text, "width=\"405.0\" height=\"24\" fill=\"url(#still)\""));
    ck_assert_ptr_nonnull(strstr(text, "data-value=\"117687500\" data-path=\"ways[0].rate_bytes_per_s\">941.5 Mbit/s"));
    ck_assert_ptr_nonnull(strstr(text, "x2=\"690.0\" y1=\"18\"")); /* 1e9 is at the edge */
    ck_assert_int_eq(times_in(text, "<circle"), 1);
    free(text);
    json_decref(d);
    d = json_object(); /* whatever a document lacks */
    text = page_compare_render(d, "0", &e);
    ck_assert_ptr_nonnull(text);
    ck_assert_ptr_null(strstr(text, "<svg"));
    free(text);
    json_decref(d);
}
END_TEST

/* ---- pictures ---- */

#define SVG_HEAD                                                                         \
    "<?xml version=\"1.0\"?>\n<svg \n width=\"860\" height=\"400\"\n viewBox=\"0 0 860 " \
    "400\"\n>\n<title>Gnuplot</title>\n"

START_TEST(pictures_get_names_of_their_own)
{
    struct err e;
    char *text = svg_inline(SVG_HEAD "<rect x=\"0\" y=\"0\" width=\"860\" height=\"400\" fill=\"#ffffff\"/>\n"
                                     "<g id='a' color=\"black\" stroke=\"currentColor\"><use xlink:href='#b'/>"
                                     "<path fill = 'url(#c)' stroke='black'/><text>a &lt;script> \"q\"</text>\n\t</g>"
                                     "\n<g fill='none'>\n</g>\n</svg>\n",
                            "p", "what it shows", &e);
    ck_assert_ptr_nonnull(text);
    ck_assert_ptr_nonnull(strstr(text, "<g id=\"p-a\" stroke=\"currentColor\"><use href=\"#p-b\"/>"));
    ck_assert_ptr_nonnull(strstr(text, "<path fill=\"url(#p-c)\" stroke=\"currentColor\"/>"));
    ck_assert_ptr_nonnull(strstr(text, "<text>a &lt;script> \"q\"</text>"));
    ck_assert_ptr_nonnull(strstr(text, "aria-label=\"what it shows\""));
    ck_assert_ptr_null(strstr(text, "#ffffff"));
    ck_assert_ptr_null(strstr(text, "Gnuplot"));
    ck_assert_ptr_nonnull(strstr(text, "</text></g></svg>")); /* blanks and groups of nothing are left out */
    free(text);
}
END_TEST

START_TEST(pictures_that_do_more_are_refused)
{
    static const char *const bad[] = {"<g onload='x()'/></svg>",
                                      "<script>x</script></svg>",
                                      "<use href='http://a/#b'/></svg>",
                                      "<path fill='url(http://a)'/></svg>",
                                      "<image href='#x'/></svg>",
                                      "<g/>",
                                      "<!-- --></svg>",
                                      "<foreignObject/></svg>"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[512];
        struct err e = {ERR_OK, ""};
        snprintf(text, sizeof text, "%s%s", SVG_HEAD, bad[i]);
        ck_assert_msg(svg_inline(text, "p", "", &e) == NULL, "%s", bad[i]);
        ck_assert_int_eq(e.code, ERR_DATA);
    }
    struct err e;
    ck_assert_ptr_null(svg_inline("no picture", "p", "", &e));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("report");
    TCase *all = tcase_create("report");
    tcase_set_timeout(all, 110);
    tcase_add_checked_fixture(all, scratch_open, scratch_close);
    tcase_add_test(all, texts_are_cleaned);
    tcase_add_test(all, texts_are_escaped);
    tcase_add_test(all, numbers_are_formatted);
    tcase_add_test(all, a_hostile_document_is_inert);
    tcase_add_test(all, scripts_are_inert);
    tcase_add_test(all, broken_documents_do_not_break_a_report);
    tcase_add_test(all, files_that_were_cut_are_refused);
    tcase_add_test(all, fields_hold_the_documents_values);
    tcase_add_test(all, names_of_fields_are_unique);
    tcase_add_test(all, openmetrics_is_in_order);
    tcase_add_test(all, verdicts_say_no_more_than_they_know);
    tcase_add_test(all, one_remedy_for_two_nodes);
    tcase_add_test(all, the_outlook_is_the_replays);
    tcase_add_test(all, only_a_large_embedding_is_worth_splitting);
    tcase_add_test(all, pages_are_short);
    tcase_add_test(all, a_comparison_is_a_page);
    tcase_add_test(all, pictures_get_names_of_their_own);
    tcase_add_test(all, pictures_that_do_more_are_refused);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
