/* report/fields.c - see fields.h. A new figure is a row in fields[]. */
#include "report/fields.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/table.h"
#include "report/table_parts.h"

/* clang-format off */
#define ROW(group, path, name, title, unit, kind) {group, path, name, title, NULL, unit, kind}
#define METRIC(group, path, name, title, brief, unit, kind) {group, path, name, title, brief, unit, kind}
#define SUMMARY(group, path, name, title, brief, unit) \
    METRIC(group, path ".median", name "_median", title, brief, unit, FIELD_GAUGE), \
    ROW(group, path ".mad", name "_mad", title ", MAD", unit, FIELD_GAUGE)
#define SECONDS(group, path, name, title) \
    METRIC(group, path ".median", name "_median_seconds", title, name, UNIT_SECONDS, FIELD_GAUGE), \
    ROW(group, path ".mad", name "_mad_seconds", title ", MAD", UNIT_SECONDS, FIELD_GAUGE)
#define ESTIMATE(group, path, name, title, unit) \
    ROW(group, path ".median", name, title, unit, FIELD_GAUGE), \
    ROW(group, path ".lo", "lowest_" name, title ", 5 %", unit, FIELD_GAUGE), \
    ROW(group, path ".hi", "highest_" name, title ", 95 %", unit, FIELD_GAUGE)

#define RUN "What was run"
#define STEP "A step"
#define COMM "Communication"
#define SPEED "Speed-up"
#define PRED "Prediction"
#define NODE "Nodes"
#define LINK "The link"

const struct field fields[] = {
    ROW(RUN, "kind", "kind", "kind", UNIT_NONE, FIELD_TEXT),
    ROW(RUN, "status", "status", "status", UNIT_NONE, FIELD_TEXT),
    ROW(RUN, "started", "started", "started", UNIT_NONE, FIELD_TEXT),
    ROW(RUN, "label", "label", "label", UNIT_NONE, FIELD_TEXT),
    ROW(RUN, "tool.version", "version", "made by version", UNIT_NONE, FIELD_TEXT),
    ROW(RUN, "model.name", "model", "model", UNIT_NONE, FIELD_TEXT),
    ROW(RUN, "model.unique_parameters", "parameters", "parameters", UNIT_NONE, FIELD_COUNT),
    ROW(RUN, "model.gradient_bytes", "gradient_bytes", "gradient", UNIT_BYTES, FIELD_COUNT),
    ROW(RUN, "model.batch", "batch", "sequences per micro-batch and rank", UNIT_NONE, FIELD_COUNT),
    ROW(RUN, "model.seq", "seq", "tokens per sequence", UNIT_NONE, FIELD_COUNT),
    ROW(RUN, "model.accum", "accum", "micro-batches per update", UNIT_NONE, FIELD_COUNT),
    ROW(RUN, "model.tokens_per_step", "tokens_per_step", "tokens per step, all ranks", UNIT_NONE, FIELD_COUNT),
    ROW(RUN, "model.dtype", "dtype", "number format", UNIT_NONE, FIELD_TEXT),
    ROW(RUN, "compute", "compute", "computing", UNIT_NONE, FIELD_TEXT),
    ROW(RUN, "world", "world", "ranks", UNIT_NONE, FIELD_COUNT),
    ROW(RUN, "same_host", "same_host", "ranks share a host", UNIT_NONE, FIELD_FLAG),

    SECONDS(STEP, "summary.step_s", "step", "step"),
    SECONDS(STEP, "summary.forward_s", "forward", "forward"),
    SECONDS(STEP, "summary.backward_s", "backward", "backward"),
    SECONDS(STEP, "summary.optimizer_s", "optimizer", "optimizer"),
    SECONDS(STEP, "summary.exposed_s", "exposed", "standing still for communication"),
    SECONDS(STEP, "summary.data_s", "data", "fetching the batch, between steps"),
    ROW(STEP, "summary.step_s.n", "steps", "timed steps", UNIT_NONE, FIELD_COUNT),
    SUMMARY(STEP, "summary.tokens_per_s", "tokens_per_s", "tokens per second", "tokens/s", UNIT_TOKENS_PER_S),
    SUMMARY(STEP, "summary.flops_per_s", "flops_per_s", "operations per second", NULL, UNIT_FLOPS),
    ROW(STEP, "summary.share_of_product_rate", "share_of_product_rate_ratio", "share of the rate of matrix products", UNIT_RATIO, FIELD_GAUGE),
    METRIC(STEP, "product_rate.flops_per_s", "product_flops_per_s", "rate of matrix products", "matrix products", UNIT_FLOPS, FIELD_GAUGE),
    METRIC(STEP, "floor.step_s", "floor_seconds", "the step's matrix products alone", "floor", UNIT_SECONDS, FIELD_GAUGE),
    METRIC(STEP, "floor.ratio", "floor_ratio", "step / those", "step / floor", UNIT_RATIO, FIELD_GAUGE),
    ROW(STEP, "loss.first", "loss_first", "loss of the first timed step", UNIT_NONE, FIELD_GAUGE),
    ROW(STEP, "loss.last", "loss_last", "loss of the last timed step", UNIT_NONE, FIELD_GAUGE),
    ROW(STEP, "loss.validation", "loss_validation", "validation loss", UNIT_NONE, FIELD_GAUGE),
    METRIC(STEP, "memory.peak_bytes", "memory_peak_bytes", "memory, peak", "memory", UNIT_BYTES, FIELD_COUNT),
    ROW(STEP, "memory.planned_bytes", "memory_planned_bytes", "memory, planned", UNIT_BYTES, FIELD_COUNT),
    ROW(STEP, "unsteady", "unsteady", "unsteady", UNIT_NONE, FIELD_FLAG),
    ROW(STEP, "throttled_periods", "throttled_periods", "periods throttled by the CPU quota", UNIT_NONE, FIELD_COUNT),

    METRIC(SPEED, "speedup.measured", "speedup_ratio", "speed-up over the fastest node alone", "speed-up", UNIT_RATIO, FIELD_GAUGE),
    ROW(SPEED, "speedup.scaling", "scaling_ratio", "speed-up / ranks", UNIT_RATIO, FIELD_GAUGE),
    ROW(SPEED, "speedup.vs_this_node", "speedup_vs_this_node_ratio", "speed-up over rank 0 alone", UNIT_RATIO, FIELD_GAUGE),
    ROW(SPEED, "speedup.baseline_node", "baseline_node", "the fastest node", UNIT_NONE, FIELD_TEXT),
    METRIC(SPEED, "speedup.baseline_step_s", "baseline_seconds", "its step alone", "step alone", UNIT_SECONDS, FIELD_GAUGE),

    ROW(PRED, "prediction.nodes", "predicted_nodes", "nodes", UNIT_NONE, FIELD_COUNT),
    ESTIMATE(PRED, "prediction.step_s", "predicted_step_seconds", "step", UNIT_SECONDS),
    ESTIMATE(PRED, "prediction.speedup", "predicted_speedup_ratio", "speed-up", UNIT_RATIO),
    ROW(PRED, "prediction.p_faster", "predicted_p_faster_ratio", "probability of being faster", UNIT_RATIO, FIELD_GAUGE),
    ROW(PRED, "prediction.verdict", "predicted_verdict", "verdict", UNIT_NONE, FIELD_TEXT),
    ROW(PRED, "prediction.limit", "predicted_limit", "held back by", UNIT_NONE, FIELD_TEXT),
    ROW(PRED, "prediction.link.name", "predicted_link", "link", UNIT_NONE, FIELD_TEXT),
    ROW(PRED, "prediction.link.origin", "predicted_link_origin", "link is", UNIT_NONE, FIELD_TEXT),
    ROW(PRED, "prediction.link.rate_bytes_per_s", "predicted_link_bytes_per_s", "link's rate", UNIT_BYTES_PER_S, FIELD_GAUGE),

    ROW(COMM, "communication.transport", "transport", "transport", UNIT_NONE, FIELD_TEXT),
    ROW(COMM, "communication.schedule", "schedule", "schedule", UNIT_NONE, FIELD_TEXT),
    ROW(COMM, "wire", "wire", "on the wire", UNIT_NONE, FIELD_TEXT),
    ROW(COMM, "emulated.option", "emulated", "emulated link", UNIT_NONE, FIELD_TEXT),
    METRIC(COMM, "communication.total_s", "communication_seconds", "exchange", "communication", UNIT_SECONDS, FIELD_GAUGE),
    ROW(COMM, "communication.exposed_s", "communication_exposed_seconds", "exposed: the step stood still", UNIT_SECONDS, FIELD_GAUGE),
    ROW(COMM, "communication.hidden_s", "communication_hidden_seconds", "hidden behind computing", UNIT_SECONDS, FIELD_GAUGE),
    ROW(COMM, "communication.cpu_s", "communication_cpu_seconds", "processor time of it", UNIT_SECONDS, FIELD_GAUGE),
    ROW(COMM, "communication.bytes_per_step", "sent_bytes", "sent per step", UNIT_BYTES, FIELD_COUNT),
    ROW(COMM, "communication.arithmetic.rate_bytes_per_s", "link_seen_bytes_per_s", "rate of the link as this run saw it", UNIT_BYTES_PER_S, FIELD_GAUGE),
    ROW(COMM, "communication.arithmetic.exposed_s", "arithmetic_exposed_seconds", "exposed by the arithmetic of the buckets", UNIT_SECONDS, FIELD_GAUGE),
    ROW(COMM, "communication.straggler.rank", "straggler_rank", "rank that computes longest", UNIT_NONE, FIELD_COUNT),

    ROW(NODE, "nodes[].name", "node_name", "name", UNIT_NONE, FIELD_TEXT),
    ROW(NODE, "nodes[].cpu", "node_cpu", "processor", UNIT_NONE, FIELD_TEXT),
    ROW(NODE, "nodes[].threads", "node_threads", "compute threads", UNIT_NONE, FIELD_COUNT),
    ROW(NODE, "nodes[].blas_kernel", "node_blas_kernel", "OpenBLAS kernel", UNIT_NONE, FIELD_TEXT),
    ROW(NODE, "nodes[].health.grade", "node_grade", "grade as a place to measure", UNIT_NONE, FIELD_TEXT),
    ROW(NODE, "nodes[].summary.step_s.median", "node_step_seconds", "step", UNIT_SECONDS, FIELD_GAUGE),
    ROW(NODE, "nodes[].summary.compute_s.median", "node_compute_seconds", "its own work", UNIT_SECONDS, FIELD_GAUGE),
    ROW(NODE, "nodes[].summary.exposed_s.median", "node_exposed_seconds", "standing still", UNIT_SECONDS, FIELD_GAUGE),
    ROW(NODE, "nodes[].summary.wait_s.median", "node_wait_seconds", "waiting for others", UNIT_SECONDS, FIELD_GAUGE),
    ROW(NODE, "nodes[].holds_up_s", "node_holds_up_seconds", "holds the others up", UNIT_SECONDS, FIELD_GAUGE),
    ROW(NODE, "nodes[].alone_step_s.median", "node_alone_seconds", "step alone", UNIT_SECONDS, FIELD_GAUGE),
    ROW(NODE, "nodes[].alone_tokens_per_s", "node_alone_tokens_per_s", "tokens per second alone", UNIT_TOKENS_PER_S, FIELD_GAUGE),
    ROW(PRED, "nodes[].nodes", "nodes", "nodes", UNIT_NONE, FIELD_COUNT),
    ESTIMATE(PRED, "nodes[].step_s", "nodes_step_seconds", "step", UNIT_SECONDS),
    ESTIMATE(PRED, "nodes[].speedup", "nodes_speedup_ratio", "speed-up", UNIT_RATIO),
    ESTIMATE(PRED, "nodes[].efficiency", "nodes_efficiency_ratio", "efficiency", UNIT_RATIO),
    ROW(PRED, "nodes[].p_faster", "nodes_p_faster_ratio", "probability of being faster", UNIT_RATIO, FIELD_GAUGE),
    ROW(PRED, "nodes[].verdict", "nodes_verdict", "verdict", UNIT_NONE, FIELD_TEXT),
    ROW(PRED, "nodes[].limit", "nodes_limit", "held back by", UNIT_NONE, FIELD_TEXT),
    ROW(PRED, "inverse.rate_bytes_per_s", "needed_bytes_per_s", "link needed for the target", UNIT_BYTES_PER_S, FIELD_GAUGE),
    ROW(PRED, "inverse.tokens_per_node", "needed_tokens", "tokens per node needed for it", UNIT_NONE, FIELD_GAUGE),

    ROW(LINK, "peer.name", "peer", "peer", UNIT_NONE, FIELD_TEXT),
    ROW(LINK, "link.name", "link_name", "link", UNIT_NONE, FIELD_TEXT),
    ROW(LINK, "link.interface", "interface", "interface", UNIT_NONE, FIELD_TEXT),
    ROW(LINK, "link.rate_bytes_per_s", "link_bytes_per_s", "rate, both ways at once", UNIT_BYTES_PER_S, FIELD_GAUGE),
    ROW(LINK, "link.rtt_s", "link_rtt_seconds", "round trip, idle", UNIT_SECONDS, FIELD_GAUGE),
    ROW(LINK, "link.latency.idle.p99", "link_rtt_p99_seconds", "round trip, idle, 99 %", UNIT_SECONDS, FIELD_GAUGE),
    ROW(LINK, "link.latency.loaded.duplex.p50", "link_loaded_rtt_seconds", "round trip beside both streams", UNIT_SECONDS, FIELD_GAUGE),
    ROW(LINK, "link.streams.a_to_b.rate_bytes_per_s.median", "a_to_b_bytes_per_s", "A to B alone", UNIT_BYTES_PER_S, FIELD_GAUGE),
    ROW(LINK, "link.streams.b_to_a.rate_bytes_per_s.median", "b_to_a_bytes_per_s", "B to A alone", UNIT_BYTES_PER_S, FIELD_GAUGE),
    ROW(LINK, "link.ends.a.retransmits", "a_retransmits", "segments A sent again", UNIT_NONE, FIELD_COUNT),
    ROW(LINK, "link.ends.b.retransmits", "b_retransmits", "segments B sent again", UNIT_NONE, FIELD_COUNT),
    {NULL, NULL, NULL, NULL, NULL, UNIT_NONE, FIELD_TEXT},
};
/* clang-format on */

const struct field *field_find(const char *path)
{
    for (const struct field *f = fields; f->path; f++)
        if (strcmp(f->path, path) == 0)
            return f;
    return NULL;
}

const char *field_unit_name(enum field_unit unit)
{
    static const char *const names[] = {[UNIT_NONE] = "",
                                        [UNIT_SECONDS] = "s",
                                        [UNIT_BYTES] = "bytes",
                                        [UNIT_BYTES_PER_S] = "bytes/s",
                                        [UNIT_TOKENS_PER_S] = "tokens/s",
                                        [UNIT_FLOPS] = "flop/s",
                                        [UNIT_RATIO] = "ratio"};
    return names[unit];
}

const char *field_kind_name(enum field_kind kind)
{
    static const char *const names[] = {"text", "count", "gauge", "flag"};
    return names[kind];
}

const char *field_format(char *buf, size_t size, enum field_unit unit, double x)
{
    char digits[64];
    if (!isfinite(x)) {
        snprintf(buf, size, "-");
        return buf;
    }
    switch (unit) {
    case UNIT_SECONDS:
        if (fabs(x) >= 1 || x == 0)
            snprintf(buf, size, "%s s", table_number(digits, sizeof digits, x));
        else if (fabs(x) >= 1e-3)
            snprintf(buf, size, "%s ms", table_number(digits, sizeof digits, x * 1e3));
        else
            snprintf(buf, size, "%s µs", table_number(digits, sizeof digits, x * 1e6));
        break;
    case UNIT_BYTES:
        table_bytes(buf, size, x);
        break;
    case UNIT_BYTES_PER_S:
        table_rate(buf, size, x);
        break;
    case UNIT_FLOPS:
        snprintf(buf, size, "%s GFLOP/s", table_number(digits, sizeof digits, x * 1e-9));
        break;
    case UNIT_TOKENS_PER_S:
    case UNIT_RATIO:
        table_number(buf, size, x);
        break;
    default:
        if (x == floor(x) && fabs(x) < 1e15)
            snprintf(buf, size, "%.0f", x);
        else
            table_number(buf, size, x);
    }
    return buf;
}

const char *field_null(const struct field *field)
{
    return field->kind == FIELD_TEXT ? "none" : "not known";
}

/* "a.b[3].c" has the reason of that path, of "a.b[3]", of "a.b" or of "a". */
const char *field_reason(const json_t *document, const char *path, const char *otherwise)
{
    const json_t *reasons = json_object_get(document, "reasons");
    char at[FIELD_PATH];
    snprintf(at, sizeof at, "%s", path);
    for (;;) {
        const char *why = json_string_value(json_object_get(reasons, at));
        if (why)
            return why;
        char *dot = strrchr(at, '.'), *bracket = strrchr(at, '[');
        char *cut = dot > bracket ? dot : bracket;
        if (!cut)
            return otherwise;
        *cut = '\0';
    }
}

/* Follows "b.c"; NULL if a member is missing, the null itself if one on the way is null. */
static const json_t *follow(const json_t *o, const char *path)
{
    char key[64];
    while (o && *path) {
        size_t n = strcspn(path, ".");
        if (json_is_null(o))
            return o;
        snprintf(key, sizeof key, "%.*s", (int)n, path);
        o = json_object_get(o, key);
        path += n + (path[n] == '.');
    }
    return o;
}

static bool fits(const json_t *value, enum field_kind kind)
{
    if (json_is_null(value))
        return true;
    return kind == FIELD_TEXT   ? json_is_string(value)
           : kind == FIELD_FLAG ? json_is_boolean(value)
                                : json_is_number(value);
}

static void tell(const json_t *document, struct field_value *v, void (*visit)(void *, const struct field_value *),
                 void *ctx)
{
    if (!v->value || !fits(v->value, v->field->kind))
        return;
    v->reason = NULL;
    if (json_is_null(v->value))
        v->reason = field_reason(document, v->path, v->field->kind == FIELD_TEXT ? "not given" : "not measured");
    visit(ctx, v);
}

void fields_each(const json_t *document, void (*visit)(void *ctx, const struct field_value *v), void *ctx)
{
    for (const struct field *f = fields; f->path; f++) {
        struct field_value v = {.field = f, .index = -1};
        const char *all = strstr(f->path, "[].");
        if (!all) {
            snprintf(v.path, sizeof v.path, "%s", f->path);
            v.value = follow(document, f->path);
            tell(document, &v, visit, ctx);
            continue;
        }
        char list[64];
        snprintf(list, sizeof list, "%.*s", (int)(all - f->path), f->path);
        const json_t *array = follow(document, list), *item;
        size_t i;
        json_array_foreach((json_t *)array, i, item)
        {
            snprintf(v.path, sizeof v.path, "%s[%zu].%s", list, i, all + 3);
            v.index = (int)i;
            v.of = json_string_value(json_object_get(item, "name"));
            v.value = follow(item, all + 3);
            tell(document, &v, visit, ctx);
        }
    }
}
