/*
 * cli/record_arithmetic.c - see record.h: what this run's plan of buckets allows (ddp/arithmetic.h), beside what was measured.
 * Two questions, both with the rate at which this run's link carried the fastest quarter of the bytes:
 *
 *     exposed_s   gradients complete when they were in the training steps: how long would the step stand still?
 *     step_s      gradients complete as in this rank's steps alone, slowed down by nothing but the processor time that
 *                 communication was measured to take, if it has no processor of its own: how long would the step take?
 */
#include <math.h>
#include <stdlib.h>

#include "cli/record_parts.h"
#include "ddp/arithmetic.h"

/* Of shorter buckets the first and last packets are too large a part. */
#define RATE_BYTES_MIN 4e6

struct medians { /* over the timed steps, in seconds */
    double step_s, exposed_s, optimizer_s, backward_end_s, cpu_s, alone_s, alone_backward_s;
};

static double column(const struct run *run, int b, int which, const struct record_column *c, int n)
{
    const double *first = run->bucket_s + (size_t)b * RUN_BUCKET_COLUMNS + which;
    return record_strided(c, first, (size_t)run->buckets * RUN_BUCKET_COLUMNS, n).median;
}

struct moved {
    double bytes, rate_bytes_per_s;
};

static int by_rate(const void *a, const void *b)
{
    double x = ((const struct moved *)a)->rate_bytes_per_s, y = ((const struct moved *)b)->rate_bytes_per_s;
    return (x < y) - (x > y);
}

/* The rate that a quarter of the bytes reached: while the processor is busy with backward some buckets are slower, and one
 * that begins with a full queue in front of the link may seem faster than the link. Counted from a bucket's start: bytes
 * arrive before a thread that has to wait for the processor sees the first of them. */
static double sustained_rate(const struct run *run, const struct record_column *c, int n)
{
    double all = 0, share = 2.0 * (run->options.world - 1) / run->options.world, rate = NAN;
    struct moved *moved = calloc((size_t)run->buckets + 1, sizeof *moved);
    int kept = 0;
    for (int b = 0; moved && b < run->buckets; b++) {
        for (int i = 0; i < n; i++) {
            const double *x = run->bucket_s + ((size_t)i * (size_t)run->buckets + (size_t)b) * RUN_BUCKET_COLUMNS;
            c->value[i] = x[RUN_BUCKET_BYTES] * share / (x[RUN_BUCKET_END] - x[RUN_BUCKET_START]);
        }
        struct moved one = {.rate_bytes_per_s = record_column_summary(c, n).median};
        one.bytes = column(run, b, RUN_BUCKET_BYTES, c, n);
        if (one.bytes >= RATE_BYTES_MIN && one.rate_bytes_per_s > 0)
            moved[kept++] = one;
    }
    qsort(moved, (size_t)kept, sizeof *moved, by_rate);
    for (int i = 0; i < kept; i++)
        all += moved[i].bytes;
    double sum = 0;
    for (int i = 0; i < kept && sum < all / 4; i++) {
        sum += moved[i].bytes;
        rate = moved[i].rate_bytes_per_s;
    }
    free(moved);
    return rate;
}

static struct medians take_medians(const struct run *run, const struct record_column *c, int n)
{
    const struct run_sample *s = run->sample;
    size_t stride = sizeof *s / sizeof(double);
    struct medians m = {
        .step_s = record_strided(c, &s->step_s, stride, n).median,
        .exposed_s = record_strided(c, &s->exposed_s, stride, n).median,
        .optimizer_s = record_strided(c, &s->optimizer_s, stride, n).median,
        .cpu_s = record_strided(c, &s->cpu_s, stride, n).median,
        .alone_s = record_strided(c, run->alone_s, 1, run->alone_n).median,
        .alone_backward_s = record_strided(c, run->alone_backward_s, 1, run->alone_n).median,
    };
    for (int i = 0; i < n; i++)
        c->value[i] = s[i].forward_s + s[i].backward_s;
    m.backward_end_s = record_column_summary(c, n).median;
    return m;
}

/* What updating a bucket takes, as its share of all parameters: of the embedding the rows that were touched count with
 * their own bucket. */
static double update_share(const struct run *run, int b, const double *bytes)
{
    const struct reduce_bucket *bucket = &run->bucket[b];
    double all = (double)run->net.layout.params * sizeof(float), own = bytes[b];
    double wte = (double)run->net.spec.V * run->net.spec.C * sizeof(float);
    if (bucket->last == REDUCE_HEAD_PART)
        own *= 1 - bytes[run->buckets - 1] / wte;
    return own / all;
}

/* The touched rows are not complete before backward ends, whatever the medians say. */
static struct arithmetic_step allowed(const struct run *run, const struct arithmetic *base, const double *ready_s,
                                      const double *bytes, double optimizer_s, struct arithmetic_bucket *bucket)
{
    struct arithmetic a = *base;
    for (int b = 0; b < run->buckets; b++)
        bucket[b] = (struct arithmetic_bucket){fmin(ready_s[b], a.backward_s), bytes[b],
                                               optimizer_s * update_share(run, b, bytes)};
    a.bucket = bucket;
    return arithmetic_step(&a);
}

static const char path[] = "communication.arithmetic";

static void fill(json_t *root, json_t *o, const struct run *run, const struct record_column *c, int n,
                 struct arithmetic_bucket *bucket, double *work)
{
    struct medians m = take_medians(run, c, n);
    double *ready_s = work, *alone_ready_s = work + run->buckets, *bytes = work + 2 * run->buckets, all_bytes = 0;
    for (int b = 0; b < run->buckets; b++) {
        ready_s[b] = column(run, b, RUN_BUCKET_READY, c, n);
        bytes[b] = column(run, b, RUN_BUCKET_BYTES, c, n);
        all_bytes += bytes[b];
        alone_ready_s[b] = record_strided(c, run->alone_ready_s + b, (size_t)run->buckets, run->alone_n).median;
    }
    struct arithmetic a = {.n = run->buckets,
                           .world = run->options.world,
                           .backward_s = m.backward_end_s,
                           .rate_bytes_per_s = sustained_rate(run, c, n),
                           .latency_s = run->agree_s,
                           .update_per_bucket = run->options.update == RUN_UPDATE_BUCKET};
    struct arithmetic_step own = allowed(run, &a, ready_s, bytes, m.optimizer_s, bucket);
    double moving_s = all_bytes * 2 * (a.world - 1) / a.world / a.rate_bytes_per_s;
    a.backward_s = m.alone_backward_s;
    a.stolen = run->shares_processor ? m.cpu_s / moving_s : 0;
    if (a.stolen > 1)
        a.stolen = 1;
    struct arithmetic_step best = allowed(run, &a, alone_ready_s, bytes, m.alone_s - m.alone_backward_s, bucket);
    record_set(o, "rate_bytes_per_s", json_num(a.rate_bytes_per_s));
    record_set(o, "latency_s", json_num(a.latency_s));
    json_known(root, o, path, "processor_share", json_num(a.stolen), run->why_opaque);
    record_set(o, "exposed_s", json_num(own.exposed_s));
    json_known(root, o, path, "exposed_ratio", json_num(own.exposed_s > 0 ? m.exposed_s / own.exposed_s : NAN),
               "the arithmetic allows none at all");
    const char *why = run->options.baseline ? "the run ended before each rank was timed alone"
                                            : "no baseline was asked for (--no-baseline)";
    bool alone = run->alone_n > 0 && isfinite(a.stolen);
    if (run->alone_n > 0)
        why = run->why_opaque;
    json_known(root, o, path, "step_s", json_num(alone ? best.step_s : NAN), why);
    json_known(root, o, path, "step_ratio", json_num(alone ? m.step_s / best.step_s : NAN), why);
    json_known(root, o, path, "cost_s", json_num(alone ? best.step_s - m.alone_s : NAN), why);
    json_known(root, o, path, "measured_cost_s", json_num(alone ? m.step_s - m.alone_s : NAN), why);
}

void record_add_arithmetic(json_t *root, json_t *communication, const struct run *run, int n)
{
    struct record_column c = record_column_make(n > RUN_ALONE_MAX ? n : RUN_ALONE_MAX);
    size_t buckets = (size_t)run->buckets;
    struct arithmetic_bucket *bucket = calloc(buckets + 1, sizeof *bucket);
    double *work = calloc(3 * buckets + 1, sizeof *work);
    bool memory = c.value && bucket && work;
    const char *why = n == 0    ? record_no_steps
                      : !memory ? "out of memory"
                      : !isfinite(sustained_rate(run, &c, n))
                          ? "no bucket of at least 4 MB, from which a rate could be taken"
                          : NULL;
    if (why) {
        json_unknown(root, communication, "arithmetic", path, why);
    } else {
        json_t *o = json_object();
        fill(root, o, run, &c, n, bucket, work);
        record_set(communication, "arithmetic", o);
    }
    free(c.value);
    free(bucket);
    free(work);
}
