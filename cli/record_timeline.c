/*
 * cli/record_timeline.c - see record.h: some of the timed steps, event by event, as each rank saw them, and who held the
 * others up. Start at record_add_timeline(), at the end.
 *
 * Events are columns of nanoseconds counted from the start of their step; only a step's own start is an instant of the
 * rank's clock. Columns are a third of the bytes that objects would be.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/output.h"
#include "cli/record_parts.h"

static const char *const kinds[] = {[TIMELINE_FORWARD] = "forward",
                                    [TIMELINE_BACKWARD] = "backward",
                                    [TIMELINE_OPTIMIZER] = "optimizer",
                                    [TIMELINE_EXPOSED] = "exposed",
                                    [TIMELINE_MIXED] = "forward and backward"};

/* ---- one rank ---- */

static json_t *column(json_t *table, const char *name)
{
    json_t *list = json_array();
    record_set(table, name, list);
    return list;
}

static void put(json_t *list, uint64_t value)
{
    json_array_append_new(list, json_integer((json_int_t)value));
}

/* Null for an event that did not happen. */
static void put_instant(json_t *list, const struct timeline_step *s, uint64_t at_ns)
{
    json_array_append_new(list, at_ns ? json_integer((json_int_t)(at_ns - s->start_ns)) : json_null());
}

static json_t *parts_json(const struct timeline_step *s)
{
    json_t *o = json_object();
    json_t *part = column(o, "part"), *start = column(o, "start_ns"), *took = column(o, "duration_ns");
    for (int i = 0; i < s->parts_n; i++) {
        json_array_append_new(part, json_string(kinds[s->part[i].kind]));
        put_instant(start, s, s->part[i].start_ns);
        put(took, s->part[i].end_ns - s->part[i].start_ns);
    }
    return o;
}

static json_t *layers_json(const struct timeline_step *s)
{
    static const enum timeline_kind kind_of[] = {[PHASE_FORWARD] = TIMELINE_FORWARD,
                                                 [PHASE_BACKWARD] = TIMELINE_BACKWARD,
                                                 [PHASE_OPTIMIZER] = TIMELINE_OPTIMIZER};
    json_t *o = json_object();
    json_t *part = column(o, "part"), *layer = column(o, "layer"), *start = column(o, "start_ns"),
           *took = column(o, "duration_ns");
    for (int i = 0; i < s->layers_n; i++) {
        json_array_append_new(part, json_string(kinds[kind_of[s->layer[i].kind]]));
        json_array_append_new(layer, json_integer(s->layer[i].layer));
        put_instant(start, s, s->layer[i].start_ns);
        put(took, s->layer[i].end_ns - s->layer[i].start_ns);
    }
    return o;
}

/* Null for what the back-end does not tell. */
static void put_part(json_t *list, const struct call *call, uint64_t ns)
{
    if (call->opaque)
        json_array_append_new(list, json_null());
    else
        put(list, ns);
}

static json_t *buckets_json(const struct timeline_step *s)
{
    json_t *o = json_object();
    json_t *bucket = column(o, "bucket"), *bytes = column(o, "bytes"), *ready = column(o, "ready_ns"),
           *start = column(o, "start_ns"), *first = column(o, "first_byte_ns"), *end = column(o, "end_ns"),
           *wait = column(o, "wait_ns"), *upstream = column(o, "upstream_ns"), *move = column(o, "move_ns"),
           *sum = column(o, "sum_ns"), *check = column(o, "check_ns"), *seal = column(o, "seal_ns");
    for (int i = 0; i < s->buckets_n; i++) {
        const struct timeline_bucket *b = &s->bucket[i];
        json_array_append_new(bucket, json_integer(b->bucket));
        put(bytes, b->bytes);
        put_instant(ready, s, b->ready_ns);
        put_instant(start, s, b->call.start_ns);
        put_instant(first, s, b->call.first_byte_ns);
        put_instant(end, s, b->call.end_ns);
        put_part(wait, &b->call, b->call.wait_ns);
        put_part(upstream, &b->call, b->call.upstream_ns);
        put_part(move, &b->call, b->call.move_ns);
        put_part(sum, &b->call, b->call.sum_ns);
        put_part(check, &b->call, b->call.check_ns);
        put_part(seal, &b->call, b->call.seal_ns);
    }
    return o;
}

json_t *record_timeline(const struct run *run)
{
    const struct timeline_step *kept[TIMELINE_STEPS_MAX];
    int n = timeline_kept(&run->timeline, kept);
    json_t *o = json_object(), *steps = json_array();
    record_set(o, "rank", json_integer(run->options.rank));
    record_set(o, "steps", steps);
    for (int i = 0; i < n; i++) {
        const struct timeline_step *s = kept[i];
        json_t *step = json_object();
        record_set(step, "step", json_integer(s->step));
        record_set(step, "start_ns", json_integer((json_int_t)s->start_ns));
        record_set(step, "duration_ns", json_integer((json_int_t)(s->end_ns - s->start_ns)));
        record_set(step, "parts", parts_json(s));
        record_set(step, "layers", layers_json(s));
        if (s->buckets_n)
            record_set(step, "buckets", buckets_json(s));
        json_array_append_new(steps, step);
    }
    return o;
}

/* ---- all ranks ---- */

struct grid { /* ready and end of bucket b of kept step s on rank r; NaN: unknown */
    int ranks, steps, buckets;
    double *ready_s, *end_s;
};

static double seconds_at(const json_t *buckets, const char *name, size_t i)
{
    const json_t *x = json_array_get(json_object_get(buckets, name), i);
    return json_is_integer(x) ? (double)json_integer_value(x) * 1e-9 : NAN;
}

static void fill(struct grid *g, const json_t *ranks)
{
    for (int r = 0; r < g->ranks; r++)
        for (int s = 0; s < g->steps; s++) {
            const json_t *steps = json_object_get(json_array_get(ranks, (size_t)r), "steps");
            const json_t *buckets = json_object_get(json_array_get(steps, (size_t)s), "buckets");
            size_t rows = json_array_size(json_object_get(buckets, "bucket"));
            size_t skip = rows > (size_t)g->buckets ? rows - (size_t)g->buckets : 0; /* the token ids come first */
            for (int b = 0; b < g->buckets; b++) {
                int at = (s * g->buckets + b) * g->ranks + r;
                g->ready_s[at] = seconds_at(buckets, "ready_ns", skip + (size_t)b);
                g->end_s[at] = seconds_at(buckets, "end_ns", skip + (size_t)b);
            }
        }
}

/* For how long in step s rank r alone kept the exchange from going on: a bucket could start when the one before it was done
 * and it was ready on all others. */
static double holds_up(const struct grid *g, int s, int r)
{
    double sum = 0;
    for (int b = 0; b < g->buckets; b++) {
        const double *ready_s = g->ready_s + (s * g->buckets + b) * g->ranks;
        double could_s = b > 0 ? g->end_s[(s * g->buckets + b - 1) * g->ranks + r] : 0;
        for (int q = 0; q < g->ranks; q++) {
            if (isnan(ready_s[q]))
                return NAN;
            if (q != r)
                could_s = fmax(could_s, ready_s[q]);
        }
        sum += fmax(0, ready_s[r] - could_s);
    }
    return sum;
}

static void add_holds_up(json_t *root, const struct grid *g)
{
    char path[48];
    struct record_column c = record_column_make(g->steps);
    for (int r = 0; r < g->ranks; r++) {
        int n = 0;
        for (int s = 0; s < g->steps && c.value; s++) {
            double held_s = holds_up(g, s, r);
            if (isfinite(held_s))
                c.value[n++] = held_s;
        }
        json_t *node = json_array_get(json_object_get(root, "nodes"), (size_t)r);
        snprintf(path, sizeof path, "nodes[%d]", r);
        json_known(root, node, path, "holds_up_s", json_num(c.value ? record_column_summary(&c, n).median : NAN),
                   "no step is known from all ranks");
    }
    free(c.value);
}

/* Ranks keep the same steps; one that was lost may have fewer. */
static int common_steps(const json_t *ranks)
{
    size_t n = TIMELINE_STEPS_MAX, r;
    json_t *rank;
    json_array_foreach((json_t *)ranks, r, rank)
    {
        size_t own = json_array_size(json_object_get(rank, "steps"));
        n = own < n ? own : n;
    }
    for (size_t s = 0; s < n; s++)
        for (r = 1; r < json_array_size(ranks); r++) {
            const json_t *a = json_array_get(json_object_get(json_array_get(ranks, 0), "steps"), s);
            const json_t *b = json_array_get(json_object_get(json_array_get(ranks, r), "steps"), s);
            if (!json_equal(json_object_get(a, "step"), json_object_get(b, "step")))
                return (int)s;
        }
    return (int)n;
}

int record_add_timeline(json_t *root, const struct record *r)
{
    const struct run *run = r->run;
    int world = run->options.world;
    char kept[160], path[40];
    json_t *o = json_object(), *ranks = json_array(), *missing = json_object(); /* holds nulls that stand in ranks */
    json_array_append_new(ranks, record_timeline(run));
    snprintf(kept, sizeof kept,
             "the first %d, the last %d, and of those between every one whose number is %d + a multiple of %d",
             run->timeline.ends, run->timeline.ends, run->timeline.ends, run->timeline.stride);
    json_known(root, o, "timeline", "kept", output_string_if(run->timeline.n ? kept : NULL), record_no_steps);
    record_set(o, "ranks", ranks);
    record_set(root, "timeline", o);
    for (int rank = 1; rank < world; rank++) {
        json_t *told = json_object_get(r->report ? r->report[rank - 1] : NULL, "timeline");
        json_array_append(ranks, json_is_object(told) ? told : json_null());
        if (json_is_object(told))
            continue;
        snprintf(path, sizeof path, "timeline.ranks[%d]", rank);
        json_unknown(root, missing, path, path, "the rank ended before it could tell");
    }
    json_decref(missing);
    if (world == 1 || run->buckets == 0)
        return 0;
    struct grid g = {.ranks = world, .steps = common_steps(ranks), .buckets = run->buckets};
    size_t cells = (size_t)g.ranks * (size_t)g.steps * (size_t)g.buckets + 1;
    g.ready_s = malloc(2 * cells * sizeof *g.ready_s);
    if (!g.ready_s)
        return -1;
    g.end_s = g.ready_s + cells;
    fill(&g, ranks);
    add_holds_up(root, &g);
    free(g.ready_s);
    return 0;
}
