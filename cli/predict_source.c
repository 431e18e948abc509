/* cli/predict_source.c - see predict_source.h. Start at predict_source_run(). */
#include "cli/predict_source.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "predict/simulate.h"
#include "report/fields.h"
#include "report/runs.h"

static double number(const json_t *o, const char *a, const char *b)
{
    const json_t *v = json_object_get(o, a);
    if (b)
        v = json_object_get(v, b);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

/* ---- the plan ---- */

/* Point of the last backward pass at which a tensor's gradient is complete. From the start of the step to it come
 * K-1 whole micro-batches and the last one's forward pass. */
static double point_of(const struct predict_source *s, const char *tensor)
{
    const json_t *list = json_object_get(s->document, "gradients"), *summary = json_object_get(s->document, "summary");
    double forward = number(json_object_get(summary, "forward_s"), "median", NULL);
    double backward = number(json_object_get(summary, "backward_s"), "median", NULL);
    int K = s->profile.accum;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *g = json_array_get(list, i);
        const char *name = json_string_value(json_object_get(g, "name"));
        if (!name || strcmp(name, tensor) != 0)
            continue;
        double ready = number(json_object_get(g, "ready_s"), "median", NULL);
        double point = (ready - ((K - 1) * (forward + backward) + forward) / K) / (backward / K);
        return isfinite(point) ? fmin(1, fmax(0, point)) : 1;
    }
    return 1; /* not recorded: the end is safe */
}

/* The head's backward in the last micro-batch, as a share of its backward pass: of the last rows of positions only, since the
 * logits of a large batch are worked through in groups of as many rows as their buffer holds. Its first half makes the
 * weight's gradient, part by part, its second half the gradient that goes on. */
static double head_share(const struct predict_source *s)
{
    const json_t *layers = json_object_get(s->document, "layers"), *memory = json_object_get(s->document, "memory");
    const json_t *parts = json_object_get(memory, "parts");
    double backward = number(json_object_get(json_object_get(s->document, "summary"), "backward_s"), "median", NULL);
    double head = NAN, rows = NAN, all = s->profile.tokens / s->profile.accum;
    for (size_t i = 0; i < json_array_size(layers); i++) {
        const json_t *o = json_array_get(layers, i);
        const char *name = json_string_value(json_object_get(o, "name"));
        if (name && strcmp(name, "head") == 0)
            head = number(json_object_get(o, "backward_s"), "median", NULL);
    }
    for (size_t i = 0; i < json_array_size(parts); i++) {
        const json_t *o = json_array_get(parts, i);
        const char *name = json_string_value(json_object_get(o, "name"));
        if (name && strncmp(name, "logits", strlen("logits")) == 0 && s->layout->wte >= 0)
            rows = number(o, "bytes", NULL) / sizeof(float) / s->layout->tensor[s->layout->wte].rows;
    }
    double groups = rows >= 1 ? ceil(all / floor(rows)) : 1, share = head / backward / groups;
    return share > 0 && share < 1 ? share : 0; /* 0: all of it complete with the norm, a little late */
}

static void fill_bucket(const struct predict_source *s, const struct reduce *r, int b, struct plan_bucket *to)
{
    const struct layout *l = s->layout;
    const struct tensor *wte = l->wte >= 0 ? &l->tensor[l->wte] : NULL;
    *to = (struct plan_bucket){.ready = 1, .bytes = (double)(r->bucket[b].count * sizeof(float))};
    if (r->bucket[b].last == REDUCE_TOUCHED_ROWS && wte) {
        to->bytes = (double)(wte->count * sizeof(float));
        to->bytes_per_token = (double)((size_t)wte->cols * sizeof(float));
    } else if (r->bucket[b].last == REDUCE_HEAD_PART && l->lnf_w >= 0) {
        double half = head_share(s) / 2, done = (double)(b - r->head_bucket + 1) / r->head_parts;
        to->ready = fmax(0, point_of(s, l->tensor[l->lnf_w].name) - half - half * (1 - done));
    } else if (r->bucket[b].last >= 0) {
        to->ready = point_of(s, l->tensor[r->bucket[b].last].name);
    }
}

int predict_source_plan(const struct predict_source *s, struct plan *plan, enum reduce_schedule schedule,
                        double bucket_mib, struct err *e)
{
    struct reduce *r = calloc(1, sizeof *r);
    if (!r)
        return err_set(e, ERR_MEMORY, "no memory for the plan of the buckets");
    reduce_plan(r, s->layout, schedule, bucket_mib);
    if (plan_init(plan, r->n, e)) {
        free(r);
        return -1;
    }
    for (int b = 0; b < r->n; b++)
        fill_bucket(s, r, b, &plan->bucket[b]);
    for (int b = 1; b < r->n; b++) /* they are sent in this order */
        plan->bucket[b].ready = fmax(plan->bucket[b].ready, plan->bucket[b - 1].ready);
    plan->parameter_bytes = (double)(s->layout->params * sizeof(float));
    if (schedule == SCHEDULE_SPLIT)
        plan->blocking_bytes_per_token = sizeof(float); /* the ids */
    free(r);
    return 0;
}

static int find_layout(struct predict_source *s, const char *model, struct err *e)
{
    struct model_spec spec;
    if (model_spec_find(&spec, model, e))
        return -1;
    s->layout = malloc(sizeof *s->layout);
    if (!s->layout)
        return err_set(e, ERR_MEMORY, "no memory for the list of tensors");
    snprintf(s->model, sizeof s->model, "%s", spec.name);
    return layout_init(s->layout, &spec, e);
}

/* ---- a run ---- */

static int cores_of(const json_t *d)
{
    double cores = number(json_object_get(d, "machine"), "usable_cores", NULL);
    double quota = number(json_object_get(json_object_get(d, "machine"), "limits"), "cpu_quota", NULL);
    if (isfinite(quota) && quota >= 1)
        cores = fmin(cores, floor(quota));
    return isfinite(cores) && cores >= 1 && cores < 1e6 ? (int)cores : 0;
}

static bool usable(const json_t *sample)
{
    double f = number(sample, "forward_s", NULL), b = number(sample, "backward_s", NULL);
    double o = number(sample, "optimizer_s", NULL);
    return f >= 0 && b >= 0 && o >= 0 && f + b + o > 0 && !json_is_null(json_object_get(sample, "loss"));
}

static int fill_steps(struct predict_source *s, const char *path, struct err *e)
{
    const json_t *list = json_object_get(s->document, "samples");
    size_t total = json_array_size(list), first = total;
    int n = 0;
    while (first > 0 && n < PROFILE_STEPS_MAX) /* the last ones: the steadiest */
        n += usable(json_array_get(list, --first));
    if (n == 0)
        return err_set(e, ERR_DATA, "%.300s holds no timed step with its parts, so nothing can be predicted from it",
                       path);
    if (profile_init(&s->profile, n, e))
        return -1;
    n = 0;
    for (size_t i = first; i < total; i++) {
        const json_t *sample = json_array_get(list, i);
        if (usable(sample))
            s->profile.step[n++] =
                (struct profile_step){number(sample, "forward_s", NULL), number(sample, "backward_s", NULL),
                                      number(sample, "optimizer_s", NULL)};
    }
    return 0;
}

static int fill_shape(struct predict_source *s, const char *path, struct err *e)
{
    const json_t *model = json_object_get(s->document, "model");
    double tokens = number(model, "tokens_per_step", NULL), accum = number(model, "accum", NULL);
    double threads = number(json_array_get(json_object_get(s->document, "nodes"), 0), "threads", NULL);
    if (!(tokens >= 1 && tokens < 1e15 && accum >= 1 && accum <= 1 << 20))
        return err_set(e, ERR_DATA, "%.300s does not say how many tokens a step had", path);
    s->profile.tokens = tokens;
    s->profile.accum = (int)accum;
    s->threads = threads >= 1 && threads < 1e6 ? (int)threads : 0;
    s->cores = cores_of(s->document);
    s->profile.threads = s->threads;
    s->profile.free_cores = s->cores > s->threads && s->threads > 0 ? s->cores - s->threads : 0;
    return 0;
}

int predict_source_run(struct predict_source *s, json_t *document, const char *path, enum reduce_schedule schedule,
                       double bucket_mib, bool whole, struct err *e)
{
    *s = (struct predict_source){.schedule = schedule, .bucket_mib = bucket_mib, .has_steps = true};
    s->document = json_incref(document);
    snprintf(s->path, sizeof s->path, "%s", path);
    const char *model = json_string_value(json_object_get(json_object_get(document, "model"), "name"));
    double world = number(document, "world", NULL);
    if (!model || !isfinite(world))
        return err_set(e, ERR_DATA, "%.300s is no result of a training run", path);
    if (world > 1)
        return err_set(
            e, ERR_DATA,
            "%.300s is a run of %.0f ranks, whose steps contain their communication; predictions start from a "
            "run of one node",
            path, world);
    if (find_layout(s, model, e))
        return err_context(e, "%.200s", path);
    if (fill_steps(s, path, e) || fill_shape(s, path, e))
        return -1;
    if (whole)
        return plan_init_whole(&s->plan, (double)(s->layout->params * sizeof(float)), e);
    if (schedule == SCHEDULE_SPLIT && s->layout->wte < 0)
        return err_set(e, ERR_USAGE, "schedule split parts a tied embedding, and %s has none", s->model);
    s->rows = schedule == SCHEDULE_SPLIT;
    if (predict_source_plan(s, &s->plan, schedule, bucket_mib, e))
        return -1;
    if (s->layout->wte < 0)
        return 0;
    return predict_source_plan(s, &s->other, schedule == SCHEDULE_SPLIT ? SCHEDULE_DDP : SCHEDULE_SPLIT, bucket_mib, e);
}

/* ---- a job of PyTorch ---- */

/* Point of backward at which a parameter's gradient came: the median over steps; 1 for one that never did. */
static double torch_point(const json_t *samples, size_t parameter, double *scratch)
{
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(samples); i++) {
        const json_t *sample = json_array_get(samples, i);
        const json_t *at = json_array_get(json_object_get(sample, "ready_s"), parameter);
        double point = (json_is_number(at) ? json_number_value(at) : NAN) - number(sample, "forward_s", NULL);
        point /= number(sample, "backward_s", NULL);
        if (isfinite(point))
            scratch[n++] = fmin(1, fmax(0, point));
    }
    return n ? stats_median(scratch, n) : 1;
}

static int torch_plan(struct predict_source *s, const char *path, struct err *e)
{
    const json_t *buckets = json_object_get(s->document, "buckets"), *samples = json_object_get(s->document, "samples");
    size_t n = json_array_size(buckets), parameters = json_array_size(json_object_get(s->document, "parameters"));
    if (n == 0 || n > SIM_BUCKETS_MAX)
        return err_set(e, ERR_DATA, "%.300s has %zu buckets; a plan has 1 to %d", path, n, SIM_BUCKETS_MAX);
    double *scratch = calloc(json_array_size(samples) + 1, sizeof *scratch);
    if (!scratch || plan_init(&s->plan, (int)n, e)) {
        free(scratch);
        return err_set(e, ERR_MEMORY, "no memory for the plan of the buckets");
    }
    int result = 0;
    double before = 0;
    for (size_t b = 0; b < n && result == 0; b++) {
        const json_t *o = json_array_get(buckets, b), *members = json_object_get(o, "parameters");
        double bytes = number(o, "bytes", NULL), ready = before;
        for (size_t i = 0; i < json_array_size(members); i++) {
            json_int_t index = json_integer_value(json_array_get(members, i));
            if (index < 0 || (size_t)index >= parameters)
                result = err_set(e, ERR_DATA, "%.300s: bucket %zu names a parameter that is not there", path, b + 1);
            else
                ready = fmax(ready, torch_point(samples, (size_t)index, scratch));
        }
        if (result == 0 && !(bytes > 0 && bytes < 1e15))
            result = err_set(e, ERR_DATA, "%.300s: bucket %zu has no size", path, b + 1);
        s->plan.bucket[b] = (struct plan_bucket){.ready = before = ready, .bytes = bytes};
        s->plan.parameter_bytes += bytes;
    }
    free(scratch);
    return result;
}

int predict_source_torch(struct predict_source *s, json_t *document, const char *path, struct err *e)
{
    *s = (struct predict_source){.has_steps = true, .torch = true};
    s->document = json_incref(document);
    snprintf(s->path, sizeof s->path, "%s", path);
    const char *job = json_string_value(json_object_get(document, "job"));
    const char *schema = json_string_value(json_object_get(document, "schema"));
    if (!schema || strcmp(schema, "ddpbench-pytorch-profile") != 0)
        return err_set(e, ERR_DATA, "%.300s is no profile of tools/pytorch_profile.py", path);
    snprintf(s->model, sizeof s->model, "%.60s", job ? job : "a job of PyTorch");
    if (fill_steps(s, path, e) || torch_plan(s, path, e))
        return -1;
    double threads = number(json_object_get(document, "node"), "threads", NULL);
    double bare = number(json_object_get(json_object_get(document, "summary"), "step_s"), "median", NULL);
    double wrapped = number(json_object_get(json_object_get(document, "wrapped"), "step_s"), "median", NULL);
    s->profile.tokens = 1;
    s->profile.threads = s->threads = threads >= 1 && threads < 1e6 ? (int)threads : 0;
    s->profile.wrapper_s = wrapped > bare ? wrapped - bare : 0;
    return 0;
}

int predict_source_stated(struct predict_source *s, double step_s, double bytes, const char *model, struct err *e)
{
    *s = (struct predict_source){.stated = true, .has_steps = isfinite(step_s)};
    if (model && find_layout(s, model, e))
        return -1;
    if (!isfinite(bytes))
        bytes = (double)(s->layout->params * sizeof(float));
    if (profile_init(&s->profile, 1, e) || plan_init_whole(&s->plan, bytes, e))
        return -1;
    s->profile.step[0].backward_s = isfinite(step_s) ? step_s : 1;
    s->profile.tokens = 1;
    return 0;
}

void predict_source_fini(struct predict_source *s)
{
    profile_fini(&s->profile);
    plan_fini(&s->plan);
    plan_fini(&s->other);
    free(s->layout);
    json_decref(s->document);
    *s = (struct predict_source){0};
}

/* ---- a link ---- */

enum { POINTS_MAX = 256 };

/* Times of messages while both directions were busy, the slower of the two directions of each size. The clock ran from the word to
 * send, which is half a round trip before the message began (sooner_s). */
static size_t messages(struct link_point *point, const json_t *link, double sooner_s)
{
    const json_t *list = json_object_get(link, "messages");
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(list) && n < POINTS_MAX; i++) {
        const json_t *m = json_array_get(list, i);
        double out = number(json_object_get(json_object_get(m, "duplex_a_to_b"), "time_s"), "median", NULL);
        double in = number(json_object_get(json_object_get(m, "duplex_b_to_a"), "time_s"), "median", NULL);
        double bytes = number(m, "bytes", NULL), seconds = isfinite(out) && isfinite(in) ? fmax(out, in) : NAN;
        if (bytes > 0 && seconds > sooner_s)
            point[n++] = (struct link_point){bytes, seconds - sooner_s};
    }
    return n;
}

/* Seconds of a core per byte, from how much slower products went while the link carried all it can and no core was kept
 * for it: a slowdown x leaves 1/x of the speed. Most of a training step is products. spread: the standard error of x - 1. */
static double cost_beside_computing(const json_t *link, double *spread)
{
    const json_t *list = json_object_get(link, "interaction");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *o = json_array_get(list, i), *a = json_object_get(o, "a"), *slow = json_object_get(a, "slowdown");
        const char *work = json_string_value(json_object_get(o, "work"));
        double slowdown = number(slow, "median", NULL), mad = number(slow, "mad", NULL), n = number(slow, "n", NULL);
        double rate = number(json_object_get(a, "received_bytes_per_s"), "median", NULL);
        if (!work || strcmp(work, "gemm") != 0 || !(number(o, "load", NULL) >= 1) ||
            json_is_true(json_object_get(o, "reserved_core")) || !(slowdown > 0) || !(rate > 0))
            continue;
        double error = 1.2533 * 1.4826 * mad / sqrt(n) / fmax(slowdown - 1, 0.01); /* of a median of normal samples */
        *spread = isfinite(error) ? fmin(1, fmax(0.05, error)) : LINK_CPU_SPREAD;
        return fmax(0, 1 - 1 / slowdown) / rate;
    }
    return NAN;
}

static double median_of(const json_t *o, const char *key)
{
    return number(json_object_get(o, key), "median", NULL);
}

/* What the ends lose while the link carries the rate `busy`: 1 - 1/slowdown of their cores; the cost is the mean of both, and
 * each has its own part of it. The standard error is that of medians, relative to the loss. */
static void loss_beside(struct link_model *m, const json_t *o, double busy)
{
    static const char *const ends[] = {"a_slowdown", "b_slowdown"};
    double of[2], variance = 0;
    for (int i = 0; i < 2; i++) {
        const json_t *s = json_object_get(o, ends[i]);
        double slowdown = number(s, "median", NULL), n = number(s, "n", NULL);
        double error = 1.2533 * 1.4826 * number(s, "mad", NULL) / sqrt(n) / (slowdown * slowdown);
        of[i] = slowdown > 0 ? fmax(0, 1 - 1 / slowdown) : NAN;
        variance += error * error / 4;
    }
    double loss = (of[0] + of[1]) / 2;
    if (!isfinite(loss))
        return;
    if (loss > 0) {
        m->own_scale = of[0] / loss;
        m->others_scale = of[1] / loss;
    }
    double spread = sqrt(variance) / fmax(loss, 0.01);
    m->cpu_s_per_byte = loss / busy;
    m->cpu_spread = isfinite(spread) ? fmin(1, fmax(0.05, spread)) : LINK_CPU_SPREAD;
    m->cpu_measured = true;
}

/* From what all-reduce took beside computing and without it. false: it was not measured. */
static bool link_from_contention(struct link_model *m, const json_t *link, const char *backend)
{
    const json_t *list = json_object_get(link, "contention");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *o = json_array_get(list, i), *large = json_object_get(o, "alone_s");
        const char *name = json_string_value(json_object_get(o, "backend"));
        double bytes = number(o, "bytes", NULL), small = median_of(o, "small_alone_s"), alone = median_of(o, "alone_s");
        double woken = median_of(o, "small_beside_s"), beside = median_of(o, "beside_s");
        if (!name || strcmp(name, backend) != 0 || !(bytes > 0) || !(small > 0) || !(alone > small) || !(woken > 0) ||
            !(beside > woken))
            continue;
        double rate = bytes / (alone - small), busy = bytes / (beside - woken);
        link_model_state(m, rate, 2 * small, COST_DUPLEX);
        double spread = 1.2533 * 1.4826 * number(large, "mad", NULL) / sqrt(number(large, "n", NULL)) / alone;
        m->rate_spread = isfinite(spread) ? fmin(0.3, spread) : 0;
        m->launch_s = fmax(0, woken - small);
        m->launch_measured = true;
        m->busy_share = fmin(1, busy / rate);
        m->seen_bytes_per_s = rate;
        m->cpu_s_per_byte = LINK_CPU_S_PER_BYTE;
        m->cpu_spread = LINK_CPU_SPREAD;
        loss_beside(m, o, busy);
        return true;
    }
    return false;
}

int predict_source_link(struct link_model *m, const json_t *document, const char *path, const char *backend,
                        struct err *e)
{
    const json_t *link = json_object_get(document, "link");
    if (link_from_contention(m, link, backend)) {
        m->measured = true;
        return 0;
    }
    double rate = number(link, "rate_bytes_per_s", NULL), rtt = number(link, "rtt_s", NULL);
    if (json_is_object(json_object_get(link, "rtt_s")))
        rtt = number(json_object_get(link, "rtt_s"), "median", NULL);
    if (!(rate >= 125) || !(rate <= 1.25e12))
        return err_set(e, ERR_DATA, "%.300s holds no rate of a link between 1 kbit/s and 10 Tbit/s", path);
    struct link_point point[POINTS_MAX];
    bool timed = rtt >= 0 && rtt < 100;
    size_t n = messages(point, link, timed ? rtt / 2 : 0);
    struct err few;
    if (n < 4 || link_model_fit(m, point, n, 1, &few))
        link_model_state(m, rate, timed ? rtt : LINK_RTT_S, COST_DUPLEX);
    if (timed)
        m->rtt_s = rtt;
    m->measured = true;
    m->launch_s = LINK_LAUNCH_S;
    m->cpu_s_per_byte = LINK_CPU_S_PER_BYTE;
    m->cpu_spread = LINK_CPU_SPREAD;
    /* Streams tell the rate of what is large better than messages do; these keep their say about what is small. */
    m->piece[m->n - 1].beta_s_per_byte = 1 / rate;
    double spread, cost = cost_beside_computing(link, &spread);
    if (isfinite(cost)) {
        m->cpu_s_per_byte = cost;
        m->cpu_spread = spread;
        m->cpu_measured = true;
    }
    return 0;
}

int predict_source_soak(struct heat_path *heat, const json_t *document, const char *path, struct err *e)
{
    const json_t *soak = json_object_get(document, "soak"), *list = json_object_get(soak, "trajectory");
    size_t n = json_array_size(list);
    *heat = (struct heat_path){0};
    if (soak && !json_is_object(soak))
        return err_set(e, ERR_DATA, "%.200s: the soak found nothing: %.160s", path,
                       field_reason(document, "soak", "no reason is given"));
    if (n == 0)
        return err_set(e, ERR_DATA, "%.300s is no soak: 'soak --minutes M' makes one", path);
    for (size_t i = 0; i < n; i++) {
        const json_t *point = json_array_get(list, i);
        double time_s = number(point, "time_s", NULL), factor = number(point, "factor", NULL);
        if (n > HEAT_POINTS_MAX || !(time_s > (i ? heat->time_s[i - 1] : 0)) || !(time_s < 1e9) || !(factor >= 0.1) ||
            !(factor <= 100))
            return err_set(e, ERR_DATA, "%.300s: its trajectory is not of ascending times with factors from 0.1 to 100",
                           path);
        heat->time_s[i] = time_s;
        heat->factor[i] = factor;
    }
    heat->n = (int)n;
    return 0;
}
