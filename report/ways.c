/* report/ways.c - see ways.h. */
#include "report/ways.h"

#include <math.h>
#include <stdio.h>

#include "report/clean.h"
#include "report/table_parts.h"

static const char *times(char *buf, double x)
{
    char digits[TABLE_CELL];
    snprintf(buf, WAYS_CELL, isfinite(x) ? "%sx" : "-", table_number(digits, sizeof digits, x));
    return buf;
}

static const char *percent(char *buf, double x)
{
    char digits[TABLE_CELL];
    snprintf(buf, WAYS_CELL, isfinite(x) ? "%s %%" : "-", table_number(digits, sizeof digits, 100 * x));
    return buf;
}

static const char *rate(char *buf, double x)
{
    return isfinite(x) ? table_rate(buf, WAYS_CELL, x) : "-";
}

const struct way_figure way_figures[] = {
    {"rate_bytes_per_s", "rate, both ways at once", rate, NULL},
    {"rtt_s", "round trip", table_time, NULL},
    {"jitter_s", "jitter", table_time, "from the median round trip to its 90th percentile, idle"},
    {"step_s", "step", table_time, NULL},
    {"exposed_s", "standing still", table_time, "in a step, for communication that no computing hides"},
    {"exposed_share", "not hidden", percent, "the part of all communication that is waited for"},
    {"compute_slowdown", "computing beside it", times,
     "how many times as long this node computes in a common step as in one alone"},
    {"predicted_speedup", "speed-up, predicted", times, NULL},
    {"measured_speedup", "speed-up, measured", times, "of two nodes over this interface, against the faster one alone"},
    {NULL, NULL, NULL, NULL}};

/* One figure of both ways, which stand side by side: 80 columns hold them. */
static void row(FILE *f, const json_t *ways, const struct way_figure *figure)
{
    char cell[WAYS_CELL];
    fprintf(f, "%-26s", figure->title);
    for (size_t i = 0; i < json_array_size(ways); i++)
        fprintf(f, "%27s", figure->format(cell, table_num(json_array_get(ways, i), figure->key, NULL)));
    fputc('\n', f);
}

static void words(FILE *f, const json_t *ways, const char *title, const char *key)
{
    char clean[28];
    fprintf(f, "%-26s", title);
    for (size_t i = 0; i < json_array_size(ways); i++)
        fprintf(f, "%27s", clean_text(clean, sizeof clean, table_text(json_array_get(ways, i), key, "-")));
    fputc('\n', f);
}

char *ways_render(const json_t *d)
{
    struct table_page p;
    const json_t *ways = json_object_get(d, "ways");
    if (!table_open(&p, d, &(struct table_style){.colour = false}))
        return NULL;
    words(p.f, ways, "interface", "interface");
    words(p.f, ways, "kind", "kind");
    for (const struct way_figure *w = way_figures; w->key; w++)
        row(p.f, ways, w);
    fputc('\n', p.f);
    for (const struct way_figure *w = way_figures; w->key; w++)
        if (w->note)
            fprintf(p.f, "%s: %s\n", w->title, w->note);
    fputc('\n', p.f);
    return table_close(&p);
}
