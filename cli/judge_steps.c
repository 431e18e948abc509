/* cli/judge_steps.c - see judge.h: marks on steps, and the steady part. Start at judge_run(), at the end. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/judge.h"

const char *const judge_mark_names[JUDGE_MARKS] = {
    [MARK_THROTTLED] = "throttled", [MARK_STALLED] = "stalled", [MARK_NOISY] = "noisy", [MARK_SUSPENDED] = "suspended"};

enum { NEIGHBOURS = 5, WINDOW = 5 }; /* steps on either side; steps whose median is compared */

#define SLEPT_S 0.1       /* two clocks read one after the other differ by microseconds */
#define NOISY_SHARE 0.05  /* longer than its neighbours, at least, */
#define NOISY_SIGMAS 4.0  /* and by so many standard deviations */
#define STOLEN_SHARE 0.02 /* of the threads' time */
#define CROWDED_CPUS 0.25 /* beyond those that are free */
#define CLOCK_SHARE 0.90  /* of the clock's usual upper value */
#define CLOCK_SLOWER 1.05 /* and the step took so many times the median */
#define STEADY_SHARE 0.02 /* of the second half's median */
#define SIGMA_OF_MAD 1.4826
#define ERROR_OF_MEDIAN 1.2533 /* x sigma / sqrt(n), of normal samples */

double judge_work_s(const struct run *run, int step)
{
    const struct run_sample *s = &run->sample[step];
    return s->step_s - (run->options.world > 1 ? s->exposed_s : 0);
}

static uint64_t end_ns(const struct run_sample *s)
{
    return s->start_ns + (uint64_t)(s->step_s * 1e9);
}

static void mark(struct judgement *j, int step, enum judge_mark which)
{
    if (!(j->mark[step] & 1u << which))
        j->count[which]++;
    j->mark[step] |= (unsigned char)(1u << which);
}

/* ---- by their times ---- */

static void mark_stalled(struct judgement *j, const struct run *run, double limit_s)
{
    for (int i = 0; i < j->n; i++) {
        const struct run_sample *s = &run->sample[i];
        if (s->step_s + (run->options.world > 1 ? s->agree_s : 0) > limit_s) /* NaN: no limit is known */
            mark(j, i, MARK_STALLED);
    }
}

/* Against the median of its neighbours and not of the run, so that drift makes no noise. Returns a step's standard deviation,
 * relative. */
static double mark_outliers(struct judgement *j, const struct run *run, double *excess, double *scratch)
{
    int n = j->n;
    for (int i = 0; i < n; i++) {
        int low = i > NEIGHBOURS ? i - NEIGHBOURS : 0, high = i + NEIGHBOURS < n ? i + NEIGHBOURS : n - 1;
        for (int k = low; k <= high; k++)
            scratch[k - low] = judge_work_s(run, k);
        excess[i] = judge_work_s(run, i) / stats_median(scratch, (size_t)(high - low + 1)) - 1;
    }
    double sigma = SIGMA_OF_MAD * stats_summary(excess, (size_t)n, scratch).mad;
    for (int i = 0; i < n && n >= JUDGE_STEPS_MIN; i++)
        if (excess[i] > fmax(NOISY_SHARE, NOISY_SIGMAS * sigma) && !(j->mark[i] & 1u << MARK_STALLED))
            mark(j, i, MARK_NOISY);
    return sigma;
}

/* ---- by the node's readings ---- */

double judge_crowding(const struct run *run, const struct health *health, const struct judge_known *known,
                      uint64_t from_ns, uint64_t to_ns)
{
    const struct probe *probe = health->probe;
    int first, last, cpus = probe->online_cpus > 0 ? probe->online_cpus : probe->cores;
    if (!known->alone_here || health->n < 2)
        return NAN;
    health_rows_around(health, from_ns, to_ns, &first, &last);
    double used_s = 0;
    for (int i = first + 1; i <= last; i++)
        used_s += health_value(health, HEALTH_OTHER_CPUS, i) *
                  ((double)(health->row[i].at_ns - health->row[i - 1].at_ns) * 1e-9);
    double seconds = (double)(health->row[last].at_ns - health->row[first].at_ns) * 1e-9;
    int left = cpus - run->options.threads;
    return used_s / seconds - (left > 0 ? left : 0);
}

/* The 90 % quantile of the clock over the timed steps: what it is when nothing holds it down. */
static double usual_clock_hz(const struct run *run, const struct health *health)
{
    double hz[HEALTH_ROWS_MAX];
    int n = 0, first, last;
    health_rows_around(health, run->sample[0].start_ns, end_ns(&run->sample[run->n - 1]), &first, &last);
    for (int i = first; i <= last; i++)
        if (isfinite(health->row[i].clock_hz))
            hz[n++] = health->row[i].clock_hz;
    if (n == 0)
        return NAN;
    stats_median(hz, (size_t)n); /* sorts */
    return stats_quantile_sorted(hz, (size_t)n, 0.9);
}

static double clock_around(const struct health *health, uint64_t from_ns, uint64_t to_ns)
{
    double sum = 0;
    int first, last;
    health_rows_around(health, from_ns, to_ns, &first, &last);
    for (int i = first; i <= last; i++)
        sum += health->row[i].clock_hz;
    return sum / (last - first + 1);
}

static void mark_by_readings(struct judgement *j, const struct run *run, const struct health *health,
                             const struct judge_known *known, double median_s)
{
    double usual_hz = usual_clock_hz(run, health);
    for (int i = 0; i < j->n; i++) {
        const struct run_sample *s = &run->sample[i];
        uint64_t from = s->start_ns, to = end_ns(s);
        int first, last;
        health_rows_around(health, from, to, &first, &last);
        double seconds = (double)(health->row[last].at_ns - health->row[first].at_ns) * 1e-9;
        bool hot = health_growth(health, HEALTH_CORE_EVENTS, from, to) > 0 ||
                   health_growth(health, HEALTH_PACKAGE_EVENTS, from, to) > 0,
             quota = health_growth(health, HEALTH_QUOTA_PERIODS, from, to) > 0,
             slow = clock_around(health, from, to) < CLOCK_SHARE * usual_hz &&
                    judge_work_s(run, i) > CLOCK_SLOWER * median_s;
        if (hot || quota || slow)
            mark(j, i, MARK_THROTTLED);
        j->hot += hot;
        j->slow_clock += slow && !hot && !quota;
        if (health_growth(health, HEALTH_SUSPENDED_S, from, to) > SLEPT_S)
            mark(j, i, MARK_SUSPENDED);
        if (health_growth(health, HEALTH_STOLEN_S, from, to) > STOLEN_SHARE * seconds * run->options.threads ||
            judge_crowding(run, health, known, from, to) > CROWDED_CPUS)
            mark(j, i, MARK_NOISY);
    }
}

/* ---- the steady part ---- */

/* The first step, in the first half, from which on every window of steps has the median of the second half: within a share
 * of it, or what windows of so many steps differ by anyway. */
static void find_steady(struct judgement *j, const struct run *run, double sigma, double *work, double *scratch)
{
    int n = j->n, half = n / 2;
    j->steady_from = -1;
    j->steady = (struct summary){NAN, NAN, 0};
    j->unsteady_why = "fewer than ten timed steps";
    if (n < JUDGE_STEADY_STEPS_MIN)
        return;
    for (int i = 0; i < n; i++)
        work[i] = judge_work_s(run, i);
    struct summary end = stats_summary(work + n - half, (size_t)half, scratch);
    double apart = fmax(STEADY_SHARE * end.median, 3 * ERROR_OF_MEDIAN * sigma * end.median / sqrt(WINDOW));
    int from = n;
    for (int i = n - WINDOW; i >= 0; i--) {
        memcpy(scratch, work + i, WINDOW * sizeof *scratch);
        if (fabs(stats_median(scratch, WINDOW) - end.median) > apart)
            break;
        from = i;
    }
    j->unsteady_why = "the time of a step still changed in the second half of the run";
    if (from > half)
        return;
    j->steady_from = from;
    j->steady = stats_summary(work + from, (size_t)(n - from), scratch);
}

int judge_run(struct judgement *j, const struct run *run, const struct health *health, const struct judge_known *known,
              struct err *e)
{
    *j = (struct judgement){.n = run->n, .mark = calloc((size_t)run->n + 1, 1)};
    double *excess = calloc(2 * (size_t)run->n + 32, sizeof *excess), *scratch = excess ? excess + run->n + 1 : NULL;
    if (!j->mark || !excess) {
        free(excess);
        judge_fini(j);
        return err_set(e, ERR_MEMORY, "no memory to judge %d steps", run->n);
    }
    mark_stalled(j, run, known->stall_limit_s);
    double sigma = mark_outliers(j, run, excess, scratch);
    for (int i = 0; i < run->n; i++)
        excess[i] = judge_work_s(run, i);
    double median_s = stats_summary(excess, (size_t)run->n, scratch).median;
    if (health && health->n >= 2 && run->n > 0)
        mark_by_readings(j, run, health, known, median_s);
    find_steady(j, run, sigma, excess, scratch);
    judge_node(j, run, health, known);
    free(excess);
    return 0;
}

void judge_fini(struct judgement *j)
{
    free(j->mark);
    *j = (struct judgement){0};
}
