/*
 * report/plot_health.c - how the node was while it trained: step time, clock and temperature over the run. See plot_pen.h.
 * series() is the only place that knows how a document keeps them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/clean.h"
#include "report/fields.h"
#include "report/plot_pen.h"
#include "report/table_parts.h"

enum { POINTS_SHOWN = 800 }; /* more cannot be told apart on 860 */

struct panel {
    const char *title;
    int columns;      /* lines of the panel */
    double low, high; /* of its values; high < low: none */
    char why[160];
};

/* Every group of n becomes its smallest and its largest, so that no spike is lost. */
static size_t group_size(size_t n)
{
    return n > POINTS_SHOWN ? (2 * n + POINTS_SHOWN - 1) / POINTS_SHOWN : 1;
}

static void take(struct panel *p, double x)
{
    if (isfinite(x)) {
        p->low = fmin(p->low, x);
        p->high = fmax(p->high, x);
    }
}

struct mark { /* a step to be drawn */
    double at, step;
    bool marked;
};

static void step_row(struct pen *pen, const struct mark *m)
{
    fprintf(pen->dat, "%.9g %.9g %s\n", m->at, m->step, m->marked ? "1" : "?");
}

/* Steps with the instant of their end, on the axis of the readings; documents that do not tell it have steps that follow each
 * other, with the fetching of batches and the agreement of ranks between them. Returns when the last one ended. */
static double step_rows(struct pen *pen, const json_t *d, struct panel *p, size_t *marked)
{
    const json_t *list = json_object_get(d, "samples");
    size_t n = json_array_size(list), group = group_size(n), in = 0;
    double at = 0;
    struct mark least = {0}, most = {0};
    *marked = 0;
    for (size_t i = 0; i < n; i++) {
        const json_t *o = json_array_get(list, i);
        double s = table_num(o, "step_s", NULL), data = table_num(o, "data_s", NULL),
               agree = table_num(o, "agree_s", NULL);
        double begin = table_num(o, "at_s", NULL);
        if (isfinite(s) && s >= 0) {
            at = isfinite(begin) ? begin + s : at + s + (data > 0 ? data : 0) + (agree > 0 ? agree : 0);
            struct mark m = {at, s, json_array_size(json_object_get(o, "marks")) > 0};
            *marked += m.marked;
            take(p, s);
            least = in == 0 || s < least.step ? m : least;
            most = in == 0 || s >= most.step ? m : most;
            in++;
        }
        if (in == 0 || (in < group && i != n - 1))
            continue;
        if (in > 1 && least.at < most.at)
            step_row(pen, &least);
        step_row(pen, &most);
        if (in > 1 && least.at > most.at)
            step_row(pen, &least);
        in = 0;
    }
    if (!(p->high >= p->low))
        fprintf(pen->dat, "? ? ?\n");
    return at;
}

/* Rows of "seconds, gigahertz, degrees"; a series is kept by columns. */
static double health_rows(struct pen *pen, const json_t *d, struct panel *clock, struct panel *heat)
{
    const json_t *series = table_at(json_array_get(json_object_get(d, "nodes"), 0), "health", "series", NULL);
    const json_t *t = json_object_get(series, "t_s"), *hz = json_object_get(series, "clock_hz");
    const json_t *degrees = json_object_get(series, "cpu_degc");
    size_t n = json_array_size(t), group = group_size(n), drawn = 0;
    double last = 0;
    for (size_t i = 0; i < n; i += group) {
        double at = table_value(json_array_get(t, i)), ghz = table_value(json_array_get(hz, i)) * 1e-9;
        double degc = table_value(json_array_get(degrees, i));
        if (!isfinite(at))
            continue;
        fprintf(pen->dat, "%.9g", at);
        pen_number(pen, ghz);
        pen_number(pen, degc);
        fputc('\n', pen->dat);
        take(clock, ghz);
        take(heat, degc);
        last = fmax(last, at);
        drawn++;
    }
    if (drawn == 0)
        fprintf(pen->dat, "? ? ?\n");
    return last;
}

/* Between two and five labels on an axis of that length: a panel is low. */
static double tic_step(double length)
{
    double power = pow(10, floor(log10(length))), rest = length / power;
    return power * (rest < 2 ? 0.5 : rest < 5 ? 1 : 2);
}

static void draw_panel(struct pen *pen, const struct panel *p, double end_s, const char *what, bool lowest)
{
    fprintf(pen->gp, "set ylabel '%s'\n%s", p->title,
            lowest ? "set xlabel 'since the run began, s'\nset format x\n" : "unset xlabel\nset format x ''\n");
    if (!(p->high >= p->low)) {
        fprintf(pen->gp, "set label 1 ");
        char text[200];
        snprintf(text, sizeof text, "no data: %s", p->why);
        clean_gnuplot(pen->gp, text);
        fprintf(
            pen->gp,
            " at graph 0.5,0.5 center\nunset ytics\nplot [0:%.9g] [0:1] 2 notitle\nunset label 1\nset ytics nomirror\n",
            end_s);
        return;
    }
    double room = 0.15 * (p->high - p->low) + 0.02 * fabs(p->high) + 1e-9;
    double low = fmax(0, p->low - room), high = p->high + room;
    fprintf(pen->gp, "set ytics %.9g\nplot [0:%.9g] [%.9g:%.9g] %s\n", tic_step(high - low), end_s, low, high, what);
}

static void why_not(struct panel *p, const json_t *d, const char *path, const char *otherwise)
{
    char clean[160];
    snprintf(p->why, sizeof p->why, "%s", clean_text(clean, sizeof clean, field_reason(d, path, otherwise)));
}

bool plot_health(struct plots *list, const json_t *d)
{
    struct panel step = {.low = INFINITY, .high = -INFINITY}, clock = step, heat = step;
    struct pen pen;
    if (!pen_begin(&pen, list, "health", "How the node was while it trained", 520,
                   "index 0: when a step ended and how long it took, in seconds, 1 if it is marked; 1: seconds, GHz, "
                   "degrees Celsius"))
        return false;
    size_t marked, n = json_array_size(json_object_get(d, "samples"));
    double end_s = step_rows(&pen, d, &step, &marked);
    pen_next_block(&pen);
    end_s = fmax(end_s, health_rows(&pen, d, &clock, &heat));
    if (!(step.high >= step.low) && !(clock.high >= clock.low) && !(heat.high >= heat.low)) {
        pen_nothing(&pen, field_reason(d, "summary.step_s", "no timed step"));
        return pen_end(&pen);
    }
    struct pen_unit u = pen_unit_for(step.high);
    end_s = end_s > 0 ? 1.01 * end_s : 1;
    why_not(&step, d, "summary.step_s", "no timed step");
    why_not(&clock, d, "nodes[0].health.series.clock_hz", "the clock was not recorded in this run");
    why_not(&heat, d, "nodes[0].health.series.cpu_degc", "the temperature was not recorded in this run");
    char title[32], what[320];
    snprintf(title, sizeof title, "step, %s", u.name);
    step.title = title;
    clock.title = "clock, GHz";
    heat.title = "heat, °C";
    step.low *= u.per_second;
    step.high *= u.per_second;
    snprintf(what, sizeof what,
             "'health.dat' index 0 using 1:($2*%g) with points pt 7 ps 0.5 lc rgb '#2f6ea5' notitle, "
             "'' index 0 using 1:($3*$2*%g) with points pt 4 ps 1.2 lw 1.5 lc rgb '#c23b4e' notitle",
             u.per_second, u.per_second);
    fprintf(pen.gp,
            "unset key\nset lmargin 10\nset rmargin 3\nset grid ytics lc rgb '#9a9a9a' lw 0.5\nset ytics autofreq\n"
            "set multiplot layout 3,1\n");
    draw_panel(&pen, &step, end_s, what, false);
    draw_panel(&pen, &clock, end_s, "'health.dat' index 1 using 1:2 with lines lw 2 lc rgb '#8a63b8' notitle", false);
    draw_panel(&pen, &heat, end_s, "'health.dat' index 1 using 1:3 with lines lw 2 lc rgb '#c23b4e' notitle", true);
    fprintf(pen.gp, "unset multiplot\n");
    pen_caption(
        &pen,
        "Every timed step of rank 0 at its end, with the clock and the temperature of its node on the same axis.");
    const char *source =
        json_string_value(table_at(json_array_get(json_object_get(d, "nodes"), 0), "health", "clock_source", NULL));
    char clean[80];
    if (source && clock.high >= clock.low)
        pen_caption(&pen, " The clock is from %s.", clean_text(clean, sizeof clean, source));
    if (marked)
        pen_caption(&pen, " %zu of them, in squares, are marked as disturbed.", marked);
    if (group_size(n) > 1)
        pen_caption(&pen, " %zu steps are drawn as the smallest and the largest of every %zu.", n, group_size(n));
    return pen_end(&pen);
}
