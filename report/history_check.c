/* report/history_check.c - see history_check.h. Start at history_check(), then judge_group(). */
#include "report/history_check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/shift.h"
#include "base/stats.h"
#include "report/digest.h"

/* What is watched, in this order; of the others a change is told by `compare`. */
static const char *const watched[] = {"floor.ratio", "speedup.measured", "summary.step_s.median",
                                      "summary.exposed_s.median", NULL};

json_t *history_groups(const struct history *h, const struct history_filter *filter, int *left_out)
{
    json_t *groups = json_array(), *by_conditions = json_object();
    *left_out = 0;
    for (int i = 0; i < h->n; i++) {
        if (!history_wanted(&h->rows[i], filter))
            continue;
        if (digest_unfit(h->rows[i].digest)) {
            ++*left_out;
            continue;
        }
        char *key = json_dumps(json_object_get(h->rows[i].digest, "conditions"), JSON_COMPACT);
        json_t *group = key ? json_object_get(by_conditions, key) : NULL;
        if (!group) {
            group = json_array();
            json_array_append_new(groups, group);
            json_object_set(by_conditions, key ? key : "", group);
        }
        json_array_append_new(group, json_integer(i));
        free(key);
    }
    json_decref(by_conditions);
    return groups;
}

const char *history_group_name(char *buf, size_t size, const json_t *digest)
{
    const char *world = digest_condition(digest, "world"), *threads = digest_condition(digest, "threads");
    const char *emulated = digest_condition(digest, "emulated link");
    bool one = strcmp(world, "1") == 0;
    snprintf(buf, size, "%s %sx%s%s%s%s, threads %s%s%s%s%s", digest_condition(digest, "model"),
             digest_condition(digest, "batch"), digest_condition(digest, "seq"), one ? "" : ", ", one ? "" : world,
             one ? "" : " ranks", threads, one ? "" : ", ", one ? "" : digest_condition(digest, "schedule"),
             strcmp(emulated, "none") == 0 ? "" : ", emulated ", strcmp(emulated, "none") == 0 ? "" : emulated);
    return buf;
}

/* ---- one group ---- */

struct series {
    int n;
    double *x;
    int *row; /* of the history */
};

static int take(struct series *s, const struct history *h, const json_t *group, const char *path)
{
    size_t n = json_array_size(group);
    s->n = 0;
    s->x = malloc((n + 1) * sizeof *s->x);
    s->row = malloc((n + 1) * sizeof *s->row);
    for (size_t i = 0; i < n && s->x && s->row; i++) {
        int row = (int)json_integer_value(json_array_get(group, i));
        double v = digest_value(h->rows[row].digest, path);
        if (isfinite(v) && v > 0) {
            s->x[s->n] = v;
            s->row[s->n++] = row;
        }
    }
    return s->x && s->row ? 0 : -1;
}

static void drop(struct series *s)
{
    free(s->x);
    free(s->row);
    *s = (struct series){0};
}

/* The medians of a metric before a step that another one has and on the last level, which begins at `last`: their ratio, NaN if either
 * has none. */
static double moved_with(const struct history *h, const json_t *group, const char *path, const struct shift *step,
                         int last)
{
    struct series s;
    double ratio = NAN;
    if (!take(&s, h, group, path) && s.n == (int)json_array_size(group) && step->at > 0) {
        double before = stats_median(s.x + step->from, (size_t)(step->at - step->from)); /* sorts what is ours */
        ratio = stats_median(s.x + last, (size_t)(s.n - last)) / before;
    }
    drop(&s);
    return ratio;
}

/* A regression that was mended in part is still one: what counts is the best level there was before. */
static void look_further_back(struct shift *step, const struct digest_metric *m, double noise_floor)
{
    const struct shift_level *best = m->worse > 0 ? &step->lowest : &step->highest;
    double worse = m->worse > 0 ? step->after / best->median : best->median / step->after,
           better = m->worse > 0 ? step->before / step->after : step->after / step->before;
    if (step->at == 0 || !(better > 1) || !(worse > 1 + noise_floor))
        return;
    step->before = best->median;
    step->from = best->from;
    step->at = best->to;
}

static const char *verdict(const struct digest_metric *m, const struct shift *step, int n, double floor_moved,
                           double noise_floor)
{
    if (n < shift_least())
        return "no baseline";
    if (step->at == 0)
        return "steady";
    double ratio = step->after / step->before;
    if ((ratio > 1) == (m->worse < 0))
        return "improvement";
    if (digest_is_time(m) && fabs(ratio / floor_moved - 1) <= noise_floor) /* NaN: not known, not explained */
        return "machine";
    return "regression";
}

static void tell_since(json_t *o, const struct history_row *row)
{
    json_t *since = json_object(), *file = json_string(row->file);
    json_object_set_new(since, "file", file ? file : json_null());
    json_object_set(since, "started", json_object_get(row->digest, "started"));
    json_object_set(since, "label", json_object_get(row->digest, "label"));
    json_object_set(since, "version", json_object_get(row->digest, "version"));
    json_object_set_new(o, "since", since);
}

/* NULL: the group does not have the metric, or memory is out (*failed). */
static json_t *judge_metric(const struct history *h, const json_t *group, const char *path, double noise_floor,
                            bool *failed)
{
    const struct digest_metric *m = digest_metric_find(path);
    struct series s;
    struct shift step;
    json_t *o = NULL;
    if (take(&s, h, group, path) || shift_last(&step, s.x, s.n, noise_floor)) {
        *failed = true;
    } else if (s.n > 0) {
        bool seconds = digest_is_time(m) && s.n == (int)json_array_size(group);
        int last = step.at;
        look_further_back(&step, m, noise_floor);
        double floor_moved = seconds ? moved_with(h, group, "floor.step_s", &step, last) : NAN;
        o = json_pack("{s:s, s:s, s:s, s:i}", "path", path, "name", digest_name(m), "unit", digest_unit(m), "n", s.n);
        json_object_set_new(o, "verdict", json_string(verdict(m, &step, s.n, floor_moved, noise_floor)));
        json_object_set_new(o, "before", step.at ? json_num(step.before) : json_null());
        json_object_set_new(o, "level", json_num(step.after));
        json_object_set_new(o, "ratio", step.at ? json_num(step.after / step.before) : json_null());
        json_object_set_new(o, "floor_ratio", step.at ? json_num(floor_moved) : json_null());
        json_object_set_new(o, "p", s.n >= shift_least() ? json_num(step.p) : json_null());
        json_object_set_new(o, "newest", json_num(s.x[s.n - 1]));
        if (step.at)
            tell_since(o, &h->rows[s.row[step.at]]);
        else
            json_object_set_new(o, "since", json_null());
    }
    drop(&s);
    return o;
}

static json_t *judge_group(struct history_check *check, const struct history *h, const json_t *group,
                           double noise_floor, bool *failed)
{
    char name[256];
    size_t n = json_array_size(group);
    const struct history_row *newest = &h->rows[json_integer_value(json_array_get(group, n - 1))];
    json_t *o = json_object(), *metrics = json_array();
    json_t *text = json_string(history_group_name(name, sizeof name, newest->digest));
    json_object_set_new(o, "name", text ? text : json_null());
    json_object_set_new(o, "runs", json_integer((json_int_t)n));
    json_object_set(o, "conditions", json_object_get(newest->digest, "conditions"));
    for (const char *const *path = watched; *path; path++) {
        json_t *m = judge_metric(h, group, *path, noise_floor, failed);
        const char *said = json_string_value(json_object_get(m, "verdict"));
        check->regressions += said && strcmp(said, "regression") == 0;
        if (m)
            json_array_append_new(metrics, m);
    }
    json_object_set_new(o, "metrics", metrics);
    check->groups++;
    check->judged += (int)n >= shift_least();
    return o;
}

int history_check(struct history_check *check, json_t *d, const struct history *h, const struct history_filter *filter,
                  double noise_floor, struct err *e)
{
    bool failed = false;
    memset(check, 0, sizeof *check);
    json_t *groups = history_groups(h, filter, &check->left_out), *told = json_array();
    for (size_t i = 0; i < json_array_size(groups); i++)
        json_array_append_new(told, judge_group(check, h, json_array_get(groups, i), noise_floor, &failed));
    json_decref(groups);
    json_object_set_new(d, "verdict",
                        json_string(check->regressions ? "regression"
                                    : check->judged    ? "no regression"
                                                       : "no baseline"));
    json_object_set_new(d, "noise_floor", json_real(noise_floor));
    json_object_set_new(d, "least", json_integer(shift_least()));
    json_object_set_new(d, "left_out", json_integer(check->left_out));
    json_object_set_new(d, "groups", told);
    return failed ? err_set(e, ERR_MEMORY, "no memory to check the history") : 0;
}
