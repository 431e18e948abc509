/* cli/record.c - see record.h. Start at record_json(): it is the table of contents. */
#include "cli/record.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"
#include "model/kernels.h"

static const char no_steps[] = "no timed step was run";

static void set(json_t *o, const char *key, json_t *value)
{
    json_object_set_new(o, key, value);
}

/* A text, or null with a reason. */
static void set_text(json_t *root, json_t *o, const char *key, const char *path, const char *text, const char *reason)
{
    if (text && *text)
        set(o, key, output_string(text));
    else
        json_unknown(root, o, key, path, reason);
}

/* A real, or null with a reason. */
static void set_num(json_t *root, json_t *o, const char *key, const char *path, double x, const char *reason)
{
    if (isfinite(x))
        set(o, key, json_real(x));
    else
        json_unknown(root, o, key, path, reason);
}

/* A float as the shortest decimal that reads back as the same float: 0.0003, not 0.00030000001424923539. */
static double decimal(float x)
{
    char text[32];
    if (!isfinite(x))
        return (double)x;
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)x);
        if (strtof(text, NULL) == x)
            break;
    }
    return strtod(text, NULL);
}

/* Column x of the samples: n values, each `stride` doubles after the one before. NULL if memory is out. */
struct column {
    double *value, *scratch;
};

static struct column column_make(int n)
{
    double *v = malloc(2 * (size_t)(n + 1) * sizeof *v);
    return (struct column){v, v ? v + n + 1 : NULL};
}

static struct summary summarise(const struct column *c, int n)
{
    return stats_summary(c->value, (size_t)n, c->scratch);
}

static struct summary strided(const struct column *c, const double *x, size_t stride, int n)
{
    for (int i = 0; i < n; i++)
        c->value[i] = x[(size_t)i * stride];
    return summarise(c, n);
}

/* Steps on which the summaries rest: a step whose loss is not finite computed nothing worth a rate. */
static int good_steps(const struct run *run)
{
    int n = run->n;
    while (n > 0 && !isfinite(run->sample[n - 1].loss))
        n--;
    return n;
}

struct record_halves record_halves(const struct run *run)
{
    struct record_halves h = {NAN, NAN, false, false};
    int n = good_steps(run), half = n / 2;
    struct column c = column_make(n);
    if (n >= 4 && c.value) {
        struct summary part[2];
        for (int p = 0; p < 2; p++) {
            for (int i = 0; i < half; i++)
                c.value[i] = run->sample[p ? n - half + i : i].step_s;
            part[p] = summarise(&c, half);
        }
        double apart = fabs(part[0].median - part[1].median);
        /* standard error of a median of normal samples: 1.2533 sigma / sqrt(n), sigma = 1.4826 MAD */
        double error = 1.2533 * 1.4826 * hypot(part[0].mad, part[1].mad) / sqrt(half);
        h.first_s = part[0].median;
        h.second_s = part[1].median;
        h.known = true;
        h.unsteady = apart > 0.10 * fmin(h.first_s, h.second_s) && apart > 3 * error;
    }
    free(c.value);
    return h;
}

static json_t *optimizer_json(const struct run *run)
{
    const struct optimizer_spec *s = &run->optimizer;
    json_t *o = json_object();
    set(o, "name", json_string(s->kind == OPTIMIZER_ADAMW ? "adamw" : "sgd"));
    set(o, "lr", json_num(decimal(s->lr)));
    if (s->kind == OPTIMIZER_ADAMW) {
        set(o, "beta1", json_num(decimal(s->beta1)));
        set(o, "beta2", json_num(decimal(s->beta2)));
        set(o, "eps", json_num(decimal(s->eps)));
    }
    set(o, "weight_decay", json_num(decimal(s->weight_decay)));
    set(o, "clip", json_num(run->options.clip));
    return o;
}

static int64_t tokens_per_step(const struct run *run)
{
    return (int64_t)run->net.B * run->net.T * run->options.accum;
}

static json_t *model_json(const struct run *run)
{
    const struct layout *l = &run->net.layout;
    json_t *o = json_object();
    set(o, "name", json_string(run->spec.name));
    set(o, "parameters", json_integer((json_int_t)l->params));
    set(o, "unique_parameters", json_integer((json_int_t)l->params));
    set(o, "gradient_bytes", json_integer((json_int_t)(l->params * sizeof(float))));
    set(o, "tensors", json_integer(l->n));
    set(o, "batch", json_integer(run->net.B));
    set(o, "seq", json_integer(run->net.T));
    set(o, "accum", json_integer(run->options.accum));
    set(o, "tokens_per_step", json_integer(tokens_per_step(run)));
    set(o, "flops_per_token", json_num(model_flops_per_token(l)));
    set(o, "dtype", json_string("fp32"));
    set(o, "seed", json_integer((json_int_t)run->options.seed));
    set(o, "optimizer", optimizer_json(run));
    return o;
}

static json_t *plan_json(const struct run *run)
{
    const struct run_options *p = &run->options;
    json_t *o = json_object();
    set(o, "warmup_steps", json_integer(p->warmup));
    set(o, "steps", p->steps >= 0 ? json_integer(p->steps) : json_null());
    set(o, "time_s", p->steps >= 0 ? json_null() : json_num(p->time_s));
    set(o, "floor", json_boolean(p->floor));
    set(o, "validation_batches", json_integer(p->eval_batches));
    set(o, "checkpoint", p->checkpoint ? output_string(p->checkpoint) : json_null());
    set(o, "save", p->save ? output_string(p->save) : json_null());
    return o;
}

static void add_data(json_t *root, const struct run *run)
{
    if (run->spec.kind == MODEL_MLP) {
        json_unknown(root, root, "data", "data", "this model trains on random vectors");
        return;
    }
    static const char *const formats[] = {
        [DATA_BUILTIN] = "built-in", [DATA_TEXT] = "text", [DATA_NANOGPT] = "nanogpt", [DATA_LLMC] = "llmc"};
    const struct data *d = &run->data;
    const struct sampler *s = &run->sampler;
    json_t *o = json_object();
    set(o, "source", *d->path ? output_string(d->path) : json_string("built-in"));
    set(o, "format", json_string(formats[d->format]));
    set(o, "tokens", json_integer((json_int_t)d->n));
    set(o, "train_tokens", json_integer((json_int_t)d->train_n));
    set(o, "vocabulary", json_integer(d->V));
    set(o, "epoch_positions", json_integer((json_int_t)s->positions));
    set(o, "epoch_positions_per_rank", json_integer((json_int_t)s->per_rank));
    set(o, "padded", json_integer((json_int_t)s->padded));
    set(o, "dropped", json_integer((json_int_t)s->dropped));
    set(o, "epoch", json_integer((json_int_t)s->epoch));
    set(root, "data", o);
}

static void add_node(json_t *root, const struct record *r)
{
    json_t *nodes = json_array(), *o = json_object();
    json_array_append_new(nodes, o);
    set(root, "world", json_integer(1));
    set(root, "same_host", json_false());
    set_text(root, o, "name", "nodes[0].name", r->node, "the host has no name");
    set_text(root, o, "cpu", "nodes[0].cpu", r->cpu, "the processor does not say its name");
    set(o, "threads", json_integer(r->run->options.threads));
    set_text(root, o, "threads_reason", "nodes[0].threads_reason", r->threads_reason, "unknown");
    set_text(root, o, "blas_kernel", "nodes[0].blas_kernel", r->blas_kernel, "OpenBLAS does not say");
    set_text(root, o, "kernels", "nodes[0].kernels", r->run->net.k ? r->run->net.k->name : NULL, "no step was run");
    set(root, "nodes", nodes);
    if (r->usable_cpus)
        set(root, "usable_cpus", json_incref(r->usable_cpus));
    else
        json_unknown(root, root, "usable_cpus", "usable_cpus", "not probed");
}

static void add_rate(json_t *root, const struct record *r)
{
    json_t *o = json_object();
    set_num(root, o, "flops_per_s", "product_rate.flops_per_s", r->rate.flops_per_s,
            "memory is too short to measure it");
    set_num(root, o, "relative_error", "product_rate.relative_error", r->rate.relative_error, "not measured");
    set(o, "threads", json_integer(r->run->options.threads));
    set(o, "measured_for_s", json_num(r->rate_seconds));
    set(root, "product_rate", o);
}

static void add_summary(json_t *root, json_t *o, const char *key, struct summary s)
{
    char path[64];
    set(o, key, json_summary(s));
    snprintf(path, sizeof path, "summary.%s", key);
    if (s.n)
        return;
    json_t *reasons = json_object_get(root, "reasons");
    if (!reasons)
        set(root, "reasons", reasons = json_object());
    set(reasons, path, json_string(no_steps));
}

static void add_summaries(json_t *root, const struct record *r, const struct column *c, int n)
{
    const struct run *run = r->run;
    json_t *o = json_object();
    const struct run_sample *s = run->sample;
    size_t stride = sizeof *s / sizeof(double);
    static_assert(sizeof(struct run_sample) % sizeof(double) == 0, "samples are read as columns of doubles");
    add_summary(root, o, "step_s", strided(c, n ? &s->step_s : NULL, stride, n));
    add_summary(root, o, "forward_s", strided(c, n ? &s->forward_s : NULL, stride, n));
    add_summary(root, o, "backward_s", strided(c, n ? &s->backward_s : NULL, stride, n));
    add_summary(root, o, "optimizer_s", strided(c, n ? &s->optimizer_s : NULL, stride, n));
    add_summary(root, o, "data_s", strided(c, n ? &s->data_s : NULL, stride, n));
    double tokens = (double)tokens_per_step(run);
    for (int i = 0; i < n; i++)
        c->value[i] = tokens / s[i].step_s;
    add_summary(root, o, "tokens_per_s", summarise(c, n));
    double flops = tokens * model_flops_per_token(&run->net.layout);
    for (int i = 0; i < n; i++)
        c->value[i] = flops / s[i].step_s;
    struct summary rate = summarise(c, n);
    add_summary(root, o, "flops_per_s", rate);
    set_num(root, o, "share_of_product_rate", "summary.share_of_product_rate", rate.median / r->rate.flops_per_s,
            n ? "the product rate was not measured" : no_steps);
    set(root, "summary", o);

    struct record_halves h = record_halves(run);
    const char *few = "fewer than four timed steps";
    if (h.known)
        set(root, "unsteady", json_boolean(h.unsteady));
    else
        json_unknown(root, root, "unsteady", "unsteady", few);
    json_t *halves = json_object();
    set_num(root, halves, "first_step_s", "halves.first_step_s", h.first_s, few);
    set_num(root, halves, "second_step_s", "halves.second_step_s", h.second_s, few);
    set(root, "halves", halves);
}

static void add_loss(json_t *root, const struct run *run)
{
    json_t *o = json_object();
    float first = run->n ? run->sample[0].loss : NAN, last = run->n ? run->sample[run->n - 1].loss : NAN;
    const char *why = run->n ? "the loss is not finite" : no_steps;
    set_num(root, o, "first", "loss.first", decimal(first), why);
    set_num(root, o, "last", "loss.last", decimal(last), why);
    set_num(root, o, "validation", "loss.validation", run->options.eval_batches ? run->eval_loss : NAN,
            run->options.eval_batches ? "validation was not reached" : "no validation asked for (--eval)");
    set(root, "loss", o);
}

static void add_samples(json_t *root, const struct run *run)
{
    json_t *list = json_array();
    for (int i = 0; i < run->n; i++) {
        const struct run_sample *s = &run->sample[i];
        json_t *o = json_object();
        char path[48];
        set(o, "step_s", json_num(s->step_s));
        set(o, "forward_s", json_num(s->forward_s));
        set(o, "backward_s", json_num(s->backward_s));
        set(o, "optimizer_s", json_num(s->optimizer_s));
        set(o, "data_s", json_num(s->data_s));
        snprintf(path, sizeof path, "samples[%d].loss", i);
        set_num(root, o, "loss", path, decimal(s->loss), "the loss is not finite");
        set(o, "minor_faults", json_integer(s->minor_faults));
        json_array_append_new(list, o);
    }
    set(root, "samples", list);
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
    set(o, "name", json_string(t->name));
    set(o, "layer", json_integer(t->layer));
    set(o, "bytes", json_integer((json_int_t)(t->count * sizeof(float))));
    set(o, "ready_s", json_summary(ready));
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
static json_t *layer_json(const struct run *run, int row, const struct column *c, int n,
                          const struct tensor_ready *gradients)
{
    int rows = layer_rows(run), layer = row - 1;
    static const char *const keys[] = {
        [PHASE_FORWARD] = "forward_s", [PHASE_BACKWARD] = "backward_s", [PHASE_OPTIMIZER] = "optimizer_s"};
    json_t *o = json_object();
    char name[32];
    layer_name(name, sizeof name, &run->spec, layer);
    set(o, "layer", json_integer(layer));
    set(o, "name", json_string(name));
    double spent = 0;
    for (int kind = 0; kind < 3; kind++) {
        struct summary s = strided(c, run->layer_s + row * 3 + kind, (size_t)rows * 3, n);
        spent += s.median;
        set(o, keys[kind], json_summary(s));
    }
    const struct tensor_ready *last = NULL; /* the layer is ready with its last tensor */
    for (int i = 0; i < run->net.layout.n; i++)
        if (run->net.layout.tensor[gradients[i].index].layer == layer)
            last = &gradients[i];
    set(o, "ready_s", last ? json_summary(last->ready) : json_null());
    if (spent > 0)
        return o;
    json_decref(o);
    return NULL;
}

static void add_layers(json_t *root, const struct run *run, const struct column *c, int n)
{
    int tensors = run->net.layout.n;
    struct tensor_ready *order = n > 0 ? malloc(((size_t)tensors + 1) * sizeof *order) : NULL;
    if (!order) {
        json_unknown(root, root, "layers", "layers", no_steps);
        json_unknown(root, root, "gradients", "gradients", no_steps);
        return;
    }
    for (int i = 0; i < tensors; i++)
        order[i] = (struct tensor_ready){i, strided(c, run->ready_s + i, (size_t)tensors, n)};
    qsort(order, (size_t)tensors, sizeof *order, by_time);
    json_t *layers = json_array(), *gradients = json_array();
    for (int row = 0; row < layer_rows(run); row++) {
        json_t *o = layer_json(run, row, c, n, order);
        if (o)
            json_array_append_new(layers, o);
    }
    for (int i = 0; i < tensors; i++)
        json_array_append_new(gradients, gradient_json(&run->net.layout.tensor[order[i].index], order[i].ready));
    free(order);
    set(root, "layers", layers);
    set(root, "gradients", gradients);
}

static void add_stamps(json_t *root, const struct run *run, double step_s)
{
    json_t *o = json_object();
    set(o, "count", json_integer(run->stamps_per_step));
    set_num(root, o, "cost_ns", "stamps.cost_ns", run->n ? run->stamp_cost_ns : NAN, no_steps);
    set_num(root, o, "share_of_step", "stamps.share_of_step", run->stamps_per_step * run->stamp_cost_ns * 1e-9 / step_s,
            no_steps);
    set(root, "stamps", o);
}

static void add_floor(json_t *root, const struct run *run, const struct column *c, double step_s)
{
    enum { FLOOR_MAX = sizeof run->floor_s / sizeof *run->floor_s };
    int n = run->floor_n < FLOOR_MAX ? run->floor_n : FLOOR_MAX;
    const char *why = !run->options.floor ? "--no-floor" : !run->n ? no_steps : "the run ended before it";
    for (int i = 0; i < n; i++)
        c->value[i] = run->floor_s[i];
    struct summary s = summarise(c, n);
    json_t *o = json_object();
    set_num(root, o, "step_s", "floor.step_s", s.median, why);
    set_num(root, o, "mad", "floor.mad", s.mad, why);
    set(o, "n", json_integer(n));
    set_num(root, o, "ratio", "floor.ratio", step_s / s.median, n ? no_steps : why);
    set(root, "floor", o);
}

static void add_memory(json_t *root, const struct record *r)
{
    const struct run *run = r->run;
    const struct arena *a = &run->net.memory;
    json_t *o = json_object(), *parts = json_array();
    set(o, "planned_bytes", json_integer((json_int_t)run->planned_bytes));
    set_num(root, o, "peak_bytes", "memory.peak_bytes", run->peak_rss_bytes ? (double)run->peak_rss_bytes : NAN,
            "the run ended before it was read");
    if (run->peak_rss_bytes)
        set(o, "peak_bytes", json_integer((json_int_t)run->peak_rss_bytes));
    if (run->options.memory_limit_bytes > 0)
        set(o, "limit_bytes", json_integer((json_int_t)run->options.memory_limit_bytes));
    else
        json_unknown(root, o, "limit_bytes", "memory.limit_bytes", "neither free memory nor a limit could be read");
    set_text(root, o, "limit_source", "memory.limit_source", run->options.memory_limit_source, "no limit is known");
    if (run->n)
        set(o, "allocated_in_timed_region_bytes", json_integer(run->allocated_in_timed_region));
    else
        json_unknown(root, o, "allocated_in_timed_region_bytes", "memory.allocated_in_timed_region_bytes", no_steps);
    for (int i = 0; i < a->n; i++)
        json_array_append_new(parts,
                              json_pack("{s:s, s:I}", "name", a->item[i].name, "bytes", (json_int_t)a->item[i].bytes));
    set(o, "parts", parts);
    set(root, "memory", o);
}

/* What else the machine did during the run. */
static void add_disturbances(json_t *root, const struct record *r)
{
    const char *heat = "the kernel does not count it";
    json_t *o = json_object();
    set_num(root, o, "throttled_s", "disturbances.throttled_s", r->throttled_s, r->throttled_reason);
    set_num(root, o, "stolen_s", "disturbances.stolen_s", r->stolen_s, "the kernel does not say");
    if (r->core_heat_events >= 0)
        set(o, "core_heat_events", json_integer(r->core_heat_events));
    else
        json_unknown(root, o, "core_heat_events", "disturbances.core_heat_events", heat);
    if (r->package_heat_events >= 0)
        set(o, "package_heat_events", json_integer(r->package_heat_events));
    else
        json_unknown(root, o, "package_heat_events", "disturbances.package_heat_events", heat);
    set(root, "disturbances", o);
}

static void add_end(json_t *root, const struct record *r)
{
    const struct run *run = r->run;
    set_num(root, root, "warmup_first_s", "warmup_first_s",
            r->executed && run->options.warmup > 0 ? run->warmup_first_s : NAN, "no warm-up step was run");
    if (r->executed) {
        char sum[24];
        snprintf(sum, sizeof sum, "%016" PRIx64, run->param_checksum);
        set(root, "parameter_checksum", json_string(sum));
    } else {
        json_unknown(root, root, "parameter_checksum", "parameter_checksum", "the run did not end");
    }
    if (isfinite(r->throttled_periods))
        set(root, "throttled_periods", json_integer((json_int_t)r->throttled_periods));
    else
        json_unknown(root, root, "throttled_periods", "throttled_periods",
                     r->throttled_reason ? r->throttled_reason : "unknown");
    add_disturbances(root, r);
    static const char *const between[] = {"link", "communication", "local_addr", "wire", "integrity"};
    for (size_t i = 0; i < sizeof between / sizeof *between; i++)
        json_unknown(root, root, between[i], between[i], "one node: no communication");
    json_unknown(root, root, "prediction", "prediction", "this version does not predict");
    json_unknown(root, root, "speedup", "speedup", "one node: nothing to compare with");
    json_t *warnings = json_array();
    for (int i = 0; i < r->notes->n; i++)
        json_array_append_new(warnings, output_string(r->notes->text[i]));
    set(root, "warnings", warnings);
}

json_t *record_json(const struct record *r)
{
    const struct run *run = r->run;
    int n = good_steps(run);
    struct column c = column_make(n > 16 ? n : 16);
    if (!c.value)
        return NULL;
    json_t *root = output_document(), *command = json_array();
    bool ended = r->err && r->err->code != ERR_OK;
    const char *status = run->interrupted ? "interrupted" : ended ? "failed" : "complete";
    set(root, "status", json_string(status));
    if (ended)
        output_set_error(root, r->err);
    set(root, "started", json_string(r->started));
    set(root, "label", r->label ? output_string(r->label) : json_null());
    for (int i = 0; i < r->argc; i++)
        json_array_append_new(command, output_string(r->argv[i]));
    set(root, "command", command);
    set(root, "model", model_json(run));
    set(root, "plan", plan_json(run));
    add_node(root, r);
    add_data(root, run);
    add_rate(root, r);
    add_summaries(root, r, &c, n);
    double step_s =
        json_real_value(json_object_get(json_object_get(json_object_get(root, "summary"), "step_s"), "median"));
    if (n == 0)
        step_s = NAN;
    add_floor(root, run, &c, step_s);
    add_loss(root, run);
    add_layers(root, run, &c, n);
    add_stamps(root, run, step_s);
    add_memory(root, r);
    add_end(root, r);
    set(root, "machine", r->machine ? json_incref(r->machine) : json_null());
    set(root, "blas", r->blas ? json_incref(r->blas) : json_null());
    add_samples(root, run);
    json_t *reasons = json_incref(json_object_get(root, "reasons")); /* to the end: the reader comes to it last */
    json_object_del(root, "reasons");
    set(root, "reasons", reasons ? reasons : json_object());
    free(c.value);
    return root;
}
