/* predict/explain.c - see explain.h. */
#include "predict/explain.h"

#include <math.h>

#include "predict/inverse.h"

#define WORTH 1.02            /* a limit is worth naming from here on */
#define LAST_BUCKET_EXTRA 1.1 /* exposed, relative to the last bucket alone */
enum { CHANGE_REPLICATES = 200, CURVE_REPLICATES = 200, VARIANCE_REPLICATES = 300 };

/* ---- what limits ---- */

const char *limit_name(enum limit l)
{
    static const char *const names[] = {
        [LIMIT_COMPUTE] = "compute",      [LIMIT_RATE] = "link rate",        [LIMIT_LAST_BUCKET] = "last bucket",
        [LIMIT_LATENCY] = "link latency", [LIMIT_CONTENTION] = "contention", [LIMIT_SLOW_NODE] = "slow node",
        [LIMIT_JITTER] = "uneven steps"};
    return names[l];
}

static void remove_latency(struct scenario *s)
{
    for (int i = 0; i < s->link.n; i++)
        s->link.piece[i].alpha_s = 0;
    s->link.launch_s = 0;
}

static void remove_slow_node(struct scenario *s)
{
    s->partner_scale = s->slow_node_scale = 1;
    s->partner = NULL;
    s->slow_nic_bytes_per_s = 0;
}

/* The last bucket's own time on the link. */
static double last_bucket_s(const struct scenario *s)
{
    const struct plan *p = s->plan;
    if (p->n == 0)
        return 0;
    struct scenario last = *s;
    struct plan_bucket *b = &p->bucket[p->n - 1];
    struct plan one = {.n = 1, .bucket = b};
    last.plan = &one;
    return scenario_floor_s(&last) + 2 * s->link.launch_s;
}

int explain_limit(const struct scenario *s, const struct outcome *o, struct explain_limit *out, struct err *e)
{
    double now;
    *out = (struct explain_limit){.limit = LIMIT_COMPUTE};
    if (inverse_speedup(s, &now, e))
        return -1;
    double best = now * WORTH;
    for (int l = 0; l < LIMITS; l++) {
        struct scenario without = *s;
        out->without[l] = now;
        if (l == LIMIT_RATE && s->link.n > 0) {
            inverse_set_rate(&without, INVERSE_RATE_MAX);
            without.slow_nic_bytes_per_s = 0;
        } else if (l == LIMIT_LATENCY) {
            remove_latency(&without);
        } else if (l == LIMIT_CONTENTION) {
            without.contention_scale = 0;
        } else if (l == LIMIT_SLOW_NODE) {
            remove_slow_node(&without);
        } else if (l == LIMIT_JITTER && !s->exact) {
            without.no_jitter = true;
        } else {
            continue;
        }
        if (inverse_speedup(&without, &out->without[l], e))
            return -1;
        if (out->without[l] > best) {
            best = out->without[l];
            out->limit = (enum limit)l;
        }
    }
    double last = last_bucket_s(s);
    if (out->limit == LIMIT_RATE && s->plan->n > 1 && o->exposed_s.median <= LAST_BUCKET_EXTRA * last)
        out->limit = LIMIT_LAST_BUCKET;
    return 0;
}

/* ---- single changes ---- */

static int fewer(int replicates)
{
    return replicates > CHANGE_REPLICATES ? CHANGE_REPLICATES : replicates;
}

static int try_change(struct explain_change *c, const char *name, const struct scenario *changed,
                      const struct outcome *o, struct err *e)
{
    struct scenario few = *changed;
    few.replicates = fewer(few.replicates);
    *c = (struct explain_change){.name = name};
    if (scenario_run(&few, &c->outcome, e))
        return -1;
    c->flips = outcome_verdict(&c->outcome) != outcome_verdict(o);
    return 0;
}

int explain_changes(const struct scenario *s, const struct plan *other_plan, const char *other_name,
                    bool other_by_bucket, struct explain_change change[EXPLAIN_CHANGES_MAX], struct err *e)
{
    static const struct {
        const char *name;
        double rate, tokens, wire;
        int accum;
        bool reserve, by_bucket;
    } list[] = {
        {"bw=2.5x", 2.5, 1, 1, 1, false, false},       {"tokens=2x", 1, 2, 1, 1, false, false},
        {"tokens=4x", 1, 4, 1, 1, false, false},       {"accum=2x", 1, 1, 1, 2, false, false},
        {"accum=4x", 1, 1, 1, 4, false, false},        {"wire=bf16", 1, 1, 0.5, 1, false, false},
        {"reserve-core=yes", 1, 1, 1, 1, true, false}, {"optimizer=bucket", 1, 1, 1, 1, false, true},
    };
    int n = 0;
    struct scenario base = *s;
    struct outcome unchanged, *o = &unchanged;
    base.replicates =
        fewer(base.replicates); /* the same draws as with each change: a verdict turns by the change alone */
    if (scenario_run(&base, o, e))
        return -1;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        struct scenario c = *s;
        if ((list[i].by_bucket && s->optimizer_by_bucket) || (list[i].wire < 1 && s->wire_scale < 1) ||
            (list[i].reserve && !scenario_reserve_core(&c)))
            continue;
        if (list[i].rate > 1)
            inverse_set_rate(&c, link_model_rate(&s->link) * list[i].rate);
        c.token_scale *= list[i].tokens;
        c.wire_scale *= list[i].wire;
        c.accum = (s->accum > 0 ? s->accum : s->own->accum) * list[i].accum;
        c.optimizer_by_bucket |= list[i].by_bucket;
        if (try_change(&change[n++], list[i].name, &c, o, e))
            return -1;
    }
    if (other_plan) {
        struct scenario c = *s;
        c.plan = other_plan;
        c.optimizer_by_bucket = other_by_bucket;
        if (try_change(&change[n++], other_name, &c, o, e))
            return -1;
    }
    return n;
}

/* ---- tokens per node ---- */

int explain_curve(const struct scenario *s, struct explain_point curve[EXPLAIN_CURVE], struct err *e)
{
    struct scenario c = *s;
    double tokens = s->own->tokens / s->own->accum * (s->accum > 0 ? s->accum : s->own->accum);
    if (c.replicates > CURVE_REPLICATES)
        c.replicates = CURVE_REPLICATES;
    for (int i = 0; i < EXPLAIN_CURVE; i++) {
        curve[i].tokens = 256 << i;
        c.token_scale = curve[i].tokens / tokens;
        if (scenario_run(&c, &curve[i].outcome, e))
            return -1;
    }
    return 0;
}

/* ---- uncertainty ---- */

int explain_variance(const struct scenario *s, struct explain_variance *out, struct err *e)
{
    double variance[4];
    for (int only = 0; only < 4; only++) { /* 3: all of them */
        struct scenario c = *s;
        struct outcome o;
        if (c.replicates > VARIANCE_REPLICATES)
            c.replicates = VARIANCE_REPLICATES;
        c.no_jitter = only != 0 && only != 3;
        c.no_link_spread = only != 1 && only != 3;
        c.no_discrepancy = only != 2 && only != 3;
        if (scenario_run(&c, &o, e))
            return -1;
        variance[only] = o.log_variance;
    }
    double sum = variance[0] + variance[1] + variance[2];
    *out = (struct explain_variance){variance[0] / sum, variance[1] / sum, variance[2] / sum, variance[3] / sum};
    return 0;
}
