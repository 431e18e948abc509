/* cli/predict_run.c - see predict_run.h. */
#include "cli/predict_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/stats.h"

#include "cli/output.h"
#include "cli/predict_ask.h"
#include "report/runs.h"

#define REHEARSED_SPREAD 0.01 /* of a rate from a handful of calls */

static double median_at(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(json_object_get(o, key), "median");
    return json_is_number(v) ? json_number_value(v) : NAN;
}

/* How far off it was, once there is something to compare with. */
static void score(json_t *d, json_t *made)
{
    double predicted = median_at(made, "step_s"), measured = median_at(json_object_get(d, "summary"), "period_s");
    const json_t *range = json_object_get(made, "step_s"), *lo = json_object_get(range, "lo");
    const json_t *hi = json_object_get(range, "hi");
    bool known = predicted > 0 && measured > 0;
    if (!known) {
        json_unknown(d, made, "error", "prediction.error", "no timed step was run");
        json_unknown(d, made, "inside", "prediction.inside", "no timed step was run");
        return;
    }
    json_object_set_new(made, "error", json_num(predicted / measured - 1));
    if (json_is_number(lo) && json_is_number(hi))
        json_object_set_new(made, "inside",
                            json_boolean(measured >= json_number_value(lo) && measured <= json_number_value(hi)));
    else
        json_unknown(d, made, "inside", "prediction.inside", "no spread is known");
}

void predict_run_add(json_t *d, json_t *made, const char *why)
{
    struct err e = {ERR_OK, ""};
    bool alone = json_integer_value(json_object_get(d, "world")) == 1;
    if (!made && alone && json_array_size(json_object_get(d, "samples")) > 0)
        made = predict_twin(d, &e);
    if (!made) {
        const char *reason = e.code  ? e.text
                             : why   ? why
                             : alone ? "no timed step was run"
                                     : "nothing was predicted before the run";
        json_t *text = output_string(reason);
        json_unknown(d, d, "prediction", "prediction", json_string_value(text));
        json_decref(text);
        return;
    }
    if (!alone)
        score(d, made);
    json_object_set_new(d, "prediction", made);
    json_object_del(json_object_get(d, "reasons"), "prediction");
}

struct search {
    const struct run *run;
    const char *host;         /* this node's name */
    const char *peer, *local; /* of a link that is looked for: who, and from which address of this node */
    char path[PATH_MAX];
    json_t *found;
};

static bool is(const json_t *o, const char *key, int value)
{
    const json_t *v = json_object_get(o, key);
    return json_is_integer(v) && json_integer_value(v) == value;
}

static bool visit(void *ctx, const char *path, const json_t *d)
{
    struct search *s = ctx;
    const struct run *run = s->run;
    const json_t *m = json_object_get(d, "model"), *node = json_array_get(json_object_get(d, "nodes"), 0);
    const char *name = json_string_value(json_object_get(m, "name"));
    const char *host = json_string_value(json_object_get(node, "name"));
    const char *compute = json_string_value(json_object_get(d, "compute"));
    if (!host || strcmp(host, s->host) != 0 || (compute && strcmp(compute, "real") != 0)) /* slept, or another node's */
        return true;
    if (json_object_get(d, "kind") || !is(d, "world", 1) || !name || strcmp(name, run->spec.name) != 0 ||
        !is(m, "batch", run->net.B) || !is(m, "seq", run->net.T) || !is(m, "accum", run->options.accum) ||
        !is(node, "threads", run->options.threads) || json_array_size(json_object_get(d, "samples")) == 0)
        return true;
    snprintf(s->path, sizeof s->path, "%s", path);
    s->found = json_incref((json_t *)d);
    return false;
}

static bool visit_link(void *ctx, const char *path, const json_t *d)
{
    struct search *s = ctx;
    const char *kind = json_string_value(json_object_get(d, "kind"));
    const char *peer = json_string_value(json_object_get(json_object_get(d, "peer"), "name"));
    const char *local = json_string_value(json_object_get(d, "local_addr"));
    if (!kind || strcmp(kind, "link") != 0 || !peer || strcmp(peer, s->peer) != 0 || !local ||
        strcmp(local, s->local) != 0 || /* another cable, or Wi-Fi */
        !json_is_number(json_object_get(json_object_get(d, "link"), "rate_bytes_per_s")))
        return true;
    snprintf(s->path, sizeof s->path, "%s", path);
    s->found = json_incref((json_t *)d);
    return false;
}

static int slowest_link(struct predict_link *link, const char *folder, const struct peer_list *peers, const char *local,
                        const char *backend, struct err *e)
{
    for (int i = 0; i < peers->n; i++) {
        struct search search = {.peer = peers->peer[i].name, .local = local};
        struct link_model m;
        if (runs_each(folder, visit_link, &search, e))
            return -1;
        if (!search.found)
            return err_set(e, ERR_NO_INPUT,
                           "the link to %.60s was not measured before from %.60s (the link command does that)",
                           search.peer, local);
        int result = predict_source_link(&m, search.found, search.path, backend, e);
        json_decref(search.found);
        if (result)
            return -1;
        if (i > 0 && link_model_rate(&m) >= link_model_rate(&link->model))
            continue;
        *link = (struct predict_link){.model = m, .origin = "measured"};
        snprintf(link->name, sizeof link->name, "%.120s", search.path);
    }
    return 0;
}

json_t *predict_run_before(const struct run *run, const char *folder, const struct peer_list *peers, const char *local,
                           const char *host, const char *backend, struct err *e)
{
    struct search search = {.run = run, .host = host};
    struct predict_source source = {0};
    struct predict_ask ask = {.source = &source, .partner_scale = 1, .seed = 1};
    const struct run_options *o = &run->options;
    ask.optimizer_by_bucket = o->update == RUN_UPDATE_BUCKET ? 1 : -1;
    if (slowest_link(&ask.link, folder, peers, local, backend, e) || runs_each(folder, visit, &search, e))
        return NULL;
    if (!search.found) {
        err_set(e, ERR_NO_INPUT, "there is no saved run of this node alone with the same batch and threads");
        return NULL;
    }
    json_t *made = NULL;
    if (predict_source_run(&source, search.found, search.path, o->schedule, o->bucket_mib, false, e) == 0)
        made = predict_member(&ask, o->world, e);
    if (made)
        json_object_set_new(made, "run", output_string(search.path));
    json_decref(search.found);
    predict_source_fini(&source);
    return made;
}

/* ---- from a rehearsal ---- */

static int fill_profile(struct profile *p, const struct run *run, int rank, struct err *e)
{
    const struct rehearsal *r = &run->rehearsal;
    if (profile_init(p, r->steps, e))
        return -1;
    for (int k = 0; k < r->steps; k++) {
        const struct rehearsal_step *s = rehearsal_step(r, rank, k);
        p->step[k] = (struct profile_step){s->forward_s, s->backward_s, s->optimizer_s};
    }
    p->accum = run->options.accum;
    p->tokens = (double)run->batch_of[rank] * run->net.T * run->options.accum;
    p->threads = run->options.threads;
    return 0;
}

static double work_of(const struct rehearsal *r, int rank)
{
    double x[RUN_ALONE_MAX];
    for (int k = 0; k < r->steps; k++)
        x[k] = rehearsal_step(r, rank, k)->forward_s + rehearsal_step(r, rank, k)->backward_s;
    return stats_median(x, (size_t)r->steps);
}

/* Points of the last backward pass at which this rank's buckets were complete. */
static int fill_plan(struct plan *plan, const struct run *run, struct err *e)
{
    const struct layout *l = &run->net.layout;
    int K = run->options.accum;
    if (plan_init(plan, run->buckets, e))
        return -1;
    for (int b = 0; b < run->buckets; b++) {
        double x[RUN_ALONE_MAX];
        for (int k = 0; k < run->alone_before; k++) {
            const struct rehearsal_step *s = &run->alone_part[k];
            double ready = run->alone_ready_s[(size_t)k * (size_t)run->buckets + (size_t)b];
            x[k] = (ready - ((K - 1) * (s->forward_s + s->backward_s) + s->forward_s) / K) / (s->backward_s / K);
        }
        struct plan_bucket *to = &plan->bucket[b];
        *to = (struct plan_bucket){.bytes = (double)(run->bucket[b].count * sizeof(float))};
        if (run->bucket[b].last == REDUCE_TOUCHED_ROWS) {
            to->bytes = (double)(l->tensor[l->wte].count * sizeof(float));
            to->bytes_per_token = (double)((size_t)l->tensor[l->wte].cols * sizeof(float));
        }
        double point = stats_median(x, (size_t)run->alone_before);
        to->ready = isfinite(point) ? fmin(1, fmax(b ? plan->bucket[b - 1].ready : 0, point)) : 1;
    }
    plan->parameter_bytes = (double)(l->params * sizeof(float));
    if (run->options.schedule == SCHEDULE_SPLIT)
        plan->blocking_bytes_per_token = sizeof(float);
    return 0;
}

/* Standard error of a median of n, relative. */
static double error_of(const struct rehearsal *r, int rank)
{
    double x[RUN_ALONE_MAX], scratch[RUN_ALONE_MAX];
    for (int k = 0; k < r->steps; k++)
        x[k] = rehearsal_step(r, rank, k)->forward_s + rehearsal_step(r, rank, k)->backward_s;
    struct summary s = stats_summary(x, (size_t)r->steps, scratch);
    return 1.2533 * 1.4826 * s.mad / s.median / sqrt(r->steps);
}

static double loss_of(const struct rehearsal *r, int rank)
{
    return fmin(LINK_LOSS_MAX, fmax(0, 1 - 1 / r->slowdown[rank]));
}

static void fill_link(struct predict_link *link, const struct rehearsal *r, int slowest)
{
    int steps = r->world == 2 ? 1 : 2 * (r->world - 1);
    double transfer_s = r->alone_s - r->small_s, beside_s = r->beside_s - r->small_s, loss;
    double share = 2.0 * (r->world - 1) / r->world, rate = share * r->bytes / fmax(transfer_s, 1e-9);
    struct link_model *m = &link->model;
    link_model_state(m, rate, 2 * r->small_s / steps, COST_DUPLEX);
    m->measured = m->launch_measured = true;
    m->rate_spread = REHEARSED_SPREAD;
    m->seen_bytes_per_s = rate;
    m->busy_share = r->calls > 0 && beside_s > 0 ? fmin(1, transfer_s / beside_s) : 1;
    loss = (loss_of(r, 0) + loss_of(r, slowest)) / 2;
    if (loss > 0) {
        m->own_scale = loss_of(r, 0) / loss;
        m->others_scale = loss_of(r, slowest) / loss;
    }
    m->cpu_s_per_byte = loss / (rate * m->busy_share);
    m->cpu_spread = fmin(1, sqrt(2) * error_of(r, 0) / fmax(loss, 0.01));
    m->cpu_measured = true;
    link->origin = "measured";
    snprintf(link->name, sizeof link->name, "by this run, before its first step");
}

static json_t *rehearsal_json(const struct rehearsal *r)
{
    json_t *slow = json_array();
    for (int i = 0; i < r->world; i++)
        json_array_append_new(slow, json_num(r->slowdown[i]));
    return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o}", "steps_alone", r->steps, "bytes", json_num(r->bytes), "small_s",
                     json_num(r->small_s), "alone_s", json_num(r->alone_s), "beside_s", json_num(r->beside_s),
                     "slowdown", slow);
}

json_t *predict_run_rehearsed(const struct run *run, struct err *e)
{
    const struct rehearsal *r = &run->rehearsal;
    struct predict_source own = {.has_steps = true, .document = json_object()}, other = {.has_steps = true};
    struct predict_ask ask = {.source = &own, .partner = &other, .partner_scale = 1, .seed = 1};
    json_t *made = NULL;
    int slowest = 1;
    for (int rank = 2; rank < r->world; rank++)
        if (work_of(r, rank) > work_of(r, slowest))
            slowest = rank;
    double *share = calloc(2 * (size_t)r->world, sizeof *share), *pace = share + r->world;
    for (int rank = 0; rank < r->world && share;
         rank++) { /* all but rank 0 follow one profile, each at its own speed */
        share[rank] = (double)run->batch_of[rank] / run->batch_of[0];
        pace[rank] = rank ? work_of(r, rank) / run->batch_of[rank] * run->batch_of[slowest] / work_of(r, slowest) : 1;
    }
    ask.share = run->unequal ? share : NULL;
    ask.pace = r->world > 2 ? pace : NULL;
    ask.steps = run->options.steps;
    ask.optimizer_by_bucket = run->options.update == RUN_UPDATE_BUCKET ? 1 : -1;
    own.schedule = run->options.schedule;
    own.rows = own.schedule == SCHEDULE_SPLIT;
    fill_link(&ask.link, r, slowest);
    if (!share)
        err_set(e, ERR_MEMORY, "no memory for a prediction");
    else if (fill_profile(&own.profile, run, 0, e) == 0 && fill_profile(&other.profile, run, slowest, e) == 0 &&
             fill_plan(&own.plan, run, e) == 0)
        made = predict_member(&ask, r->world, e);
    if (made) {
        char now[21];
        clock_utc(now);
        json_object_set_new(made, "made", json_string(now));
        json_object_set_new(made, "rehearsal", rehearsal_json(r));
    }
    free(share);
    predict_source_fini(&own);
    predict_source_fini(&other);
    return made;
}
