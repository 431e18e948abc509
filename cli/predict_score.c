/* cli/predict_score.c - see predict_score.h. */
#include "cli/predict_score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "cli/output.h"
#include "report/runs.h"

#define DEAD_BAND 0.03 /* a measured speed-up this near to 1 decides nothing */

enum { ENTRIES_MAX = 10000 };

struct ledger {
    json_t *list;
    int n, inside, decided, right, undecided;
    double *error; /* relative, of the step; signed */
};

static double number(const json_t *o, const char *a, const char *b)
{
    const json_t *v = json_object_get(json_object_get(o, a), b);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

static void set(json_t *o, const char *key, double x)
{
    json_object_set_new(o, key, json_num(x));
}

/* Whether the verdict was right about a measured speed-up. Undecided is neither. */
static void judge(struct ledger *l, json_t *entry, const char *verdict, double measured)
{
    bool helps = strcmp(verdict, "helps") == 0, hurts = strcmp(verdict, "hurts") == 0;
    bool told = fabs(measured - 1) > DEAD_BAND;
    json_object_set_new(entry, "verdict", json_string(verdict));
    if (!isfinite(measured) || !told || !(helps || hurts)) {
        json_object_set_new(entry, "right", json_null());
        l->undecided += isfinite(measured) && told;
        return;
    }
    l->decided++;
    l->right += helps == (measured > 1);
    json_object_set_new(entry, "right", json_boolean(helps == (measured > 1)));
}

static bool visit(void *ctx, const char *path, const json_t *d)
{
    struct ledger *l = ctx;
    const json_t *p = json_object_get(d, "prediction"), *m = json_object_get(d, "summary");
    double predicted = number(p, "step_s", "median"), measured = number(m, "period_s", "median");
    if (!(measured > 0)) /* saved by a version that did not tell it */
        measured = number(m, "step_s", "median");
    if (json_integer_value(json_object_get(d, "world")) < 2 || !(predicted > 0) || !(measured > 0))
        return true;
    double lo = number(p, "step_s", "lo"), hi = number(p, "step_s", "hi");
    const char *verdict = json_string_value(json_object_get(p, "verdict"));
    json_t *o = json_object();
    json_object_set_new(o, "run", output_string(path));
    json_object_set_new(o, "model",
                        output_string(json_string_value(json_object_get(json_object_get(d, "model"), "name"))
                                          ? json_string_value(json_object_get(json_object_get(d, "model"), "name"))
                                          : "?"));
    json_object_set_new(o, "world", json_incref(json_object_get(d, "world")));
    set(o, "predicted_step_s", predicted);
    set(o, "lo_s", lo);
    set(o, "hi_s", hi);
    set(o, "measured_step_s", measured);
    set(o, "error", predicted / measured - 1);
    set(o, "predicted_speedup", number(p, "speedup", "median"));
    double speedup = json_number_value(json_object_get(json_object_get(d, "speedup"), "measured"));
    if (!(speedup > 0))
        speedup = NAN;
    set(o, "measured_speedup", speedup);
    bool inside = measured >= lo && measured <= hi;
    json_object_set_new(o, "inside", isfinite(lo) && isfinite(hi) ? json_boolean(inside) : json_null());
    judge(l, o, verdict ? verdict : "undecided", speedup);
    l->inside += inside;
    l->error[l->n++] = predicted / measured - 1;
    json_array_append_new(l->list, o);
    return l->n < ENTRIES_MAX;
}

static void summarise(json_t *document, const struct ledger *l)
{
    json_t *o = json_object();
    json_object_set_new(document, "score", o);
    json_object_set_new(o, "n", json_integer(l->n));
    const char *why = "no saved run of several nodes holds a prediction";
    if (l->n == 0) {
        static const char *const names[] = {"median_error", "median_absolute_error", "p90_absolute_error", "inside"};
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            json_object_set_new(o, names[i], json_null());
        json_unknown(document, o, "right", "score", why);
        return;
    }
    set(o, "median_error", stats_median(l->error, (size_t)l->n));
    for (int i = 0; i < l->n; i++)
        l->error[i] = fabs(l->error[i]);
    set(o, "median_absolute_error", stats_median(l->error, (size_t)l->n));
    set(o, "p90_absolute_error", stats_quantile_sorted(l->error, (size_t)l->n, 0.9));
    set(o, "inside", (double)l->inside / l->n);
    json_object_set_new(o, "decided", json_integer(l->decided));
    json_object_set_new(o, "undecided", json_integer(l->undecided));
    if (l->decided)
        set(o, "right", (double)l->right / l->decided);
    else
        json_unknown(document, o, "right", "score.right", "no verdict was decided about a speed-up away from 1");
}

int predict_score(json_t *document, const char *folder, struct err *e)
{
    struct ledger l = {.list = json_array(), .error = calloc(ENTRIES_MAX, sizeof(double))};
    json_object_set_new(document, "ledger", l.list);
    if (!l.error)
        return err_set(e, ERR_MEMORY, "no memory for the ledger");
    int result = runs_each(folder, visit, &l, e);
    if (result == 0)
        summarise(document, &l);
    free(l.error);
    return result;
}
