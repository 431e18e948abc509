/* report/table_predict.c - see table_predict.h. Start at table_predict_render(). */
#include "report/table_predict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "report/fields.h"
#include "report/table_parts.h"

static double bound(const json_t *o, const char *key, const char *which)
{
    return table_num(o, key, which);
}

/* "1.42x [1.35 .. 1.50]" */
static const char *speedup(char *buf, const json_t *o, const char *key)
{
    double median = bound(o, key, "median"), lo = bound(o, key, "lo"), hi = bound(o, key, "hi");
    if (!isfinite(median))
        snprintf(buf, TABLE_CELL, "-");
    else if (isfinite(lo))
        snprintf(buf, TABLE_CELL, "%.2fx [%.2f .. %.2f]", median, lo, hi);
    else
        snprintf(buf, TABLE_CELL, "%.3fx", median);
    return buf;
}

static const char *probability(char *buf, double p)
{
    if (!isfinite(p))
        snprintf(buf, TABLE_CELL, "-");
    else
        snprintf(buf, TABLE_CELL, "%.2f", p);
    return buf;
}

/* ---- head ---- */

static void heading(struct table_page *p)
{
    const json_t *s = table_at(p->d, "source", NULL);
    char cell[TABLE_CELL];
    fprintf(p->f, "%s", p->bold);
    table_put(p, table_text(s, "model", "prediction"));
    fprintf(p->f, "%s  ", p->plain);
    const char *run = table_text(s, "run", NULL);
    if (run) {
        double alone = table_num(s, "step_s", NULL);
        double tokens = table_num(s, "tokens_per_step", NULL);
        if (isfinite(tokens))
            fprintf(p->f, "%.0f tokens per node and step; ", tokens);
        fprintf(p->f, "%.0f steps of a node alone, %s each\n", table_num(s, "steps", NULL), table_time(cell, alone));
        table_label(p, "run");
        table_put(p, run);
        fprintf(p->f, "\n");
    } else {
        fprintf(p->f, "from stated numbers\n");
    }
}

static void link_line(struct table_page *p)
{
    const json_t *l = table_at(p->d, "link", NULL);
    char rate[64], cell[TABLE_CELL];
    const char *medium = table_text(l, "medium", NULL);
    table_label(p, "link");
    table_put(p, table_text(l, "name", "?"));
    fprintf(p->f, " (");
    table_put(p, table_text(l, "origin", "?"));
    fprintf(p->f, "): %s, round trip %s", units_format_rate(rate, sizeof rate, table_num(l, "rate_bytes_per_s", NULL)),
            table_time(cell, table_num(l, "rtt_s", NULL)));
    if (medium && strcmp(medium, "duplex") != 0)
        fprintf(p->f, ", %s", strcmp(medium, "half") == 0 ? "one direction at a time" : "shared by all nodes");
    fprintf(p->f, "\n");
}

static void plan_line(struct table_page *p)
{
    const json_t *plan = table_at(p->d, "plan", NULL), *list = table_at(plan, "buckets", NULL);
    size_t n = json_array_size(list);
    char cell[TABLE_CELL];
    table_label(p, "sent");
    fprintf(p->f, "%s", table_bytes(cell, sizeof cell, table_num(plan, "bytes", NULL)));
    const char *schedule = table_text(plan, "schedule", NULL);
    if (schedule && strcmp(schedule, "none") != 0) {
        const json_t *last = json_array_get(list, n ? n - 1 : 0);
        fprintf(p->f, ", schedule %s, %zu bucket%s", schedule, n, n == 1 ? "" : "s");
        if (n > 1)
            fprintf(p->f, "; the last, %s, is complete at %.0f %% of backward",
                    table_bytes(cell, sizeof cell, table_num(last, "bytes", NULL)),
                    100 * table_num(last, "ready", NULL));
    } else {
        fprintf(p->f, ", after computing");
    }
    fprintf(p->f, "\n");
}

/* ---- nodes ---- */

static void verdict_line(struct table_page *p, const json_t *o)
{
    char cell[TABLE_CELL];
    const char *verdict = table_text(o, "verdict", NULL), *limit = table_text(o, "limit", NULL);
    double nodes = table_num(o, "nodes", NULL), probable = table_num(o, "p_faster", NULL);
    if (!verdict)
        return;
    table_label(p, "verdict");
    fprintf(p->f, "%s%.0f nodes: %s%s, %s as fast as the fastest node alone", p->bold, nodes, verdict, p->plain,
            speedup(cell, o, "speedup"));
    if (isfinite(probable))
        fprintf(p->f, "; faster with probability %s", probability(cell, probable));
    if (limit && strcmp(limit, "compute") != 0) {
        fprintf(p->f, "; held back by ");
        table_put(p, limit);
    }
    fprintf(p->f, "\n");
}

static void nodes_table(struct table_page *p, const json_t *list)
{
    fprintf(p->f, "\n%s%5s %10s  %-22s %6s  %-9s %10s %11s %10s  %-6s%s\n", p->bold, "nodes", "step", "speed-up [90 %]",
            "P(>1)", "verdict", "bytes need", "not hidden", "efficiency", "rule", p->plain);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *o = json_array_get(list, i);
        char a[TABLE_CELL], b[TABLE_CELL], c[TABLE_CELL], d[TABLE_CELL], q[TABLE_CELL], x[TABLE_CELL] = "-",
                                                                                        n[TABLE_CELL] = "-";
        double efficiency = bound(o, "efficiency", "median"), naive = table_num(o, "naive", "speedup");
        if (isfinite(efficiency))
            snprintf(x, sizeof x, "%.0f %%", 100 * efficiency);
        if (isfinite(naive))
            snprintf(n, sizeof n, "%.2fx", naive);
        fprintf(p->f, "%5.0f %10s  %-22s %6s  %-9s %10s %11s %10s  %s%s\n", table_num(o, "nodes", NULL),
                table_time(a, bound(o, "step_s", "median")), speedup(b, o, "speedup"),
                probability(q, table_num(o, "p_faster", NULL)), table_text(o, "verdict", "-"),
                table_time(c, table_num(o, "t_comm_s", NULL)), table_time(d, bound(o, "exposed_s", "median")), x, n,
                json_is_true(json_object_get(o, "extrapolated")) ? "  extrapolated" : "");
    }
}

/* ---- details ---- */

static void inverse_row(struct table_page *p, const char *key, const char *label, const char *value)
{
    char path[64];
    snprintf(path, sizeof path, "inverse.%s", key);
    fprintf(p->f, "  %-24s", label);
    if (isfinite(table_num(table_at(p->d, "inverse", NULL), key, NULL)))
        fprintf(p->f, "%s\n", value);
    else {
        table_put(p, field_reason(p->d, path, "?"));
        fprintf(p->f, "\n");
    }
}

static void inverse(struct table_page *p)
{
    const json_t *o = table_at(p->d, "inverse", NULL);
    char value[96];
    if (!json_is_object(o))
        return;
    double target = table_num(o, "target_speedup", NULL);
    fprintf(p->f, "\n%sWhat it takes for %.4gx with %.0f nodes%s, each by itself:\n", p->bold, target,
            table_num(o, "nodes", NULL), p->plain);
    units_format_rate(value, sizeof value, table_num(o, "rate_bytes_per_s", NULL));
    inverse_row(p, "rate_bytes_per_s", "a link of at least", value);
    snprintf(value, sizeof value, "%.0f per node and step", table_num(o, "tokens_per_node", NULL));
    inverse_row(p, "tokens_per_node", "tokens, at least", value);
    snprintf(value, sizeof value, "%.0f micro-batches per update", table_num(o, "accum", NULL));
    inverse_row(p, "accum", "accumulation, at least", value);
    snprintf(value, sizeof value, "%.2f times slower than this node", table_num(o, "partner_slower", NULL));
    inverse_row(p, "partner_slower", "partners, at most", value);
}

static void changes(struct table_page *p)
{
    const json_t *list = table_at(p->d, "changes", NULL);
    char cell[TABLE_CELL], q[TABLE_CELL];
    if (json_array_size(list) == 0)
        return;
    fprintf(p->f, "\n%s%-20s%-22s %6s  %s%s\n", p->bold, "one change", "speed-up [90 %]", "P(>1)", "verdict", p->plain);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *o = json_array_get(list, i);
        fprintf(p->f, "%-20s%-22s %6s  %s%s\n", table_text(o, "change", "?"), speedup(cell, o, "speedup"),
                probability(q, table_num(o, "p_faster", NULL)), table_text(o, "verdict", "?"),
                json_is_true(json_object_get(o, "flips")) ? "  <- turns the verdict" : "");
    }
}

static void curve(struct table_page *p)
{
    const json_t *o = table_at(p->d, "curve", NULL), *list = table_at(o, "points", NULL);
    char cell[TABLE_CELL], q[TABLE_CELL];
    if (json_array_size(list) == 0)
        return;
    fprintf(p->f, "\n%s%-20s%-22s %6s  %s%s\n", p->bold, "tokens per node", "speed-up [90 %]", "P(>1)", "verdict",
            p->plain);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *point = json_array_get(list, i);
        fprintf(p->f, "%-20.0f%-22s %6s  %s\n", table_num(point, "tokens_per_node", NULL),
                speedup(cell, point, "speedup"), probability(q, table_num(point, "p_faster", NULL)),
                table_text(point, "verdict", "?"));
    }
    double even = table_num(o, "even_at_tokens", NULL);
    if (isfinite(even))
        fprintf(p->f, "even at %.0f tokens per node\n", even);
}

static void shares(struct table_page *p)
{
    const json_t *o = table_at(p->d, "shares", NULL), *list = table_at(o, "share", NULL);
    char a[TABLE_CELL], b[TABLE_CELL];
    size_t n = json_array_size(list);
    if (n == 0)
        return;
    fprintf(p->f, "\n");
    table_label(p, "shares");
    for (size_t i = 0; i < n && i < 16; i++)
        fprintf(p->f, "%s%.1f %%", i ? " : " : "", 100 * table_value(json_array_get(list, i)));
    fprintf(p->f, "%s of the batch: %s; equal shares: %s\n", n > 16 ? " ..." : "", speedup(a, o, "speedup"),
            speedup(b, o, "speedup_equal"));
}

static void heat(struct table_page *p)
{
    const json_t *list = table_at(p->d, "heat", NULL);
    char a[TABLE_CELL], b[TABLE_CELL], c[TABLE_CELL], d[TABLE_CELL];
    if (json_array_size(list) == 0)
        return;
    fprintf(p->f, "\n%s%-12s%10s%12s  %-22s %s%s\n", p->bold, "after", "alone", "step", "speed-up [90 %]", "verdict",
            p->plain);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *o = json_array_get(list, i);
        fprintf(p->f, "%-12s%10s%12s  %-22s %s\n", table_seconds(a, sizeof a, table_num(o, "time_s", NULL)),
                table_time(b, table_num(o, "alone_s", NULL)), table_time(c, bound(o, "step_s", "median")),
                speedup(d, o, "speedup"), table_text(o, "verdict", "?"));
    }
}

static void goal(struct table_page *p)
{
    const json_t *o = table_at(p->d, "goal", NULL);
    if (!json_is_object(o))
        return;
    fprintf(p->f, "\n");
    table_label(p, "goal");
    fprintf(p->f, "%.0f steps: %.4g h alone; with %.0f nodes %.4g h for as many steps, %.4g h for as many tokens\n",
            table_num(o, "steps", NULL), table_num(o, "hours_alone", NULL), table_num(o, "nodes", NULL),
            table_num(o, "hours_same_steps", NULL), table_num(o, "hours_same_tokens", NULL));
    table_label(p, "");
    table_put(p, table_text(o, "caveat", "?"));
    fprintf(p->f, "\n");
}

static void uncertainty(struct table_page *p)
{
    const json_t *v = table_at(p->d, "variance", NULL);
    if (!json_is_object(v))
        return;
    fprintf(p->f, "\n");
    table_label(p, "uncertain");
    fprintf(p->f, "by the model %.0f %%, the link and its cost %.0f %%, steps that vary %.0f %% of the variance\n",
            100 * table_num(v, "model", NULL), 100 * table_num(v, "link", NULL), 100 * table_num(v, "jitter", NULL));
}

static void assumptions(struct table_page *p)
{
    const json_t *list = table_at(p->d, "assumptions", NULL);
    for (size_t i = 0; i < json_array_size(list); i++) {
        table_label(p, i ? "" : "assumed");
        table_put(p, json_string_value(json_array_get(list, i)));
        fprintf(p->f, "\n");
    }
}

static void unknown(struct table_page *p)
{
    const json_t *o = json_array_get(table_at(p->d, "nodes", NULL), 0);
    char cell[TABLE_CELL];
    double even = table_num(o, "break_even_step_s", NULL);
    if (!isfinite(even))
        return;
    fprintf(p->f, "\n");
    table_label(p, "speed-up");
    fprintf(p->f, "cannot be told: ");
    table_put(p, field_reason(p->d, "nodes[0].speedup", "?"));
    fprintf(p->f, "\n");
    table_label(p, "break-even");
    fprintf(p->f, "without overlap a step of one node has to take more than %s\n", table_time(cell, even));
}

/* ---- pages ---- */

char *table_predict_render(const json_t *d, const struct table_style *style)
{
    struct table_page p;
    if (!table_open(&p, d, style))
        return NULL;
    const json_t *nodes = table_at(d, "nodes", NULL), *what_if = table_at(d, "what_if", NULL);
    heading(&p);
    link_line(&p);
    plan_line(&p);
    for (size_t i = 0; i < json_array_size(nodes); i++)
        if (table_num(json_array_get(nodes, i), "nodes", NULL) > 1) {
            verdict_line(&p, json_array_get(nodes, i));
            break;
        }
    nodes_table(&p, nodes);
    if (json_is_object(what_if)) {
        fprintf(p.f, "\nwhat if ");
        table_put(&p, table_text(what_if, "changes", "?"));
        nodes_table(&p, table_at(what_if, "nodes", NULL));
    }
    unknown(&p);
    inverse(&p);
    shares(&p);
    changes(&p);
    curve(&p);
    heat(&p);
    goal(&p);
    uncertainty(&p);
    fprintf(p.f, "\n");
    assumptions(&p);
    return table_close(&p);
}

static void twin(struct table_page *p)
{
    const json_t *prediction = table_at(p->d, "prediction", NULL), *list = table_at(prediction, "media", NULL);
    char cell[TABLE_CELL], rate[64];
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *o = json_array_get(list, i), *l = json_object_get(o, "link");
        if (i == 0)
            fprintf(p->f, "\n%sA second node like this one%s, predicted, not measured:\n", p->bold, p->plain);
        fprintf(p->f, "%-12s%-26s  %-22s %s", table_text(l, "name", "?"),
                units_format_rate(rate, sizeof rate, table_num(l, "rate_bytes_per_s", NULL)),
                speedup(cell, o, "speedup"), table_text(o, "verdict", "?"));
        const char *limit = table_text(o, "limit", NULL);
        if (limit && strcmp(limit, "compute") != 0) {
            fprintf(p->f, "; held back by ");
            table_put(p, limit);
        }
        fprintf(p->f, "\n");
    }
}

char *table_prediction_line(const json_t *o)
{
    char step[TABLE_CELL], low[TABLE_CELL], high[TABLE_CELL], ratio[TABLE_CELL];
    struct table_page p;
    if (!table_open(&p, o, &(struct table_style){.colour = false}))
        return NULL;
    fprintf(p.f, "step %s", table_time(step, bound(o, "step_s", "median")));
    if (isfinite(bound(o, "step_s", "lo")))
        fprintf(p.f, " [%s .. %s]", table_time(low, bound(o, "step_s", "lo")),
                table_time(high, bound(o, "step_s", "hi")));
    fprintf(p.f, ", speed-up %s: %s", speedup(ratio, o, "speedup"), table_text(o, "verdict", "?"));
    return table_close(&p);
}

/* A prediction that was made before the run, and how far off it was. */
static void scored(struct table_page *p)
{
    const json_t *o = table_at(p->d, "prediction", NULL);
    double error = table_value(table_at(o, "error", NULL));
    char *line = isfinite(bound(o, "step_s", "median")) ? table_prediction_line(o) : NULL;
    if (!line)
        return;
    table_label(p, "predicted");
    table_put(p, line);
    if (isfinite(error))
        fprintf(p->f, "; the step is %+.1f %% off", 100 * error);
    fprintf(p->f, "\n");
    free(line);
}

void table_prediction(struct table_page *p)
{
    if (table_num(p->d, "world", NULL) > 1)
        scored(p);
    else
        twin(p);
}
