/* cli/job_judge.c - what makes the figures of a run doubtful: see job.h; start at job_judge(). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/stats.h"
#include "cli/job.h"
#include "cli/record.h"

#define SHORT_SHARE 0.03  /* of the time of an emulated link */
#define STOLEN_SHARE 0.02 /* of the processor time of the run: worth a word */

/* Neither can be beaten, so a step that seems to do so says something about the reference. */
static void doubt_references(struct job *s)
{
    const struct run *run = &s->run;
    double floors[RUN_FLOOR_MAX], *steps = malloc(((size_t)run->n + 1) * sizeof *steps);
    if (!steps || run->options.replay || run->n == 0 || run->floor_n == 0) {
        free(steps);
        return;
    }
    for (int i = 0; i < run->n; i++)
        steps[i] = run->sample[i].step_s;
    double step_s = stats_median(steps, (size_t)run->n);
    free(steps);
    memcpy(floors, run->floor_s, (size_t)run->floor_n * sizeof *floors);
    double floor_s = stats_median(floors, (size_t)run->floor_n);
    double flops = (double)run->net.B * run->net.T * run->options.accum * model_flops_per_token(&run->net.layout);
    if (floor_s > step_s)
        notes_add(&s->notes, "the floor is above the step: something else ran while the floor was measured");
    if (s->rate.flops_per_s * step_s < flops)
        notes_add(&s->notes, "the step did more operations per second than the product rate allows: something else ran "
                             "while that rate was measured");
}

void job_doubt_emulation(struct job *s)
{
    const struct pacer_cost *cost = &s->ranks.pacer.cost;
    double share = cost->short_s / (cost->busy_s + cost->short_s);
    if (s->options.emulate && share > SHORT_SHARE)
        notes_add(
            &s->notes,
            "the emulated link stood idle for %.0f %% of the time in which it was wanted: this machine is too busy "
            "to carry the rate asked for",
            100 * share);
}

/* A step in which everything stood still is kept, and told: a stopped process, a suspended machine, a network that was
 * away for a moment. */
static void tell_stalls(struct job *job)
{
    const struct run *run = &job->run;
    struct record_stalls stalls = record_stalls(run);
    if (stalls.n == 0)
        return;
    const struct run_sample *s = &run->sample[stalls.first];
    double exposed_s = run->options.world > 1 ? s->exposed_s : 0, agree_s = run->options.world > 1 ? s->agree_s : 0;
    notes_add(
        &job->notes,
        "step %d stood still: it took %.3g s, %.3g s of them waiting for another rank, and %.3g s passed around it%s; "
        "such steps are marked and kept",
        stalls.first, s->step_s, exposed_s, agree_s, stalls.n == 1 ? "" : ", and it was not the only one");
}

/* Marks on steps, and the node's grade. */
static void judge_steps(struct job *s, bool unsteady)
{
    struct judge_known known = {
        .alone_here = s->ranks.here == 1, .unsteady = unsteady, .stall_limit_s = record_stalls(&s->run).limit_s};
    struct err unjudged;
    s->judged = judge_run(&s->judgement, &s->run, s->watches ? &s->health : NULL, &known, &unjudged) == 0;
    if (s->judged && s->judgement.count[MARK_SUSPENDED] > 0)
        notes_add(&s->notes, "the machine slept during %d steps: they are marked and kept",
                  s->judgement.count[MARK_SUSPENDED]);
}

void job_judge(struct job *s)
{
    const struct counters *from = &s->before, *to = &s->after;
    struct record_halves h = record_halves(&s->run);
    judge_steps(s, h.unsteady);
    if (h.unsteady)
        notes_add(
            &s->notes,
            "unsteady: the median step took %.4g s in the first half of the run and %.4g s in the second; something "
            "else ran, or the clock changed",
            h.first_s, h.second_s);
    tell_stalls(s);
    if (from->throttled.known && to->throttled.known && to->throttled.periods > from->throttled.periods)
        notes_add(&s->notes, "the CPU quota held this process back in %llu periods, so the times contain waiting",
                  (unsigned long long)(to->throttled.periods - from->throttled.periods));
    if (heat_count_between(from->heat.core, to->heat.core) > 0 ||
        heat_count_between(from->heat.package, to->heat.package) > 0)
        notes_add(&s->notes, "the processor slowed itself down because of heat during the run");
    doubt_references(s);
    double stolen = (to->stolen_s - from->stolen_s) / (clock_seconds(from->at_ns, to->at_ns) * s->probe.threads);
    if (stolen > STOLEN_SHARE)
        notes_add(&s->notes, "the hypervisor gave %.1f %% of this machine's processor time to others during the run",
                  100 * stolen);
}
