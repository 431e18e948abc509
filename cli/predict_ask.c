/* cli/predict_ask.c - see predict_ask.h. Start at predict_ask(): it is the order of the document. */
#include "config.h"

#include "cli/predict_ask.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cli/output.h"
#include "cli/predict_answer.h"

/* gloo under DistributedDataParallel: two all-reduces at a time, and what one of 4 bytes takes between two hosts. */
enum { GLOO_IN_FLIGHT = 2 };
#define GLOO_LAUNCH_S 0.22e-3

enum { LARGE = 64, REPLICATES = 1000, REPLICATES_LEAST = 40, STEPS = 10, STEPS_MAX = 100 };

static void set(json_t *o, const char *key, json_t *value)
{
    json_object_set_new(o, key, value);
}

/* ---- link ---- */

int predict_link_parse(struct predict_link *link, const char *rate, const char *rtt, bool exact, struct err *e)
{
    double bytes_per_s = 0, rtt_s = exact ? 0 : LINK_RTT_S;
    *link = (struct predict_link){.rtt_assumed = !rtt};
    snprintf(link->name, sizeof link->name, "%s", rate);
    if (rtt && units_parse_time(rtt, &rtt_s, e))
        return err_context(e, "option --rtt");
    if (strcmp(rate, "wifi") == 0) {
        link_model_wifi(&link->model);
        link->origin = "assumed";
        if (rtt) {
            link->model.rtt_s = rtt_s;
            link->model.piece[0].alpha_s = rtt_s / 2;
        }
    } else {
        if (units_parse_rate(rate, &bytes_per_s, e))
            return err_context(e, "option --link");
        link_model_state(&link->model, bytes_per_s, rtt_s, COST_DUPLEX);
        link->origin = units_medium_find(rate) ? "medium" : "stated";
    }
    if (!exact)
        link_model_assume_costs(&link->model);
    return 0;
}

static json_t *link_json(const struct predict_link *link)
{
    static const char *const media[] = {[COST_DUPLEX] = "duplex", [COST_HALF] = "half", [COST_SHARED] = "shared"};
    const struct link_model *m = &link->model;
    json_t *o = json_object(), *pieces = json_array();
    set(o, "origin", json_string(link->origin));
    set(o, "name", output_string(link->name));
    set(o, "rate_bytes_per_s", json_num(link_model_rate(m)));
    set(o, "rtt_s", json_num(m->rtt_s));
    set(o, "medium", json_string(media[m->medium]));
    set(o, "cpu_s_per_byte", json_num(m->cpu_s_per_byte));
    for (int i = 0; i < m->n; i++)
        json_array_append_new(pieces, json_pack("{s:o, s:o, s:o}", "upto_bytes", json_num(m->piece[i].upto_bytes),
                                                "latency_s", json_num(m->piece[i].alpha_s), "s_per_byte",
                                                json_num(m->piece[i].beta_s_per_byte)));
    set(o, "pieces", pieces);
    return o;
}

/* ---- what was asked ---- */

void predict_scenario(struct scenario *s, const struct predict_ask *ask, int nodes)
{
    scenario_init(s, &ask->source->profile, &ask->source->plan, &ask->link.model);
    s->nodes = nodes;
    s->partner = ask->partner ? &ask->partner->profile : NULL;
    s->partner_scale = ask->partner_scale;
    s->share = ask->share;
    s->pace = ask->pace;
    s->exact = ask->source->stated;
    s->optimizer_by_bucket = ask->optimizer_by_bucket ? ask->optimizer_by_bucket > 0 : ask->source->rows;
    s->seed = ask->seed;
    if (ask->source->torch) {
        s->in_flight = GLOO_IN_FLIGHT;
        if (!s->link.launch_measured)
            s->link.launch_s = GLOO_LAUNCH_S;
    }
    s->steps = ask->steps <= 0 ? STEPS : ask->steps < STEPS_MAX ? ask->steps : STEPS_MAX;
    s->replicates = nodes > LARGE ? REPLICATES * LARGE / nodes : REPLICATES;
    if (s->replicates < REPLICATES_LEAST)
        s->replicates = REPLICATES_LEAST;
}

static json_t *source_json(json_t *root, const struct predict_source *s)
{
    json_t *o = json_object();
    set(o, "origin", json_string(s->document ? "run" : "stated"));
    json_known(root, o, "source", "run", output_string_if(s->path), "the numbers were stated");
    set(o, "model", *s->model ? output_string(s->model) : json_null());
    set(o, "steps", json_integer(s->document ? s->profile.n : 0));
    if (s->document) {
        set(o, "step_s", json_num(profile_step_s(&s->profile)));
        json_known(root, o, "source", "tokens_per_step", s->torch ? NULL : json_num(s->profile.tokens),
                   "the profile does not say");
        set(o, "accum", json_integer(s->profile.accum));
        set(o, "threads", s->threads ? json_integer(s->threads) : json_null());
        set(o, "free_cores", json_integer(s->profile.free_cores));
    }
    return o;
}

static json_t *plan_json(const struct predict_ask *ask)
{
    const struct predict_source *s = ask->source;
    struct scenario two;
    json_t *o = json_object(), *list = json_array();
    predict_scenario(&two, ask, 2);
    double tokens = 2 * s->profile.tokens / s->profile.accum;
    set(o, "schedule",
        json_string(!s->document                    ? "none"
                    : s->torch                      ? "pytorch"
                    : s->schedule == SCHEDULE_SPLIT ? "split"
                                                    : "ddp"));
    set(o, "bytes", json_num(scenario_bytes(&two)));
    for (int b = 0; b < s->plan.n; b++)
        json_array_append_new(list,
                              json_pack("{s:o, s:o}", "bytes", json_num(plan_bucket_bytes(&s->plan.bucket[b], tokens)),
                                        "ready", json_num(s->plan.bucket[b].ready)));
    set(o, "buckets", list);
    return o;
}

/* ---- assumptions ---- */

static void assume(json_t *list, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void assume(json_t *list, const char *fmt, ...)
{
    char text[320];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    json_array_append_new(list, output_string(text));
}

static void assume_link(json_t *list, const struct predict_ask *ask)
{
    const struct link_model *m = &ask->link.model;
    char rate[64];
    if (ask->source->plan.n == 0) {
        assume(list, "nothing is communicated");
        return;
    }
    units_format_rate(rate, sizeof rate, link_model_rate(m));
    if (m->medium == COST_SHARED)
        assume(list, "Wi-Fi: %s between two stations, give or take 30 %%, shared by all of them and both directions",
               rate);
    else if (!m->measured)
        assume(list, "the link carries %s of payload in both directions at once, as %s; nothing was measured", rate,
               ask->link.origin[0] == 'a' ? "assumed" : "stated");
    if (ask->source->stated && !m->measured) {
        assume(list, "%s; no other cost of communication is counted",
               ask->link.rtt_assumed ? "latency is taken as 0" : "latency is as stated");
        return;
    }
    if (!m->launch_measured && !ask->source->torch)
        assume(list, "a bucket takes %.2g ms more, for waking a thread and the first frame", m->launch_s * 1e3);
    if (ask->link.rtt_assumed && !m->measured)
        assume(list, "a round trip of %g ms", m->rtt_s * 1e3);
    if (ask->source->profile.free_cores > 0)
        assume(list, "%d usable core%s that computing leaves free carr%s communication, so it does not slow computing",
               ask->source->profile.free_cores, ask->source->profile.free_cores == 1 ? "" : "s",
               ask->source->profile.free_cores == 1 ? "ies" : "y");
    else if (m->cpu_measured)
        assume(list, "moving a gigabyte takes %.2g s of a core from computing, as measured beside this link",
               m->cpu_s_per_byte * 1e9);
    else
        assume(list,
               "moving a gigabyte takes %.2g s of a core from computing, give or take 30 %%: TCP on x86 servers; not "
               "measured "
               "on this node",
               m->cpu_s_per_byte * 1e9);
}

static int most_nodes(const struct predict_ask *ask)
{
    int most = 0;
    for (int i = 0; i < ask->counts; i++)
        most = ask->count[i] > most ? ask->count[i] : most;
    return most;
}

static json_t *assumptions(const struct predict_ask *ask)
{
    const struct predict_source *s = ask->source;
    json_t *list = json_array();
    assume_link(list, ask);
    if (!s->document) {
        if (s->plan.n > 0)
            assume(list, "nothing of the communication hides behind computing");
        return list;
    }
    if (!ask->partner)
        assume(list, "the other nodes are like this one");
    else if (most_nodes(ask) > 2 && !ask->pace)
        assume(list, "all other nodes are like the partner");
    assume(list, "slow steps of different nodes come independently");
    assume(list, "what the model leaves out spreads results by %g %%", SCENARIO_DISCREPANCY * 100);
    assume(list, "forward and backward grow with the tokens; the optimizer does not");
    if (s->torch) {
        assume(list, "gloo's connections share the link as cubic does, the default of most systems; with BBR steps "
                     "took up to 6 %% "
                     "longer than predicted (doctor tells which it is)");
        assume(list,
               "gloo keeps %d all-reduces under way and takes %.2g ms more for each, as %s; no core is free for them",
               GLOO_IN_FLIGHT, (ask->link.model.launch_measured ? ask->link.model.launch_s : GLOO_LAUNCH_S) * 1e3,
               ask->link.model.launch_measured ? "measured" : "seen between two servers");
    }
    if (s->rows)
        assume(list, "every token of a step touches another row of the embedding: the most that there can be");
    return list;
}

int predict_ask(json_t *root, const struct predict_ask *ask, struct err *e)
{
    set(root, "source", source_json(root, ask->source));
    set(root, "link", link_json(&ask->link));
    set(root, "plan", plan_json(ask));
    set(root, "assumptions", assumptions(ask));
    if (predict_add_nodes(root, root, "", ask, NULL, e))
        return -1;
    if (ask->what_if) {
        struct predict_changed changed = {0};
        json_t *o = json_object();
        set(root, "what_if", o);
        set(o, "changes", output_string(ask->what_if));
        int result = predict_add_nodes(root, o, "what_if.", ask, &changed, e);
        plan_fini(&changed.plan);
        if (result)
            return -1;
    } else {
        json_unknown(root, root, "what_if", "what_if", "no --what-if");
    }
    return ask->brief ? 0 : predict_add_details(root, ask, e);
}

/* ---- as part of a run's document ---- */

json_t *predict_member(const struct predict_ask *ask, int nodes, struct err *e)
{
    struct scenario s;
    struct outcome out;
    json_t *o = json_object();
    predict_scenario(&s, ask, nodes);
    if (predict_add_outcome(o, o, "prediction", &s, &out, e)) {
        json_decref(o);
        return NULL;
    }
    set(o, "link", link_json(&ask->link));
    set(o, "assumptions", assumptions(ask));
    return o;
}

json_t *predict_twin(json_t *document, struct err *e)
{
    static const char *const media[] = {"1G-eth", "2.5G-eth", "wifi"};
    struct predict_source source;
    json_t *first = NULL, *list = json_array();
    const char *schedule = json_string_value(json_object_get(json_object_get(document, "communication"), "schedule"));
    enum reduce_schedule which = schedule && strcmp(schedule, "split") == 0 ? SCHEDULE_SPLIT : SCHEDULE_DDP;
    int result = predict_source_run(&source, document, "this run", which, 0, false, e);
    for (size_t i = 0; result == 0 && i < sizeof media / sizeof *media; i++) {
        struct predict_ask ask = {.source = &source, .partner_scale = 1, .seed = 1};
        json_t *member = NULL;
        if (predict_link_parse(&ask.link, media[i], NULL, false, e) || !(member = predict_member(&ask, 2, e))) {
            result = -1;
            break;
        }
        json_array_append(list, member);
        if (i == 0)
            first = json_copy(member);
        json_decref(member);
    }
    if (result == 0)
        set(first, "media", json_incref(list));
    else
        json_decref(first);
    json_decref(list);
    predict_source_fini(&source);
    return result == 0 ? first : NULL;
}
