/*
 * cli/predict_answer.c - see predict_answer.h. Start at predict_add_outcome() for one number of nodes and at
 * predict_add_details() for what is said about the smallest of them.
 */
#include "config.h"

#include "cli/predict_answer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/output.h"
#include "cli/predict_whatif.h"
#include "predict/balance.h"
#include "predict/cost.h"
#include "predict/explain.h"
#include "predict/inverse.h"

enum { LARGE = 64 };

static const char no_spread[] = "stated numbers have no spread";

static const char no_tokens[] = "the profile does not say how many tokens a step has";

static void set(json_t *o, const char *key, json_t *value)
{
    json_object_set_new(o, key, value);
}

/* ---- a number of nodes ---- */

static void set_estimate(json_t *root, json_t *o, const char *key, const char *path, struct estimate e)
{
    json_t *v = json_object();
    char where[96];
    snprintf(where, sizeof where, "%s.%s", path, key);
    set(v, "median", json_num(e.median));
    json_known(root, v, where, "lo", json_num(e.lo), no_spread);
    json_known(root, v, where, "hi", json_num(e.hi), no_spread);
    set(o, key, v);
}

/* Its speed-up is over the same node as the others: the fastest. */
static void add_naive(json_t *root, json_t *o, const char *path, const struct scenario *s, const struct outcome *out,
                      double t_comm_s)
{
    struct profile_step slowest = scenario_typical(s, 0);
    for (int i = 1; i < s->nodes; i++) {
        struct profile_step other = scenario_typical(s, i);
        if (other.forward_s + other.backward_s > slowest.forward_s + slowest.backward_s)
            slowest = other;
    }
    if (s->exact) {
        json_known(root, o, path, "naive", NULL, "the rule needs forward and backward apart");
        return;
    }
    double step_s = cost_naive_step_s(slowest.forward_s, slowest.backward_s, slowest.optimizer_s, t_comm_s);
    json_t *naive = json_object();
    set(naive, "step_s", json_num(step_s));
    set(naive, "speedup", json_num(out->tokens / step_s / (out->baseline_tokens / out->alone_s)));
    set(o, "naive", naive);
}

static void add_limit(json_t *o, const struct scenario *s, const struct explain_limit *limit)
{
    static const enum limit shown[] = {LIMIT_RATE, LIMIT_LATENCY, LIMIT_CONTENTION, LIMIT_SLOW_NODE, LIMIT_JITTER};
    json_t *without = json_object();
    set(o, "limit", json_string(limit_name(limit->limit)));
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        if (s->nodes > 1)
            set(without, limit_name(shown[i]), json_num(limit->without[shown[i]]));
    set(o, "speedup_without", without);
}

int predict_add_outcome(json_t *root, json_t *o, const char *path, const struct scenario *s, struct outcome *out,
                        struct err *e)
{
    struct explain_limit limit = {LIMIT_COMPUTE, {0}};
    if (scenario_run(s, out, e) || (s->nodes > 1 && s->nodes <= LARGE && explain_limit(s, out, &limit, e)))
        return -1;
    set(o, "nodes", json_integer(s->nodes));
    set_estimate(root, o, "step_s", path, out->step_s);
    set_estimate(root, o, "speedup", path, out->speedup);
    set_estimate(root, o, "efficiency", path, out->efficiency);
    json_known(root, o, path, "p_faster", json_num(s->nodes > 1 ? out->p_faster : NAN),
               s->nodes > 1 ? no_spread : "one node is what the others are compared with");
    set(o, "verdict", s->nodes > 1 ? json_string(verdict_name(outcome_verdict(out))) : json_null());
    if (s->nodes > LARGE)
        json_known(root, o, path, "limit", NULL, "not taken apart above 64 nodes");
    else
        add_limit(o, s, &limit);
    set(o, "alone_s", json_num(out->alone_s));
    set(o, "tokens_per_s", json_num(out->tokens / out->step_s.median));
    set(o, "t_comm_s", json_num(scenario_floor_s(s)));
    set(o, "communication_s", json_num(out->communication_s));
    set_estimate(root, o, "exposed_s", path, out->exposed_s);
    add_naive(root, o, path, s, out, scenario_floor_s(s));
    set(o, "extrapolated", json_boolean(s->nodes > SCENARIO_VALIDATED_NODES && !s->exact));
    return 0;
}

/* Without a step's time there is only what the bytes take. */
static json_t *bytes_only(json_t *root, const struct scenario *s, const char *path)
{
    static const char *const unknown[] = {"step_s", "speedup", "efficiency", "p_faster", "verdict", "limit"};
    json_t *o = json_object();
    set(o, "nodes", json_integer(s->nodes));
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        json_known(root, o, path, unknown[i], NULL,
                   "the time of a step is not known: no run of this model, no --step-s");
    set(o, "t_comm_s", json_num(scenario_floor_s(s)));
    /* without overlap N t / (t + c) > 1 from t = c / (N-1) on */
    json_known(root, o, path, "break_even_step_s", json_num(s->nodes > 1 ? scenario_floor_s(s) / (s->nodes - 1) : NAN),
               "one node communicates with nobody");
    return o;
}

int predict_add_nodes(json_t *root, json_t *owner, const char *name, const struct predict_ask *ask,
                      struct predict_changed *changed, struct err *e)
{
    json_t *list = json_array();
    set(owner, "nodes", list);
    for (int i = 0; i < ask->counts; i++) {
        struct scenario s;
        struct outcome out;
        char path[64];
        predict_scenario(&s, ask, ask->count[i]);
        snprintf(path, sizeof path, "%snodes[%d]", name, i);
        if (changed) {
            plan_fini(&changed->plan);
            if (predict_whatif(&s, ask->source, changed, ask->what_if, e))
                return -1;
        }
        json_t *o = ask->source->has_steps ? json_object() : bytes_only(root, &s, path);
        json_array_append_new(list, o);
        if (ask->source->has_steps && predict_add_outcome(root, o, path, &s, &out, e))
            return -1;
    }
    return 0;
}

/* ---- the question turned round ---- */

static void add_inverse_value(json_t *root, json_t *o, const char *key, struct inverse x, const char *range)
{
    char why[160];
    snprintf(why, sizeof why, "%s reaches %.3f", range, x.best);
    json_known(root, o, "inverse", key, json_num(x.value), why);
}

static int add_inverse(json_t *root, const struct predict_ask *ask, const struct scenario *s, struct err *e)
{
    struct inverse rate = {NAN, NAN}, tokens, accum, partner;
    json_t *o = json_object();
    set(root, "inverse", o);
    set(o, "nodes", json_integer(s->nodes));
    set(o, "target_speedup", json_num(ask->target));
    if (inverse_rate(s, ask->target, &rate, e) || inverse_partner(s, ask->target, &partner, e))
        return -1;
    add_inverse_value(root, o, "rate_bytes_per_s", rate, "no rate does it: an endless one");
    add_inverse_value(root, o, "partner_slower", partner, "not even a partner as fast as this node does it, which");
    if (ask->source->stated) {
        json_unknown(root, o, "tokens_per_node", "inverse.tokens_per_node", "a stated step has no tokens");
        json_unknown(root, o, "accum", "inverse.accum", "a stated step is not divided into optimizer and the rest");
        return 0;
    }
    if (inverse_tokens(s, ask->target, &tokens, e) || inverse_accum(s, ask->target, &accum, e))
        return -1;
    if (ask->source->torch)
        json_unknown(root, o, "tokens_per_node", "inverse.tokens_per_node", no_tokens);
    else
        add_inverse_value(root, o, "tokens_per_node", tokens, "no number of tokens does it: the most that was tried");
    add_inverse_value(root, o, "accum", accum, "no accumulation does it: 1024 micro-batches");
    return 0;
}

static int add_changes(json_t *root, const struct predict_ask *ask, const struct scenario *s, struct err *e)
{
    static struct explain_change change[EXPLAIN_CHANGES_MAX];
    const struct predict_source *source = ask->source;
    json_t *list = json_array();
    set(root, "changes", list);
    if (source->stated)
        return 0;
    int n = explain_changes(s, source->other.n ? &source->other : NULL,
                            source->schedule == SCHEDULE_SPLIT ? "schedule=ddp" : "schedule=split",
                            source->schedule != SCHEDULE_SPLIT, change, e);
    for (int i = 0; i < n; i++) {
        json_t *o = json_object();
        char path[32];
        snprintf(path, sizeof path, "changes[%d]", i);
        set(o, "change", json_string(change[i].name));
        set_estimate(root, o, "speedup", path, change[i].outcome.speedup);
        json_known(root, o, path, "p_faster", json_num(change[i].outcome.p_faster), no_spread);
        set(o, "verdict", json_string(verdict_name(outcome_verdict(&change[i].outcome))));
        set(o, "flips", json_boolean(change[i].flips));
        json_array_append_new(list, o);
    }
    return n < 0 ? -1 : 0;
}

static int add_curve(json_t *root, const struct scenario *s, struct err *e)
{
    struct explain_point p[EXPLAIN_CURVE];
    struct inverse even;
    json_t *o = json_object(), *list = json_array();
    set(root, "curve", o);
    set(o, "points", list);
    if (explain_curve(s, p, e) || inverse_tokens(s, 1, &even, e))
        return -1;
    for (int i = 0; i < EXPLAIN_CURVE; i++) {
        json_t *point = json_object();
        char path[48];
        snprintf(path, sizeof path, "curve.points[%d]", i);
        set(point, "tokens_per_node", json_num(p[i].tokens));
        set_estimate(root, point, "speedup", path, p[i].outcome.speedup);
        json_known(root, point, path, "p_faster", json_num(p[i].outcome.p_faster), no_spread);
        set(point, "verdict", json_string(verdict_name(outcome_verdict(&p[i].outcome))));
        json_array_append_new(list, point);
    }
    json_known(root, o, "curve", "even_at_tokens", json_num(even.value), "the speed-up does not cross 1");
    return 0;
}

static int add_variance(json_t *root, const struct scenario *s, struct err *e)
{
    struct explain_variance v;
    if (explain_variance(s, &v, e))
        return -1;
    if (!isfinite(v.jitter)) {
        json_unknown(root, root, "variance", "variance", no_spread);
        return 0;
    }
    set(root, "variance",
        json_pack("{s:o, s:o, s:o, s:o}", "jitter", json_num(v.jitter), "link", json_num(v.link), "model",
                  json_num(v.model), "together", json_num(v.together)));
    return 0;
}

/* Equal shares against those that make all nodes end together. */
static int add_shares(json_t *root, const struct scenario *s, struct err *e)
{
    double *share = calloc((size_t)s->nodes, sizeof *share);
    struct scenario divided = *s;
    struct outcome equal, best;
    if (!share)
        return err_set(e, ERR_MEMORY, "no memory for the shares of %d nodes", s->nodes);
    balance_scenario(s, share);
    double spread = 0;
    for (int i = 0; i < s->nodes; i++)
        spread = fmax(spread, fabs(share[i] - 1));
    divided.share = share;
    int result = scenario_run(s, &equal, e) || scenario_run(&divided, &best, e) ? -1 : 0;
    if (result == 0 && spread > 0.01) {
        json_t *o = json_object(), *list = json_array();
        for (int i = 0; i < s->nodes; i++)
            json_array_append_new(list, json_num(share[i] / s->nodes));
        set(o, "share", list);
        set_estimate(root, o, "speedup_equal", "shares", equal.speedup);
        set_estimate(root, o, "speedup", "shares", best.speedup);
        set_estimate(root, o, "step_s", "shares", best.step_s);
        set(root, "shares", o);
    } else if (result == 0) {
        json_unknown(root, root, "shares", "shares", "the nodes are alike: equal shares are best");
    }
    free(share);
    return result;
}

/* At the start and at each point of the trajectory. */
static int add_heat(json_t *root, const struct predict_ask *ask, const struct scenario *s, struct err *e)
{
    json_t *list = json_array();
    set(root, "heat", list);
    for (int i = -1; i < ask->heat->n; i++) {
        struct scenario hot = *s;
        struct outcome out;
        char path[32];
        double time_s = i < 0 ? 0 : ask->heat->time_s[i];
        hot.heat_scale = heat_factor(ask->heat, time_s);
        if (scenario_run(&hot, &out, e))
            return -1;
        json_t *o = json_object();
        json_array_append_new(list, o);
        snprintf(path, sizeof path, "heat[%d]", i + 1);
        set(o, "time_s", json_num(time_s));
        set(o, "factor", json_num(hot.heat_scale));
        set(o, "alone_s", json_num(out.alone_s));
        set_estimate(root, o, "step_s", path, out.step_s);
        set_estimate(root, o, "speedup", path, out.speedup);
        set(o, "verdict", json_string(verdict_name(outcome_verdict(&out))));
    }
    return 0;
}

static void add_goal(json_t *root, const struct predict_ask *ask, const struct outcome *out, int nodes)
{
    double steps = (double)ask->goal_steps, ratio = out->tokens / out->baseline_tokens;
    json_t *o = json_object();
    set(o, "steps", json_integer(ask->goal_steps));
    set(o, "nodes", json_integer(nodes));
    set(o, "hours_alone", json_num(steps * out->alone_s / 3600));
    set(o, "hours_same_steps", json_num(steps * out->step_s.median / 3600));
    set(o, "hours_same_tokens", json_num(steps * out->step_s.median / 3600 / ratio));
    set(o, "global_batch_ratio", json_num(ratio));
    set(o, "caveat",
        json_string(
            "a larger global batch does not need proportionally fewer steps to the same loss: the truth lies between "
            "the same steps and the same tokens, nearer to the latter while the batch is small for the model"));
    set(root, "goal", o);
}

/* Of the smallest number of nodes above one. */
int predict_add_details(json_t *root, const struct predict_ask *ask, struct err *e)
{
    static const char *const names[] = {"inverse", "changes", "curve", "variance", "shares", "goal", "heat"};
    const char *why = NULL;
    int nodes = 0;
    for (int i = 0; i < ask->counts; i++)
        if (ask->count[i] > 1 && (nodes == 0 || ask->count[i] < nodes))
            nodes = ask->count[i];
    if (!ask->source->has_steps)
        why = "the time of a step is not known";
    else if (nodes == 0)
        why = "one node only";
    else if (nodes > LARGE)
        why = "not computed above 64 nodes";
    for (size_t i = 0; why && i < sizeof names / sizeof *names; i++)
        json_unknown(root, root, names[i], names[i], why);
    if (why)
        return 0;
    struct scenario s;
    struct outcome out;
    predict_scenario(&s, ask, nodes);
    if (scenario_run(&s, &out, e) || add_inverse(root, ask, &s, e) || add_changes(root, ask, &s, e) ||
        add_shares(root, &s, e))
        return -1;
    if (ask->goal_steps > 0)
        add_goal(root, ask, &out, nodes);
    else
        json_unknown(root, root, "goal", "goal", "no --goal-steps");
    if (!ask->heat)
        json_unknown(root, root, "heat", "heat", "neither --heat nor --soak");
    else if (add_heat(root, ask, &s, e))
        return -1;
    if (ask->source->stated) {
        json_unknown(root, root, "curve", "curve", "a stated step has no tokens");
        json_unknown(root, root, "variance", "variance", no_spread);
        return 0;
    }
    if (ask->source->torch)
        json_unknown(root, root, "curve", "curve", no_tokens);
    else if (add_curve(root, &s, e))
        return -1;
    return add_variance(root, &s, e);
}
