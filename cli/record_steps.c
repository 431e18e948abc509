/*
 * cli/record_steps.c - see record.h: the part of the document that rests on the timed steps. Start at
 * record_add_measured(), at the end.
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "cli/record_parts.h"

const char record_no_steps[] = "no timed step was run";

static const char replayed[] = "computing was replayed, not done (--compute replay)";

struct record_column record_column_make(int n)
{
    double *v = calloc(2 * (size_t)(n + 1), sizeof *v);
    return (struct record_column){v, v ? v + n + 1 : NULL};
}

struct summary record_column_summary(const struct record_column *c, int n)
{
    return stats_summary(c->value, (size_t)n, c->scratch);
}

struct summary record_strided(const struct record_column *c, const double *x, size_t stride, int n)
{
    for (int i = 0; i < n; i++)
        c->value[i] = x[(size_t)i * stride];
    return record_column_summary(c, n);
}

int record_good_steps(const struct run *run)
{
    int n = run->n;
    while (n > 0 && !run->options.replay && !isfinite(run->sample[n - 1].loss))
        n--;
    return n;
}

/* Steps whose middle lies in the first half of the time that all took. Halves of the time, not of the count: a node that
 * becomes four times slower in the middle of a run does most of its steps before that. */
static int first_half(const struct run *run, int n)
{
    double all = 0, before = 0;
    int half = 0;
    for (int i = 0; i < n; i++)
        all += run->sample[i].step_s;
    while (half < n && before + run->sample[half].step_s / 2 < all / 2)
        before += run->sample[half++].step_s;
    return half < 2 ? 2 : half > n - 2 ? n - 2 : half; /* one step says nothing about how steps vary */
}

struct record_halves record_halves(const struct run *run)
{
    struct record_halves h = {NAN, NAN, false, false};
    int n = record_good_steps(run), half = first_half(run, n);
    struct record_column c = record_column_make(n);
    if (n >= 4 && c.value) {
        struct summary part[2];
        for (int p = 0; p < 2; p++) {
            int from = p ? half : 0, steps = p ? n - half : half;
            for (int i = 0; i < steps; i++)
                c.value[i] = run->sample[from + i].step_s;
            part[p] = record_column_summary(&c, steps);
        }
        double apart = fabs(part[0].median - part[1].median);
        /* standard error of a median of normal samples: 1.2533 sigma / sqrt(n), sigma = 1.4826 MAD */
        double error = 1.2533 * 1.4826 * hypot(part[0].mad / sqrt(half), part[1].mad / sqrt(n - half));
        h.first_s = part[0].median;
        h.second_s = part[1].median;
        h.known = true;
        h.unsteady = apart > 0.10 * fmin(h.first_s, h.second_s) && apart > 3 * error;
    }
    free(c.value);
    return h;
}

/* From the start of a step to the start of the next, but for what is no training. */
static double pace(const struct run *run, int step)
{
    const struct run_sample *s = &run->sample[step];
    return s->step_s + (run->options.world > 1 ? s->agree_s : 0);
}

struct record_stalls record_stalls(const struct run *run)
{
    int n = record_good_steps(run);
    struct record_stalls stalls = {.limit_s = NAN};
    struct record_column c = record_column_make(n);
    for (int i = 0; i < n && c.value; i++)
        c.value[i] = pace(run, i);
    if (n >= 3 && c.value) {
        double median_s = record_column_summary(&c, n).median;
        stalls.limit_s = fmax(2 * median_s, median_s + 1);
        for (int i = 0; i < n; i++)
            if (pace(run, i) > stalls.limit_s && stalls.n++ == 0)
                stalls.first = i;
    }
    free(c.value);
    return stalls;
}

static void add_stalls(json_t *root, const struct run *run)
{
    struct record_stalls stalls = record_stalls(run);
    if (isnan(stalls.limit_s)) {
        json_unknown(root, root, "stalls", "stalls", "fewer than three timed steps");
        return;
    }
    json_t *list = json_array();
    for (int i = 0; i < record_good_steps(run); i++) {
        const struct run_sample *s = &run->sample[i];
        bool several = run->options.world > 1;
        if (pace(run, i) <= stalls.limit_s)
            continue;
        json_t *o = json_object();
        record_set(o, "step", json_integer(i));
        record_set(o, "step_s", json_num(s->step_s));
        record_set(o, "exposed_s", json_num(several ? s->exposed_s : 0));
        record_set(o, "agree_s", json_num(several ? s->agree_s : 0));
        json_array_append_new(list, o);
    }
    record_set(root, "stalls", list);
}

static void add_summary(json_t *root, json_t *o, const char *key, struct summary s)
{
    json_known_summary(root, o, "summary", key, s, record_no_steps);
}

static void add_summaries(json_t *root, const struct record *r, const struct record_column *c, int n)
{
    const struct run *run = r->run;
    json_t *o = json_object();
    const struct run_sample *s = run->sample;
    size_t stride = sizeof *s / sizeof(double);
    static_assert(sizeof(struct run_sample) % sizeof(double) == 0, "samples are read as columns of doubles");
    add_summary(root, o, "step_s", record_strided(c, n ? &s->step_s : NULL, stride, n));
    for (int i = 0; i < n; i++)
        c->value[i] = pace(run, i);
    add_summary(root, o, "period_s", record_column_summary(c, n));
    add_summary(root, o, "forward_s", record_strided(c, n ? &s->forward_s : NULL, stride, n));
    add_summary(root, o, "backward_s", record_strided(c, n ? &s->backward_s : NULL, stride, n));
    add_summary(root, o, "optimizer_s", record_strided(c, n ? &s->optimizer_s : NULL, stride, n));
    add_summary(root, o, "data_s", record_strided(c, n ? &s->data_s : NULL, stride, n));
    if (run->options.world > 1) {
        add_summary(root, o, "exposed_s", record_strided(c, n ? &s->exposed_s : NULL, stride, n));
        add_summary(root, o, "communication_s", record_strided(c, n ? &s->communication_s : NULL, stride, n));
        json_known_summary(root, o, "summary", "wait_s", record_strided(c, n ? &s->wait_s : NULL, stride, n),
                           n && run->why_opaque ? run->why_opaque : record_no_steps);
    }
    double tokens = (double)record_tokens_per_step(run);
    for (int i = 0; i < n; i++)
        c->value[i] = tokens / pace(run, i);
    add_summary(root, o, "tokens_per_s", record_column_summary(c, n));
    double flops = tokens * model_flops_per_token(&run->net.layout);
    for (int i = 0; i < n; i++)
        c->value[i] = flops / pace(run, i);
    struct summary rate = record_column_summary(c, n);
    add_summary(root, o, "flops_per_s", rate);
    double own = (double)run->net.B / run->batch_all;
    json_known(root, o, "summary", "share_of_product_rate",
               json_num(run->options.replay ? NAN : own * rate.median / r->rate.flops_per_s),
               !n                    ? record_no_steps
               : run->options.replay ? replayed
                                     : "the product rate was not measured");
    record_set(root, "summary", o);

    struct record_halves h = record_halves(run);
    const char *few = "fewer than four timed steps";
    if (h.known)
        record_set(root, "unsteady", json_boolean(h.unsteady));
    else
        json_unknown(root, root, "unsteady", "unsteady", few);
    add_stalls(root, run);
    json_t *halves = json_object();
    json_known(root, halves, "halves", "first_step_s", json_num(h.first_s), few);
    json_known(root, halves, "halves", "second_step_s", json_num(h.second_s), few);
    record_set(root, "halves", halves);
}

static void add_loss(json_t *root, const struct run *run)
{
    json_t *o = json_object();
    float first = run->n ? run->sample[0].loss : NAN, last = run->n ? run->sample[run->n - 1].loss : NAN;
    const char *why = !run->n ? record_no_steps : run->options.replay ? replayed : "the loss is not finite";
    json_known(root, o, "loss", "first", json_num(record_decimal(first)), why);
    json_known(root, o, "loss", "last", json_num(record_decimal(last)), why);
    json_known(root, o, "loss", "validation", json_num(run->options.eval_batches ? run->eval_loss : NAN),
               run->options.eval_batches ? "validation was not reached" : "no validation asked for (--eval)");
    record_set(root, "loss", o);
}

static json_t *marks_json(const struct judgement *j, int step)
{
    json_t *list = json_array();
    for (int m = 0; j && m < JUDGE_MARKS; m++)
        if (j->mark[step] & 1u << m)
            json_array_append_new(list, json_string(judge_mark_names[m]));
    return list;
}

void record_add_samples(json_t *root, const struct record *r)
{
    const struct run *run = r->run;
    json_t *list = json_array();
    for (int i = 0; i < run->n; i++) {
        const struct run_sample *s = &run->sample[i];
        json_t *o = json_object();
        char path[48];
        record_set(o, "at_s", json_num(clock_seconds(r->start_ns, s->start_ns)));
        record_set(o, "step_s", json_num(s->step_s));
        record_set(o, "forward_s", json_num(s->forward_s));
        record_set(o, "backward_s", json_num(s->backward_s));
        record_set(o, "optimizer_s", json_num(s->optimizer_s));
        record_set(o, "data_s", json_num(s->data_s));
        snprintf(path, sizeof path, "samples[%d]", i);
        json_known(root, o, path, "loss", json_num(record_decimal(s->loss)),
                   run->options.replay ? replayed : "the loss is not finite");
        record_set(o, "minor_faults", json_integer(s->minor_faults));
        if (run->options.world > 1) {
            record_set(o, "exposed_s", json_num(s->exposed_s));
            record_set(o, "communication_s", json_num(s->communication_s));
            record_set(o, "agree_s", json_num(s->agree_s));
            record_set(o, "wait_s", json_num(s->wait_s)); /* null: as in the summary */
        }
        record_set(o, "marks", marks_json(r->judgement, i));
        json_array_append_new(list, o);
    }
    record_set(root, "samples", list);
}

struct tensor_ready {
    int index;
    struct summary ready;
};

static int by_time(const void *a, const void *b)
{
    const struct tensor_ready *x = a, *y = b;
    if (x->ready.median != y->ready.median)
        return x->ready.median < y->ready.median ? -1 : 1;
    return y->index - x->index; /* backward goes from the end */
}

static json_t *gradient_json(const struct tensor *t, struct summary ready)
{
    json_t *o = json_object();
    record_set(o, "name", json_string(t->name));
    record_set(o, "layer", json_integer(t->layer));
    record_set(o, "bytes", json_integer((json_int_t)(t->count * sizeof(float))));
    record_set(o, "ready_s", json_summary(ready));
    return o;
}

/* Rows of run->layer_s: embedding, blocks and head, or an MLP's layers after an unused row. */
static int layer_rows(const struct run *run)
{
    return run->spec.kind == MODEL_GPT ? run->spec.L + 2 : run->spec.layers + 1;
}

static void layer_name(char *name, size_t size, const struct model_spec *spec, int layer)
{
    if (spec->kind == MODEL_MLP)
        snprintf(name, size, "linear %d", layer);
    else if (layer < 0)
        snprintf(name, size, "embedding");
    else if (layer >= spec->L)
        snprintf(name, size, "head");
    else
        snprintf(name, size, "block %d", layer);
}

/* One layer, or NULL if it spent no time at all: an MLP has neither embedding nor head. */
static json_t *layer_json(const struct run *run, int row, const struct record_column *c, int n,
                          const struct tensor_ready *gradients)
{
    int rows = layer_rows(run), layer = row - 1;
    static const char *const keys[] = {
        [PHASE_FORWARD] = "forward_s", [PHASE_BACKWARD] = "backward_s", [PHASE_OPTIMIZER] = "optimizer_s"};
    json_t *o = json_object();
    char name[32];
    layer_name(name, sizeof name, &run->spec, layer);
    record_set(o, "layer", json_integer(layer));
    record_set(o, "name", json_string(name));
    double spent = 0;
    for (int kind = 0; kind < 3; kind++) {
        struct summary s = record_strided(c, run->layer_s + row * 3 + kind, (size_t)rows * 3, n);
        spent += s.median;
        record_set(o, keys[kind], json_summary(s));
    }
    const struct tensor_ready *last = NULL; /* the layer is ready with its last tensor */
    for (int i = 0; i < run->net.layout.n; i++)
        if (run->net.layout.tensor[gradients[i].index].layer == layer)
            last = &gradients[i];
    record_set(o, "ready_s", last ? json_summary(last->ready) : json_null());
    if (spent > 0)
        return o;
    json_decref(o);
    return NULL;
}

/* The instants of the last steps, one text each, in the order of "gradients": what a replay needs and medians do not tell. Only
 * steps without communication, whose instants hold for any number of ranks. */
static void add_ready(json_t *root, const struct run *run, const struct tensor_ready *order, int n)
{
    int tensors = run->net.layout.n, first = n > REPLAY_STEPS_MAX ? n - REPLAY_STEPS_MAX : 0;
    if (run->options.world > 1 || run->options.replay) {
        json_unknown(root, root, "gradient_ready", "gradient_ready",
                     run->options.replay ? replayed : "kept for one rank alone only");
        return;
    }
    json_t *o = json_object(), *rows = json_array();
    size_t room = (size_t)tensors * 16 + 1;
    char *text = malloc(room);
    for (int i = first; i < n && text; i++) {
        size_t used = 0;
        for (int t = 0; t < tensors; t++)
            used +=
                (size_t)snprintf(text + used, room - used, t ? " %.0f" : "%.0f",
                                 fmin(run->ready_s[(size_t)i * (size_t)tensors + (size_t)order[t].index] * 1e6, 1e12));
        json_array_append_new(rows, json_string(text));
    }
    free(text);
    record_set(o, "first_step", json_integer(first));
    record_set(o, "us", rows);
    record_set(root, "gradient_ready", o);
}

static void add_layers(json_t *root, const struct run *run, const struct record_column *c, int n)
{
    int tensors = run->net.layout.n;
    struct tensor_ready *order = n > 0 ? malloc(((size_t)tensors + 1) * sizeof *order) : NULL;
    if (!order) {
        json_unknown(root, root, "layers", "layers", record_no_steps);
        json_unknown(root, root, "gradients", "gradients", record_no_steps);
        json_unknown(root, root, "gradient_ready", "gradient_ready", record_no_steps);
        return;
    }
    for (int i = 0; i < tensors; i++)
        order[i] = (struct tensor_ready){i, record_strided(c, run->ready_s + i, (size_t)tensors, n)};
    qsort(order, (size_t)tensors, sizeof *order, by_time);
    json_t *layers = json_array(), *gradients = json_array();
    for (int row = 0; row < layer_rows(run); row++) {
        json_t *o = layer_json(run, row, c, n, order);
        if (o)
            json_array_append_new(layers, o);
    }
    for (int i = 0; i < tensors; i++)
        json_array_append_new(gradients, gradient_json(&run->net.layout.tensor[order[i].index], order[i].ready));
    add_ready(root, run, order, n);
    free(order);
    if (run->options.replay) { /* all of a kind is slept through in one piece */
        json_decref(layers);
        json_unknown(root, root, "layers", "layers", replayed);
    } else {
        record_set(root, "layers", layers);
    }
    record_set(root, "gradients", gradients);
}

static void add_stamps(json_t *root, const struct run *run, double step_s)
{
    json_t *o = json_object();
    record_set(o, "count", json_integer(run->stamps_per_step));
    json_known(root, o, "stamps", "cost_ns", json_num(run->n ? run->stamp_cost_ns : NAN), record_no_steps);
    json_known(root, o, "stamps", "share_of_step", json_num(run->stamps_per_step * run->stamp_cost_ns * 1e-9 / step_s),
               record_no_steps);
    record_set(root, "stamps", o);
}

static void add_floor(json_t *root, const struct run *run, const struct record_column *c, double step_s)
{
    enum { FLOOR_MAX = sizeof run->floor_s / sizeof *run->floor_s };
    int n = run->floor_n < FLOOR_MAX ? run->floor_n : FLOOR_MAX;
    const char *why = run->options.replay   ? replayed
                      : !run->options.floor ? "--no-floor"
                      : !run->n             ? record_no_steps
                                            : "the run ended before it";
    for (int i = 0; i < n; i++)
        c->value[i] = run->floor_s[i];
    struct summary s = record_column_summary(c, n);
    json_t *o = json_object();
    json_known(root, o, "floor", "step_s", json_num(s.median), why);
    json_known(root, o, "floor", "mad", json_num(s.mad), why);
    record_set(o, "n", json_integer(n));
    json_known(root, o, "floor", "ratio", json_num(step_s / s.median), n ? record_no_steps : why);
    record_set(root, "floor", o);
}

int record_add_measured(json_t *root, const struct record *r)
{
    const struct run *run = r->run;
    int n = record_good_steps(run);
    struct record_column c = record_column_make(n > 16 ? n : 16); /* the floor's samples fit too */
    if (!c.value)
        return -1;
    double step_s = record_strided(&c, n ? &run->sample->step_s : NULL, sizeof *run->sample / sizeof(double), n).median;
    add_summaries(root, r, &c, n);
    add_floor(root, run, &c, step_s);
    add_loss(root, run);
    add_layers(root, run, &c, n);
    add_stamps(root, run, step_s);
    free(c.value);
    return 0;
}
