/* report/outlook.c - see outlook.h. Start at outlook_make(); prepare() is from a document to a scenario. */
#include "report/outlook.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "base/units.h"
#include "predict/explain.h"
#include "predict/inverse.h"
#include "report/clean.h"
#include "report/table.h"
#include "report/table_parts.h"
#include "report/verdict.h"

enum { REPLICATES = 200, RATE_REPLICATES = 100, STEPS = 10, SAMPLES = 300 };

#define GIGABIT_BYTES_PER_S (1e9 * UNITS_ETHERNET_SHARE / 8)
#define BUCKET_FIRST_BYTES 1048576.0
#define BUCKET_BYTES (25 * 1048576.0)

struct basis { /* what a scenario borrows */
    struct profile profile;
    struct plan plan;
    struct link_model link;
};

/* ---- steps ---- */

/* Work of one step; false if the step is not usable. */
static bool work_of(const json_t *sample, struct profile_step *t)
{
    *t = (struct profile_step){table_num(sample, "forward_s", NULL), table_num(sample, "backward_s", NULL),
                               table_num(sample, "optimizer_s", NULL)};
    return t->forward_s >= 0 && t->backward_s > 0 && t->optimizer_s >= 0 && t->forward_s + t->backward_s < 1e7;
}

static const char *fill_profile(struct basis *b, const json_t *d, bool *alone, struct err *e)
{
    const json_t *list = json_object_get(d, "samples"), *node = json_array_get(json_object_get(d, "nodes"), 0);
    size_t total = json_array_size(list), first = total > SAMPLES ? total - SAMPLES : 0;
    struct profile_step t;
    double tokens = table_num(d, "model", "tokens_per_step"), accum = table_num(d, "model", "accum");
    double world = table_num(d, "world", NULL), threads = table_num(node, "threads", NULL);
    double batch = table_num(d, "model", "batch"), all = table_num(d, "model", "global_batch");
    int n = 0;
    for (size_t i = first; i < total; i++)
        n += work_of(json_array_get(list, i), &t);
    if (n == 0)
        return "the document has no timed step with its parts";
    if (!(tokens >= 1 && tokens < 1e15 && accum >= 1 && accum <= 1 << 20 && world >= 1))
        return "the document does not say how many tokens a step had";
    if (profile_init(&b->profile, n, e))
        return e->text;
    n = 0;
    for (size_t i = first; i < total; i++)
        if (work_of(json_array_get(list, i), &t))
            b->profile.step[n++] = t;
    double own = isfinite(batch / all) ? batch * accum / all : 1 / world; /* rank 0's part of the tokens */
    b->profile.tokens = tokens * (world > 1 ? own : 1);
    b->profile.accum = (int)accum;
    b->profile.threads = threads >= 1 && threads < 1e6 ? (int)threads : 0;
    double cores = table_num(d, "machine", "usable_cores"),
           quota = table_value(table_at(d, "machine", "limits", "cpu_quota", NULL));
    if (quota >= 1)
        cores = fmin(cores, floor(quota));
    if (!json_is_true(json_object_get(d, "same_host")) && threads >= 1 && cores > threads && cores < 1e6)
        b->profile.free_cores = (int)(cores - threads);
    double alone_s = table_num(node, "alone_step_s", "median"), factor = alone_s / profile_step_s(&b->profile);
    *alone = world < 2 || (isfinite(factor) && factor > 0);
    for (int i = 0; world > 1 && *alone && i < n; i++) {
        b->profile.step[i].forward_s *= factor;
        b->profile.step[i].backward_s *= factor;
        b->profile.step[i].optimizer_s *= factor;
    }
    return NULL;
}

/* ---- buckets ---- */

/* Point of the last backward pass, of an instant counted from the start of the step. */
static double point_of(const json_t *d, int accum, double ready_s)
{
    double f = table_value(table_at(d, "summary", "forward_s", "median", NULL));
    double b = table_value(table_at(d, "summary", "backward_s", "median", NULL));
    double point = (ready_s - ((accum - 1) * (f + b) + f) / accum) / (b / accum);
    return isfinite(point) ? fmin(1, fmax(0, point)) : 1;
}

static bool add_bucket(struct plan *plan, int limit, double bytes, double ready)
{
    if (plan->n >= limit || !(bytes > 0 && bytes < 1e13))
        return false;
    double before = plan->n ? plan->bucket[plan->n - 1].ready : 0;
    plan->bucket[plan->n++] = (struct plan_bucket){.ready = fmax(before, ready), .bytes = bytes};
    return true;
}

static void sent_buckets(struct basis *b, const json_t *d, int limit)
{
    json_t *list = table_at(d, "communication", "buckets", NULL), *o;
    size_t i;
    json_array_foreach(list, i, o)
    {
        add_bucket(&b->plan, limit, table_num(o, "bytes", NULL),
                   point_of(d, b->profile.accum, table_num(o, "ready_s", "median")));
    }
}

/* A bucket is closed when it has reached its size; no tensor is divided. */
static void ruled_buckets(struct basis *b, const json_t *d, int limit)
{
    json_t *list = json_object_get(d, "gradients"), *o;
    double bytes = 0, ready = 0;
    size_t i;
    json_array_foreach(list, i, o)
    {
        double more = table_num(o, "bytes", NULL);
        if (!(more > 0))
            continue;
        bytes += more;
        ready = fmax(ready, point_of(d, b->profile.accum, table_num(o, "ready_s", "median")));
        if (bytes >= (b->plan.n ? BUCKET_BYTES : BUCKET_FIRST_BYTES) && add_bucket(&b->plan, limit, bytes, ready))
            bytes = 0;
    }
    if (bytes > 0)
        add_bucket(&b->plan, limit, bytes, ready);
}

static const char *fill_plan(struct basis *b, const json_t *d, struct err *e)
{
    double bytes = table_num(d, "model", "gradient_bytes");
    int limit = 1024;
    if (!(bytes > 0 && bytes < 1e13))
        return "the document does not say how many bytes of gradients there are";
    if (plan_init(&b->plan, limit, e))
        return e->text;
    b->plan.n = 0;
    b->plan.parameter_bytes = bytes;
    if (table_num(d, "world", NULL) > 1)
        sent_buckets(b, d, limit);
    if (b->plan.n == 0)
        ruled_buckets(b, d, limit);
    if (b->plan.n == 0)
        add_bucket(&b->plan, limit, bytes, 1);
    return NULL;
}

/* ---- link ---- */

static enum cost_medium medium_of(const char *name)
{
    return !name || strcmp(name, "duplex") == 0 ? COST_DUPLEX : strcmp(name, "half") == 0 ? COST_HALF : COST_SHARED;
}

static bool is_rate(double x)
{
    return x >= 125 && x <= 1.25e12;
}

static bool from_prediction(struct link_model *m, struct outlook *o, const json_t *link)
{
    char name[96], rate[96];
    double x = table_num(link, "rate_bytes_per_s", NULL), rtt = table_num(link, "rtt_s", NULL);
    double cpu = table_num(link, "cpu_s_per_byte", NULL);
    const char *medium = json_string_value(json_object_get(link, "medium"));
    if (!is_rate(x))
        return false;
    link_model_state(m, x, rtt >= 0 && rtt < 100 ? rtt : LINK_RTT_S, medium_of(medium));
    link_model_assume_costs(m);
    if (cpu >= 0 && cpu < 1e-6)
        m->cpu_s_per_byte = cpu;
    if (m->medium == COST_SHARED)
        m->rate_spread = LINK_WIFI_SPREAD;
    snprintf(o->link, sizeof o->link, "%s, %s",
             clean_text(name, sizeof name, json_string_value(json_object_get(link, "name"))),
             table_rate(rate, sizeof rate, x));
    return true;
}

static void fill_link(struct link_model *m, struct outlook *o, const json_t *d)
{
    char rate[96];
    const json_t *emulated = json_object_get(d, "emulated");
    double x = table_num(emulated, "rate_bytes_per_s", NULL), rtt = table_num(emulated, "rtt_s", NULL);
    double seen = table_value(table_at(d, "communication", "arithmetic", "rate_bytes_per_s", NULL));
    if (is_rate(x)) {
        bool half = json_is_true(json_object_get(emulated, "half_duplex")),
             one = json_is_true(json_object_get(d, "same_host"));
        link_model_state(m, x, rtt >= 0 && rtt < 100 ? rtt : LINK_RTT_S, /* ranks of one host share one medium */
                         !half ? COST_DUPLEX
                         : one ? COST_SHARED
                               : COST_HALF);
        snprintf(o->link, sizeof o->link, "the emulated link, %s", table_rate(rate, sizeof rate, x));
    } else if (is_rate(seen)) {
        link_model_state(m, x = seen, LINK_RTT_S, COST_DUPLEX);
        snprintf(o->link, sizeof o->link, "%s as this run saw it, %s",
                 json_is_true(json_object_get(d, "same_host")) ? "loopback" : "the link",
                 table_rate(rate, sizeof rate, x));
    } else if (from_prediction(m, o, table_at(d, "prediction", "link", NULL))) {
        o->link_bytes_per_s = link_model_rate(m);
        return;
    } else {
        x = GIGABIT_BYTES_PER_S;
        link_model_state(m, x, LINK_RTT_S, COST_DUPLEX);
        snprintf(o->link, sizeof o->link, "1G-eth, assumed, %s", table_rate(rate, sizeof rate, x));
    }
    link_model_assume_costs(m);
    o->link_bytes_per_s = x;
}

/* ---- the scenario ---- */

/* How much slower the slowest other node computes a token; 1 unless they are hosts of their own and clearly unlike. */
static double partner_scale(const json_t *d)
{
    json_t *list = json_object_get(d, "nodes"), *node;
    double own = table_num(json_array_get(list, 0), "alone_tokens_per_s", NULL), slowest = 0;
    size_t i;
    if (json_is_true(json_object_get(d, "same_host")))
        return 1;
    json_array_foreach(list, i, node)
    {
        double x = own / table_num(node, "alone_tokens_per_s", NULL);
        if (i > 0 && x > slowest && x < 100)
            slowest = x;
    }
    return slowest > 0.01 && fabs(slowest - 1) > 0.05 ? slowest : 1;
}

static const char *prepare(struct basis *b, struct scenario *s, struct outlook *o, const json_t *d, struct err *e)
{
    bool alone = true;
    const char *why = fill_profile(b, d, &alone, e);
    if (!why)
        why = fill_plan(b, d, e);
    if (why)
        return why;
    fill_link(&b->link, o, d);
    scenario_init(s, &b->profile, &b->plan, &b->link);
    s->steps = STEPS;
    s->replicates = REPLICATES;
    s->seed = 1;
    s->optimizer_by_bucket = json_is_true(table_at(d, "communication", "optimizer_per_bucket", NULL));
    s->partner_scale = partner_scale(d);
    double world = table_num(d, "world", NULL);
    o->pair = world >= 2 && world <= 64 ? (int)world : 2;
    if (world < 2)
        snprintf(o->basis, sizeof o->basis, "Further nodes are taken to be like this one.");
    else if (s->partner_scale > 1.05 || s->partner_scale < 0.95)
        snprintf(o->basis, sizeof o->basis,
                 "The other nodes take %.2f times as long as rank 0 for a token, as measured alone.", s->partner_scale);
    else
        snprintf(o->basis, sizeof o->basis,
                 "Every node is taken to be a host of its own that computes as rank 0 does%s.",
                 alone ? " alone" : " beside its communication, since its steps alone were not measured");
    return NULL;
}

/* ---- answers ---- */

static int run_nodes(struct outlook *o, const struct scenario *s, struct err *e)
{
    for (int n = 1; n <= OUTLOOK_NODES; n++) {
        struct scenario at = *s;
        struct outcome out;
        if (n == 9 || n == 11 || n == 13 || n == 15) /* the curve is smooth there */
            continue;
        at.nodes = n;
        if (n > 4)
            at.replicates = RATE_REPLICATES;
        if (scenario_run(&at, &out, e))
            return -1;
        o->node[o->n++] = (struct outlook_point){n, out.speedup, out.efficiency};
    }
    return 0;
}

static int run_rates(struct outlook *o, const struct scenario *s, struct err *e)
{
    static const double mbit[OUTLOOK_RATES] = {30, 100, 300, 941.5, 2354, 4700, 9415, 23538, 94150};
    for (int i = 0; i < OUTLOOK_RATES; i++) {
        struct scenario at = *s;
        struct outcome out;
        at.nodes = o->pair;
        at.replicates = RATE_REPLICATES;
        inverse_set_rate(&at, mbit[i] * 1e6 / 8);
        if (scenario_run(&at, &out, e))
            return -1;
        o->rate[o->rates++] = (struct outlook_point){mbit[i] * 1e6 / 8, out.speedup, out.efficiency};
    }
    return 0;
}

static int by_speedup(const void *a, const void *b)
{
    double x = ((const struct outlook_change *)a)->speedup.median,
           y = ((const struct outlook_change *)b)->speedup.median;
    return x < y ? 1 : x > y ? -1 : 0;
}

static int run_changes(struct outlook *o, const struct scenario *s, struct err *e)
{
    struct explain_change *list = calloc(EXPLAIN_CHANGES_MAX, sizeof *list);
    struct scenario at = *s;
    struct outcome out;
    struct inverse rate, tokens;
    at.nodes = o->pair;
    at.replicates = RATE_REPLICATES;
    if (!list)
        return err_set(e, ERR_MEMORY, "no memory for what could be changed");
    int n = scenario_run(&at, &out, e) ? -1 : explain_changes(&at, NULL, NULL, false, list, e);
    for (int i = 0; i < n && i < OUTLOOK_CHANGES; i++) {
        struct outlook_change *c = &o->change[o->changes++];
        snprintf(c->name, sizeof c->name, "%s", list[i].name);
        snprintf(c->verdict, sizeof c->verdict, "%s", verdict_name(outcome_verdict(&list[i].outcome)));
        c->speedup = list[i].outcome.speedup;
        c->flips = list[i].flips;
    }
    free(list);
    if (n < 0 || inverse_rate(&at, 1, &rate, e) || inverse_tokens(&at, 1, &tokens, e))
        return -1;
    o->now = out.speedup.median;
    o->even_bytes_per_s = rate.value;
    o->even_tokens = tokens.value;
    qsort(o->change, (size_t)o->changes, sizeof *o->change, by_speedup);
    return 0;
}

/* ---- documents of predict ---- */

static struct estimate estimate_of(const json_t *o, const char *key)
{
    return (struct estimate){table_num(o, key, "median"), table_num(o, key, "lo"), table_num(o, key, "hi")};
}

static void copy_prediction(struct outlook *o, const json_t *d)
{
    json_t *list = json_object_get(d, "nodes"), *changes = json_object_get(d, "changes"), *item;
    char name[96], rate[96];
    size_t i;
    json_array_foreach(list, i, item)
    {
        struct outlook_point p = {table_num(item, "nodes", NULL), estimate_of(item, "speedup"),
                                  estimate_of(item, "efficiency")};
        bool later = o->n == 0 || p.x > o->node[o->n - 1].x;
        if (later && isfinite(p.x) && isfinite(p.speedup.median) && o->n < (int)(sizeof o->node / sizeof *o->node))
            o->node[o->n++] = p;
    }
    json_array_foreach(changes, i, item)
    {
        struct outlook_change *c = &o->change[o->changes];
        if (o->changes == OUTLOOK_CHANGES || !isfinite(table_num(item, "speedup", "median")))
            continue;
        clean_text(c->name, sizeof c->name, json_string_value(json_object_get(item, "change")));
        clean_text(c->verdict, sizeof c->verdict, json_string_value(json_object_get(item, "verdict")));
        c->speedup = estimate_of(item, "speedup");
        c->flips = json_is_true(json_object_get(item, "flips"));
        o->changes++;
    }
    qsort(o->change, (size_t)o->changes, sizeof *o->change, by_speedup);
    const json_t *link = json_object_get(d, "link"), *inverse = json_object_get(d, "inverse");
    o->link_bytes_per_s = table_num(link, "rate_bytes_per_s", NULL);
    snprintf(o->link, sizeof o->link, "%s, %s",
             clean_text(name, sizeof name, json_string_value(json_object_get(link, "name"))),
             table_rate(rate, sizeof rate, o->link_bytes_per_s));
    double target = table_num(inverse, "target_speedup", NULL);
    if (fabs(target - 1) < 1e-9) {
        o->even_bytes_per_s = table_num(inverse, "rate_bytes_per_s", NULL);
        o->even_tokens = table_num(inverse, "tokens_per_node", NULL);
    }
    for (int k = 0; k < o->n && o->pair == 0; k++)
        if (o->node[k].x > 1 && o->node[k].x < 1e6) {
            o->pair = (int)o->node[k].x;
            o->now = o->node[k].speedup.median;
        }
    if (o->n == 0)
        snprintf(o->why, sizeof o->why, "the document holds no speed-up: the time of a step is not known");
    snprintf(o->basis, sizeof o->basis, "As the prediction has it.");
}

/* Where the run's own prediction has a number of nodes, the curve goes through it: one page, one number. */
static void settle_on(struct outlook *o, const json_t *prediction)
{
    double nodes = table_num(prediction, "nodes", NULL);
    for (int i = 0; i < o->n; i++)
        if (fabs(o->node[i].x - nodes) < 0.5 && isfinite(table_num(prediction, "speedup", "median"))) {
            o->node[i].speedup = estimate_of(prediction, "speedup");
            if (o->node[i].x == o->pair && o->now > 0) { /* what changes bring is told beside it */
                double ratio = o->node[i].speedup.median / o->now;
                for (int k = 0; k < o->changes; k++) {
                    o->change[k].speedup.median *= ratio;
                    o->change[k].speedup.lo *= ratio;
                    o->change[k].speedup.hi *= ratio;
                }
                o->now = o->node[i].speedup.median;
            }
            if (isfinite(table_num(prediction, "efficiency", "median")))
                o->node[i].efficiency = estimate_of(prediction, "efficiency");
        }
}

int outlook_make(struct outlook *o, const json_t *d, struct err *e)
{
    struct basis b = {0};
    struct scenario s;
    *o = (struct outlook){.now = NAN, .even_bytes_per_s = NAN, .even_tokens = NAN, .link_bytes_per_s = NAN};
    enum document_kind kind = document_kind(d);
    if (kind == DOCUMENT_PREDICTION) {
        copy_prediction(o, d);
        return 0;
    }
    if (kind != DOCUMENT_RUN) {
        snprintf(o->why, sizeof o->why, "a link alone does not say what a model makes of it");
        return 0;
    }
    *e = (struct err){ERR_OK, ""};
    const char *why = prepare(&b, &s, o, d, e);
    int result = 0;
    if (why)
        snprintf(o->why, sizeof o->why, "%.190s", why);
    else
        result = run_nodes(o, &s, e) || run_rates(o, &s, e) || run_changes(o, &s, e) ? -1 : 0;
    bool same_link = table_num(d, "world", NULL) < 2;
    if (result == 0 && same_link)
        settle_on(o, json_object_get(d, "prediction"));
    if (result && e->code != ERR_MEMORY) { /* a plan that cannot be replayed is no reason for no report */
        snprintf(o->why, sizeof o->why, "%.180s", e->text);
        o->n = o->rates = o->changes = 0;
        result = 0;
    }
    profile_fini(&b.profile);
    plan_fini(&b.plan);
    return result;
}
