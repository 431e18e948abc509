/* report/table_history.c - the list of runs and what a check of them found; see table_compare.h. */
#include <math.h>
#include <string.h>

#include "report/table_compare.h"
#include "report/table_parts.h"

/* Text in a column: cleaned, cut or filled to its width. */
static void column(struct table_page *p, const char *value, int width)
{
    char cut[128];
    int n = 0;
    for (const char *c = value; *c && n < width && n < (int)sizeof cut - 1; c++)
        if (((unsigned char)*c & 0xc0) != 0x80) /* a character's first byte */
            n++;
    const char *end = value;
    for (int k = 0; *end && k < width; k++)
        for (end++; ((unsigned char)*end & 0xc0) == 0x80; end++)
            ;
    snprintf(cut, sizeof cut, "%.*s", (int)(end - value), value);
    table_put(p, cut);
    fprintf(p->f, "%*s ", width - n, "");
}

static void run_row(struct table_page *p, const json_t *run)
{
    const json_t *conditions = json_object_get(run, "conditions"), *metrics = json_object_get(run, "metrics");
    char cell[TABLE_CELL], size[64];
    snprintf(size, sizeof size, "%.20sx%.20s", table_text(conditions, "batch", "?"),
             table_text(conditions, "seq", "?"));
    column(p, table_text(run, "started", "-"), 20);
    column(p, table_text(run, "model", "-"), 16);
    column(p, size, 9);
    double ratio = table_num(metrics, "floor.ratio", NULL),
           tokens = table_num(metrics, "summary.tokens_per_s.median", NULL);
    fprintf(p->f, "%5.0f %10s ", table_num(run, "world", NULL),
            table_time(cell, table_num(metrics, "summary.step_s.median", NULL)));
    fprintf(p->f, "%9s ", isfinite(tokens) ? table_number(cell, sizeof cell, tokens) : "-");
    fprintf(p->f, "%6s ", isfinite(ratio) ? (snprintf(cell, sizeof cell, "%.2f", ratio), cell) : "-");
    const char *status = table_text(run, "status", "-");
    column(p, strcmp(status, "complete") == 0 ? "" : status, 11);
    column(p, table_text(run, "label", "-"), 14);
    column(p, table_text(run, "version", "-"), 18);
    table_put(p, table_text(run, "file", "-"));
    fprintf(p->f, "\n");
}

/* Files that were passed over: a count, and the first of them by name. */
static void skipped(struct table_page *p)
{
    enum { NAMED = 10 };
    const json_t *list = json_object_get(p->d, "skipped");
    size_t n = json_array_size(list);
    if (n == 0)
        return;
    fprintf(p->f, "\n%sskipped     %zu file%s that cannot be used as a result:%s\n", p->alert, n, n == 1 ? "" : "s",
            p->plain);
    for (size_t i = 0; i < n && i < NAMED; i++) {
        fprintf(p->f, "            ");
        table_put(p, table_text(json_array_get(list, i), "why", "?"));
        fprintf(p->f, "\n");
    }
    if (n > NAMED)
        fprintf(p->f, "            and %zu more (--json names all)\n", n - NAMED);
}

char *table_history_render(const json_t *d, const struct table_style *style)
{
    struct table_page p;
    if (!table_open(&p, d, style))
        return NULL;
    const json_t *runs = json_object_get(d, "runs");
    size_t n = json_array_size(runs);
    if (n == 0) {
        fprintf(p.f, "no run in ");
        table_put(&p, table_text(d, "folder", "?"));
        fprintf(p.f, "\n");
    } else {
        fprintf(p.f, "%s%-20s %-16s %-9s %5s %10s %9s %6s %-11s %-14s %-18s %s%s\n", p.bold, "started", "model",
                "batch", "ranks", "step", "tokens/s", "/floor", "", "label", "version", "file", p.plain);
        for (size_t i = 0; i < n; i++)
            run_row(&p, json_array_get(runs, i));
        fprintf(p.f, "\n%zu run%s in ", n, n == 1 ? "" : "s");
        table_put(&p, table_text(d, "folder", "?"));
        fprintf(p.f, "\n");
    }
    skipped(&p);
    return table_close(&p);
}

/* ---- --check ---- */

static const char *figure(char *buf, const json_t *m, const char *key)
{
    double x = table_num(m, key, NULL);
    if (strcmp(table_text(m, "unit", ""), "s") == 0)
        return table_time(buf, x);
    snprintf(buf, TABLE_CELL, isfinite(x) ? "%.3f" : "-", x);
    return buf;
}

static void metric_row(struct table_page *p, const json_t *m)
{
    char level[TABLE_CELL], before[TABLE_CELL];
    const char *verdict = table_text(m, "verdict", "?");
    bool bad = strcmp(verdict, "regression") == 0;
    double ratio = table_num(m, "ratio", NULL), p_value = table_num(m, "p", NULL);
    fprintf(p->f, "  %-14s %s%-12s%s %10s", table_text(m, "name", "?"), bad ? p->alert : "", verdict,
            bad ? p->plain : "", figure(level, m, "level"));
    if (isfinite(ratio)) {
        const json_t *since = json_object_get(m, "since");
        const char *label = table_text(since, "label", NULL), *version = table_text(since, "version", "?");
        fprintf(p->f, "  %+.1f %% from %s, p %.3f, since ", 100 * (ratio - 1), figure(before, m, "before"), p_value);
        table_put(p, table_text(since, "started", "?"));
        fprintf(p->f, " (");
        table_put(p, label ? label : version);
        fprintf(p->f, ")");
    }
    fprintf(p->f, "\n");
}

char *table_check_render(const json_t *d, const struct table_style *style)
{
    struct table_page p;
    if (!table_open(&p, d, style))
        return NULL;
    const json_t *groups = json_object_get(d, "groups");
    for (size_t i = 0; i < json_array_size(groups); i++) {
        const json_t *group = json_array_get(groups, i), *metrics = json_object_get(group, "metrics");
        fprintf(p.f, "%s", p.bold);
        table_put(&p, table_text(group, "name", "?"));
        double n = table_num(group, "runs", NULL);
        fprintf(p.f, "%s: %.0f run%s\n", p.plain, n, n == 1 ? "" : "s");
        for (size_t k = 0; k < json_array_size(metrics); k++)
            metric_row(&p, json_array_get(metrics, k));
    }
    double left_out = table_num(d, "left_out", NULL), least = table_num(d, "least", NULL);
    const char *verdict = table_text(d, "verdict", "?");
    fprintf(p.f, "%s%sverdict     %s%s%s", json_array_size(groups) ? "\n" : "",
            strcmp(verdict, "regression") == 0 ? p.alert : p.bold, verdict, p.plain,
            strcmp(verdict, "no baseline") == 0 ? ": " : "\n");
    if (strcmp(verdict, "no baseline") == 0)
        fprintf(p.f, "no group has the %.0f runs that it takes to see a step\n", least);
    if (left_out > 0)
        fprintf(p.f, "            %.0f run%s did not end well and count%s for nothing\n", left_out,
                left_out == 1 ? "" : "s", left_out == 1 ? "s" : "");
    skipped(&p);
    return table_close(&p);
}
