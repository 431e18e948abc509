/* report/history_plot.c - see history_plot.h. The SVG is written here: a line and some texts need no other program. */
#include "config.h" /* _GNU_SOURCE, for open_memstream */

#include "report/history_plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/shift.h"
#include "base/stats.h"
#include "report/clean.h"
#include "report/digest.h"
#include "report/history_check.h"
#include "report/table_parts.h"

static char *name_of(const json_t *digest)
{
    const char *label = json_string_value(json_object_get(digest, "label"));
    const char *version = json_string_value(json_object_get(digest, "version"));
    return (char *)(label ? label : version ? version : "?");
}

int history_plot_make(struct history_plot *p, const struct history *h, const struct history_filter *filter,
                      const char *metric, double noise_floor, struct err *e)
{
    int left_out, newest = -1;
    const json_t *group = NULL;
    struct shift shift;
    memset(p, 0, sizeof *p);
    const struct digest_metric *m = digest_metric_find(metric ? metric : "step");
    if (!m)
        return err_set(e, ERR_USAGE,
                       "option --metric takes a name such as step, 'step / floor', exposed or tokens/s, not '%.80s'",
                       metric);
    json_t *groups = history_groups(h, filter, &left_out);
    for (size_t i = 0; i < json_array_size(groups); i++) {
        const json_t *g = json_array_get(groups, i);
        int last = (int)json_integer_value(json_array_get(g, json_array_size(g) - 1));
        if (last > newest) {
            newest = last;
            group = g;
        }
    }
    size_t n = json_array_size(group);
    p->y = malloc((n + 1) * sizeof *p->y);
    p->name = malloc((n + 1) * sizeof *p->name);
    for (size_t i = 0; i < n && p->y && p->name; i++) {
        const json_t *digest = h->rows[json_integer_value(json_array_get(group, i))].digest;
        double v = digest_value(digest, m->path);
        if (isfinite(v) && v > 0) {
            p->y[p->n] = v;
            p->name[p->n++] = name_of(digest);
        }
    }
    json_decref(groups);
    if (!p->y || !p->name || shift_last(&shift, p->y, p->n, noise_floor))
        return err_set(e, ERR_MEMORY, "no memory to draw the history");
    if (n == 0)
        return err_set(e, ERR_NO_INPUT, "no complete run in %.300s to draw", h->folder);
    if (p->n == 0)
        return err_set(e, ERR_DATA, "none of the %zu runs has the metric '%s'", n, digest_name(m));
    p->metric = digest_name(m);
    p->unit = digest_unit(m);
    p->shift = shift.at;
    p->from = shift.from;
    p->before = shift.before;
    p->after = shift.after;
    history_group_name(p->title, sizeof p->title, h->rows[newest].digest);
    return 0;
}

void history_plot_free(struct history_plot *p)
{
    free(p->y);
    free(p->name);
    memset(p, 0, sizeof *p);
}

static const char *figure(char *buf, const struct history_plot *p, double y)
{
    if (strcmp(p->unit, "s") == 0)
        return table_time(buf, y);
    if (strcmp(p->unit, "bytes") == 0)
        return table_bytes(buf, TABLE_CELL, y);
    return table_number(buf, TABLE_CELL, y);
}

/* Limits with some room; never empty. */
static void limits(const struct history_plot *p, double *low, double *high)
{
    *low = *high = p->y[0];
    for (int i = 1; i < p->n; i++) {
        *low = fmin(*low, p->y[i]);
        *high = fmax(*high, p->y[i]);
    }
    double room = fmax(0.05 * (*high - *low), 0.005 * *high);
    *low -= room;
    *high += room;
}

/* ---- terminal ---- */

enum { ROWS = 14, MARGIN = 13, COLUMNS_LEAST = 20 };

static int row_of(double y, double low, double high)
{
    int row = (int)lrint((high - y) / (high - low) * (ROWS - 1));
    return row < 0 ? 0 : row >= ROWS ? ROWS - 1 : row;
}

char *history_plot_text(const struct history_plot *p, int columns)
{
    int room = columns - MARGIN > COLUMNS_LEAST ? columns - MARGIN : COLUMNS_LEAST, width = p->n < room ? p->n : room;
    double low, high;
    char *out = NULL, cell[TABLE_CELL], title[320], first[64], last[64];
    size_t size = 0;
    FILE *f = open_memstream(&out, &size);
    double *scratch = malloc((size_t)p->n * sizeof *scratch);
    char *grid = malloc((size_t)(ROWS * width));
    if (!f || !scratch || !grid) {
        if (f)
            fclose(f);
        free(out);
        free(scratch);
        free(grid);
        return NULL;
    }
    limits(p, &low, &high);
    memset(grid, ' ', (size_t)(ROWS * width));
    for (int c = 0; c < width; c++) {
        int from = (int)((long)c * p->n / width), to = (int)((long)(c + 1) * p->n / width);
        memcpy(scratch, p->y + from, (size_t)(to - from) * sizeof *scratch);
        for (int r = 0; p->shift && from <= p->shift && p->shift < to && r < ROWS; r++)
            grid[r * width + c] = ':';
        grid[row_of(stats_median(scratch, (size_t)(to - from)), low, high) * width + c] = '*';
    }
    fprintf(f, "%s: %s of %d run%s\n", clean_text(title, sizeof title, p->title), p->metric, p->n,
            p->n == 1 ? "" : "s");
    for (int r = 0; r < ROWS; r++) {
        bool tick = r % ((ROWS - 1) / 2) == 0;
        fprintf(f, "%*s |%.*s\n", MARGIN - 2, tick ? figure(cell, p, high - (high - low) * r / (ROWS - 1)) : "", width,
                grid + r * width);
    }
    fprintf(f, "%*s +", MARGIN - 2, "");
    for (int c = 0; c < width; c++)
        fputc('-', f);
    fprintf(f, "\n%*s%s ... %s\n", MARGIN, "", clean_text(first, sizeof first, p->name[0]),
            clean_text(last, sizeof last, p->name[p->n - 1]));
    if (p->shift)
        fprintf(f, "%*s: from here on %s, before %s; it begins with %s\n", MARGIN, "", figure(cell, p, p->after),
                figure((char[TABLE_CELL]){0}, p, p->before), clean_text(first, sizeof first, p->name[p->shift]));
    free(scratch);
    free(grid);
    return fclose(f) == 0 ? out : (free(out), NULL);
}

/* ---- SVG ---- */

enum { WIDTH = 900, HEIGHT = 420, LEFT = 100, RIGHT = 20, TOP = 40, BOTTOM = 90, NAMES = 12, NAME_BYTES = 20 };

/* Five to ten lines across an axis of that length. */
static double line_step(double length)
{
    double power = pow(10, floor(log10(length))), rest = length / power;
    return power * (rest < 2 ? 0.2 : rest < 5 ? 0.5 : 1);
}

static double at_x(const struct history_plot *p, int i)
{
    return p->n == 1 ? LEFT + (WIDTH - LEFT - RIGHT) / 2.0 : LEFT + (double)(WIDTH - LEFT - RIGHT) * i / (p->n - 1);
}

static double at_y(double y, double low, double high)
{
    return TOP + (HEIGHT - TOP - BOTTOM) * (high - y) / (high - low);
}

static void put_text(FILE *f, double x, double y, const char *anchor, double turn, const char *text)
{
    char cut[128];
    fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"", x, y, anchor);
    if (turn != 0)
        fprintf(f, " transform=\"rotate(%.0f %.1f %.1f)\"", turn, x, y);
    fprintf(f, ">");
    clean_html(f, clean_text(cut, sizeof cut, text));
    fprintf(f, "</text>\n");
}

static void put_level(FILE *f, const struct history_plot *p, int from, int to, double y, double low, double high)
{
    fprintf(f, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke-dasharray=\"6 4\"/>\n", at_x(p, from),
            at_x(p, to), at_y(y, low, high), at_y(y, low, high));
}

char *history_plot_svg(const struct history_plot *p)
{
    double low, high;
    char *out = NULL, cell[TABLE_CELL], title[420], name[NAME_BYTES + 4];
    size_t size = 0;
    FILE *f = open_memstream(&out, &size);
    if (!f)
        return NULL;
    limits(p, &low, &high);
    double step = line_step(high - low);
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            WIDTH, HEIGHT, WIDTH, HEIGHT);
    snprintf(title, sizeof title, "%s: %s", p->title, p->metric);
    put_text(f, LEFT, 24, "start", 0, title);
    for (int i = 0; i < 12 && (ceil(low / step) + i) * step <= high; i++) {
        double y = (ceil(low / step) + i) * step;
        fprintf(f, "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#ccc\"/>\n", LEFT, WIDTH - RIGHT,
                at_y(y, low, high), at_y(y, low, high));
        put_text(f, LEFT - 8, at_y(y, low, high) + 4, "end", 0, figure(cell, p, y));
    }
    int every = (p->n + NAMES - 1) / NAMES;
    for (int i = 0; i < p->n; i += every) {
        if (strlen(clean_text(name, NAME_BYTES, p->name[i])) < strlen(p->name[i]))
            strcat(name, "...");
        put_text(f, at_x(p, i), HEIGHT - BOTTOM + 18, "end", -35, name);
    }
    fprintf(f, "<line x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\" stroke=\"black\"/>\n", LEFT, LEFT, TOP, HEIGHT - BOTTOM);
    fprintf(f, "<g stroke=\"black\" fill=\"none\" stroke-width=\"1.5\">\n<polyline stroke-width=\"1\" points=\"");
    for (int i = 0; i < p->n; i++)
        fprintf(f, "%.1f,%.1f ", at_x(p, i), at_y(p->y[i], low, high));
    fprintf(f, "\"/>\n");
    put_level(f, p, p->from, p->shift ? p->shift - 1 : p->n - 1, p->before, low, high);
    if (p->shift) {
        put_level(f, p, p->shift, p->n - 1, p->after, low, high);
        fprintf(f, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" stroke-dasharray=\"2 3\"/>\n", at_x(p, p->shift),
                at_x(p, p->shift), TOP, HEIGHT - BOTTOM);
    }
    fprintf(f, "</g>\n<g fill=\"black\">\n");
    for (int i = 0; i < p->n; i++)
        fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\"/>\n", at_x(p, i), at_y(p->y[i], low, high));
    fprintf(f, "</g>\n");
    if (p->shift) {
        bool left = at_x(p, p->shift) > WIDTH / 2.0; /* of its line, where there is more room */
        snprintf(title, sizeof title, "from here on %s, before %s", figure(cell, p, p->after),
                 figure((char[TABLE_CELL]){0}, p, p->before));
        put_text(f, at_x(p, p->shift) + (left ? -6 : 6), TOP + 12, left ? "end" : "start", 0, title);
    }
    fprintf(f, "</svg>\n");
    return fclose(f) == 0 ? out : (free(out), NULL);
}
