/*
 * report/trace.c - see trace.h. Start at trace_render(): ranks, their steps, arrows between ranks; then sort and write.
 *
 * The run comes from a file that anybody may have written, so every number is looked at (whole(), columns()) before it is used.
 */
#include "report/trace.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum lane { LANE_STEP = 1, LANE_COMPUTE, LANE_COMMUNICATION, LANE_OPTIMIZER, LANE_WAITING, LANES_END };

static const char *const lanes[] = {[LANE_STEP] = "steps",
                                    [LANE_COMPUTE] = "compute",
                                    [LANE_COMMUNICATION] = "communication",
                                    [LANE_OPTIMIZER] = "optimizer",
                                    [LANE_WAITING] = "waiting"};

/* A hundred days; an instant, a thousand years. */
#define DURATION_MAX_NS 8640000000000000
#define INSTANT_MAX_NS 4000000000000000000

enum { RANKS_MAX = 4096 };

struct event {
    int64_t at_ns, duration_ns; /* the latter -1: none */
    size_t order;               /* of making */
    json_t *json;
};

struct rank {
    const json_t *steps;
    int64_t offset_ns, measured_at_ns; /* its clock minus rank 0's, and when on the latter */
    double drift;
    bool aligned; /* by a measured offset, or the same clock */
};

struct trace {
    const json_t *run;
    int world;
    struct rank *rank;
    struct event *event;
    size_t n, room;
    int left_out; /* arrows that would point backwards in time, within the error of the clocks */
    char path[128];
    struct err *e;
};

/* ---- reading ---- */

static int bad(struct trace *t, const char *what, const char *why)
{
    return err_set(t->e, ERR_DATA, "the run is damaged: %s%s%s %s", t->path, *t->path ? "." : "", what, why);
}

static void at(struct trace *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void at(struct trace *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(t->path, sizeof t->path, fmt, ap);
    va_end(ap);
}

static int whole(struct trace *t, const json_t *o, const char *name, int64_t max, int64_t *value)
{
    const json_t *x = json_object_get(o, name);
    if (!json_is_integer(x) || json_integer_value(x) < 0 || json_integer_value(x) > max)
        return bad(t, name, "is no whole number in its range");
    *value = json_integer_value(x);
    return 0;
}

/* A table is an object of columns of one length. */
struct columns {
    const json_t *table;
    size_t n;
};

static int columns(struct trace *t, const json_t *step, const char *name, const char *const *wanted, struct columns *c)
{
    c->table = json_object_get(step, name);
    c->n = json_array_size(json_object_get(c->table, wanted[0]));
    if (!json_is_object(c->table))
        return bad(t, name, "is missing");
    for (; *wanted; wanted++) {
        const json_t *column = json_object_get(c->table, *wanted);
        if (!json_is_array(column) || json_array_size(column) != c->n)
            return bad(t, name, "is no table of columns of one length");
    }
    return 0;
}

static int cell(struct trace *t, const struct columns *c, const char *name, size_t i, int64_t min, int64_t *value)
{
    const json_t *x = json_array_get(json_object_get(c->table, name), i);
    if (!json_is_integer(x) || json_integer_value(x) < min || json_integer_value(x) > DURATION_MAX_NS)
        return bad(t, name, "holds something that is no whole number in its range");
    *value = json_integer_value(x);
    return 0;
}

/* -1 for null: it did not happen. */
static int cell_or_null(struct trace *t, const struct columns *c, const char *name, size_t i, int64_t *value)
{
    *value = -1;
    return json_is_null(json_array_get(json_object_get(c->table, name), i)) ? 0 : cell(t, c, name, i, 0, value);
}

static int text(struct trace *t, const struct columns *c, const char *name, size_t i, const char **value)
{
    *value = json_string_value(json_array_get(json_object_get(c->table, name), i));
    return *value ? 0 : bad(t, name, "holds something that is no text");
}

/* ---- events ---- */

static int add(struct trace *t, int64_t at_ns, int64_t duration_ns, json_t *event)
{
    if (t->n == t->room) {
        size_t room = t->room ? 2 * t->room : 1024;
        struct event *more = realloc(t->event, room * sizeof *more);
        if (!more) {
            json_decref(event);
            return err_set(t->e, ERR_MEMORY, "no memory for %zu events", room);
        }
        t->event = more;
        t->room = room;
    }
    if (!event)
        return err_set(t->e, ERR_MEMORY, "no memory for an event");
    t->event[t->n] = (struct event){at_ns, duration_ns, t->n, event};
    t->n++;
    return 0;
}

static int slice(struct trace *t, int rank, enum lane lane, const char *category, const char *name, int64_t at_ns,
                 int64_t duration_ns, json_t *args)
{
    return add(t, at_ns, duration_ns,
               json_pack("{s:s, s:s, s:s, s:i, s:i, s:o*}", "name", name, "cat", category, "ph", "X", "pid", rank + 1,
                         "tid", lane, "args", args));
}

static int arrow(struct trace *t, bool head, const char *category, const char *id, int rank, enum lane lane,
                 int64_t at_ns)
{
    json_t *event = json_pack("{s:s, s:s, s:s, s:s, s:i, s:i}", "name", category, "cat", category, "ph",
                              head ? "f" : "s", "id", id, "pid", rank + 1, "tid", lane);
    if (head)
        json_object_set_new(event, "bp", json_string("e"));
    return add(t, at_ns, -1, event);
}

static json_t *microseconds(int64_t ns)
{
    return json_real((double)ns / 1000);
}

/* ---- one step of one rank ---- */

struct step {
    int rank;
    int64_t number, start_ns; /* the latter on the common clock */
    int64_t duration_ns;
    struct columns parts, layers, buckets; /* buckets.n 0: none */
};

static const char *const part_columns[] = {"part", "start_ns", "duration_ns", NULL};
static const char *const layer_columns[] = {"part", "layer", "start_ns", "duration_ns", NULL};
static const char *const bucket_columns[] = {"bucket",   "bytes",   "ready_ns",    "start_ns", "first_byte_ns",
                                             "end_ns",   "wait_ns", "upstream_ns", "move_ns",  "sum_ns",
                                             "check_ns", "seal_ns", NULL};

static int64_t on_common_clock(const struct rank *r, int64_t own_ns)
{
    int64_t at_ns = own_ns - r->offset_ns;
    return at_ns - (int64_t)llround(r->drift * (double)(at_ns - r->measured_at_ns));
}

static int read_step(struct trace *t, int rank, size_t i, struct step *s)
{
    const json_t *o = json_array_get(t->rank[rank].steps, i);
    int64_t own_ns;
    *s = (struct step){.rank = rank};
    at(t, "timeline.ranks[%d].steps[%zu]", rank, i);
    if (whole(t, o, "step", INT32_MAX, &s->number) || whole(t, o, "start_ns", INSTANT_MAX_NS, &own_ns) ||
        whole(t, o, "duration_ns", DURATION_MAX_NS, &s->duration_ns))
        return -1;
    if (columns(t, o, "parts", part_columns, &s->parts) || columns(t, o, "layers", layer_columns, &s->layers))
        return -1;
    if (json_object_get(o, "buckets") && columns(t, o, "buckets", bucket_columns, &s->buckets))
        return -1;
    s->start_ns = on_common_clock(&t->rank[rank], own_ns);
    if (t->rank[rank].aligned)
        return 0;
    /* Without an offset: where the same step of rank 0 begins, or the first one for one that it has not. */
    const json_t *steps = t->rank[0].steps, *same;
    size_t k;
    json_array_foreach((json_t *)steps, k, same)
    {
        if (json_integer_value(json_object_get(same, "step")) == s->number)
            return whole(t, same, "start_ns", INSTANT_MAX_NS, &s->start_ns);
    }
    return bad(t, "step", "is not among rank 0's, and no clock offset was measured");
}

static enum lane lane_of(const char *part)
{
    if (strcmp(part, "optimizer") == 0)
        return LANE_OPTIMIZER;
    return strcmp(part, "exposed") == 0 ? LANE_WAITING : LANE_COMPUTE;
}

/* Where the driving thread was at an instant. */
static int lane_at(struct trace *t, const struct step *s, int64_t instant_ns, enum lane *lane)
{
    *lane = LANE_COMPUTE;
    for (size_t i = 0; i < s->parts.n; i++) {
        int64_t start_ns, duration_ns;
        const char *part;
        if (text(t, &s->parts, "part", i, &part) || cell(t, &s->parts, "start_ns", i, 0, &start_ns) ||
            cell(t, &s->parts, "duration_ns", i, 0, &duration_ns))
            return -1;
        if (instant_ns >= start_ns && instant_ns <= start_ns + duration_ns)
            *lane = lane_of(part);
    }
    return 0;
}

static int add_parts(struct trace *t, const struct step *s)
{
    for (size_t i = 0; i < s->parts.n; i++) {
        int64_t start_ns, duration_ns;
        const char *part;
        if (text(t, &s->parts, "part", i, &part) || cell(t, &s->parts, "start_ns", i, 0, &start_ns) ||
            cell(t, &s->parts, "duration_ns", i, 0, &duration_ns) ||
            slice(t, s->rank, lane_of(part), "part", part, s->start_ns + start_ns, duration_ns,
                  json_pack("{s:I}", "step", (json_int_t)s->number)))
            return -1;
    }
    return 0;
}

static int add_layers(struct trace *t, const struct step *s)
{
    size_t last = json_array_size(json_object_get(t->run, "layers"));
    for (size_t i = 0; i < s->layers.n; i++) {
        int64_t start_ns, duration_ns, layer;
        const char *part;
        char number[32];
        if (text(t, &s->layers, "part", i, &part) || cell(t, &s->layers, "layer", i, -1, &layer) ||
            cell(t, &s->layers, "start_ns", i, 0, &start_ns) || cell(t, &s->layers, "duration_ns", i, 0, &duration_ns))
            return -1;
        /* layers[] begins with the embedding, -1, if there is one */
        json_t *first = json_array_get(json_object_get(t->run, "layers"), 0);
        int64_t row = layer - json_integer_value(json_object_get(first, "layer"));
        const json_t *known =
            row >= 0 && (size_t)row < last ? json_array_get(json_object_get(t->run, "layers"), (size_t)row) : NULL;
        const char *name = json_string_value(json_object_get(known, "name"));
        snprintf(number, sizeof number, "layer %lld", (long long)layer);
        if (slice(t, s->rank, lane_of(part), "layer", name ? name : number, s->start_ns + start_ns, duration_ns,
                  json_pack("{s:s, s:I}", "part", part, "layer", (json_int_t)layer)))
            return -1;
    }
    return 0;
}

struct bucket {
    int64_t number, bytes, ready_ns, start_ns, first_ns, end_ns;      /* instants -1: did not happen */
    int64_t wait_ns, upstream_ns, move_ns, sum_ns, check_ns, seal_ns; /* -1: not told */
};

static int read_bucket(struct trace *t, const struct step *s, size_t i, struct bucket *b)
{
    const struct columns *c = &s->buckets;
    if (cell(t, c, "bucket", i, -1, &b->number) || cell(t, c, "bytes", i, 0, &b->bytes) ||
        cell_or_null(t, c, "ready_ns", i, &b->ready_ns) || cell_or_null(t, c, "start_ns", i, &b->start_ns) ||
        cell_or_null(t, c, "first_byte_ns", i, &b->first_ns) || cell_or_null(t, c, "end_ns", i, &b->end_ns) ||
        cell_or_null(t, c, "wait_ns", i, &b->wait_ns) || cell_or_null(t, c, "upstream_ns", i, &b->upstream_ns) ||
        cell_or_null(t, c, "move_ns", i, &b->move_ns) || cell_or_null(t, c, "sum_ns", i, &b->sum_ns) ||
        cell_or_null(t, c, "check_ns", i, &b->check_ns) || cell_or_null(t, c, "seal_ns", i, &b->seal_ns))
        return -1;
    if (b->start_ns >= 0 && (b->end_ns < b->start_ns || (b->first_ns >= 0 && b->first_ns < b->start_ns)))
        return bad(t, "buckets", "has one that ends before it starts");
    return 0;
}

static int add_bucket(struct trace *t, const struct step *s, const struct bucket *b)
{
    char name[48], id[64];
    enum lane from;
    if (b->start_ns < 0)
        return 0;
    if (b->number < 0)
        snprintf(name, sizeof name, "token ids");
    else
        snprintf(name, sizeof name, "bucket %lld", (long long)b->number);
    const struct {
        const char *name;
        int64_t ns;
    } told[] = {{"wait_us", b->wait_ns}, {"upstream_us", b->upstream_ns}, {"move_us", b->move_ns},
                {"sum_us", b->sum_ns},   {"check_us", b->check_ns},       {"seal_us", b->seal_ns}};
    json_t *args = json_pack("{s:I, s:I, s:I}", "step", (json_int_t)s->number, "bucket", (json_int_t)b->number, "bytes",
                             (json_int_t)b->bytes);
    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
        if (told[i].ns >= 0)
            json_object_set_new(args, told[i].name, microseconds(told[i].ns));
    if (b->ready_ns >= 0)
        json_object_set_new(args, "queued_us", microseconds(b->start_ns - b->ready_ns));
    if (slice(t, s->rank, LANE_COMMUNICATION, "bucket", name, s->start_ns + b->start_ns, b->end_ns - b->start_ns, args))
        return -1;
    if (b->wait_ns > b->upstream_ns && b->first_ns > b->start_ns) {
        snprintf(name, sizeof name, "waits for rank %d", (s->rank + t->world - 1) % t->world);
        if (slice(t, s->rank, LANE_COMMUNICATION, "wait", name, s->start_ns + b->start_ns, b->first_ns - b->start_ns,
                  NULL))
            return -1;
    }
    if (b->ready_ns < 0 || b->ready_ns > b->start_ns)
        return 0;
    snprintf(id, sizeof id, "ready.%d.%lld.%lld", s->rank, (long long)s->number, (long long)b->number);
    return lane_at(t, s, b->ready_ns, &from) ||
                   arrow(t, false, "ready", id, s->rank, from, s->start_ns + b->ready_ns) ||
                   arrow(t, true, "ready", id, s->rank, LANE_COMMUNICATION, s->start_ns + b->start_ns)
               ? -1
               : 0;
}

static int add_step(struct trace *t, const struct step *s)
{
    char name[32];
    snprintf(name, sizeof name, "step %lld", (long long)s->number);
    if (slice(t, s->rank, LANE_STEP, "step", name, s->start_ns, s->duration_ns, NULL) || add_parts(t, s) ||
        add_layers(t, s))
        return -1;
    for (size_t i = 0; i < s->buckets.n; i++) {
        struct bucket b;
        if (read_bucket(t, s, i, &b) || add_bucket(t, s, &b))
            return -1;
    }
    return 0;
}

/* From where a rank began a bucket to where the next one got its first byte of it. */
static int add_between(struct trace *t, const struct step *from, const struct step *to)
{
    for (size_t i = 0; i < from->buckets.n && i < to->buckets.n; i++) {
        struct bucket a, b;
        char id[64];
        if (read_bucket(t, from, i, &a) || read_bucket(t, to, i, &b))
            return -1;
        if (a.number != b.number || a.start_ns < 0 || b.first_ns < 0)
            continue;
        int64_t start_ns = from->start_ns + a.start_ns, end_ns = to->start_ns + b.first_ns;
        if (end_ns < start_ns) {
            t->left_out++;
            continue;
        }
        snprintf(id, sizeof id, "data.%d.%lld.%lld", from->rank, (long long)from->number, (long long)a.number);
        if (arrow(t, false, "data", id, from->rank, LANE_COMMUNICATION, start_ns) ||
            arrow(t, true, "data", id, to->rank, LANE_COMMUNICATION, end_ns))
            return -1;
    }
    return 0;
}

/* ---- ranks ---- */

static double number_at(const json_t *o, const char *name)
{
    const json_t *x = json_object_get(o, name);
    return json_is_number(x) ? json_number_value(x) : NAN;
}

static int read_rank(struct trace *t, int rank, const json_t *timeline)
{
    struct rank *r = &t->rank[rank];
    const json_t *node = json_array_get(json_object_get(t->run, "nodes"), (size_t)rank);
    double offset_s = number_at(node, "clock_offset_s"), drift = number_at(node, "clock_drift");
    const json_t *when = json_object_get(node, "clock_at_ns");
    at(t, "timeline.ranks[%d]", rank);
    r->steps = json_object_get(timeline, "steps");
    if (!json_is_null(timeline) && !json_is_array(r->steps))
        return bad(t, "steps", "is missing");
    r->aligned = rank == 0 || json_is_true(json_object_get(t->run, "same_host")) || isfinite(offset_s);
    if (!isfinite(offset_s) || rank == 0)
        return 0;
    if (fabs(offset_s) > DURATION_MAX_NS * 1e-9 || (isfinite(drift) && fabs(drift) > 1))
        return bad(t, "clock_offset_s", "is impossible");
    r->offset_ns = llround(offset_s * 1e9);
    if (isfinite(drift) && json_is_integer(when)) {
        r->drift = drift;
        r->measured_at_ns = json_integer_value(when);
    }
    if (r->measured_at_ns < 0 || r->measured_at_ns > INSTANT_MAX_NS)
        return bad(t, "clock_at_ns", "is impossible");
    return 0;
}

static int name_rank(struct trace *t, int rank)
{
    const char *name =
        json_string_value(json_object_get(json_array_get(json_object_get(t->run, "nodes"), (size_t)rank), "name"));
    char title[256];
    bool communicates = t->world > 1;
    snprintf(title, sizeof title, "rank %d%s%.200s", rank, name ? ": " : "", name ? name : "");
    json_t *event = json_pack("{s:s, s:s, s:i, s:{s:s}}", "name", "process_name", "ph", "M", "pid", rank + 1, "args",
                              "name", title);
    if (add(t, INT64_MIN, -1, event))
        return -1;
    event = json_pack("{s:s, s:s, s:i, s:{s:i}}", "name", "process_sort_index", "ph", "M", "pid", rank + 1, "args",
                      "sort_index", rank);
    if (add(t, INT64_MIN, -1, event))
        return -1;
    for (int lane = LANE_STEP; lane < LANES_END; lane++) {
        if (!communicates && (lane == LANE_COMMUNICATION || lane == LANE_WAITING))
            continue;
        event = json_pack("{s:s, s:s, s:i, s:i, s:{s:s}}", "name", "thread_name", "ph", "M", "pid", rank + 1, "tid",
                          lane, "args", "name", lanes[lane]);
        if (add(t, INT64_MIN, -1, event))
            return -1;
        event = json_pack("{s:s, s:s, s:i, s:i, s:{s:i}}", "name", "thread_sort_index", "ph", "M", "pid", rank + 1,
                          "tid", lane, "args", "sort_index", lane);
        if (add(t, INT64_MIN, -1, event))
            return -1;
    }
    return 0;
}

static int find_step(struct trace *t, int rank, int64_t number, struct step *s)
{
    size_t n = json_array_size(t->rank[rank].steps);
    for (size_t i = 0; i < n; i++)
        if (json_integer_value(json_object_get(json_array_get(t->rank[rank].steps, i), "step")) == number)
            return read_step(t, rank, i, s) ? -1 : 1;
    return 0;
}

static int add_rank(struct trace *t, int rank)
{
    size_t n = json_array_size(t->rank[rank].steps);
    if (name_rank(t, rank))
        return -1;
    for (size_t i = 0; i < n; i++) {
        struct step s, next;
        if (read_step(t, rank, i, &s) || add_step(t, &s))
            return -1;
        int found = t->world > 1 ? find_step(t, (rank + 1) % t->world, s.number, &next) : 0;
        if (found < 0 || (found > 0 && add_between(t, &s, &next)))
            return -1;
    }
    return 0;
}

static int judge(struct trace *t)
{
    static const char *const members[] = {"tool", "model", "nodes", "samples"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (!json_object_get(t->run, members[i]))
            return err_set(t->e, ERR_DATA, "this is no run: it has no %s", members[i]);
    return 0;
}

static int read_ranks(struct trace *t)
{
    const json_t *timeline = json_object_get(t->run, "timeline"), *ranks = json_object_get(timeline, "ranks");
    size_t n = json_array_size(ranks);
    if (!json_is_object(timeline))
        return err_set(t->e, ERR_DATA, "the run has no timeline: the version that made it kept none");
    if (n == 0 || n > RANKS_MAX || n != json_array_size(json_object_get(t->run, "nodes")))
        return err_set(t->e, ERR_DATA, "the run is damaged: timeline.ranks has not one entry for each of nodes");
    t->world = (int)n;
    t->rank = calloc(n, sizeof *t->rank);
    if (!t->rank)
        return err_set(t->e, ERR_MEMORY, "no memory for %zu ranks", n);
    for (int r = 0; r < t->world; r++)
        if (read_rank(t, r, json_array_get(ranks, (size_t)r)))
            return -1;
    if (json_array_size(t->rank[0].steps) == 0)
        return err_set(t->e, ERR_DATA, "the run has no timed step to show");
    return 0;
}

/* ---- writing ---- */

/* By time; a slice comes before those inside it. */
static int compare(const void *x, const void *y)
{
    const struct event *a = x, *b = y;
    if (a->at_ns != b->at_ns)
        return a->at_ns < b->at_ns ? -1 : 1;
    if (a->duration_ns != b->duration_ns)
        return a->duration_ns > b->duration_ns ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

static json_t *alignment(const struct trace *t)
{
    json_t *list = json_array();
    for (int r = 0; r < t->world; r++) {
        const json_t *node = json_array_get(json_object_get(t->run, "nodes"), (size_t)r);
        bool measured = isfinite(number_at(node, "clock_offset_s"));
        const char *how = r == 0               ? "its clock is the common one"
                          : measured           ? "by the offset and drift of its clock"
                          : t->rank[r].aligned ? "the same clock as rank 0's"
                                               : "each step is put where rank 0's begins: no clock offset was measured";
        json_t *o = json_pack("{s:i, s:s}", "rank", r, "aligned", how);
        json_object_set_new(o, "clock_offset_s", json_num(number_at(node, "clock_offset_s")));
        json_object_set_new(o, "clock_offset_error_s", json_num(number_at(node, "clock_offset_error_s")));
        json_object_set_new(o, "clock_drift", json_num(number_at(node, "clock_drift")));
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *metadata(const struct trace *t)
{
    static const char *const copied[] = {"tool", "started", "status", "world", "same_host"};
    json_t *o = json_object();
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++)
        if (json_object_get(t->run, copied[i]))
            json_object_set(o, copied[i], json_object_get(t->run, copied[i]));
    const json_t *model = json_object_get(json_object_get(t->run, "model"), "name");
    if (model)
        json_object_set(o, "model", (json_t *)model);
    const json_t *kept = json_object_get(json_object_get(t->run, "timeline"), "kept");
    if (kept)
        json_object_set(o, "steps", (json_t *)kept);
    json_object_set_new(o, "clocks", alignment(t));
    json_object_set_new(o, "arrows_left_out", json_integer(t->left_out));
    return o;
}

/* Fifteen digits hold eleven days of microseconds with three decimals, and print 0.1 as 0.1. */
static bool write_json(FILE *f, const json_t *o)
{
    return json_dumpf(o, f, JSON_COMPACT | JSON_REAL_PRECISION(15)) == 0;
}

static bool write_all(const struct trace *t, FILE *f)
{
    int64_t base_ns = 0;
    bool begun = false, ok = true;
    json_t *other = metadata(t);
    fprintf(f, "{\"displayTimeUnit\":\"ms\",\n\"otherData\":");
    ok = write_json(f, other);
    json_decref(other);
    fprintf(f, ",\n\"traceEvents\":[\n");
    for (size_t i = 0; i < t->n && ok; i++) {
        const struct event *event = &t->event[i];
        if (event->at_ns != INT64_MIN && !begun) {
            base_ns = event->at_ns;
            begun = true;
        }
        if (event->at_ns != INT64_MIN)
            json_object_set_new(event->json, "ts", microseconds(event->at_ns - base_ns));
        if (event->duration_ns >= 0)
            json_object_set_new(event->json, "dur", microseconds(event->duration_ns));
        ok = write_json(f, event->json);
        fprintf(f, i + 1 < t->n ? ",\n" : "\n");
    }
    fprintf(f, "]}\n");
    return ok && !ferror(f);
}

char *trace_render(const json_t *run, struct err *e)
{
    struct trace t = {.run = run, .e = e};
    char *text_out = NULL;
    size_t size = 0;
    int result = judge(&t) || read_ranks(&t) ? -1 : 0;
    for (int r = 0; r < t.world && result == 0; r++)
        result = add_rank(&t, r);
    if (result == 0) {
        qsort(t.event, t.n, sizeof *t.event, compare);
        FILE *f = open_memstream(&text_out, &size);
        bool ok = f && write_all(&t, f);
        if ((f && fclose(f)) || !ok) {
            free(text_out);
            text_out = NULL;
            err_set(e, ERR_MEMORY, "out of memory while writing the trace");
        }
    }
    for (size_t i = 0; i < t.n; i++)
        json_decref(t.event[i].json);
    free(t.event);
    free(t.rank);
    return text_out;
}
