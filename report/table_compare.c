/* report/table_compare.c - what compare says; see table_compare.h. */
#include "report/table_compare.h"

#include <math.h>
#include <string.h>

#include "report/table_parts.h"

const char *table_compare_figure(char *buf, const json_t *metric, const char *key)
{
    double x = table_num(metric, key, NULL);
    const char *unit = table_text(metric, "unit", "?");
    if (!isfinite(x))
        snprintf(buf, TABLE_CELL, "-");
    else if (strcmp(unit, "s") == 0)
        table_time(buf, x);
    else if (strcmp(unit, "bytes") == 0)
        table_bytes(buf, TABLE_CELL, x);
    else if (strcmp(unit, "per s") == 0 && x >= 1e6)
        snprintf(buf, TABLE_CELL, "%.4g G/s", x * 1e-9);
    else
        table_number(buf, TABLE_CELL, x);
    return buf;
}

static void side(struct table_page *p, const char *name, const json_t *s)
{
    const json_t *runs = json_object_get(s, "runs"), *first = json_array_get(runs, 0);
    table_label(p, name);
    if (json_array_size(runs) == 1) {
        table_put(p, table_text(first, "run", "?"));
        fprintf(p->f, ", %.0f steps, ", table_num(first, "steps", NULL));
        table_put(p, table_text(first, "version", "?"));
        if (strcmp(table_text(first, "status", "?"), "complete") != 0) {
            fprintf(p->f, ", %s", p->alert);
            table_put(p, table_text(first, "status", "?"));
            fprintf(p->f, "%s", p->plain);
        }
    } else {
        table_put(p, table_text(s, "name", "?"));
        fprintf(p->f, ": %zu runs", json_array_size(runs));
    }
    fprintf(p->f, "\n");
}

static void metric(struct table_page *p, const json_t *m)
{
    char a[TABLE_CELL], b[TABLE_CELL], change[TABLE_CELL] = "-", interval[TABLE_CELL] = "-", p_text[TABLE_CELL] = "-";
    double ratio = table_num(m, "ratio", "median"), lo = table_num(m, "ratio", "lo"), hi = table_num(m, "ratio", "hi");
    double probability = table_num(m, "p", NULL);
    if (isfinite(ratio))
        snprintf(change, sizeof change, "%+.1f %%", 100 * (ratio - 1));
    if (isfinite(lo) && isfinite(hi))
        snprintf(interval, sizeof interval, "%+.1f .. %+.1f %%", 100 * (lo - 1), 100 * (hi - 1));
    if (isfinite(probability))
        snprintf(p_text, sizeof p_text, probability < 0.0001 ? "< 0.0001" : "%.4f", probability);
    fprintf(p->f, "%-16s %12s %12s %9s  %-20s %9s  %s\n", table_text(m, "name", "?"), table_compare_figure(a, m, "a"),
            table_compare_figure(b, m, "b"), change, interval, p_text, table_text(m, "verdict", "?"));
}

/* What the verdict rests on, or what would be needed for one. */
static void explain(struct table_page *p, const char *verdict)
{
    const json_t *d = p->d;
    bool steps = strcmp(table_text(d, "unit", "?"), "blocks of steps") == 0;
    fprintf(p->f, "            by %s; noise floor %.1f %% (%s)\n", table_text(d, "unit", "?"),
            100 * table_num(d, "noise_floor", NULL), table_text(d, "noise_floor_source", "?"));
    if (strcmp(verdict, "too few runs") == 0 && steps)
        fprintf(p->f,
                "            with so few steps no difference could reach p < %g: take longer runs, or at least 4 "
                "runs of each\n",
                table_num(d, "alpha", NULL));
    else if (strcmp(verdict, "too few runs") == 0)
        fprintf(p->f, "            with so few runs no difference could reach p < %g (at best %.3f): 4 of each can\n",
                table_num(d, "alpha", NULL), table_num(d, "p_least", NULL));
    else if (steps)
        fprintf(p->f,
                "            one run of each: what changes from run to run, such as heat or another program, is not "
                "in it; 4 runs of each, taken in turns, show it\n");
}

static void unlike(struct table_page *p)
{
    const json_t *list = json_object_get(p->d, "not_comparable");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *o = json_array_get(list, i);
        fprintf(p->f, "%s%s%s", p->alert, i ? "            " : "unlike      ", p->plain);
        table_put(p, table_text(o, "condition", "?"));
        fprintf(p->f, ": ");
        table_put(p, table_text(o, "a", "?"));
        fprintf(p->f, " against ");
        table_put(p, table_text(o, "b", "?"));
        fprintf(p->f, "\n");
    }
}

char *table_compare_render(const json_t *d, const struct table_style *style)
{
    struct table_page p;
    if (!table_open(&p, d, style))
        return NULL;
    const char *verdict = table_text(d, "verdict", "?");
    side(&p, "A", json_object_get(d, "a"));
    side(&p, "B", json_object_get(d, "b"));
    unlike(&p);
    double ratio = table_num(d, "ratio", "median");
    table_label(&p, "verdict");
    if (strcmp(verdict, "faster") == 0 || strcmp(verdict, "slower") == 0)
        fprintf(p.f, "%sB is %s: its step takes %.3f of A's (%.3f .. %.3f)%s\n", p.bold, verdict, ratio,
                table_num(d, "ratio", "lo"), table_num(d, "ratio", "hi"), p.plain);
    else
        fprintf(p.f, "%s%s%s\n", p.bold, verdict, p.plain);
    explain(&p, verdict);
    fprintf(p.f, "\n%s%-16s %12s %12s %9s  %-20s %9s  %s%s\n", p.bold, "median of", "A", "B", "change", "95 % interval",
            "p", "", p.plain);
    const json_t *list = json_object_get(d, "metrics");
    for (size_t i = 0; i < json_array_size(list); i++)
        metric(&p, json_array_get(list, i));
    return table_close(&p);
}
