/* cli/record_link.c - see record_link.h. Start at record_link_json(), at the end. */
#include "cli/record_link.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "cli/output.h"
#include "comm/link_reduce.h"

static const char not_reached[] = "it was not measured before the end";

/* ---- numbers gathered from trials ---- */

struct column {
    double *x;
    size_t n, capacity;
};

static void put(struct column *c, double x)
{
    if (c->n == c->capacity) {
        size_t more = c->capacity ? 2 * c->capacity : 64;
        double *grown = realloc(c->x, more * sizeof *grown);
        if (!grown)
            return;
        c->x = grown;
        c->capacity = more;
    }
    c->x[c->n++] = x;
}

static struct summary summary_of(struct column *c)
{
    double *scratch = calloc(c->n + 1, sizeof *scratch);
    struct summary s = scratch ? stats_summary(c->x, c->n, scratch) : (struct summary){NAN, NAN, 0};
    free(scratch);
    return s;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Frees the column. */
static json_t *summary_json(struct column *c)
{
    json_t *o = json_summary(summary_of(c));
    free(c->x);
    *c = (struct column){NULL};
    return o;
}

static json_t *percentiles(struct column *c)
{
    json_t *o = json_object();
    if (c->n)
        qsort(c->x, c->n, sizeof *c->x, compare);
    static const struct {
        const char *name;
        double q;
    } list[] = {{"min", 0}, {"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"max", 1}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        json_object_set_new(o, list[i].name, json_num(stats_quantile_sorted(c->x, c->n, list[i].q)));
    json_object_set_new(o, "n", json_integer((json_int_t)c->n));
    free(c->x);
    *c = (struct column){NULL};
    return o;
}

/* Sets o[key], or null with a reason if the column is empty; frees it. */
static void set_summary(json_t *root, json_t *o, const char *path, const char *key, struct column *c, const char *why)
{
    json_known(root, o, path, key, c->n ? summary_json(c) : NULL, why);
    free(c->x); /* summary_json() leaves nothing there */
}

/* ---- latency ---- */

static void add_latency(json_t *root, json_t *link, const char *path, const struct link_survey *s)
{
    json_t *latency = json_object(), *loaded = json_object();
    char where[96];
    for (int mode = -1; mode < 3; mode++) { /* -1: idle */
        struct column c = {NULL};
        for (int i = 0; i < s->n; i++) {
            const struct link_trial *t = &s->trial[i];
            bool wanted =
                mode < 0 ? t->phase == LINK_PHASE_LATENCY : t->phase == LINK_PHASE_STREAM && (int)t->order.mode == mode;
            for (int k = 0; wanted && k < t->end[0].n; k++)
                put(&c, t->end[0].time_s[k]);
        }
        json_t *to = mode < 0 ? latency : loaded;
        const char *name = mode < 0 ? "idle" : link_mode_names[mode];
        snprintf(where, sizeof where, "%s.latency%s", path, mode < 0 ? "" : ".loaded");
        json_known(root, to, where, name, c.n ? percentiles(&c) : NULL, not_reached);
    }
    json_object_set_new(latency, "loaded", loaded);
    json_object_set_new(link, "latency", latency);
}

/* ---- streams ---- */

/* Seconds of CPU for each 1e9 bytes that this end sent, or received if it only receives. */
static void put_cpu(struct column c[2], const struct link_trial *t, int end)
{
    const struct link_result *r = &t->end[end];
    uint64_t bytes = r->sent_bytes ? r->sent_bytes : r->received_bytes;
    if (bytes == 0 || r->cpu_window_s <= 0)
        return;
    put(&c[0], r->cpu_s / (double)bytes * 1e9);
    put(&c[1], r->process_cpu_s / (double)bytes * 1e9);
}

static void put_rate(struct column *c, const struct link_trial *t, int to)
{
    if (t->end[to].window_s > 0 && t->end[to].window_bytes > 0)
        put(c, (double)t->end[to].window_bytes / t->end[to].window_s);
}

static json_t *stream_json(json_t *root, const char *path, const struct link_survey *s, enum link_mode mode)
{
    struct column rate[2] = {{NULL}}, cpu[2][2] = {{{NULL}}};
    json_t *o = json_object();
    for (int i = 0; i < s->n; i++) {
        const struct link_trial *t = &s->trial[i];
        if (t->phase != LINK_PHASE_STREAM || t->order.mode != mode)
            continue;
        for (int end = 0; end < 2; end++) {
            put_rate(&rate[end], t, end);
            put_cpu(cpu[end], t, end);
        }
    }
    for (int to = 1; to >= 0; to--) {
        enum link_mode alone = to == 1 ? LINK_A_TO_B : LINK_B_TO_A;
        if (mode == LINK_DUPLEX || mode == alone) {
            char key[40];
            snprintf(key, sizeof key, mode == LINK_DUPLEX ? "%s_rate_bytes_per_s" : "rate_bytes_per_s",
                     link_mode_names[alone]);
            set_summary(root, o, path, key, &rate[to], not_reached);
        }
    }
    for (int end = 0; end < 2; end++) {
        set_summary(root, o, path, end ? "b_cpu_s_per_gb" : "a_cpu_s_per_gb", &cpu[end][0], not_reached);
        set_summary(root, o, path, end ? "b_process_cpu_s_per_gb" : "a_process_cpu_s_per_gb", &cpu[end][1],
                    not_reached);
    }
    return o;
}

static void add_streams(json_t *root, json_t *link, const char *path, const struct link_survey *s)
{
    json_t *o = json_object();
    char where[96];
    json_object_set_new(o, "warmup_s", json_num(s->warmup_s));
    json_object_set_new(o, "window_s", json_num(s->window_s));
    for (int mode = 0; mode < 3; mode++) {
        snprintf(where, sizeof where, "%s.streams.%s", path, link_mode_names[mode]);
        json_object_set_new(o, link_mode_names[mode], stream_json(root, where, s, (enum link_mode)mode));
    }
    json_object_set_new(link, "streams", o);
}

/* ---- messages ---- */

static void gather_messages(struct column *c, const struct link_survey *s, enum link_mode mode, uint64_t bytes, int to)
{
    for (int i = 0; i < s->n; i++) {
        const struct link_trial *t = &s->trial[i];
        if (t->phase != LINK_PHASE_MESSAGES || t->order.mode != mode || t->order.bytes != bytes)
            continue;
        for (int k = 0; k < t->end[to].n; k++)
            put(c, t->end[to].time_s[k]);
    }
}

static json_t *message_json(const struct link_survey *s, uint64_t bytes)
{
    static const struct {
        const char *name;
        enum link_mode mode;
        int to;
    } ways[] = {{"a_to_b", LINK_A_TO_B, 1},
                {"b_to_a", LINK_B_TO_A, 0},
                {"duplex_a_to_b", LINK_DUPLEX, 1},
                {"duplex_b_to_a", LINK_DUPLEX, 0}};
    json_t *o = json_object();
    json_object_set_new(o, "bytes", json_integer((json_int_t)bytes));
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct column c = {NULL};
        gather_messages(&c, s, ways[i].mode, bytes, ways[i].to);
        json_t *way = json_object();
        double median = summary_of(&c).median;
        json_object_set_new(way, "time_s", summary_json(&c));
        json_object_set_new(way, "rate_bytes_per_s", json_num((double)bytes / median));
        json_object_set_new(o, ways[i].name, way);
    }
    return o;
}

static void add_messages(json_t *root, json_t *link, const char *path, const struct link_survey *s, bool asked)
{
    json_t *list = json_array();
    for (int i = 0; i < LINK_SIZES && link_sizes[i] <= s->largest_bytes; i++)
        json_array_append_new(list, message_json(s, link_sizes[i]));
    json_object_set_new(link, "messages", list);
    json_known(root, link, path, "largest_message_bytes",
               s->largest_bytes ? json_integer((json_int_t)s->largest_bytes) : NULL,
               asked ? "there was no time for a round of messages" : "not asked for");
}

/* ---- computing beside the link ---- */

static double unit_s(const struct link_trial *t, int end)
{
    const struct link_result *r = &t->end[end];
    return r->units > 0 ? r->units_s / (double)r->units : NAN;
}

static bool same_work(const struct link_trial *a, const struct link_trial *b)
{
    return b->phase == LINK_PHASE_WORK && a->reserved == b->reserved && strcmp(a->order.work, b->order.work) == 0;
}

/* Each cell against the idle one of the same round. */
static void gather_slowdowns(struct column *slow, struct column *unit, const struct link_survey *s,
                             const struct link_trial *cell, int end)
{
    for (int i = 0; i < s->n; i++) {
        const struct link_trial *t = &s->trial[i];
        if (!same_work(cell, t) || t->load < cell->load || t->load > cell->load)
            continue;
        if (isfinite(unit_s(t, end)))
            put(unit, unit_s(t, end));
        for (int k = 0; k < s->n; k++) {
            const struct link_trial *idle = &s->trial[k];
            if (same_work(cell, idle) && idle->load <= 0 && idle->round == t->round &&
                isfinite(unit_s(t, end) / unit_s(idle, end)))
                put(slow, unit_s(t, end) / unit_s(idle, end));
        }
    }
}

static json_t *interaction_end(json_t *root, const char *path, const struct link_survey *s,
                               const struct link_trial *cell, int end, const struct link_way *way)
{
    struct column slow = {NULL}, unit = {NULL}, rate = {NULL};
    json_t *o = json_object();
    bool none_reserved = cell->reserved && way->first[end].threads < 2;
    json_object_set_new(o, "threads", json_integer(cell->order.threads[end]));
    gather_slowdowns(&slow, &unit, s, cell, end);
    for (int i = 0; i < s->n; i++)
        if (same_work(cell, &s->trial[i]) && s->trial[i].load >= cell->load && s->trial[i].load <= cell->load)
            put_rate(&rate, &s->trial[i], end);
    if (none_reserved)
        slow.n = 0;
    set_summary(root, o, path, "unit_s", &unit, "no unit of work ended within a window");
    set_summary(root, o, path, "slowdown", &slow,
                none_reserved ? "this end computes on one core only: none can be reserved"
                              : "no unit of work ended within a window");
    if (cell->load > 0)
        set_summary(root, o, path, "received_bytes_per_s", &rate, not_reached);
    return o;
}

static void add_interaction(json_t *root, json_t *link, const char *path, const struct link_way *way, bool asked)
{
    const struct link_survey *s = &way->survey;
    json_t *list = json_array();
    char where[128];
    for (int i = 0; i < s->n; i++) {
        const struct link_trial *t = &s->trial[i];
        bool first = t->phase == LINK_PHASE_WORK;
        for (int k = 0; k < i && first; k++)
            first = !same_work(t, &s->trial[k]) || s->trial[k].load < t->load || s->trial[k].load > t->load;
        if (!first)
            continue;
        json_t *o = json_object();
        json_object_set_new(o, "work", json_string(t->order.work));
        json_object_set_new(o, "reserved_core", json_boolean(t->reserved));
        json_object_set_new(o, "load", json_real(t->load));
        for (int end = 0; end < 2; end++) {
            snprintf(where, sizeof where, "%s.interaction[%zu].%s", path, json_array_size(list), end ? "b" : "a");
            json_object_set_new(o, end ? "b" : "a", interaction_end(root, where, s, t, end, way));
        }
        json_array_append_new(list, o);
    }
    if (json_array_size(list)) {
        json_object_set_new(link, "interaction", list);
        return;
    }
    json_decref(list);
    json_known(root, link, path, "interaction", NULL,
               !asked             ? "not asked for"
               : s->largest_bytes ? "there was no time for it"
                                  : not_reached);
}

/* ---- all-reduce ---- */

/* One line of the table. At two ranks 2 (N - 1) / N is 1, so both bandwidths are the same number. */
static json_t *reduce_json(const struct link_trial *t)
{
    struct column c = {NULL};
    const int world = 2;
    json_t *o = json_object();
    for (int k = 0; k < t->end[0].n; k++)
        put(&c, t->end[0].time_s[k]);
    double median = summary_of(&c).median, rate = (double)t->order.bytes / median;
    double gb = (double)t->end[0].sent_bytes / 1e9;
    json_object_set_new(o, "backend", json_string(t->order.work));
    json_object_set_new(o, "bytes", json_integer((json_int_t)t->order.bytes));
    json_object_set_new(o, "time_s", json_num(median));
    json_object_set_new(o, "algorithm_bytes_per_s", json_num(rate));
    json_object_set_new(o, "bus_bytes_per_s", json_num(rate * 2 * (world - 1) / world));
    json_object_set_new(o, "latency", percentiles(&c));
    json_object_set_new(o, "a_cpu_s_per_gb", json_num(t->end[0].cpu_s / gb));
    json_object_set_new(o, "b_cpu_s_per_gb", json_num(t->end[1].cpu_s / gb));
    json_object_set_new(o, "a_process_cpu_s_per_gb", json_num(t->end[0].process_cpu_s / gb));
    json_object_set_new(o, "b_process_cpu_s_per_gb", json_num(t->end[1].process_cpu_s / gb));
    json_object_set_new(o, "wrong", json_integer((json_int_t)(t->end[0].wrong + t->end[1].wrong)));
    return o;
}

static void add_allreduce(json_t *root, json_t *link, const char *path, const struct record_link *r,
                          const struct link_survey *s)
{
    json_t *list = json_array();
    for (int i = 0; i < s->n; i++)
        if (s->trial[i].phase == LINK_PHASE_REDUCE)
            json_array_append_new(list, reduce_json(&s->trial[i]));
    if (r->allreduce) {
        json_object_set_new(link, "allreduce", list);
        return;
    }
    json_decref(list);
    json_known(root, link, path, "allreduce", NULL, "not asked for");
}

/* ---- all-reduce beside computing ---- */

static const char *backend_of(const struct link_trial *t)
{
    return t->beside == LINK_BESIDE_WORK ? t->order.beside : t->order.work;
}

static bool is_beside(const struct link_trial *t, const char *backend, enum link_beside kind)
{
    return t->phase == LINK_PHASE_BESIDE && t->beside == kind && strcmp(backend_of(t), backend) == 0;
}

/* The median of each trial: a single late call says nothing about the next one. */
static void gather_beside(struct column *c, const struct link_survey *s, const char *backend, enum link_beside kind)
{
    for (int i = 0; i < s->n; i++) {
        struct column one = {NULL};
        const struct link_result *r = &s->trial[i].end[0];
        if (!is_beside(&s->trial[i], backend, kind))
            continue;
        for (int k = 0; k < r->n; k++)
            put(&one, r->time_s[k]);
        put(c, summary_of(&one).median);
        free(one.x);
    }
}

/* Against the work alone in the same round. */
static void gather_beside_slowdowns(struct column *c, const struct link_survey *s, const char *backend, int end)
{
    for (int i = 0; i < s->n; i++)
        for (int k = 0; k < s->n && is_beside(&s->trial[i], backend, LINK_BESIDE_LARGE_BUSY); k++) {
            double ratio = unit_s(&s->trial[i], end) / unit_s(&s->trial[k], end);
            if (is_beside(&s->trial[k], backend, LINK_BESIDE_WORK) && s->trial[k].round == s->trial[i].round &&
                isfinite(ratio))
                put(c, ratio);
        }
}

static json_t *contention_json(json_t *root, const char *path, const struct link_survey *s, const struct link_trial *of)
{
    static const struct {
        const char *key;
        enum link_beside kind;
    } times[] = {{"small_alone_s", LINK_BESIDE_SMALL},
                 {"alone_s", LINK_BESIDE_LARGE},
                 {"small_beside_s", LINK_BESIDE_SMALL_BUSY},
                 {"beside_s", LINK_BESIDE_LARGE_BUSY}};
    json_t *o = json_object();
    const char *backend = of->order.work;
    json_object_set_new(o, "backend", json_string(backend));
    json_object_set_new(o, "work", json_string(of->order.beside));
    json_object_set_new(o, "bytes", json_integer((json_int_t)of->order.bytes));
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        struct column c = {NULL};
        gather_beside(&c, s, backend, times[i].kind);
        set_summary(root, o, path, times[i].key, &c, not_reached);
    }
    for (int end = 0; end < 2; end++) {
        struct column c = {NULL};
        gather_beside_slowdowns(&c, s, backend, end);
        set_summary(root, o, path, end ? "b_slowdown" : "a_slowdown", &c, "no unit of work ended within a window");
    }
    return o;
}

static void add_contention(json_t *root, json_t *link, const char *path, const struct link_survey *s, bool asked)
{
    json_t *list = json_array();
    char where[128];
    for (int i = 0; i < s->n; i++) {
        const struct link_trial *t = &s->trial[i];
        bool first = t->phase == LINK_PHASE_BESIDE && t->beside == LINK_BESIDE_LARGE_BUSY;
        for (int k = 0; k < i && first; k++)
            first = !is_beside(&s->trial[k], t->order.work, LINK_BESIDE_LARGE_BUSY);
        snprintf(where, sizeof where, "%s.contention[%zu]", path, json_array_size(list));
        if (first)
            json_array_append_new(list, contention_json(root, where, s, t));
    }
    if (json_array_size(list)) {
        json_object_set_new(link, "contention", list);
        return;
    }
    json_decref(list);
    json_known(root, link, path, "contention", NULL, asked ? "there was no time for it" : "not asked for");
}

/* ---- raw samples ---- */

static json_t *sample_end(const struct link_result *r, const struct link_order *order)
{
    json_t *o = json_object(), *times = json_array();
    for (int k = 0; k < r->n; k++)
        json_array_append_new(times, json_num(r->time_s[k]));
    json_object_set_new(o, "time_s", times);
    json_object_set_new(o, "sent_bytes", json_integer((json_int_t)r->sent_bytes));
    json_object_set_new(o, "received_bytes", json_integer((json_int_t)r->received_bytes));
    json_object_set_new(o, "cpu_window_s", json_num(r->cpu_window_s));
    json_object_set_new(o, "cpu_s", json_num(r->cpu_s));
    json_object_set_new(o, "process_cpu_s", json_num(r->process_cpu_s));
    if (order->kind == LINK_STREAM) {
        json_object_set_new(o, "window_s", json_num(r->window_s));
        json_object_set_new(o, "window_bytes", json_integer((json_int_t)r->window_bytes));
    }
    if (r->units) {
        json_object_set_new(o, "units", json_integer((json_int_t)r->units));
        json_object_set_new(o, "units_s", json_num(r->units_s));
    }
    return o;
}

static json_t *samples_json(const struct link_survey *s)
{
    json_t *list = json_array();
    for (int i = 0; i < s->n; i++) {
        const struct link_trial *t = &s->trial[i];
        json_t *o = json_object();
        json_object_set_new(o, "kind", json_string(link_kind_names[t->order.kind]));
        json_object_set_new(o, "round", json_integer(t->round));
        if (t->order.kind == LINK_MESSAGES || t->order.kind == LINK_STREAM)
            json_object_set_new(o, "mode", json_string(link_mode_names[t->order.mode]));
        if (t->order.bytes)
            json_object_set_new(o, "bytes", json_integer((json_int_t)t->order.bytes));
        if (*t->order.work)
            json_object_set_new(o, t->order.kind == LINK_REDUCE ? "backend" : "work", json_string(t->order.work));
        if (*t->order.beside)
            json_object_set_new(o, "beside", json_string(t->order.beside));
        if (t->phase == LINK_PHASE_WORK) {
            json_object_set_new(o, "reserved_core", json_boolean(t->reserved));
            json_object_set_new(o, "load", json_real(t->load));
        }
        json_object_set_new(o, "a", sample_end(&t->end[0], &t->order));
        json_object_set_new(o, "b", sample_end(&t->end[1], &t->order));
        json_array_append_new(list, o);
    }
    return list;
}

/* ---- one way, and both ---- */

/* What a ring gets: each node sends and receives at once, and the slower direction holds the other one up. */
static double ring_rate(const struct link_survey *s)
{
    double there = link_survey_rate(s, LINK_DUPLEX, 1), back = link_survey_rate(s, LINK_DUPLEX, 0);
    return there < back ? there : back;
}

static json_t *way_json(json_t *root, const struct record_link *r, const struct link_way *w, const char *path)
{
    json_t *link = json_object(), *ends = json_object();
    const struct link_survey *s = &w->survey;
    char where[64];
    const char *interface = w->ends_known && *w->first[0].interface ? w->first[0].interface : w->interface;
    json_object_set_new(link, "interface", interface ? output_string(interface) : json_null());
    json_known(root, link, path, "rate_bytes_per_s", json_num(ring_rate(s)), not_reached);
    json_known(root, link, path, "rtt_s", json_num(link_survey_rtt(s)), not_reached);
    for (int end = 0; end < 2; end++) {
        struct link_end at = w->ended ? w->last[end] : w->first[end];
        if (!w->ended)
            at.retransmits = NAN;
        snprintf(where, sizeof where, "%s.ends.%s", path, end ? "b" : "a");
        if (w->ends_known)
            json_object_set_new(ends, end ? "b" : "a", link_end_json(root, where, &at, &w->first[end]));
        else
            json_unknown(root, ends, end ? "b" : "a", where, not_reached);
    }
    json_object_set_new(link, "ends", ends);
    add_latency(root, link, path, s);
    add_streams(root, link, path, s);
    add_messages(root, link, path, s, !r->allreduce);
    add_interaction(root, link, path, w, r->work && !r->allreduce);
    add_allreduce(root, link, path, r, s);
    add_contention(root, link, path, s, r->work);
    json_object_set_new(link, "samples", samples_json(s));
    return link;
}

static void gather_rates(struct column *c, const struct link_survey *s)
{
    for (int i = 0; i < s->n; i++) {
        const struct link_trial *t = &s->trial[i];
        struct column both = {NULL};
        if (t->phase != LINK_PHASE_STREAM || t->order.mode != LINK_DUPLEX)
            continue;
        put_rate(&both, t, 0);
        put_rate(&both, t, 1);
        if (both.n == 2)
            put(c, fmin(both.x[0], both.x[1]));
        free(both.x);
    }
}

/* Faster only if every sample of the one is above every sample of the other: with four of each that happens by chance
 * once in 35 times. */
static json_t *comparison(json_t *root, const struct record_link *r)
{
    struct column c[2] = {{NULL}};
    json_t *o = json_object();
    double rate[2], rtt[2];
    for (int i = 0; i < 2; i++) {
        gather_rates(&c[i], &r->way[i].survey);
        qsort(c[i].x, c[i].n, sizeof *c[i].x, compare);
        rate[i] = ring_rate(&r->way[i].survey);
        rtt[i] = link_survey_rtt(&r->way[i].survey);
    }
    const char *faster = NULL;
    if (c[0].n >= 2 && c[1].n >= 2) {
        if (c[0].x[0] > c[1].x[c[1].n - 1])
            faster = r->way[0].interface;
        else if (c[1].x[0] > c[0].x[c[0].n - 1])
            faster = r->way[1].interface;
    }
    json_known(root, o, "comparison", "rate_ratio", json_num(rate[0] / rate[1]), not_reached);
    json_known(root, o, "comparison", "rtt_ratio", json_num(rtt[0] / rtt[1]), not_reached);
    json_object_set_new(o, "samples", json_integer((json_int_t)(c[0].n < c[1].n ? c[0].n : c[1].n)));
    json_known(root, o, "comparison", "faster", output_string_if(faster),
               c[0].n >= 2 && c[1].n >= 2 ? "the samples of both overlap: no difference seen" : not_reached);
    free(c[0].x);
    free(c[1].x);
    return o;
}

static void add_head(json_t *root, const struct record_link *r)
{
    const char *status = r->err->code == ERR_OK            ? "complete"
                         : r->err->code == ERR_INTERRUPTED ? "interrupted"
                                                           : "failed";
    json_t *command = json_array(), *peer = json_object();
    json_object_set_new(root, "kind", json_string("link"));
    json_object_set_new(root, "status", json_string(status));
    if (r->err->code)
        output_set_error(root, r->err);
    json_object_set_new(root, "started", json_string(r->started));
    json_object_set_new(root, "label", r->label ? output_string(r->label) : json_null());
    for (int i = 0; i < r->argc; i++)
        json_array_append_new(command, output_string(r->argv[i]));
    json_object_set_new(root, "command", command);
    json_object_set_new(peer, "name", output_string(r->peer));
    json_known(root, peer, "peer", "address", output_string_if(r->peer_address), "the peer was not reached");
    json_object_set_new(root, "peer", peer);
    json_known(root, root, "", "local_addr", output_string_if(r->local_addr), "the peer was not reached");
    json_object_set_new(root, "same_host", json_boolean(r->same_host));
    json_object_set_new(root, "world", json_integer(2));
    json_object_set_new(root, "wire", json_string("clear"));
    json_object_set_new(root, "counted_at", json_string("receiver"));
    json_object_set_new(root, "plan",
                        json_pack("{s:o, s:o, s:I, s:b}", "duration_s", json_num(r->duration_s), "took_s",
                                  json_num(r->took_s), "seed", (json_int_t)r->seed, "allreduce", r->allreduce));
}

json_t *record_link_json(const struct record_link *r)
{
    json_t *root = output_document(), *warnings = json_array();
    add_head(root, r);
    json_object_set_new(root, "link", way_json(root, r, &r->way[0], "link"));
    if (r->ways > 1) {
        json_object_set_new(root, "other_link", way_json(root, r, &r->way[1], "other_link"));
        json_object_set_new(root, "comparison", comparison(root, r));
    }
    for (int i = 0; i < r->notes->n; i++)
        json_array_append_new(warnings, output_string(r->notes->text[i]));
    json_object_set_new(root, "warnings", warnings);
    json_t *reasons = json_incref(json_object_get(root, "reasons")); /* to the end: the reader comes to it last */
    json_object_del(root, "reasons");
    json_object_set_new(root, "reasons", reasons ? reasons : json_object());
    return root;
}
