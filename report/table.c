/*
 * report/table.c - see table.h. Start at table_render(). All durations of a table are in one unit, chosen by
 * its step time, so that columns can be compared at a glance.
 */
#include "report/table.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL_WIDTH = 12, VALUE_WIDTH = 10 };

struct unit {
    const char *name;
    double per_second;
    int decimals;
};

struct page {
    FILE *f;
    const json_t *d;
    const char *bold, *dim, *alert, *plain; /* "" without colours */
    struct unit unit;
};

/* Follows a path of member names ("summary", "step_s", "median", NULL). */
static json_t *at(const json_t *o, ...)
{
    va_list ap;
    va_start(ap, o);
    json_t *value = (json_t *)o;
    for (const char *key; value && (key = va_arg(ap, const char *));)
        value = json_object_get(value, key);
    va_end(ap);
    return value;
}

static double number(const json_t *value)
{
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static double num(const json_t *o, const char *a, const char *b)
{
    return number(at(o, a, b, NULL));
}

/* Text without what could steer a terminal. */
static void put(struct page *p, const char *text)
{
    for (const unsigned char *c = (const unsigned char *)(text ? text : "?"); *c; c++)
        fputc(*c < 0x20 || *c == 0x7f ? '?' : *c, p->f);
}

static void label(struct page *p, const char *text)
{
    fprintf(p->f, "%s%-*s%s", p->bold, LABEL_WIDTH, text, p->plain);
}

const char *table_number(char *buf, size_t size, double x)
{
    int decimals = 0;
    if (x != 0 && isfinite(x))
        decimals = 3 - (int)floor(log10(fabs(x)));
    if (decimals < 0)
        decimals = 0;
    snprintf(buf, size, "%.*f", decimals > 9 ? 9 : decimals, x);
    return buf;
}

const char *table_bytes(char *buf, size_t size, double bytes)
{
    static const char *const names[] = {"B", "kB", "MB", "GB", "TB"};
    int i = 0;
    while (i < 4 && bytes >= 999.5) {
        bytes /= 1000;
        i++;
    }
    char digits[48];
    snprintf(buf, size, "%s %s",
             i ? table_number(digits, sizeof digits, bytes) : (snprintf(digits, sizeof digits, "%.0f", bytes), digits),
             names[i]);
    return buf;
}

static struct unit unit_for(double seconds)
{
    if (seconds >= 10)
        return (struct unit){"s", 1, 2};
    if (seconds >= 1)
        return (struct unit){"ms", 1e3, 1};
    if (seconds >= 1e-3)
        return (struct unit){"ms", 1e3, seconds >= 0.01 ? 2 : 3};
    return (struct unit){"µs", 1e6, seconds >= 1e-4 ? 1 : 2};
}

const char *table_seconds(char *buf, size_t size, double seconds)
{
    char digits[48];
    if (seconds >= 59.5) {
        long s = lround(seconds);
        if (s >= 3600)
            snprintf(buf, size, "%ld h %ld min", s / 3600, s % 3600 / 60);
        else if (s % 60 == 0)
            snprintf(buf, size, "%ld min", s / 60);
        else
            snprintf(buf, size, "%ld min %ld s", s / 60, s % 60);
        return buf;
    }
    if (seconds >= 1 || seconds == 0) {
        snprintf(buf, size, "%.*f s", seconds >= 10 || seconds == floor(seconds) ? 0 : 1, seconds);
        return buf;
    }
    struct unit u = unit_for(seconds);
    snprintf(buf, size, "%s %s", table_number(digits, sizeof digits, seconds * u.per_second), u.name);
    return buf;
}

/* A duration in the table's unit, right-aligned; a dash if unknown. */
static void duration(struct page *p, double seconds, int width)
{
    if (isfinite(seconds))
        fprintf(p->f, "%*.*f", width, p->unit.decimals, seconds * p->unit.per_second);
    else
        fprintf(p->f, "%*s", width, "-");
}

static void heading(struct page *p)
{
    char size[32], tokens[32];
    const json_t *m = at(p->d, "model", NULL);
    fprintf(p->f, "%s", p->bold);
    put(p, json_string_value(at(m, "name", NULL)));
    double parameters = num(m, "unique_parameters", NULL);
    if (parameters >= 1e5)
        fprintf(p->f, "%s  %s M parameters, ", p->plain, table_number(size, sizeof size, parameters * 1e-6));
    else
        fprintf(p->f, "%s  %.0f parameters, ", p->plain, parameters);
    double accum = num(m, "accum", NULL);
    fprintf(p->f, "batch %.0f x %.0f", num(m, "batch", NULL), num(m, "seq", NULL));
    if (accum > 1)
        fprintf(p->f, " x %.0f", accum);
    snprintf(tokens, sizeof tokens, "%.0f", num(m, "tokens_per_step", NULL));
    fprintf(p->f, " = %s tokens per step, ", tokens);
    put(p, json_string_value(at(m, "dtype", NULL)));
    fprintf(p->f, "\n");
}

static void node(struct page *p)
{
    const json_t *n = json_array_get(at(p->d, "nodes", NULL), 0);
    char digits[32];
    label(p, "node");
    put(p, json_string_value(at(n, "name", NULL)));
    fprintf(p->f, ": ");
    const char *cpu = json_string_value(at(n, "cpu", NULL));
    put(p, cpu ? cpu : "processor unknown");
    fprintf(p->f, "\n");
    label(p, "threads");
    fprintf(p->f, "%.0f", num(n, "threads", NULL));
    const char *reason = json_string_value(at(n, "threads_reason", NULL));
    if (reason) {
        fprintf(p->f, ": ");
        put(p, reason);
    }
    fprintf(p->f, "\n");
    label(p, "kernels");
    fprintf(p->f, "OpenBLAS ");
    put(p, json_string_value(at(n, "blas_kernel", NULL)));
    double rate = num(p->d, "product_rate", "flops_per_s");
    if (isfinite(rate))
        fprintf(p->f, ", %s GFLOP/s in matrix products", table_number(digits, sizeof digits, rate * 1e-9));
    const char *kernels = json_string_value(at(n, "kernels", NULL));
    if (kernels) {
        fprintf(p->f, "; the rest ");
        put(p, kernels);
    }
    fprintf(p->f, "\n");
}

/* Unit and deviation of a value, and room for a remark if there is one. */
static void deviation(struct page *p, const char *unit, double mad, int decimals, bool remark)
{
    char digits[48] = "-";
    if (isfinite(mad))
        snprintf(digits, sizeof digits, "%.*f", decimals, mad);
    fprintf(p->f, " %-2s %s± %-*s%s", unit, p->dim, remark ? 9 : 0, digits, p->plain);
}

static void part(struct page *p, const char *name, const char *key, double step_s)
{
    const json_t *s = at(p->d, "summary", key, NULL);
    double median = num(s, "median", NULL);
    label(p, name);
    duration(p, median, VALUE_WIDTH);
    deviation(p, p->unit.name, num(s, "mad", NULL) * p->unit.per_second, p->unit.decimals, isfinite(step_s));
    if (isfinite(step_s) && step_s > 0)
        fprintf(p->f, "%3.0f %% of the step", 100 * median / step_s);
    fprintf(p->f, "\n");
}

static void rate(struct page *p, const char *name, const char *key, double scale)
{
    const json_t *s = at(p->d, "summary", key, NULL);
    double median = num(s, "median", NULL) * scale, mad = num(s, "mad", NULL) * scale;
    char digits[48];
    label(p, name);
    fprintf(p->f, "%*s", VALUE_WIDTH, table_number(digits, sizeof digits, median));
    int decimals = 0; /* as many for the deviation as for the median */
    for (const char *dot = strchr(digits, '.'); dot && dot[decimals + 1]; decimals++)
        ;
    double share = num(p->d, "summary", "share_of_product_rate");
    bool remark = strcmp(key, "flops_per_s") == 0 && isfinite(share);
    deviation(p, "", mad, decimals, remark);
    if (remark)
        fprintf(p->f, "%3.0f %% of the product rate", 100 * share);
    fprintf(p->f, "\n");
}

static void summary(struct page *p)
{
    const json_t *steps = at(p->d, "summary", "step_s", NULL);
    double step_s = num(steps, "median", NULL), n = num(steps, "n", NULL);
    char digits[48];
    if (!isfinite(step_s)) {
        const char *why = json_string_value(at(p->d, "reasons", "summary.step_s", NULL));
        label(p, "step");
        fprintf(p->f, "not measured: ");
        put(p, why ? why : "unknown");
        fprintf(p->f, "\n");
        return;
    }
    label(p, "step");
    duration(p, step_s, VALUE_WIDTH);
    deviation(p, p->unit.name, num(steps, "mad", NULL) * p->unit.per_second, p->unit.decimals, true);
    fprintf(p->f, "median and MAD of %.0f %s\n", n, n == 1 ? "step" : "steps");
    part(p, "  forward", "forward_s", step_s);
    part(p, "  backward", "backward_s", step_s);
    part(p, "  optimizer", "optimizer_s", step_s);
    rate(p, "tokens/s", "tokens_per_s", 1);
    rate(p, "GFLOP/s", "flops_per_s", 1e-9);
    double floor_s = num(p->d, "floor", "step_s"), ratio = num(p->d, "floor", "ratio");
    if (isfinite(floor_s)) {
        label(p, "floor");
        duration(p, floor_s, VALUE_WIDTH);
        deviation(p, p->unit.name, num(p->d, "floor", "mad") * p->unit.per_second, p->unit.decimals, true);
        fprintf(p->f, "matrix products alone; step / floor %s%.2f%s\n", p->bold, ratio, p->plain);
    }
    double first = num(p->d, "loss", "first"), last = num(p->d, "loss", "last");
    label(p, "loss");
    fprintf(p->f, "%*s", VALUE_WIDTH, isfinite(first) ? table_number(digits, sizeof digits, first) : "-");
    fprintf(p->f, " -> %s", isfinite(last) ? table_number(digits, sizeof digits, last) : "not finite");
    double validation = num(p->d, "loss", "validation");
    if (isfinite(validation))
        fprintf(p->f, ", validation %s", table_number(digits, sizeof digits, validation));
    fprintf(p->f, "\n");
}

static void layers(struct page *p)
{
    json_t *list = at(p->d, "layers", NULL), *layer;
    size_t i;
    if (json_array_size(list) == 0)
        return;
    fprintf(p->f, "\n%s%-*s%12s%12s%12s%18s%s   %s, medians\n", p->bold, LABEL_WIDTH, "layer", "forward", "backward",
            "optimizer", "gradients ready", p->plain, p->unit.name);
    json_array_foreach(list, i, layer)
    {
        fprintf(p->f, "%-*s", LABEL_WIDTH, json_string_value(at(layer, "name", NULL)));
        duration(p, num(layer, "forward_s", "median"), 12);
        duration(p, num(layer, "backward_s", "median"), 12);
        duration(p, num(layer, "optimizer_s", "median"), 12);
        duration(p, num(layer, "ready_s", "median"), 18);
        fprintf(p->f, "\n");
    }
    fprintf(p->f, "\n");
}

static void memory(struct page *p)
{
    char peak[48], planned[48];
    double peak_bytes = num(p->d, "memory", "peak_bytes");
    label(p, "memory");
    if (isfinite(peak_bytes))
        fprintf(p->f, "peak %s, ", table_bytes(peak, sizeof peak, peak_bytes));
    fprintf(p->f, "planned %s", table_bytes(planned, sizeof planned, num(p->d, "memory", "planned_bytes")));
    double gradients = num(p->d, "model", "gradient_bytes");
    fprintf(p->f, "; gradients %s\n", table_bytes(peak, sizeof peak, gradients));
}

/* What makes the numbers above less than they seem. */
static void state(struct page *p)
{
    const char *status = json_string_value(at(p->d, "status", NULL));
    const char *message = json_string_value(at(p->d, "error", "message", NULL));
    bool stopped = status && strcmp(status, "interrupted") == 0;
    if (status && strcmp(status, "complete") != 0) {
        fprintf(p->f, "%s", p->alert);
        label(p, status);
        fprintf(p->f, "%s", p->alert);
        put(p, message && !stopped ? message : "the figures below are of the steps until then");
        fprintf(p->f, "%s\n", p->plain);
    }
    double throttled = num(p->d, "throttled_periods", NULL);
    if (throttled > 0)
        fprintf(p->f, "%s%-*s%.0f periods in which the CPU quota held the run back%s\n", p->alert, LABEL_WIDTH,
                "throttled", throttled, p->plain);
    if (json_is_true(at(p->d, "unsteady", NULL))) {
        fprintf(p->f, "%s%-*s", p->alert, LABEL_WIDTH, "unsteady");
        fprintf(p->f, "median step of the first half ");
        duration(p, num(p->d, "halves", "first_step_s"), 1);
        fprintf(p->f, " %s, of the second ", p->unit.name);
        duration(p, num(p->d, "halves", "second_step_s"), 1);
        fprintf(p->f, " %s%s\n", p->unit.name, p->plain);
    }
}

static void warnings(struct page *p)
{
    json_t *list = at(p->d, "warnings", NULL), *text;
    size_t i;
    json_array_foreach(list, i, text)
    {
        label(p, "warning");
        put(p, json_string_value(text));
        fprintf(p->f, "\n");
    }
}

char *table_render(const json_t *document, const struct table_style *style)
{
    char *text = NULL;
    size_t size = 0;
    struct page p = {.f = open_memstream(&text, &size), .d = document, .bold = "", .dim = "", .alert = "", .plain = ""};
    if (!p.f)
        return NULL;
    if (style->colour) {
        p.bold = "\033[1m";
        p.dim = "\033[2m";
        p.alert = "\033[33m";
        p.plain = "\033[0m";
    }
    double step_s = number(at(document, "summary", "step_s", "median", NULL));
    p.unit = unit_for(isfinite(step_s) ? step_s : 1);
    heading(&p);
    node(&p);
    state(&p);
    fprintf(p.f, "\n");
    summary(&p);
    layers(&p);
    memory(&p);
    if (style->warnings)
        warnings(&p);
    if (fclose(p.f) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
