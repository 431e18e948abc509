/* cli/job_deliver.c - a run's document, its file and its table: see job.h; start at job_deliver(). */
#include <math.h>
#include <string.h>

#include "cli/deliver.h"
#include "cli/job.h"
#include "cli/output.h"
#include "cli/predict_run.h"
#include "cli/record.h"
#include "report/table.h"

static struct record make_record(struct job *s)
{
    const struct counters *from = &s->before, *to = &s->after;
    bool known = from->throttled.known && to->throttled.known;
    s->probe.measured = (struct probe_measured){.threads = s->probe.threads,
                                                .memory = {.read_bytes_per_s = NAN, .triad_bytes_per_s = NAN},
                                                .clock_hz = NAN,
                                                .flops_per_s = s->rate.flops_per_s,
                                                .blas_kernel = gemm_core(),
                                                .blas_version = gemm_version(),
                                                .why = "a run does not measure it; the probe command does"};
    struct record r = {.argc = s->in->full_argc,
                       .argv = s->in->full_argv,
                       .label = s->options.label,
                       .run = &s->run,
                       .executed = s->executed,
                       .node = s->ranks.node ? s->ranks.node : s->probe.name,
                       .cpu = probe_cpu_name(&s->probe),
                       .threads_reason = s->probe.threads_reason,
                       .blas_kernel = gemm_core(),
                       .rate = s->rate,
                       .rate_seconds = JOB_RATE_SECONDS,
                       .start_ns = s->watches ? s->health.row[0].at_ns : s->before.at_ns,
                       .health = s->watches ? &s->health : NULL,
                       .watch = &s->watch,
                       .judgement = s->judged ? &s->judgement : NULL,
                       .cpu_of = s->probe.pinned,
                       .cpus_n = s->probe.pinned_n,
                       .cpus_reason = reasons_find(&s->probe.reasons, "pinned_cpus"),
                       .report = s->ranks.report,
                       .here = s->ranks.here,
                       .local_addr = s->ranks.local_addr,
                       .same_host = s->ranks.same_host,
                       .clock = s->ranks.same_host ? NULL : s->ranks.peers.clock,
                       .compute = &s->options.compute,
                       .emulated = s->options.emulate,
                       .link = &s->options.link,
                       .pacer_cost = s->ranks.pacer.cost,
                       .backend = s->options.backend,
                       .wire = s->ranks.wire,
                       .throttled_periods = known ? (double)(to->throttled.periods - from->throttled.periods) : NAN,
                       .throttled_reason = "no control group counts throttling",
                       .throttled_s = known ? to->throttled.seconds - from->throttled.seconds : NAN,
                       .core_heat_events = heat_count_between(from->heat.core, to->heat.core),
                       .package_heat_events = heat_count_between(from->heat.package, to->heat.package),
                       .stolen_s = to->stolen_s - from->stolen_s,
                       .notes = &s->notes,
                       .err = &s->err};
    memcpy(r.started, s->started, sizeof r.started);
    return r;
}

static json_t *document(struct job *s)
{
    struct record r = make_record(s);
    r.machine = probe_json(&s->probe);
    r.blas = blas_choice_json(&s->blas);
    r.usable_cpus = json_incref(json_object_get(r.machine, "usable_cpus"));
    json_t *d = record_json(&r);
    if (d)
        predict_run_add(d, s->prediction, s->unpredicted.code ? s->unpredicted.text : NULL);
    else
        json_decref(s->prediction);
    s->prediction = NULL;
    struct err unmade;
    if (d && s->kind->name)
        json_object_set_new(d, "kind", json_string(s->kind->name));
    if (d && s->kind->add && s->kind->add(d, &s->run, r.health, r.start_ns, &unmade)) {
        json_decref(d);
        d = NULL;
    }
    json_decref(r.machine);
    json_decref(r.blas);
    json_decref(r.usable_cpus);
    return d;
}

int job_deliver(struct job *s)
{
    const struct delivery d = {.in = s->in,
                               .err = &s->err,
                               .results_dir = s->options.results_dir,
                               .started = s->started,
                               .name = s->kind->name ? s->kind->name : s->run.spec.name,
                               .worth = s->run.n > 0 || s->err.code == ERR_OK,
                               .render = table_render};
    return deliver(&d, document(s));
}

int job_report(struct job *s)
{
    struct record r = make_record(s);
    json_t *report = record_report(&r);
    ranks_report(&s->ranks, report, &s->err);
    json_decref(report);
    return (int)s->err.code;
}
