/*
 * cli/record_ranks.c - see record.h: the part of the document that says which ranks there were, what communication
 * cost and what it brought. Start at record_add_ranks(), at the end. Times within a step are rank 0's; the other ranks
 * tell theirs in summary, each in its report.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"
#include "cli/record_parts.h"
#include "model/kernels.h"

#define STRAGGLER_EXCESS 0.05 /* of the slowest of the others */

static double number_at(const json_t *o, const char *a, const char *b)
{
    const json_t *x = json_object_get(o, a);
    x = b ? json_object_get(x, b) : x;
    return json_is_number(x) ? json_number_value(x) : NAN;
}

/* ---- nodes ---- */

/* What the step did on this rank: work is all that was no waiting for communication. */
static int add_work(json_t *root, json_t *o, const char *node, const struct run *run)
{
    int n = record_good_steps(run);
    struct record_column c = record_column_make(n > RUN_ALONE_MAX ? n : RUN_ALONE_MAX);
    if (!c.value)
        return -1;
    const struct run_sample *s = run->sample;
    size_t stride = sizeof *s / sizeof(double);
    json_t *summary = json_object();
    char path[64];
    snprintf(path, sizeof path, "%s.summary", node);
    json_known_summary(root, summary, path, "step_s", record_strided(&c, n ? &s->step_s : NULL, stride, n),
                       record_no_steps);
    for (int i = 0; i < n; i++)
        c.value[i] = s[i].step_s - s[i].exposed_s;
    json_known_summary(root, summary, path, "compute_s", record_column_summary(&c, n), record_no_steps);
    json_known_summary(root, summary, path, "exposed_s", record_strided(&c, n ? &s->exposed_s : NULL, stride, n),
                       record_no_steps);
    json_known_summary(root, summary, path, "wait_s", record_strided(&c, n ? &s->wait_s : NULL, stride, n),
                       n && run->why_opaque ? run->why_opaque : record_no_steps);
    json_known_summary(root, summary, path, "seal_s", record_strided(&c, n ? &s->seal_s : NULL, stride, n),
                       n && run->why_opaque ? run->why_opaque : record_no_steps);
    record_set(o, "summary", summary);
    for (int i = 0; i < run->alone_n; i++)
        c.value[i] = run->alone_s[i];
    struct summary alone = record_column_summary(&c, run->alone_n);
    const char *why = run->options.baseline ? "the run ended before it" : "no baseline was asked for (--no-baseline)";
    json_known_summary(root, o, node, "alone_step_s", alone, run->options.steps == 0 ? record_no_steps : why);
    double tokens = (double)run->net.B * run->net.T * run->options.accum;
    json_known(root, o, node, "alone_tokens_per_s", json_num(tokens / alone.median),
               run->options.steps == 0 ? record_no_steps : why);
    free(c.value);
    return 0;
}

static void add_cpus(json_t *root, json_t *o, const char *node, const struct record *r)
{
    if (r->cpus_n == 0) {
        json_known(root, o, node, "cpus", NULL, r->cpus_reason ? r->cpus_reason : "threads are not bound");
        return;
    }
    json_t *list = json_array();
    for (int i = 0; i < r->cpus_n; i++)
        json_array_append_new(list, r->cpu_of[i] >= 0 ? json_integer(r->cpu_of[i]) : json_null());
    record_set(o, "cpus", list);
}

static void put_held(json_t *root, json_t *o, const char *path, const char *key, int64_t value, bool reached)
{
    json_known(root, o, path, key, reached && value >= 0 ? json_integer((json_int_t)value) : NULL,
               reached ? "the kernel does not say" : "the run ended before it");
}

/* What the process held before the first and after the last timed step. */
static void add_footprint(json_t *root, json_t *o, const char *node, const struct run *run)
{
    json_t *memory = json_object(), *fds = json_object();
    char path[64];
    snprintf(path, sizeof path, "%s.memory", node);
    put_held(root, memory, path, "start_bytes", run->before.rss_bytes, run->timed);
    put_held(root, memory, path, "end_bytes", run->after.rss_bytes, run->timed);
    snprintf(path, sizeof path, "%s.fds", node);
    put_held(root, fds, path, "start", run->before.fds, run->timed);
    put_held(root, fds, path, "end", run->after.fds, run->timed);
    record_set(o, "memory", memory);
    record_set(o, "fds", fds);
}

/* This rank's own entry; root takes the reasons. */
static json_t *node_json(json_t *root, const struct record *r)
{
    const struct run *run = r->run;
    int rank = run->options.rank;
    bool several = run->options.world > 1;
    json_t *o = json_object();
    char node[32], name[128];
    snprintf(node, sizeof node, "nodes[%d]", rank);
    snprintf(name, sizeof name, r->here > 1 && r->node ? "%.80s#%d" : "%.80s", r->node ? r->node : "", rank);
    json_known(root, o, node, "name", output_string_if(name), "the host has no name");
    json_known(root, o, node, "cpu", output_string_if(r->cpu), "the processor does not say its name");
    record_set(o, "threads", json_integer(run->options.threads));
    json_known(root, o, node, "threads_reason", output_string_if(r->threads_reason), "unknown");
    json_known(root, o, node, "blas_kernel", output_string_if(r->blas_kernel), "OpenBLAS does not say");
    json_known(root, o, node, "kernels", output_string_if(run->net.k ? run->net.k->name : NULL), "no step was run");
    add_footprint(root, o, node, run);
    record_add_health(root, o, r, rank);
    if (!several)
        return o;
    record_set(o, "rank", json_integer(rank));
    add_cpus(root, o, node, r);
    record_set(o, "batch", json_integer(run->net.B));
    json_known(root, o, node, "product_rate_flops_per_s", json_num(r->rate.flops_per_s),
               "memory is too short to measure it");
    record_set(o, "peak_bytes", json_integer((json_int_t)run->peak_rss_bytes));
    if (add_work(root, o, node, run) == 0)
        return o;
    json_decref(o);
    return NULL;
}

json_t *record_report(const struct record *r)
{
    json_t *root = json_object(), *node = node_json(root, r), *warnings = json_array();
    for (int i = 0; i < r->notes->n; i++)
        json_array_append_new(warnings, output_string(r->notes->text[i]));
    record_set(root, "node", node ? node : json_null());
    record_set(root, "warnings", warnings);
    record_set(root, "timeline", record_timeline(r->run));
    if (r->err->code)
        output_set_error(root, r->err);
    return root;
}

static void add_reported(json_t *root, json_t *nodes, const json_t *report, int rank)
{
    json_t *node = json_object_get(report, "node"), *reasons = json_object_get(report, "reasons");
    if (json_is_object(node)) {
        json_array_append(nodes, node);
        if (json_is_object(reasons) && json_object_get(root, "reasons"))
            json_object_update(json_object_get(root, "reasons"), reasons);
        else if (json_is_object(reasons))
            record_set(root, "reasons", json_deep_copy(reasons));
        return;
    }
    char path[32];
    snprintf(path, sizeof path, "nodes[%d]", rank);
    json_t *o = json_object();
    record_set(o, "rank", json_integer(rank));
    json_known(root, o, path, "summary", NULL, "the rank ended before it could tell");
    json_array_append_new(nodes, o);
}

/* How the clock of a rank stands against rank 0's. */
static void add_clock(json_t *root, json_t *node, int rank, const struct clock_offset *clock)
{
    char path[64];
    double drift = NAN, drift_error = NAN;
    const struct clock_reading *first = !clock ? NULL : clock->before.known ? &clock->before : &clock->after;
    bool known = !first || first->known, drifts = clock && clock_offset_drift(clock, &drift, &drift_error);
    const char *why = "its clock was not compared with rank 0's", *once = "the clocks were compared only once";
    snprintf(path, sizeof path, "nodes[%d]", rank);
    json_known(root, node, path, "clock",
               output_string_if(!known  ? NULL
                                : first ? "measured"
                                : rank  ? "shared"
                                        : "reference"),
               why);
    json_known(root, node, path, "clock_offset_s", json_num(!known ? NAN : first ? first->offset_ns * 1e-9 : 0), why);
    json_known(root, node, path, "clock_offset_error_s",
               json_num(!known  ? NAN
                        : first ? clock_offset_error_ns(clock) * 1e-9
                                : 0),
               why);
    json_known(root, node, path, "clock_drift", json_num(first ? drift : 0), known ? once : why);
    json_known(root, node, path, "clock_drift_error", json_num(first ? drift_error : 0), known ? once : why);
    if (drifts)
        record_set(node, "clock_at_ns", json_integer((json_int_t)first->at_ns));
}

int record_add_nodes(json_t *root, const struct record *r)
{
    json_t *nodes = json_array(), *own = node_json(root, r);
    int world = r->run->options.world;
    record_set(root, "nodes", nodes);
    record_set(root, "world", json_integer(world));
    record_set(root, "same_host", json_boolean(world > 1 && r->same_host));
    if (!own)
        return -1;
    json_array_append_new(nodes, own);
    for (int rank = 1; rank < world; rank++)
        add_reported(root, nodes, r->report ? r->report[rank - 1] : NULL, rank);
    for (int rank = 0; rank < world && world > 1; rank++)
        add_clock(root, json_array_get(nodes, (size_t)rank), rank, rank && r->clock ? &r->clock[rank - 1] : NULL);
    if (r->usable_cpus)
        record_set(root, "usable_cpus", json_incref(r->usable_cpus));
    else
        json_unknown(root, root, "usable_cpus", "usable_cpus", "not probed");
    return 0;
}

/* ---- communication ---- */

/* A bucket's times; those that the transport does not tell are null, and one reason stands for all buckets. */
static json_t *bucket_json(json_t *root, const struct run *run, int b, const struct record_column *c, int n)
{
    char path[64];
    static const struct {
        const char *name;
        int column;
    } times[] = {{"ready_s", RUN_BUCKET_READY}, {"start_s", RUN_BUCKET_START}, {"first_byte_s", RUN_BUCKET_FIRST_BYTE},
                 {"end_s", RUN_BUCKET_END},     {"wait_s", RUN_BUCKET_WAIT},   {"move_s", RUN_BUCKET_MOVE},
                 {"sum_s", RUN_BUCKET_SUM},     {"check_s", RUN_BUCKET_CHECK}, {"seal_s", RUN_BUCKET_SEAL}};
    size_t stride = (size_t)run->buckets * RUN_BUCKET_COLUMNS;
    const double *first = run->bucket_s + (size_t)b * RUN_BUCKET_COLUMNS;
    json_t *o = json_object();
    record_set(o, "tensors", json_integer(run->bucket[b].tensors));
    record_set(o, "bytes", json_integer((json_int_t)record_strided(c, first + RUN_BUCKET_BYTES, stride, n).median));
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        struct summary s = record_strided(c, first + times[i].column, stride, n);
        snprintf(path, sizeof path, "communication.buckets[].%s", times[i].name);
        if (isfinite(s.median) || !run->why_opaque)
            record_set(o, times[i].name, json_summary(s));
        else
            json_unknown(root, o, times[i].name, path, run->why_opaque);
    }
    return o;
}

static void add_buckets(json_t *root, json_t *o, const struct run *run, const struct record_column *c, int n)
{
    if (n == 0) {
        json_unknown(root, o, "buckets", "communication.buckets", record_no_steps);
        return;
    }
    json_t *list = json_array();
    for (int b = 0; b < run->buckets; b++)
        json_array_append_new(list, bucket_json(root, run, b, c, n));
    record_set(o, "buckets", list);
}

/* The rank whose work takes longer than that of all the others. */
static void add_straggler(json_t *root, json_t *o)
{
    json_t *nodes = json_object_get(root, "nodes"), *node;
    size_t i, slowest = 0;
    double most = -1, second = -1;
    bool known = true;
    json_array_foreach(nodes, i, node)
    {
        double s = number_at(json_object_get(node, "summary"), "compute_s", "median");
        known &= isfinite(s);
        if (s > most) {
            second = most;
            most = s;
            slowest = i;
        } else if (s > second) {
            second = s;
        }
    }
    if (!known || !(most > second * (1 + STRAGGLER_EXCESS))) {
        json_unknown(root, o, "straggler", "communication.straggler",
                     known ? "no rank works 5 % longer than the others" : "not all ranks measured their work");
        return;
    }
    json_t *s = json_object();
    record_set(s, "rank", json_integer((json_int_t)slowest));
    record_set(s, "compute_s", json_num(most));
    record_set(s, "others_s", json_num(second));
    record_set(o, "straggler", s);
}

static int add_communication(json_t *root, const struct record *r)
{
    const struct run *run = r->run;
    const struct run_options *p = &run->options;
    int n = record_good_steps(run);
    struct record_column c = record_column_make(n);
    if (!c.value)
        return -1;
    const struct run_sample *s = run->sample;
    size_t stride = sizeof *s / sizeof(double);
    json_t *o = json_object();
    record_set(o, "rank", json_integer(p->rank));
    json_known(root, o, "communication", "transport", output_string_if(run->transport), "the run ended before it");
    record_set(o, "schedule", json_string(p->schedule == SCHEDULE_SPLIT ? "split" : "ddp"));
    json_known(root, o, "communication", "bucket_mb", json_num(p->bucket_mib > 0 ? p->bucket_mib : NAN),
               "PyTorch's default: 1 MiB for the first bucket, 25 MiB for the others");
    json_known(root, o, "communication", "total_s",
               json_num(record_strided(&c, n ? &s->communication_s : NULL, stride, n).median), record_no_steps);
    json_known(root, o, "communication", "exposed_s",
               json_num(record_strided(&c, n ? &s->exposed_s : NULL, stride, n).median), record_no_steps);
    for (int i = 0; i < n; i++)
        c.value[i] = fmax(0, s[i].communication_s - s[i].exposed_s);
    json_known(root, o, "communication", "hidden_s", json_num(record_column_summary(&c, n).median), record_no_steps);
    json_known(root, o, "communication", "cpu_s", json_num(record_strided(&c, n ? &s->cpu_s : NULL, stride, n).median),
               n && run->why_opaque ? run->why_opaque : record_no_steps);
    json_known(
        root, o, "communication", "slice_s", json_num(run->slice_ns ? (double)run->slice_ns * 1e-9 : NAN),
        n ? "the kernel does not tell slices of threads (Linux does from 6.12 on), or schedules this one otherwise"
          : record_no_steps);
    json_known(root, o, "communication", "congestion_control", output_string_if(run->congestion),
               "gradients did not travel over a TCP connection of this program's own");
    record_set(o, "optimizer_per_bucket", json_boolean(p->update == RUN_UPDATE_BUCKET));
    json_known(root, o, "communication", "hidden_optimizer_s",
               json_num(record_strided(&c, n ? &s->hidden_update_s : NULL, stride, n).median), record_no_steps);
    const char *untold = n && run->why_opaque ? run->why_opaque : record_no_steps;
    json_known(root, o, "communication", "seal_s",
               json_num(record_strided(&c, n ? &s->seal_s : NULL, stride, n).median), untold);
    double payload = record_strided(&c, n ? &s->payload_bytes : NULL, stride, n).median;
    json_known(root, o, "communication", "payload_bytes_per_step",
               isfinite(payload) ? json_integer((json_int_t)payload) : NULL, untold);
    double bytes = record_strided(&c, n ? &s->sent_bytes : NULL, stride, n).median;
    json_known(root, o, "communication", "bytes_per_step", isfinite(bytes) ? json_integer((json_int_t)bytes) : NULL,
               !n                ? record_no_steps
               : run->why_opaque ? "gradients take connections that are not this program's"
                                 : "the kernel does not count them");
    add_buckets(root, o, run, &c, n);
    record_add_arithmetic(root, o, run, n);
    add_straggler(root, o);
    free(c.value);
    record_set(root, "communication", o);
    return 0;
}

/* ---- speed-up ---- */

static void add_speedup(json_t *root, const struct record *r)
{
    json_t *nodes = json_object_get(root, "nodes"), *node, *o = json_object();
    size_t i, fastest = 0;
    double best = 0, own = NAN, rate = number_at(json_object_get(root, "summary"), "tokens_per_s", "median");
    bool known = isfinite(rate);
    json_array_foreach(nodes, i, node)
    {
        double alone = number_at(node, "alone_tokens_per_s", NULL);
        known &= isfinite(alone);
        if (i == 0)
            own = alone;
        if (alone > best) {
            best = alone;
            fastest = i;
        }
    }
    const char *why = !r->run->n                  ? record_no_steps
                      : !r->run->options.baseline ? "no baseline was asked for (--no-baseline)"
                                                  : "not every rank was timed alone";
    node = json_array_get(nodes, fastest);
    json_known(root, o, "speedup", "measured", json_num(known ? rate / best : NAN), why);
    json_known(root, o, "speedup", "scaling", json_num(known ? rate / best / r->run->options.world : NAN), why);
    json_known(root, o, "speedup", "baseline_node",
               output_string_if(known ? json_string_value(json_object_get(node, "name")) : NULL), why);
    json_known(root, o, "speedup", "baseline_step_s", json_num(known ? number_at(node, "alone_step_s", "median") : NAN),
               why);
    json_known(root, o, "speedup", "vs_this_node", json_num(known ? rate / own : NAN), why);
    record_set(root, "speedup", o);
}

/* A link that is not real is told wherever results are read. */
static void add_emulated(json_t *root, const struct record *r)
{
    const struct emulate *m = r->link;
    const struct pacer_cost *cost = &r->pacer_cost;
    char text[160];
    if (!r->emulated) {
        json_unknown(root, root, "emulated", "emulated", "the connections are as they are (no --emulate)");
        return;
    }
    json_t *o = json_object();
    record_set(o, "option", output_string(r->emulated));
    record_set(o, "link", json_string(emulate_describe(text, sizeof text, m)));
    json_known(root, o, "emulated", "rate_bytes_per_s", json_num(m->rate_bytes_per_s > 0 ? m->rate_bytes_per_s : NAN),
               "no rate was asked for");
    record_set(o, "rtt_s", json_real(m->rtt_s));
    record_set(o, "jitter_s", json_real(m->jitter_s));
    record_set(o, "half_duplex", json_boolean(m->half_duplex));
    record_set(o, "pacer_cpu_s", json_real(cost->cpu_s));
    json_known(root, o, "emulated", "short_share", json_num(cost->short_s / (cost->busy_s + cost->short_s)),
               "nothing was paced by a rate");
    record_set(root, "emulated", o);
}

/* How the gradients travelled. */
static void add_way(json_t *root, const struct record *r)
{
    enum backend_kind kind = r->backend ? r->backend->kind : BACKEND_RING;
    const char *wire = r->wire && *r->wire ? r->wire : NULL;
    const char *mpi = "MPI chooses the way and does not tell";
    json_known(root, root, "", "local_addr", output_string_if(r->local_addr),
               kind == BACKEND_LAUNCHED ? mpi : "no other rank was reached");
    if (kind == BACKEND_LAUNCHED)
        json_unknown(root, root, "wire", "wire", mpi);
    else
        json_known(root, root, "", "wire", output_string_if(wire), "no other rank was reached");
    if (kind == BACKEND_LAUNCHED)
        json_unknown(root, root, "integrity", "integrity", mpi);
    else if (kind == BACKEND_BESIDE)
        json_unknown(root, root, "integrity", "integrity", "gloo checks nothing beyond what TCP does");
    else
        json_known(root, root, "", "integrity",
                   output_string_if(!wire                   ? NULL
                                    : strcmp(wire, "clear") ? "aead"
                                                            : "crc32c"),
                   "no other rank was reached");
}

int record_add_ranks(json_t *root, const struct record *r)
{
    if (r->run->options.world == 1) {
        static const char *const between[] = {"link", "communication", "local_addr", "wire", "integrity"};
        for (size_t i = 0; i < sizeof between / sizeof *between; i++)
            json_unknown(root, root, between[i], between[i], "one node: no communication");
        json_unknown(root, root, "emulated", "emulated", "one node: no communication");
        json_unknown(root, root, "speedup", "speedup", "one node: nothing to compare with");
        return 0;
    }
    add_emulated(root, r);
    json_unknown(root, root, "link", "link",
                 r->emulated    ? "the link is emulated: see emulated"
                 : r->same_host ? "the ranks share a host: loopback is not measured as a link"
                                : "a run does not measure the link by itself; ddpbench link does");
    add_way(root, r);
    add_speedup(root, r);
    return add_communication(root, r);
}
