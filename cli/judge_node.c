/* cli/judge_node.c - see judge.h: the grade of a node. Start at judge_node(), at the end: a list of what can be wrong. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/judge.h"

#define MANY_STEPS 0.05  /* marked steps: D from here on */
#define QUOTA_SHARE 0.01 /* of the run's time: D */
#define STOLEN_SOME 0.02 /* of the threads' time: C */
#define STOLEN_MUCH 0.10 /* D */
#define CROWD_SOME 0.25  /* CPUs: C */
#define CROWD_MUCH 0.25  /* of the threads: D */
#define SPREAD_SOME 0.03 /* sigma / median: B */
#define SPREAD_MUCH 0.10 /* C */

__attribute__((format(printf, 4, 5))) static void find(struct judgement *j, char grade, const char *remedy,
                                                       const char *fmt, ...)
{
    va_list ap;
    if (j->findings == JUDGE_FINDINGS_MAX)
        return;
    struct judge_finding *f = &j->finding[j->findings++];
    f->grade = grade;
    f->remedy = remedy;
    va_start(ap, fmt);
    vsnprintf(f->reason, sizeof f->reason, fmt, ap);
    va_end(ap);
}

static double grown(const struct health *health, enum health_column column)
{
    return health_value(health, column, health->n - 1);
}

static void judge_sleep(struct judgement *j, const struct health *health)
{
    double slept_s = grown(health, HEALTH_SUSPENDED_S);
    if (slept_s > 0.1)
        find(j, 'D', "keep it awake (systemd-inhibit COMMAND, or the lid open) and run again",
             "the machine slept for %.0f s during the run", ceil(slept_s));
}

static void judge_heat(struct judgement *j, const struct health *health)
{
    double core = grown(health, HEALTH_CORE_EVENTS), package = grown(health, HEALTH_PACKAGE_EVENTS);
    static const char remedy[] = "let air in (fans, a hard surface, a cooler room); soak shows how far it slows down";
    if (core > 0 || package > 0)
        find(j, j->hot > MANY_STEPS * j->n ? 'D' : 'C', remedy,
             "the processor slowed itself down because of heat (%.0f times; during %d of %d steps)",
             fmax(core > 0 ? core : 0, package > 0 ? package : 0), j->hot, j->n);
    if (j->slow_clock > 0)
        find(j, j->slow_clock > MANY_STEPS * j->n ? 'D' : 'C', remedy,
             "the clock fell while %d of %d steps ran, and they took longer", j->slow_clock, j->n);
}

static void judge_others(struct judgement *j, const struct run *run, const struct health *health,
                         const struct judge_known *known)
{
    const struct health_row *first = &health->row[0], *last = &health->row[health->n - 1];
    double seconds = (double)(last->at_ns - first->at_ns) * 1e-9;
    double quota = grown(health, HEALTH_QUOTA_PERIODS), quota_s = grown(health, HEALTH_QUOTA_S) / run->options.threads;
    if (quota > 0)
        find(j, quota_s > QUOTA_SHARE * seconds ? 'D' : 'C',
             "raise the CPU quota of its control group, or take fewer threads",
             "the CPU quota held it back in %.0f periods", quota);
    double stolen = grown(health, HEALTH_STOLEN_S) / (seconds * run->options.threads);
    if (stolen > STOLEN_SOME)
        find(j, stolen > STOLEN_MUCH ? 'D' : 'C', "ask for CPUs of its own, or measure when the host is quiet",
             "the hypervisor gave %.1f %% of the threads' time to others", 100 * stolen);
    double crowd = judge_crowding(run, health, known, first->at_ns, last->at_ns);
    if (crowd > CROWD_SOME)
        find(j, crowd > CROWD_MUCH * run->options.threads ? 'D' : 'C', "end other programs, or take fewer threads",
             "other processes wanted %.1f of the CPUs that the run computed on", crowd);
}

static void judge_power(struct judgement *j, const struct health *health)
{
    bool battery = false, mains = false;
    for (int i = 0; i < health->n; i++) {
        battery |= health->row[i].source == POWER_BATTERY;
        mains |= health->row[i].source == POWER_MAINS;
    }
    if (battery)
        find(j, 'C', "connect it to mains for the whole run",
             mains ? "it changed between mains and battery during the run" : "it ran on its battery");
    const struct frequency *f = &health->probe->frequency;
    bool own_ways = strncmp(f->driver, "intel_pstate", 12) == 0 || strncmp(f->driver, "amd-pstate", 10) == 0 ||
                    strncmp(f->driver, "amd_pstate", 10) == 0;
    if ((strstr(f->governor, "powersave") && !own_ways) || strstr(f->governor, "ondemand") ||
        strstr(f->governor, "conservative"))
        find(j, 'B', "choose the performance governor (cpupower frequency-set -g performance)",
             "the governor %s lets the clock fall between bursts", f->governor);
}

static void judge_times(struct judgement *j, const struct run *run, const struct judge_known *known)
{
    if (known->unsteady)
        find(j, 'C', "look in the node's series for what changed, and run longer",
             "the steps of the second half took another time than those of the first");
    if (j->count[MARK_STALLED] > 0)
        find(j, (double)j->count[MARK_STALLED] / j->n > MANY_STEPS ? 'D' : 'C', "find what stopped it, and run again",
             "%d of %d steps stood still", j->count[MARK_STALLED], j->n);
    double *work = malloc(2 * (size_t)j->n * sizeof *work);
    if (!work)
        return;
    for (int i = 0; i < j->n; i++)
        work[i] = judge_work_s(run, i);
    struct summary s = stats_summary(work, (size_t)j->n, work + j->n);
    double spread = 1.4826 * s.mad / s.median;
    free(work);
    if (spread > SPREAD_SOME)
        find(j, spread > SPREAD_MUCH ? 'C' : 'B', "end other programs, and take more steps",
             "the work of a step varies by %.0f %% (one standard deviation)", 100 * spread);
}

/* What would not have been seen. */
static void judge_senses(struct judgement *j, const struct health *health)
{
    bool clock = strncmp(health->probe->frequency.current_source, "cpufreq/", 8) == 0;
    bool events = health->row[0].events.core >= 0 || health->row[0].events.package >= 0;
    bool heat = health->row[0].mdegc != INT64_MIN;
    if (!clock && !events && !heat)
        find(j, 'B', "measure outside of a virtual machine, or load the sensors' driver (coretemp, k10temp)",
             "neither temperature nor a clock that moves can be read here, so throttling would go unseen");
}

static int by_grade(const void *a, const void *b)
{
    const struct judge_finding *x = a, *y = b;
    return (y->grade > x->grade) - (y->grade < x->grade);
}

void judge_node(struct judgement *j, const struct run *run, const struct health *health,
                const struct judge_known *known)
{
    if (!health || health->n < 2)
        j->ungraded_why = "this rank took no readings: the first rank of its node did";
    else if (run->options.replay)
        j->ungraded_why = "computing was replayed, not done";
    else if (j->n < JUDGE_STEPS_MIN)
        j->ungraded_why = "fewer than five timed steps";
    if (j->ungraded_why)
        return;
    judge_sleep(j, health);
    judge_heat(j, health);
    judge_others(j, run, health, known);
    judge_power(j, health);
    judge_times(j, run, known);
    judge_senses(j, health);
    qsort(j->finding, (size_t)j->findings, sizeof *j->finding, by_grade);
    j->grade = j->findings ? j->finding[0].grade : 'A';
}
