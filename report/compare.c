/* report/compare.c - see compare.h. Start at compare_judge(), then judge(): one metric. */
#include "config.h" /* _GNU_SOURCE, for open_memstream */

#include "report/compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ranksum.h"
#include "base/resample.h"
#include "base/stats.h"
#include "report/clean.h"
#include "report/digest.h"
#include "report/table_parts.h"

enum { DRAWS = 2000, DRAWS_LEAST = 200, WORK = 4000000 };

static const double level = 0.95;

/* ---- what is unlike ---- */

/* The different texts of one side, "2" or "2 | 4"; to be freed. */
static char *texts(const struct compare_side *side, const char *condition)
{
    char *all = NULL, text[201];
    size_t size = 0;
    FILE *f = open_memstream(&all, &size);
    if (!f)
        return NULL;
    for (size_t i = 0; i < side->n; i++) {
        const char *mine = digest_condition(side->digests[i], condition);
        size_t k = 0;
        while (k < i && strcmp(mine, digest_condition(side->digests[k], condition)) != 0)
            k++;
        if (k == i)
            fprintf(f, "%s%s", i ? " | " : "", clean_text(text, sizeof text, mine));
    }
    return fclose(f) == 0 ? all : (free(all), NULL);
}

json_t *compare_differences(const struct compare_side *a, const struct compare_side *b)
{
    json_t *list = json_array();
    const char *name;
    for (int i = 0; (name = digest_condition_name(i)); i++) {
        const char *first = digest_condition(a->digests[0], name);
        bool alike = true;
        for (size_t k = 0; k < a->n; k++)
            alike = alike && strcmp(first, digest_condition(a->digests[k], name)) == 0;
        for (size_t k = 0; k < b->n; k++)
            alike = alike && strcmp(first, digest_condition(b->digests[k], name)) == 0;
        if (alike)
            continue;
        char *of_a = texts(a, name), *of_b = texts(b, name);
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:s}", "condition", name, "a", of_a ? of_a : "?", "b", of_b ? of_b : "?"));
        free(of_a);
        free(of_b);
    }
    return list;
}

/* ---- figures ---- */

struct series {
    double *x;
    int n;
    int block; /* figures that belong together */
};

/* Every step of a run; steps without a number are left out. */
static int take_steps(struct series *s, const json_t *run, const char *member)
{
    const json_t *samples = json_object_get(run, "samples");
    size_t n = json_array_size(samples);
    s->x = malloc((n ? n : 1) * sizeof *s->x);
    if (!s->x)
        return -1;
    s->n = 0;
    for (size_t i = 0; i < n; i++) {
        double v = table_num(json_array_get(samples, i), member, NULL);
        if (isfinite(v))
            s->x[s->n++] = v;
    }
    s->block = resample_block(s->x, s->n);
    return 0;
}

/* One figure per run. */
static int take_runs(struct series *s, const struct compare_side *side, const char *path)
{
    s->x = malloc((side->n ? side->n : 1) * sizeof *s->x);
    if (!s->x)
        return -1;
    s->n = 0;
    s->block = 1;
    for (size_t i = 0; i < side->n; i++) {
        double v = digest_value(side->digests[i], path);
        if (isfinite(v))
            s->x[s->n++] = v;
    }
    return 0;
}

/* By how much the medians of a run's halves differ. */
static double halves(const struct compare_side *side)
{
    double a = table_num(side->runs[0], "halves", "first_step_s"),
           b = table_num(side->runs[0], "halves", "second_step_s");
    double apart = fabs(b / a - 1);
    return isfinite(apart) ? apart : 0;
}

struct floor {
    double share;
    char source[120];
};

static struct floor choose_floor(const struct compare_side *a, const struct compare_side *b,
                                 const struct compare_options *o)
{
    struct floor f;
    if (isfinite(o->noise_floor)) {
        f.share = o->noise_floor;
        snprintf(f.source, sizeof f.source, "as asked for");
    } else if (a->n > 1 || b->n > 1) {
        f.share = 0.01;
        snprintf(f.source, sizeof f.source, "chosen for groups of runs");
    } else {
        double most = fmax(halves(a), halves(b));
        f.share = fmax(0.02, most);
        snprintf(f.source, sizeof f.source,
                 most > 0.02 ? "the halves of a run differ by that much" : "chosen for single runs");
    }
    return f;
}

/* ---- one metric ---- */

struct judgement {
    struct ranksum test;
    struct resample_interval ratio;
    int units_a, units_b;
    const char *verdict;
};

static const char *word(const struct digest_metric *m, bool up)
{
    if (digest_is_time(m))
        return up ? "slower" : "faster";
    return up ? "higher" : "lower";
}

static int judge(struct judgement *j, const struct digest_metric *m, const struct series *a, const struct series *b,
                 double floor, const struct compare_options *o)
{
    double *blocks = malloc(((size_t)(a->n + b->n) + 1) * sizeof *blocks);
    if (!blocks)
        return -1;
    j->units_a = resample_medians(a->x, a->n, a->block, blocks);
    j->units_b = resample_medians(b->x, b->n, b->block, blocks + j->units_a);
    j->test = ranksum_test(blocks, j->units_a, blocks + j->units_a, j->units_b);
    free(blocks);
    int draws = WORK / (a->n + b->n);
    draws = draws > DRAWS ? DRAWS : draws < DRAWS_LEAST ? DRAWS_LEAST : draws;
    j->ratio = resample_ratio(a->x, a->n, a->block, b->x, b->n, b->block, draws, level, o->seed);
    if (j->units_a < 2 || j->units_b < 2) /* a single figure has no spread to draw from */
        j->ratio.lo = j->ratio.hi = NAN;
    double ratio = j->ratio.ratio;
    bool apart = j->ratio.lo > 1 || j->ratio.hi < 1;
    if (j->test.p_least >= o->alpha)
        j->verdict = "too few runs";
    else if (j->test.p < o->alpha && apart && fabs(ratio - 1) > floor)
        j->verdict = word(m, ratio > 1);
    else
        j->verdict = "no change seen";
    return 0;
}

static double median_of(const struct series *s)
{
    double *copy = malloc(((size_t)s->n + 1) * sizeof *copy), m = NAN;
    if (copy) {
        memcpy(copy, s->x, (size_t)s->n * sizeof *copy);
        m = stats_median(copy, (size_t)s->n);
    }
    free(copy);
    return m;
}

static json_t *row(const struct digest_metric *m, const struct series *a, const struct series *b)
{
    json_t *o = json_pack("{s:s, s:s, s:s}", "path", m->path, "name", digest_name(m), "unit", digest_unit(m));
    json_object_set_new(o, "a", json_num(a->n ? median_of(a) : NAN));
    json_object_set_new(o, "b", json_num(b->n ? median_of(b) : NAN));
    return o;
}

/* A side without the metric is told; the others are compared all the same. */
static void one_sided(json_t *o, const char *verdict)
{
    json_object_set_new(o, "ratio", json_null());
    json_object_set_new(o, "p", json_null());
    json_object_set_new(o, "verdict", json_string(verdict));
}

static void two_sided(json_t *o, const struct judgement *j)
{
    json_t *ratio = json_object();
    json_object_set_new(ratio, "median", json_num(j->ratio.ratio));
    json_object_set_new(ratio, "lo", json_num(j->ratio.lo));
    json_object_set_new(ratio, "hi", json_num(j->ratio.hi));
    json_object_set_new(o, "ratio", ratio);
    json_object_set_new(o, "p", json_num(j->test.p));
    json_object_set_new(o, "p_least", json_num(j->test.p_least));
    json_object_set_new(o, "exact", json_boolean(j->test.exact));
    json_object_set_new(o, "units_a", json_integer(j->units_a));
    json_object_set_new(o, "units_b", json_integer(j->units_b));
    json_object_set_new(o, "verdict", json_string(j->verdict));
}

/* NULL: neither side has it, or memory is out (*failed). */
static json_t *metric(const struct digest_metric *m, const struct compare_side *a, const struct compare_side *b,
                      double floor, const struct compare_options *options, bool *failed)
{
    struct series of_a = {0}, of_b = {0};
    struct judgement j;
    json_t *o = NULL;
    bool steps = a->n == 1 && b->n == 1 && m->sample;
    int bad = steps ? take_steps(&of_a, a->runs[0], m->sample) || take_steps(&of_b, b->runs[0], m->sample)
                    : take_runs(&of_a, a, m->path) || take_runs(&of_b, b, m->path);
    bool of_nothing = !bad && of_a.n && median_of(&of_a) == 0;
    bool both = of_nothing && of_b.n && median_of(&of_b) == 0;
    if (!bad && (of_a.n || of_b.n) && !both) {
        o = row(m, &of_a, &of_b);
        if (of_a.n == 0 || of_b.n == 0)
            one_sided(o, of_a.n == 0 ? "new" : "gone");
        else if (of_nothing)
            one_sided(o, "no ratio to 0");
        else if (!(bad = judge(&j, m, &of_a, &of_b, floor, options)))
            two_sided(o, &j);
    }
    free(of_a.x);
    free(of_b.x);
    *failed = *failed || bad;
    return o;
}

static json_t *describe(const struct compare_side *side)
{
    json_t *o = json_object(), *runs = json_array();
    json_object_set_new(o, "name", json_string(side->name) /* NULL if it is no UTF-8 */);
    for (size_t i = 0; i < side->n; i++) {
        const json_t *d = side->digests[i];
        json_t *run = json_object();
        json_t *path = json_string(side->paths[i]);
        json_object_set_new(run, "run", path ? path : json_null());
        json_object_set(run, "started", json_object_get(d, "started"));
        json_object_set(run, "label", json_object_get(d, "label"));
        json_object_set(run, "version", json_object_get(d, "version"));
        json_object_set(run, "status", json_object_get(d, "status"));
        json_object_set(run, "steps", json_object_get(d, "steps"));
        json_array_append_new(runs, run);
    }
    json_object_set_new(o, "runs", runs);
    return o;
}

/* A side whose runs all lack steps has nothing to compare. */
static int check(const struct compare_side *side, struct err *e)
{
    for (size_t i = 0; i < side->n; i++)
        if (!isfinite(digest_value(side->digests[i], "summary.step_s.median")))
            return err_set(e, ERR_DATA, "%.300s has no timed steps to compare", side->paths[i]);
    return 0;
}

int compare_judge(json_t *d, const struct compare_side *a, const struct compare_side *b,
                  const struct compare_options *options, struct err *e)
{
    if (check(a, e) || check(b, e))
        return -1;
    struct floor floor = choose_floor(a, b, options);
    json_t *list = json_array();
    bool failed = false;
    for (const struct digest_metric *m = digest_metrics; m->path; m++) {
        json_t *o = metric(m, a, b, floor.share, options, &failed);
        if (o)
            json_array_append_new(list, o);
        if (o && strcmp(m->path, "summary.step_s.median") == 0) {
            json_object_set(d, "verdict", json_object_get(o, "verdict"));
            json_object_set(d, "ratio", json_object_get(o, "ratio"));
            json_object_set(d, "p", json_object_get(o, "p"));
            json_object_set(d, "p_least", json_object_get(o, "p_least"));
        }
    }
    json_object_set_new(d, "unit", json_string(a->n == 1 && b->n == 1 ? "blocks of steps" : "runs"));
    json_object_set_new(d, "alpha", json_real(options->alpha));
    json_object_set_new(d, "noise_floor", json_real(floor.share));
    json_object_set_new(d, "noise_floor_source", json_string(floor.source));
    json_object_set_new(d, "metrics", list);
    json_object_set_new(d, "a", describe(a));
    json_object_set_new(d, "b", describe(b));
    return failed ? err_set(e, ERR_MEMORY, "no memory to compare the runs") : 0;
}
