/*
 * cli/record.c - see record.h. Start at record_json(), at the end: it is the table of contents.
 */
#include "cli/record.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/output.h"
#include "cli/record_parts.h"

void record_set(json_t *o, const char *key, json_t *value)
{
    json_object_set_new(o, key, value);
}

double record_decimal(float x)
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

int64_t record_tokens_per_step(const struct run *run)
{
    return (int64_t)run->batch_all * run->net.T * run->options.accum;
}

static json_t *optimizer_json(const struct run *run)
{
    const struct optimizer_spec *s = &run->optimizer;
    json_t *o = json_object();
    record_set(o, "name", json_string(s->kind == OPTIMIZER_ADAMW ? "adamw" : "sgd"));
    record_set(o, "lr", json_num(record_decimal(s->lr)));
    if (s->kind == OPTIMIZER_ADAMW) {
        record_set(o, "beta1", json_num(record_decimal(s->beta1)));
        record_set(o, "beta2", json_num(record_decimal(s->beta2)));
        record_set(o, "eps", json_num(record_decimal(s->eps)));
    }
    record_set(o, "weight_decay", json_num(record_decimal(s->weight_decay)));
    record_set(o, "clip", json_num(run->options.clip));
    return o;
}

static json_t *model_json(const struct run *run)
{
    const struct layout *l = &run->net.layout;
    json_t *o = json_object();
    record_set(o, "name", json_string(run->spec.name));
    record_set(o, "parameters", json_integer((json_int_t)l->params));
    record_set(o, "unique_parameters", json_integer((json_int_t)l->params));
    record_set(o, "gradient_bytes", json_integer((json_int_t)(l->params * sizeof(float))));
    record_set(o, "tensors", json_integer(l->n));
    record_set(o, "batch", json_integer(run->net.B));
    if (run->options.world > 1)
        record_set(o, "global_batch", json_integer((json_int_t)run->batch_all * run->options.accum));
    record_set(o, "seq", json_integer(run->net.T));
    record_set(o, "accum", json_integer(run->options.accum));
    record_set(o, "tokens_per_step", json_integer(record_tokens_per_step(run)));
    record_set(o, "flops_per_token", json_num(model_flops_per_token(l)));
    record_set(o, "dtype", json_string("fp32"));
    record_set(o, "seed", json_integer((json_int_t)run->options.seed));
    record_set(o, "optimizer", optimizer_json(run));
    return o;
}

/* Whether the machine computed or slept. */
static void add_compute(json_t *root, const struct record *r)
{
    const struct compute *c = r->compute;
    const struct replay *p = r->run->options.replay;
    record_set(root, "compute", json_string(p ? "replay" : "real"));
    if (!p) {
        json_unknown(root, root, "replay", "replay", "computing was real");
        return;
    }
    json_t *o = json_object(), *slow = json_array();
    record_set(o, "source", *c->path ? output_string(c->path) : json_string("each rank alone, before this run"));
    record_set(o, "steps", json_integer(p->n));
    json_known(root, o, "replay", "step_s", json_num(p->n ? replay_median_s(p) : NAN),
               "the run ended before it was recorded");
    for (int i = 0; i < c->slow_n; i++)
        json_array_append_new(slow, json_pack("{s:i, s:f}", "rank", c->slow[i].rank, "factor", c->slow[i].factor));
    record_set(o, "slow", slow);
    record_set(root, "replay", o);
}

static json_t *plan_json(const struct run *run)
{
    const struct run_options *p = &run->options;
    json_t *o = json_object();
    record_set(o, "warmup_steps", json_integer(p->warmup));
    record_set(o, "steps", p->steps >= 0 ? json_integer(p->steps) : json_null());
    record_set(o, "time_s", p->steps >= 0 ? json_null() : json_num(p->time_s));
    record_set(o, "floor", json_boolean(p->floor));
    record_set(o, "validation_batches", json_integer(p->eval_batches));
    record_set(o, "checkpoint", p->checkpoint ? output_string(p->checkpoint) : json_null());
    record_set(o, "save", p->save ? output_string(p->save) : json_null());
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
    record_set(o, "source", *d->path ? output_string(d->path) : json_string("built-in"));
    record_set(o, "format", json_string(formats[d->format]));
    record_set(o, "tokens", json_integer((json_int_t)d->n));
    record_set(o, "train_tokens", json_integer((json_int_t)d->train_n));
    record_set(o, "vocabulary", json_integer(d->V));
    record_set(o, "epoch_positions", json_integer((json_int_t)s->positions));
    record_set(o, "epoch_positions_per_rank", json_integer((json_int_t)s->per_rank));
    record_set(o, "padded", json_integer((json_int_t)s->padded));
    record_set(o, "dropped", json_integer((json_int_t)s->dropped));
    record_set(o, "epoch", json_integer((json_int_t)s->epoch));
    record_set(root, "data", o);
}

static void add_rate(json_t *root, const struct record *r)
{
    json_t *o = json_object();
    json_known(root, o, "product_rate", "flops_per_s", json_num(r->rate.flops_per_s),
               "memory is too short to measure it");
    json_known(root, o, "product_rate", "relative_error", json_num(r->rate.relative_error), "not measured");
    record_set(o, "threads", json_integer(r->run->options.threads));
    record_set(o, "measured_for_s", json_num(r->rate_seconds));
    record_set(root, "product_rate", o);
}

static void add_memory(json_t *root, const struct record *r)
{
    const struct run *run = r->run;
    const struct arena *a = &run->net.memory;
    json_t *o = json_object(), *parts = json_array();
    record_set(o, "planned_bytes", json_integer((json_int_t)run->planned_bytes));
    json_known(root, o, "memory", "peak_bytes",
               run->peak_rss_bytes ? json_integer((json_int_t)run->peak_rss_bytes) : NULL,
               "the run ended before it was read");
    json_known(root, o, "memory", "limit_bytes",
               run->options.memory_limit_bytes > 0 ? json_integer((json_int_t)run->options.memory_limit_bytes) : NULL,
               "neither free memory nor a limit could be read");
    json_known(root, o, "memory", "limit_source", output_string_if(run->options.memory_limit_source),
               "no limit is known");
    json_known(root, o, "memory", "allocated_in_timed_region_bytes",
               run->n ? json_integer(run->allocated_in_timed_region) : NULL, record_no_steps);
    for (int i = 0; i < a->n; i++)
        json_array_append_new(parts,
                              json_pack("{s:s, s:I}", "name", a->item[i].name, "bytes", (json_int_t)a->item[i].bytes));
    record_set(o, "parts", parts);
    record_set(root, "memory", o);
}

/* What else the machine did during the run. */
static void add_disturbances(json_t *root, const struct record *r)
{
    const char *heat = "the kernel does not count it";
    json_t *o = json_object();
    json_known(root, o, "disturbances", "throttled_s", json_num(r->throttled_s), r->throttled_reason);
    json_known(root, o, "disturbances", "stolen_s", json_num(r->stolen_s), "the kernel does not say");
    json_known(root, o, "disturbances", "core_heat_events",
               r->core_heat_events >= 0 ? json_integer(r->core_heat_events) : NULL, heat);
    json_known(root, o, "disturbances", "package_heat_events",
               r->package_heat_events >= 0 ? json_integer(r->package_heat_events) : NULL, heat);
    record_set(root, "disturbances", o);
}

static void add_end(json_t *root, const struct record *r)
{
    const struct run *run = r->run;
    json_known(root, root, "", "warmup_first_s",
               json_num(r->executed && run->options.warmup > 0 ? run->warmup_first_s : NAN), "no warm-up step was run");
    char sum[24];
    snprintf(sum, sizeof sum, "%016" PRIx64, run->param_checksum);
    json_known(root, root, "", "parameter_checksum", r->executed ? json_string(sum) : NULL, "the run did not end");
    json_known(root, root, "", "throttled_periods",
               isfinite(r->throttled_periods) ? json_integer((json_int_t)r->throttled_periods) : NULL,
               r->throttled_reason ? r->throttled_reason : "unknown");
    add_disturbances(root, r);
    json_unknown(root, root, "prediction", "prediction", "nothing was predicted");
    json_t *warnings = json_array();
    for (int i = 0; i < r->notes->n; i++)
        json_array_append_new(warnings, output_string(r->notes->text[i]));
    record_set(root, "warnings", warnings);
}

json_t *record_json(const struct record *r)
{
    const struct run *run = r->run;
    json_t *root = output_document(), *command = json_array();
    bool ended = r->err && r->err->code != ERR_OK;
    const char *status = run->interrupted ? "interrupted" : ended ? "failed" : "complete";
    record_set(root, "status", json_string(status));
    if (ended)
        output_set_error(root, r->err);
    record_set(root, "started", json_string(r->started));
    record_set(root, "label", r->label ? output_string(r->label) : json_null());
    for (int i = 0; i < r->argc; i++)
        json_array_append_new(command, output_string(r->argv[i]));
    record_set(root, "command", command);
    record_set(root, "model", model_json(run));
    record_set(root, "plan", plan_json(run));
    add_compute(root, r);
    if (record_add_nodes(root, r)) {
        json_decref(root);
        return NULL;
    }
    add_data(root, run);
    add_rate(root, r);
    if (record_add_measured(root, r) || record_add_timeline(root, r) || record_add_ranks(root, r)) {
        json_decref(root);
        return NULL;
    }
    add_memory(root, r);
    add_end(root, r);
    record_set(root, "machine", r->machine ? json_incref(r->machine) : json_null());
    record_set(root, "blas", r->blas ? json_incref(r->blas) : json_null());
    record_add_samples(root, r);
    json_t *reasons = json_incref(json_object_get(root, "reasons")); /* to the end: the reader comes to it last */
    json_object_del(root, "reasons");
    record_set(root, "reasons", reasons ? reasons : json_object());
    return root;
}
