/*
 * cli/cmd_soak.c - the load of training for some minutes, and how the time of a step drifts meanwhile.
 *
 * A soak is a run of this node alone without floor passes, whose document has "soak" besides; see predict/drift.h for the fit.
 * Start at cmd_soak(), at the end.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "cli/output.h"
#include "cli/run_kind.h"
#include "predict/drift.h"
#include "report/table.h"

static void settle(struct options *o)
{
    o->run.time_s = 60 * o->minutes;
    o->run.steps = -1;
    o->run.floor = false; /* products alone are another load */
}

/* A quota that held the process back for more than this part of the time explains a drift. */
#define QUOTA_SHARE 0.02

/* What the sentences are made of. */
struct words {
    char first[48], last[48], span[48], at[48], until[48];
};

static void tell_finding(char *text, size_t size, const struct drift *d)
{
    struct words w;
    double change = 100 * (d->last_s / d->first_s - 1);
    table_seconds(w.first, sizeof w.first, d->first_s);
    table_seconds(w.last, sizeof w.last, d->last_s);
    table_seconds(w.span, sizeof w.span, d->duration_s);
    table_seconds(w.at, sizeof w.at, d->jump_at_s);
    table_seconds(w.until, sizeof w.until, d->onset_s);
    if (d->shape == DRIFT_NONE)
        snprintf(text, size, "no drift seen over %s (%d steps of %s); a change of %.1f %% would have been", w.span,
                 d->n, w.first, 100 * d->smallest);
    else if (d->shape == DRIFT_JUMP)
        snprintf(text, size, "a step took %s at first and %s from %s on: %+.1f %% over %s", w.first, w.last, w.at,
                 change, w.span);
    else if (d->shape == DRIFT_LATE_EXPONENTIAL)
        snprintf(text, size, "a step took %s until %s and %s after %s: %+.1f %%", w.first, w.until, w.last, w.span,
                 change);
    else
        snprintf(text, size, "a step took %s at first and %s after %s: %+.1f %%", w.first, w.last, w.span, change);
}

/* First and last tenth of a column over the steps; NaN: unknown. */
static double ends(const struct health *health, enum health_column column, bool last)
{
    int n = health->n, part = n / 10 > 0 ? n / 10 : 1, from = last ? n - part : 0;
    double sum = 0;
    for (int i = from; i < from + part; i++)
        sum += health_value(health, column, i);
    return sum / part;
}

/* Whether a count grew faster in the last tenth than in the first: what held back evenly makes no drift. */
static bool came_late(const struct health *health, enum health_column column)
{
    int n = health->n, part = n / 10 > 0 ? n / 10 : 1;
    double first = health_value(health, column, part) - health_value(health, column, 0),
           last = health_value(health, column, n - 1) - health_value(health, column, n - 1 - part);
    return last > 1.1 * first; /* NaN: not known */
}

/* What the readings say about the cause. They may say nothing. */
static void tell_cause(char *text, size_t size, const struct drift *d, const struct health *health)
{
    double slower = d->last_s / d->first_s;
    *text = '\0';
    if (d->shape == DRIFT_NONE || !health || health->n < 2)
        return;
    double hz[2] = {ends(health, HEALTH_CLOCK_HZ, false), ends(health, HEALTH_CLOCK_HZ, true)};
    double degc[2] = {ends(health, HEALTH_CPU_DEGC, false), ends(health, HEALTH_CPU_DEGC, true)};
    double events = fmax(health_value(health, HEALTH_CORE_EVENTS, health->n - 1),
                         health_value(health, HEALTH_PACKAGE_EVENTS, health->n - 1));
    char heat[64] = "";
    if (isfinite(degc[1] - degc[0]))
        snprintf(heat, sizeof heat, ", at %.0f and %.0f degrees", degc[0], degc[1]);
    double quota_s = health_value(health, HEALTH_QUOTA_S, health->n - 1) / health->probe->threads;
    if (quota_s > QUOTA_SHARE * d->duration_s && slower > 1 && came_late(health, HEALTH_QUOTA_S))
        snprintf(text, size, "the CPU quota held each thread back for %.0f s: not heat", quota_s);
    else if (events > 0 && slower > 1 &&
             (came_late(health, HEALTH_CORE_EVENTS) || came_late(health, HEALTH_PACKAGE_EVENTS)))
        snprintf(text, size, "the processor reported heat %.0f times%s", events, heat);
    else if (fabs(hz[0] / hz[1] - 1) > 0.01 && (hz[0] > hz[1]) == (slower > 1))
        snprintf(text, size, "the clock went from %.2f to %.2f GHz%s", hz[0] * 1e-9, hz[1] * 1e-9, heat);
}

static json_t *trajectory_json(const struct drift *d)
{
    struct heat_path heat;
    json_t *list = json_array();
    drift_trajectory(d, &heat);
    for (int i = 0; i < heat.n; i++)
        json_array_append_new(list, json_pack("{s:f, s:f}", "time_s", heat.time_s[i], "factor", heat.factor[i]));
    return list;
}

static json_t *shape_json(const struct drift *d)
{
    json_t *o = json_object(), *tau = json_array(), *amplitude = json_array();
    int terms = d->shape == DRIFT_NONE ? 0 : d->shape == DRIFT_TWO_EXPONENTIALS ? 2 : 1;
    json_object_set_new(o, "name", json_string(drift_shape_names[d->shape]));
    json_object_set_new(o, "level_s", json_num(d->level_s));
    for (int i = 0; i < terms; i++) {
        json_array_append_new(amplitude, json_num(d->a_s[i]));
        if (d->shape != DRIFT_JUMP)
            json_array_append_new(tau, json_num(d->tau_s[i]));
    }
    json_object_set_new(o, "amplitude_s", amplitude);
    json_object_set_new(o, "tau_s", tau);
    if (d->shape == DRIFT_JUMP)
        json_object_set_new(o, "jump_at_s", json_num(d->jump_at_s));
    if (d->shape == DRIFT_LATE_EXPONENTIAL)
        json_object_set_new(o, "onset_s", json_num(d->onset_s));
    return o;
}

static json_t *soak_json(json_t *root, const struct drift *d, const struct health *health)
{
    char finding[240], cause[160];
    json_t *o = json_object();
    tell_finding(finding, sizeof finding, d);
    tell_cause(cause, sizeof cause, d, health);
    json_object_set_new(o, "duration_s", json_num(d->duration_s));
    json_object_set_new(o, "steps", json_integer(d->n));
    json_object_set_new(o, "blocks", json_integer(d->blocks));
    json_object_set_new(o, "drift_seen", json_boolean(d->shape != DRIFT_NONE));
    json_object_set_new(o, "first_step_s", json_num(d->first_s));
    json_object_set_new(o, "last_step_s", json_num(d->last_s));
    json_object_set_new(o, "ratio", json_num(d->last_s / d->first_s));
    json_object_set_new(o, "noise", json_num(d->noise));
    json_object_set_new(o, "smallest_change", json_num(d->smallest));
    json_object_set_new(o, "shape", shape_json(d));
    json_object_set_new(o, "trajectory", trajectory_json(d));
    json_object_set_new(o, "finding", json_string(finding));
    if (*cause)
        json_object_set_new(o, "cause", json_string(cause));
    else
        json_unknown(root, o, "cause", "soak.cause",
                     d->shape == DRIFT_NONE ? "no drift was seen" : "nothing that can be read here tells it");
    return o;
}

static int add(json_t *root, const struct run *run, const struct health *health, uint64_t start_ns, struct err *e)
{
    struct drift d;
    double *at_s = calloc(2 * (size_t)run->n + 2, sizeof *at_s);
    if (!at_s)
        return err_set(e, ERR_MEMORY, "no memory to look at %d steps", run->n);
    double *step_s = at_s + run->n + 1;
    for (int i = 0; i < run->n; i++) {
        at_s[i] = clock_seconds(start_ns, run->sample[i].start_ns);
        step_s[i] = run->sample[i].step_s;
    }
    drift_fit(&d, at_s, step_s, run->n);
    free(at_s);
    if (d.known)
        json_object_set_new(root, "soak", soak_json(root, &d, health));
    else
        json_unknown(root, root, "soak", "soak", "fewer than twenty timed steps: take more minutes or a smaller batch");
    return 0;
}

int cmd_soak(const struct invocation *in)
{
    static const struct run_kind kind = {
        .options = OPTIONS_SOAK,
        .purpose =
            "Holds the load of training for some minutes and says how the time of a step drifts with heat. What it "
            "saves, predict --soak takes.\n",
        .name = "soak",
        .settle = settle,
        .add = add};
    return run_command(in, &kind);
}
