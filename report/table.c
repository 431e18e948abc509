/*
 * report/table.c - see table.h. Start at table_render(). All durations of a table are in one unit, chosen by
 * its step time, so that columns can be compared at a glance.
 */
#include "report/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/fields.h"
#include "report/table_parts.h"
#include "report/table_predict.h"

static void heading(struct table_page *p)
{
    char size[32], tokens[32];
    const json_t *m = table_at(p->d, "model", NULL);
    fprintf(p->f, "%s", p->bold);
    table_put(p, json_string_value(table_at(m, "name", NULL)));
    double parameters = table_num(m, "unique_parameters", NULL);
    if (parameters >= 1e5)
        fprintf(p->f, "%s  %s M parameters, ", p->plain, table_number(size, sizeof size, parameters * 1e-6));
    else
        fprintf(p->f, "%s  %.0f parameters, ", p->plain, parameters);
    double accum = table_num(m, "accum", NULL);
    double world = table_num(p->d, "world", NULL);
    double batch = table_num(m, "batch", NULL), seq = table_num(m, "seq", NULL);
    if (world > 1)
        fprintf(p->f, "%.0f ranks, %.0f x %.0f", world, batch, seq);
    else
        fprintf(p->f, "batch %.0f x %.0f", batch, seq);
    if (accum > 1)
        fprintf(p->f, " x %.0f", accum);
    bool equal = fabs(table_num(m, "tokens_per_step", NULL) - world * batch * seq * accum) < 0.5;
    if (world > 1)
        fprintf(p->f, equal ? " each" : " on this one");
    snprintf(tokens, sizeof tokens, "%.0f", table_num(m, "tokens_per_step", NULL));
    fprintf(p->f, " = %s tokens per step, ", tokens);
    table_put(p, json_string_value(table_at(m, "dtype", NULL)));
    fprintf(p->f, "\n");
}

static void node(struct table_page *p)
{
    const json_t *n = json_array_get(table_at(p->d, "nodes", NULL), 0);
    char digits[32];
    table_label(p, "node");
    table_put(p, json_string_value(table_at(n, "name", NULL)));
    fprintf(p->f, ": ");
    const char *cpu = json_string_value(table_at(n, "cpu", NULL));
    table_put(p, cpu ? cpu : "processor unknown");
    fprintf(p->f, "\n");
    table_label(p, "threads");
    fprintf(p->f, "%.0f", table_num(n, "threads", NULL));
    const char *reason = json_string_value(table_at(n, "threads_reason", NULL));
    if (reason) {
        fprintf(p->f, ": ");
        table_put(p, reason);
    }
    fprintf(p->f, "\n");
    table_label(p, "kernels");
    fprintf(p->f, "OpenBLAS ");
    table_put(p, json_string_value(table_at(n, "blas_kernel", NULL)));
    double rate = table_num(p->d, "product_rate", "flops_per_s");
    if (isfinite(rate))
        fprintf(p->f, ", %s GFLOP/s in products", table_number(digits, sizeof digits, rate * 1e-9));
    const char *kernels = json_string_value(table_at(n, "kernels", NULL));
    if (kernels) {
        fprintf(p->f, "; the rest ");
        table_put(p, kernels);
    }
    fprintf(p->f, "\n");
}

/* Unit and deviation of a value, and room for a remark if there is one. */
static void deviation(struct table_page *p, const char *unit, double mad, int decimals, bool remark)
{
    char digits[48] = "-";
    if (isfinite(mad))
        snprintf(digits, sizeof digits, "%.*f", decimals, mad);
    fprintf(p->f, " %-2s %s± %-*s%s", unit, p->dim, remark ? 9 : 0, digits, p->plain);
}

static void part(struct table_page *p, const char *name, const char *key, double step_s)
{
    const json_t *s = table_at(p->d, "summary", key, NULL);
    double median = table_num(s, "median", NULL);
    table_label(p, name);
    table_duration(p, median, TABLE_VALUE_WIDTH);
    deviation(p, p->unit.name, table_num(s, "mad", NULL) * p->unit.per_second, p->unit.decimals, isfinite(step_s));
    if (isfinite(step_s) && step_s > 0)
        fprintf(p->f, "%3.0f %% of the step", 100 * median / step_s);
    fprintf(p->f, "\n");
}

static void rate(struct table_page *p, const char *name, const char *key, double scale)
{
    const json_t *s = table_at(p->d, "summary", key, NULL);
    double median = table_num(s, "median", NULL) * scale, mad = table_num(s, "mad", NULL) * scale;
    char digits[48];
    table_label(p, name);
    fprintf(p->f, "%*s", TABLE_VALUE_WIDTH, table_number(digits, sizeof digits, median));
    int decimals = 0; /* as many for the deviation as for the median */
    for (const char *dot = strchr(digits, '.'); dot && dot[decimals + 1]; decimals++)
        ;
    double share = table_num(p->d, "summary", "share_of_product_rate");
    bool remark = strcmp(key, "flops_per_s") == 0 && isfinite(share);
    deviation(p, "", mad, decimals, remark);
    if (remark)
        fprintf(p->f, "%3.0f %% of the product rate", 100 * share);
    fprintf(p->f, "\n");
}

static void replay(struct table_page *p)
{
    const json_t *r = table_at(p->d, "replay", NULL), *slow = table_at(r, "slow", NULL), *s;
    size_t i;
    if (!json_is_object(r))
        return;
    fprintf(p->f, "%s", p->alert);
    table_label(p, "replayed");
    fprintf(p->f, "%s", p->alert);
    fprintf(p->f, "%.0f steps of ", table_num(r, "steps", NULL));
    table_put(p, json_string_value(table_at(r, "source", NULL)));
    json_array_foreach((json_t *)slow, i, s)
    {
        fprintf(p->f, ", rank %.0f x %g", table_num(s, "rank", NULL), table_num(s, "factor", NULL));
    }
    fprintf(p->f, ": nothing was computed%s\n", p->plain);
}

static void summary(struct table_page *p)
{
    const json_t *steps = table_at(p->d, "summary", "step_s", NULL);
    double step_s = table_num(steps, "median", NULL), n = table_num(steps, "n", NULL);
    char digits[48];
    if (!isfinite(step_s)) {
        table_label(p, "step");
        fprintf(p->f, "not measured: ");
        table_put(p, field_reason(p->d, "summary.step_s", "unknown"));
        fprintf(p->f, "\n");
        return;
    }
    table_label(p, "step");
    table_duration(p, step_s, TABLE_VALUE_WIDTH);
    deviation(p, p->unit.name, table_num(steps, "mad", NULL) * p->unit.per_second, p->unit.decimals, true);
    if (n < 2)
        fprintf(p->f, "one step, so no spread is known\n");
    else
        fprintf(p->f, "median and MAD of %.0f steps\n", n);
    part(p, "  forward", "forward_s", step_s);
    part(p, "  backward", "backward_s", step_s);
    part(p, "  optimizer", "optimizer_s", step_s);
    rate(p, "tokens/s", "tokens_per_s", 1);
    rate(p, "GFLOP/s", "flops_per_s", 1e-9);
    double floor_s = table_num(p->d, "floor", "step_s"), ratio = table_num(p->d, "floor", "ratio");
    if (isfinite(floor_s)) {
        table_label(p, "floor");
        table_duration(p, floor_s, TABLE_VALUE_WIDTH);
        deviation(p, p->unit.name, table_num(p->d, "floor", "mad") * p->unit.per_second, p->unit.decimals, true);
        fprintf(p->f, "matrix products alone; step / floor %s%.2f%s\n", p->bold, ratio, p->plain);
    }
    double first = table_num(p->d, "loss", "first"), last = table_num(p->d, "loss", "last");
    if (json_is_object(table_at(p->d, "replay", NULL)))
        return;
    table_label(p, "loss");
    fprintf(p->f, "%*s", TABLE_VALUE_WIDTH, isfinite(first) ? table_number(digits, sizeof digits, first) : "-");
    fprintf(p->f, " -> %s", isfinite(last) ? table_number(digits, sizeof digits, last) : "not finite");
    double validation = table_num(p->d, "loss", "validation");
    if (isfinite(validation))
        fprintf(p->f, ", validation %s", table_number(digits, sizeof digits, validation));
    fprintf(p->f, "\n");
}

static void layers(struct table_page *p)
{
    json_t *list = table_at(p->d, "layers", NULL), *layer;
    size_t i;
    if (json_array_size(list) == 0)
        return;
    fprintf(p->f, "\n%s%-*s%12s%12s%12s%18s%s   %s, medians\n", p->bold, TABLE_LABEL_WIDTH, "layer", "forward",
            "backward", "optimizer", "gradients ready", p->plain, p->unit.name);
    json_array_foreach(list, i, layer)
    {
        fprintf(p->f, "%-*s", TABLE_LABEL_WIDTH, json_string_value(table_at(layer, "name", NULL)));
        table_duration(p, table_num(layer, "forward_s", "median"), 12);
        table_duration(p, table_num(layer, "backward_s", "median"), 12);
        table_duration(p, table_num(layer, "optimizer_s", "median"), 12);
        table_duration(p, table_num(layer, "ready_s", "median"), 18);
        fprintf(p->f, "\n");
    }
    fprintf(p->f, "\n");
}

static void memory(struct table_page *p)
{
    char peak[48], planned[48];
    double peak_bytes = table_num(p->d, "memory", "peak_bytes");
    table_label(p, "memory");
    if (isfinite(peak_bytes))
        fprintf(p->f, "peak %s, ", table_bytes(peak, sizeof peak, peak_bytes));
    fprintf(p->f, "planned %s", table_bytes(planned, sizeof planned, table_num(p->d, "memory", "planned_bytes")));
    double gradients = table_num(p->d, "model", "gradient_bytes");
    fprintf(p->f, "; gradients %s\n", table_bytes(peak, sizeof peak, gradients));
}

/* What makes the numbers above less than they seem. */
static void state(struct table_page *p)
{
    const char *status = json_string_value(table_at(p->d, "status", NULL));
    const char *message = json_string_value(table_at(p->d, "error", "message", NULL));
    bool stopped = status && strcmp(status, "interrupted") == 0;
    if (status && strcmp(status, "complete") != 0) {
        fprintf(p->f, "%s", p->alert);
        table_label(p, status);
        fprintf(p->f, "%s", p->alert);
        table_put(p, message && !stopped ? message : "the figures below are of the steps until then");
        fprintf(p->f, "%s\n", p->plain);
    }
    double throttled = table_num(p->d, "throttled_periods", NULL);
    if (throttled > 0)
        fprintf(p->f, "%s%-*s%.0f periods in which the CPU quota held the run back%s\n", p->alert, TABLE_LABEL_WIDTH,
                "throttled", throttled, p->plain);
    if (json_is_true(table_at(p->d, "unsteady", NULL))) {
        fprintf(p->f, "%s%-*s", p->alert, TABLE_LABEL_WIDTH, "unsteady");
        fprintf(p->f, "median step of the first half ");
        table_duration(p, table_num(p->d, "halves", "first_step_s"), 1);
        fprintf(p->f, " %s, of the second ", p->unit.name);
        table_duration(p, table_num(p->d, "halves", "second_step_s"), 1);
        fprintf(p->f, " %s%s\n", p->unit.name, p->plain);
    }
}

static void warnings(struct table_page *p)
{
    json_t *list = table_at(p->d, "warnings", NULL), *text;
    size_t i;
    json_array_foreach(list, i, text)
    {
        table_label(p, "warning");
        table_put(p, json_string_value(text));
        fprintf(p->f, "\n");
    }
}

char *table_render(const json_t *document, const struct table_style *style)
{
    struct table_page p;
    if (!table_open(&p, document, style))
        return NULL;
    double step_s = table_value(table_at(document, "summary", "step_s", "median", NULL));
    p.unit = table_unit_for(isfinite(step_s) ? step_s : 1);
    heading(&p);
    node(&p);
    replay(&p);
    state(&p);
    fprintf(p.f, "\n");
    summary(&p);
    layers(&p);
    if (table_num(document, "world", NULL) > 1)
        table_ranks(&p);
    memory(&p);
    table_health(&p);
    table_prediction(&p);
    if (style->warnings)
        warnings(&p);
    return table_close(&p);
}
