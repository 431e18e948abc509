/*
 * cli/record_health.c - see record.h: the part of the document that says how a node was while it ran. Start at
 * record_add_health(), at the end.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/output.h"
#include "cli/record_parts.h"

enum { LISTED_MAX = 50 }; /* steps of a kind: a message between nodes has room for so many */

/* As many digits as a reading has: a whole clock in hertz, a thousandth of a degree, a millisecond. */
static const double resolution[HEALTH_COLUMNS] = {
    [HEALTH_CLOCK_HZ] = 1e3,      [HEALTH_CPU_DEGC] = 1e-3,    [HEALTH_POWER_W] = 1e-3,    [HEALTH_ENERGY_J] = 1e-3,
    [HEALTH_CORE_EVENTS] = 1,     [HEALTH_PACKAGE_EVENTS] = 1, [HEALTH_QUOTA_PERIODS] = 1, [HEALTH_QUOTA_S] = 1e-3,
    [HEALTH_STOLEN_S] = 1e-2,     [HEALTH_SUSPENDED_S] = 1e-2, [HEALTH_RUNNING] = 1,       [HEALTH_OTHER_CPUS] = 1e-2,
    [HEALTH_BATTERY_PERCENT] = 1, [HEALTH_ON_BATTERY] = 1};

/* The decimal nearest to a multiple of the resolution, not the product with it: 0.003 and not 0.0030000000000000001. */
static json_t *rounded(double x, double unit)
{
    if (!isfinite(x))
        return json_null();
    if (unit >= 1)
        return json_integer((json_int_t)(llround(x / unit) * (long long)unit));
    return json_real((double)llround(x / unit) / round(1 / unit));
}

static json_t *column_json(const struct health *health, enum health_column column, bool *any)
{
    json_t *list = json_array();
    *any = false;
    for (int i = 0; i < health->n; i++) {
        double x = health_value(health, column, i);
        *any |= isfinite(x);
        if (column == HEALTH_ON_BATTERY)
            json_array_append_new(list, isfinite(x) ? json_boolean(x > 0) : json_null());
        else
            json_array_append_new(list, rounded(x, resolution[column]));
    }
    return list;
}

/* A column by name; one without any value is null. What was known and then no more is listed with its instant. */
static void add_series(json_t *root, json_t *o, const char *where, const struct health *health)
{
    json_t *series = json_object(), *at = json_array(), *lost = json_array();
    uint64_t start_ns = health->row[0].at_ns;
    char path[64];
    for (int i = 0; i < health->n; i++)
        json_array_append_new(at, rounded((double)(health->row[i].at_ns - start_ns) * 1e-9, 1e-3));
    record_set(series, "t_s", at);
    snprintf(path, sizeof path, "%s.series", where);
    for (int c = 0; c < HEALTH_COLUMNS; c++) {
        char why[240];
        bool any;
        json_t *column = column_json(health, (enum health_column)c, &any);
        if (!any)
            json_decref(column);
        json_known(root, series, path, health_column_names[c], any ? column : NULL,
                   health_why(health, (enum health_column)c, why, sizeof why));
        if (!any || isfinite(health_value(health, (enum health_column)c, health->n - 1)))
            continue;
        int last = health->n - 1;
        while (!isfinite(health_value(health, (enum health_column)c, last)))
            last--;
        json_array_append_new(lost, json_pack("{s:s, s:o}", "column", health_column_names[c], "last_seen_s",
                                              json_incref(json_array_get(at, (size_t)last))));
    }
    record_set(o, "series", series);
    record_set(o, "vanished", lost);
}

static void add_marks(json_t *o, const struct judgement *j)
{
    json_t *marks = json_object(), *steps = json_object();
    for (int m = 0; m < JUDGE_MARKS; m++) {
        json_t *list = json_array();
        for (int i = 0; i < j->n && json_array_size(list) < LISTED_MAX; i++)
            if (j->mark[i] & 1u << m)
                json_array_append_new(list, json_integer(i));
        record_set(marks, judge_mark_names[m], json_integer(j->count[m]));
        record_set(steps, judge_mark_names[m], list);
    }
    record_set(o, "marks", marks);
    record_set(o, "marked_steps", steps);
}

static void add_steady(json_t *root, json_t *o, const char *where, const struct judgement *j)
{
    if (j->steady_from < 0) {
        json_known(root, o, where, "steady", NULL, j->unsteady_why);
        return;
    }
    json_t *steady = json_object();
    record_set(steady, "from_step", json_integer(j->steady_from));
    record_set(steady, "work_s", json_summary(j->steady));
    record_set(o, "steady", steady);
}

static void add_grade(json_t *root, json_t *o, const char *where, const struct judgement *j)
{
    char grade[2] = {j->grade, '\0'};
    json_t *findings = json_array();
    json_known(root, o, where, "grade", output_string_if(grade), j->ungraded_why);
    for (int i = 0; i < j->findings; i++) {
        char one[2] = {j->finding[i].grade, '\0'};
        json_t *f = json_object();
        record_set(f, "grade", json_string(one));
        record_set(f, "reason", output_string(j->finding[i].reason));
        record_set(f, "remedy", json_string(j->finding[i].remedy));
        json_array_append_new(findings, f);
    }
    record_set(o, "findings", findings);
}

static void add_sampler(json_t *root, json_t *o, const char *where, const struct health *health,
                        const struct watch *watch)
{
    const struct health_row *first = &health->row[0], *last = &health->row[health->n - 1];
    double seconds = (double)(last->at_ns - first->at_ns) * 1e-9;
    json_t *s = json_object();
    char path[96];
    record_set(s, "cpu_s", json_num(watch->cpu_s));
    snprintf(path, sizeof path, "%s.sampler", where);
    json_known(root, s, path, "share_of_cpu", json_num(watch->cpu_s / (last->own_s - first->own_s)),
               "the run took no time");
    json_known(root, s, path, "share_of_time", json_num(watch->cpu_s / seconds), "the run took no time");
    record_set(s, "interval_s", json_num(watch->interval_s * health->every));
    record_set(s, "readings", json_integer(health->n));
    record_set(s, "apart", json_boolean(watch->apart));
    record_set(o, "sampler", s);
}

void record_add_health(json_t *root, json_t *node, const struct record *r, int rank)
{
    char where[48];
    json_t *o = json_object();
    snprintf(where, sizeof where, "nodes[%d].health", rank);
    if (!r->judgement) {
        json_decref(o);
        json_unknown(root, node, "health", where, record_no_steps);
        return;
    }
    add_grade(root, o, where, r->judgement);
    add_marks(o, r->judgement);
    add_steady(root, o, where, r->judgement);
    if (r->health && r->health->n >= 2) {
        const struct health *h = r->health;
        json_t *sensors = json_array();
        json_known(root, o, where, "clock_source", output_string_if(h->probe->frequency.current_source),
                   reasons_find(&h->probe->reasons, "frequency.current_hz"));
        for (int i = 0; i < h->sensors; i++)
            json_array_append_new(sensors, output_string(h->label[i]));
        record_set(o, "temperature_sensors", sensors);
        add_sampler(root, o, where, h, r->watch);
        add_series(root, o, where, h);
    } else {
        static const char *const absent[] = {"clock_source", "temperature_sensors", "sampler", "series", "vanished"};
        for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
            json_known(root, o, where, absent[i], NULL, "the first rank of this node takes the readings");
    }
    record_set(node, "health", o);
}
