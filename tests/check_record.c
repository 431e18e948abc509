/*
 * tests/check_record.c - the JSON document of a run and the table drawn from it, from a run filled in by hand,
 * so that every expected value follows from the numbers below.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/progress.h"
#include "cli/record.h"
#include "report/table.h"

enum { STEPS = 6 };

static struct run run;
static struct notes notes;
static struct err err;
static struct run_sample samples[STEPS];
static double layer_s[STEPS * 8 * 3], ready_s[STEPS * TENSORS_MAX];

/* shakespeare-char, 2 x 64 tokens: step i takes 1 + i / 10 s, half of it backward. */
static void fill(int steps)
{
    memset(&run, 0, sizeof run);
    memset(&notes, 0, sizeof notes);
    memset(&err, 0, sizeof err);
    ck_assert_int_eq(model_spec_find(&run.spec, "shakespeare-char", &err), 0);
    ck_assert_int_eq(layout_init(&run.net.layout, &run.spec, &err), 0);
    run.net.spec = run.spec;
    run.net.B = 2;
    run.batch_all = 2;
    run.net.T = 64;
    run.optimizer = run.spec.optimizer;
    run.options = (struct run_options){
        .model = "shakespeare-char", .steps = steps, .warmup = 0, .threads = 2, .accum = 1, .world = 1, .floor = true};
    run.sample = samples;
    run.layer_s = layer_s;
    run.ready_s = ready_s;
    run.capacity = STEPS;
    run.n = steps;
    run.eval_loss = NAN;
    int tensors = run.net.layout.n;
    for (int i = 0; i < steps; i++) {
        double s = 1 + i / 10.0;
        samples[i] = (struct run_sample){.step_s = s,
                                         .forward_s = s / 4,
                                         .backward_s = s / 2,
                                         .optimizer_s = s / 4,
                                         .data_s = 0.001,
                                         .loss = 4.0f - (float)i / 4};
        for (int row = 0; row < 8; row++)
            for (int kind = 0; kind < 3; kind++)
                layer_s[(i * 8 + row) * 3 + kind] = 0.01 * row + 0.001 * kind + 0.001;
        for (int t = 0; t < tensors; t++) /* the last tensor is ready first */
            ready_s[i * tensors + t] = s / 4 + s / 2 * (tensors - t) / tensors;
    }
    run.floor_n = steps ? 3 : 0;
    run.floor_s[0] = 0.9;
    run.floor_s[1] = 1.0;
    run.floor_s[2] = 1.1;
    run.stamps_per_step = 100;
    run.stamp_cost_ns = 25;
    run.peak_rss_bytes = 1000000000;
    run.planned_bytes = 900000000;
}

static json_t *others[1]; /* the report of rank 1 */
static bool together;     /* with it, as a test says */

static struct record make_record(void)
{
    static char program[] = "bench", strange[] = "--label=\xff";
    static char *argv[] = {program, strange, NULL};
    return (struct record){.argc = 2,
                           .argv = argv,
                           .started = "2026-11-30T12:00:00Z",
                           .run = &run,
                           .executed = true,
                           .node = "host",
                           .cpu = NULL,
                           .threads_reason = "because",
                           .blas_kernel = "Haswell",
                           .rate = {.flops_per_s = 1e11, .relative_error = 0},
                           .rate_seconds = 0.5,
                           .throttled_periods = NAN,
                           .throttled_reason = "no quota",
                           .throttled_s = NAN,
                           .stolen_s = 0.25,
                           .core_heat_events = 6,
                           .package_heat_events = -1,
                           .report = together ? others : NULL,
                           .here = together ? 2 : 1,
                           .local_addr = "127.0.0.1",
                           .same_host = together,
                           .notes = &notes,
                           .err = &err};
}

static json_t *document(void)
{
    struct record r = make_record();
    json_t *d = record_json(&r);
    ck_assert_ptr_nonnull(d);
    return d;
}

/* "summary.step_s.median" and "samples.2.loss" lead to a value. */
static json_t *at(json_t *d, const char *path)
{
    char copy[128], *state = NULL;
    strcpy(copy, path);
    for (char *key = strtok_r(copy, ".", &state); key; key = strtok_r(NULL, ".", &state)) {
        d = json_is_array(d) ? json_array_get(d, (size_t)atoi(key)) : json_object_get(d, key);
        ck_assert_msg(d != NULL, "%s: no %s", path, key);
    }
    return d;
}

static void is_number(json_t *d, const char *path, double want)
{
    json_t *v = at(d, path);
    ck_assert_msg(json_is_number(v), "%s is no number", path);
    double got = json_number_value(v);
    ck_assert_msg(fabs(got - want) <= 1e-12 * fabs(want), "%s is %.17g, not %.17g", path, got, want);
}

static void is_text(json_t *d, const char *path, const char *want)
{
    ck_assert_str_eq(json_string_value(at(d, path)), want);
}

static void is_unknown(json_t *d, const char *path)
{
    ck_assert_msg(json_is_null(at(d, path)), "%s is not null", path);
}

/* Every null of the document that has no reason of its own must be one of the optional choices. */
START_TEST(values_of_a_complete_run)
{
    fill(5); /* steps 1.0, 1.1, 1.2, 1.3, 1.4: median 1.2, MAD 0.1 */
    json_t *d = document();
    is_number(d, "schema_version", 1);
    is_text(d, "status", "complete");
    ck_assert_ptr_null(json_object_get(d, "error"));
    is_number(d, "model.parameters", 10745088);
    is_number(d, "model.gradient_bytes", 42980352);
    is_number(d, "model.batch", 2);
    is_number(d, "model.seq", 64);
    is_text(d, "model.dtype", "fp32");
    is_number(d, "world", 1);
    is_number(d, "nodes.0.threads", 2);
    is_text(d, "nodes.0.blas_kernel", "Haswell");
    is_unknown(d, "nodes.0.cpu");
    ck_assert_ptr_nonnull(json_object_get(at(d, "reasons"), "nodes[0].cpu"));
    is_number(d, "summary.step_s.median", 1.2);
    ck_assert(fabs(json_number_value(at(d, "summary.step_s.mad")) - 0.1) < 1e-12);
    is_number(d, "summary.step_s.n", 5);
    is_number(d, "summary.forward_s.median", 0.3);
    is_number(d, "summary.backward_s.median", 0.6);
    is_number(d, "summary.tokens_per_s.median", 128 / 1.2);
    double flops = 128 * model_flops_per_token(&run.net.layout) / 1.2;
    is_number(d, "summary.flops_per_s.median", flops);
    is_number(d, "summary.share_of_product_rate", flops / 1e11);
    is_number(d, "floor.step_s", 1.0);
    is_number(d, "floor.ratio", 1.2);
    is_number(d, "samples.2.step_s", 1.2);
    is_number(d, "samples.2.loss", 3.5);
    is_number(d, "model.optimizer.beta2", run.optimizer.beta2 == 0.95f ? 0.95 : NAN); /* floats as people write them */
    is_number(d, "loss.first", 4);
    is_number(d, "loss.last", 3);
    is_number(d, "memory.peak_bytes", 1000000000);
    is_number(d, "stamps.share_of_step", 100 * 25e-9 / 1.2);
    ck_assert_uint_eq(json_array_size(at(d, "layers")), 8); /* embedding, 6 blocks, head */
    is_text(d, "layers.0.name", "embedding");
    is_text(d, "layers.7.name", "head");
    is_number(d, "layers.1.backward_s.median", 0.012);
    ck_assert_int_eq((int)json_array_size(at(d, "gradients")), run.net.layout.n);
    is_text(d, "gradients.0.name", run.net.layout.tensor[run.net.layout.n - 1].name); /* ready order */
    is_number(d, "layers.0.ready_s.median", 0.9);                                     /* wte, the last of all */
    is_text(d, "command.1", "--label=?");                                             /* no UTF-8 in, valid JSON out */
    is_unknown(d, "link");
    is_text(d, "reasons.link", "one node: no communication");
    is_unknown(d, "prediction");
    is_unknown(d, "speedup");
    is_unknown(d, "throttled_periods");
    is_text(d, "reasons.throttled_periods", "no quota");
    is_number(d, "disturbances.stolen_s", 0.25);
    is_number(d, "disturbances.core_heat_events", 6);
    is_unknown(d, "disturbances.package_heat_events");
    json_decref(d);
}
END_TEST

START_TEST(no_steps)
{
    fill(0);
    json_t *d = document();
    is_text(d, "status", "complete");
    static const char *const unknown[] = {"step_s",      "forward_s",    "backward_s",
                                          "optimizer_s", "tokens_per_s", "flops_per_s"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        char path[64];
        snprintf(path, sizeof path, "summary.%s.median", unknown[i]);
        is_unknown(d, path);
        snprintf(path, sizeof path, "summary.%s.n", unknown[i]);
        is_number(d, path, 0);
        snprintf(path, sizeof path, "summary.%s", unknown[i]);
        ck_assert_ptr_nonnull(json_object_get(at(d, "reasons"), path));
    }
    is_unknown(d, "summary.share_of_product_rate");
    is_unknown(d, "floor.step_s");
    is_unknown(d, "floor.ratio");
    is_unknown(d, "layers");
    is_unknown(d, "gradients");
    is_unknown(d, "unsteady");
    is_unknown(d, "stamps.share_of_step");
    is_unknown(d, "loss.first");
    ck_assert_uint_eq(json_array_size(at(d, "samples")), 0);
    char *table = table_render(d, &(struct table_style){0});
    ck_assert_ptr_nonnull(strstr(table, "not measured: no timed step was run"));
    free(table);
    json_decref(d);
}
END_TEST

START_TEST(one_step)
{
    fill(1);
    json_t *d = document();
    is_number(d, "summary.step_s.median", 1);
    is_number(d, "summary.step_s.mad", 0);
    is_number(d, "summary.step_s.n", 1);
    is_unknown(d, "unsteady"); /* one step has no halves */
    json_decref(d);
}
END_TEST

/* A loss that is no number ends the run: the document says so, keeps the steps and stays strict JSON. */
START_TEST(broken_loss)
{
    fill(3);
    samples[2].loss = NAN;
    err_set(&err, ERR_WRONG_RESULT, "the loss is not finite");
    json_t *d = document();
    is_text(d, "status", "failed");
    is_number(d, "error.code", 70);
    is_text(d, "error.message", "the loss is not finite");
    is_number(d, "summary.step_s.n", 2); /* the broken step is no measurement */
    ck_assert_uint_eq(json_array_size(at(d, "samples")), 3);
    is_unknown(d, "samples.2.loss");
    is_unknown(d, "loss.last");
    char *text = json_dumps(d, 0);
    ck_assert_ptr_nonnull(text);
    json_t *again = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    ck_assert_ptr_nonnull(again);
    json_decref(again);
    free(text);
    json_decref(d);
}
END_TEST

static struct probe probe;
static struct health health;
static struct watch watch;
static struct judgement judgement;

/* Three readings, a second apart; the clock goes away before the last one, and 5 J and then 10 J are used. */
static void fill_health(void)
{
    memset(&probe, 0, sizeof probe);
    memset(&health, 0, sizeof health);
    reasons_add(&probe.reasons, "heat.cpu_degc", "there is no temperature sensor");
    strcpy(probe.frequency.current_source, "cpufreq/scaling_cur_freq");
    health.probe = &probe;
    health.n = 3;
    health.every = 2;
    watch = (struct watch){.cpu_s = 0.004, .interval_s = 0.5};
    for (int i = 0; i < 3; i++)
        health.row[i] = (struct health_row){.at_ns = (uint64_t)(4 + i) * 1000000000u,
                                            .clock_hz = i < 2 ? 2.5e9 : NAN,
                                            .mdegc = INT64_MIN,
                                            .joules = i * (i + 3) / 2.0 * 2.5, /* 0, 5, 12.5 */
                                            .events = {7 + i, -1},
                                            .busy_s = NAN,
                                            .stolen_s = NAN,
                                            .own_s = 10 + i,
                                            .running = i,
                                            .source = POWER_BATTERY,
                                            .battery_percent = 50 - i};
    for (int i = 0; i < run.n; i++)
        samples[i].start_ns = 4250000000u + (uint64_t)i * 100000000u;
}

START_TEST(health_of_a_node)
{
    fill(5);
    fill_health();
    struct judge_known known = {.alone_here = true, .stall_limit_s = NAN};
    ck_assert_int_eq(judge_run(&judgement, &run, &health, &known, &err), 0);
    struct record r = make_record();
    r.start_ns = health.row[0].at_ns;
    r.health = &health;
    r.watch = &watch;
    r.judgement = &judgement;
    json_t *d = record_json(&r);
    is_number(d, "nodes.0.health.series.t_s.2", 2);
    is_number(d, "nodes.0.health.series.clock_hz.0", 2.5e9);
    is_unknown(d, "nodes.0.health.series.clock_hz.2");
    is_text(d, "nodes.0.health.vanished.0.column", "clock_hz");
    is_number(d, "nodes.0.health.vanished.0.last_seen_s", 1);
    is_unknown(d, "nodes.0.health.series.cpu_degc");
    ck_assert_str_eq(json_string_value(json_object_get(at(d, "reasons"), "nodes[0].health.series.cpu_degc")),
                     "there is no temperature sensor");
    is_unknown(d, "nodes.0.health.series.package_w.0");
    is_number(d, "nodes.0.health.series.package_w.1", 5);
    is_number(d, "nodes.0.health.series.package_w.2", 7.5);
    is_number(d, "nodes.0.health.series.package_j.2", 12.5);
    is_number(d, "nodes.0.health.series.core_heat_events.2", 2);
    ck_assert(json_is_true(at(d, "nodes.0.health.series.on_battery.1")));
    is_number(d, "nodes.0.health.series.battery_percent.2", 48);
    is_number(d, "nodes.0.health.sampler.share_of_cpu", 0.002); /* 4 ms of 2 s */
    is_number(d, "nodes.0.health.sampler.interval_s", 1);       /* every other reading is kept */
    /* events in either interval: every step ran beside one, the first from 0.25 s on */
    is_number(d, "samples.0.at_s", 0.25);
    is_text(d, "samples.0.marks.0", "throttled");
    is_number(d, "nodes.0.health.marks.throttled", 5);
    is_number(d, "nodes.0.health.marked_steps.throttled.4", 4);
    is_text(d, "nodes.0.health.grade", "D");
    is_text(d, "nodes.0.health.findings.1.grade", "C");
    is_unknown(d, "nodes.0.health.steady"); /* five steps */
    char *table = table_render(d, &(struct table_style){0});
    ck_assert_ptr_nonnull(
        strstr(table, "\nhealth      D: the processor slowed itself down because of heat (2 times; during 5 of 5"));
    ck_assert_ptr_nonnull(strstr(table, "-> connect it to mains"));
    ck_assert_ptr_nonnull(strstr(table, "marked      5 throttled"));
    free(table);
    json_decref(d);
    r.health = NULL; /* another rank of the node takes the readings */
    d = record_json(&r);
    is_unknown(d, "nodes.0.health.series");
    is_number(d, "nodes.0.health.marks.throttled", 5);
    json_decref(d);
    r.judgement = NULL;
    d = record_json(&r);
    is_unknown(d, "nodes.0.health");
    json_decref(d);
    judge_fini(&judgement);
}
END_TEST

START_TEST(interrupted_run)
{
    fill(2);
    run.interrupted = true;
    json_t *d = document();
    is_text(d, "status", "interrupted");
    json_decref(d);
}
END_TEST

/* A disturbance from the middle on is found; noise, drift below 10 % and short runs are not taken for one. */
START_TEST(halves_of_a_run)
{
    static const struct {
        int n;
        double step_s[STEPS];
        bool known, unsteady;
        double first_s, second_s;
    } cases[] = {
        {6, {1, 1, 1, 2, 2, 2}, true, true, 1, 2},
        {6, {2, 2, 2, 1, 1, 1}, true, true, 2, 1},
        {5, {1, 1, 9, 2, 2}, true, true, 1, 2},
        {6, {1, 1.01, 0.99, 1.05, 1.06, 1.04}, true, false, 1, 1.05},
        {6, {1, 2, 3, 1.5, 2.5, 3.5}, true, false, 2, 2.5},  /* apart by 25 %, but less than the noise */
        {6, {0.5, 0.5, 0.5, 0.5, 2, 2}, true, true, 0.5, 2}, /* halves of the time: four steps and two */
        {6, {1, 1, 1, 1, 1, 5}, true, false, 1, 3},
        {3, {1, 2, 3}, false, false, NAN, NAN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fill(cases[i].n);
        for (int j = 0; j < cases[i].n; j++)
            samples[j].step_s = cases[i].step_s[j];
        struct record_halves h = record_halves(&run);
        ck_assert_msg(h.known == cases[i].known && h.unsteady == cases[i].unsteady, "case %zu", i);
        if (h.known) {
            ck_assert(fabs(h.first_s - cases[i].first_s) < 1e-12);
            ck_assert(fabs(h.second_s - cases[i].second_s) < 1e-12);
        }
    }
}
END_TEST

/* Two ranks of 2 and 1 sequences. Rank 0's steps take 1.0, 1.1 and 1.2 s, of which it waits 0.1 s; it works 25 % longer
 * than rank 1, and takes 0.64 s alone where rank 1 takes 0.5 s for half of the tokens: 200 against 128 per second. */
enum { BUCKETS = 2 };

static struct reduce_bucket plan[BUCKETS] = {{.tensors = 3}, {.tensors = 4}};
static double bucket_s[3 * BUCKETS * RUN_BUCKET_COLUMNS];

static void fill_rank(int rank)
{
    fill(3);
    run.options.rank = rank;
    run.options.world = 2;
    run.options.baseline = true;
    run.net.B = rank == 0 ? 2 : 1;
    run.batch_all = 3;
    for (int i = 0; i < 3; i++) {
        samples[i].agree_s = 0.1;
        samples[i].exposed_s = rank == 0 ? 0.1 : samples[i].step_s - (samples[i].step_s - 0.1) / 1.25;
        samples[i].backward_s -= 0.1;
        samples[i].communication_s = 0.3;
        samples[i].wait_s = 0.05;
        samples[i].sent_bytes = 1000 + i;
        for (int b = 0; b < BUCKETS; b++) {
            double start = 0.4 + 0.2 * b;
            double times[RUN_BUCKET_COLUMNS] = {start - 0.1, start, start + 0.03, start + 0.15, 0.025,
                                                0.09,        0.02,  0.005,        0.01,         500.0 + 1000.0 * b};
            memcpy(bucket_s + (i * BUCKETS + b) * RUN_BUCKET_COLUMNS, times, sizeof times);
        }
    }
    run.buckets = BUCKETS;
    run.bucket = plan;
    run.bucket_s = bucket_s;
    run.alone_n = 2;
    run.alone_s[0] = run.alone_s[1] = rank == 0 ? 0.64 : 0.32;
}

static json_t *two_ranks(bool told)
{
    together = true;
    fill_rank(1);
    struct record r = make_record();
    others[0] = told ? record_report(&r) : NULL;
    fill_rank(0);
    json_t *d = document();
    together = false;
    json_decref(others[0]);
    return d;
}

START_TEST(several_ranks)
{
    json_t *d = two_ranks(true);
    is_number(d, "world", 2);
    ck_assert(json_is_true(at(d, "same_host")));
    is_text(d, "nodes.1.name", "host#1");
    is_number(d, "nodes.1.batch", 1);
    is_number(d, "nodes.0.alone_tokens_per_s", 2 * 64 / 0.64);
    is_number(d, "nodes.1.alone_tokens_per_s", 64 / 0.32);
    is_number(d, "model.tokens_per_step", 3 * 64);
    is_number(d, "summary.step_s.median", 1.1);
    is_number(d, "summary.period_s.median", 1.1 + 0.1); /* rank 1 updates its parameters later */
    is_number(d, "samples.0.agree_s", 0.1);
    is_number(d, "summary.tokens_per_s.median", 3 * 64 / (1.1 + 0.1));
    is_number(d, "speedup.measured", 3 * 64 / (1.1 + 0.1) / 200);
    is_number(d, "speedup.scaling", 3 * 64 / (1.1 + 0.1) / 200 / 2);
    is_number(d, "speedup.vs_this_node", 3 * 64 / (1.1 + 0.1) / 200);
    is_number(d, "speedup.baseline_step_s", 0.64);
    is_number(d, "communication.total_s", 0.3);
    is_number(d, "communication.exposed_s", 0.1);
    ck_assert(fabs(json_number_value(at(d, "communication.hidden_s")) - 0.2) < 1e-12);
    is_number(d, "communication.bytes_per_step", 1001);
    is_number(d, "communication.buckets.1.tensors", 4);
    is_number(d, "communication.buckets.1.bytes", 1500);
    is_number(d, "communication.buckets.0.ready_s.median", 0.4 - 0.1);
    is_number(d, "communication.buckets.0.move_s.median", 0.09);
    is_number(d, "communication.buckets.0.seal_s.median", 0.01);
    is_number(d, "communication.straggler.rank", 0);
    is_number(d, "nodes.0.summary.compute_s.median", 1.1 - 0.1);
    char *table = table_render(d, &(struct table_style){0});
    ck_assert_ptr_nonnull(strstr(table, "rank 0 works 25 % longer"));
    ck_assert_ptr_nonnull(strstr(table, "0.80 x  of host#0 alone"));
    free(table);
    json_decref(d);
}
END_TEST

/* A rank that died has an entry without figures, and nothing that needs them is made up. */
START_TEST(a_rank_that_could_not_tell)
{
    json_t *d = two_ranks(false);
    is_number(d, "nodes.1.rank", 1);
    is_unknown(d, "nodes.1.summary");
    is_unknown(d, "speedup.measured");
    is_unknown(d, "communication.straggler");
    is_number(d, "communication.total_s", 0.3);
    char *table = table_render(d, &(struct table_style){0});
    ck_assert_ptr_nonnull(strstr(table, "ended before it could tell"));
    free(table);
    json_decref(d);
}
END_TEST

/* The same table comes out of a document that went through a file. */
START_TEST(table_from_a_saved_document)
{
    fill(5);
    json_t *d = document();
    char *text = json_dumps(d, JSON_INDENT(2));
    json_t *again = json_loads(text, 0, NULL);
    struct table_style plain = {0};
    char *one = table_render(d, &plain), *two = table_render(again, &plain);
    ck_assert_str_eq(one, two);
    ck_assert_ptr_nonnull(strstr(one, "shakespeare-char"));
    ck_assert_ptr_nonnull(strstr(one, "1200.0 ms ± 100.0 "));
    ck_assert_ptr_nonnull(strstr(one, "step / floor 1.20"));
    ck_assert_ptr_nonnull(strstr(one, "block 5"));
    ck_assert_ptr_null(strchr(one, '\033'));
    for (const char *line = one; *line;) { /* fits a terminal of 100 columns */
        const char *end = strchr(line, '\n');
        ck_assert_msg(end - line <= 100, "too wide: %.*s", (int)(end - line), line);
        line = end + 1;
    }
    free(text);
    free(one);
    free(two);
    json_decref(d);
    json_decref(again);
}
END_TEST

/* A document that somebody damaged or made evil draws a poorer table, no crash and no escape sequence. */
START_TEST(table_of_strange_documents)
{
    static const char *const documents[] = {
        "{}",
        "[]",
        "{\"nodes\": 3, \"layers\": [null, 1, {}], \"summary\": {\"step_s\": {\"median\": 1}}, \"warnings\": [1]}",
        "{\"model\": {\"name\": \"\\u001b[2Jx\"}, \"status\": \"failed\", \"error\": {\"message\": \"a\\u0007b\"}}",
    };
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++) {
        json_t *d = json_loads(documents[i], 0, NULL);
        ck_assert_ptr_nonnull(d);
        char *text = table_render(d, &(struct table_style){.warnings = true});
        ck_assert_ptr_nonnull(text);
        ck_assert_ptr_null(strpbrk(text, "\033\007"));
        free(text);
        json_decref(d);
    }
}
END_TEST

START_TEST(numbers_for_people)
{
    char b[64];
    ck_assert_str_eq(table_number(b, sizeof b, 0.0123456), "0.01235");
    ck_assert_str_eq(table_number(b, sizeof b, 12.3456), "12.35");
    ck_assert_str_eq(table_number(b, sizeof b, 123456), "123456");
    ck_assert_str_eq(table_number(b, sizeof b, 0), "0");
    ck_assert_str_eq(table_bytes(b, sizeof b, 497759232), "497.8 MB"); /* MB = 1e6 */
    ck_assert_str_eq(table_bytes(b, sizeof b, 40), "40 B");
    ck_assert_str_eq(table_seconds(b, sizeof b, 65), "1 min 5 s");
    ck_assert_str_eq(table_seconds(b, sizeof b, 600), "10 min");
    ck_assert_str_eq(table_seconds(b, sizeof b, 0.1824), "182.4 ms");
    ck_assert_str_eq(table_seconds(b, sizeof b, 7500), "2 h 5 min");
    struct run_progress at = {
        .stage = "training", .done = 3, .total = 10, .elapsed_s = 2, .eta_s = 5.2, .loss = 4.125f};
    progress_line(b, sizeof b, &at);
    ck_assert_str_eq(b, "training  3/10  2 s  loss 4.125  about 6 s left");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("record");
    TCase *t = tcase_create("record");
    tcase_add_test(t, values_of_a_complete_run);
    tcase_add_test(t, no_steps);
    tcase_add_test(t, one_step);
    tcase_add_test(t, broken_loss);
    tcase_add_test(t, interrupted_run);
    tcase_add_test(t, health_of_a_node);
    tcase_add_test(t, halves_of_a_run);
    tcase_add_test(t, several_ranks);
    tcase_add_test(t, a_rank_that_could_not_tell);
    tcase_add_test(t, table_from_a_saved_document);
    tcase_add_test(t, table_of_strange_documents);
    tcase_add_test(t, numbers_for_people);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
