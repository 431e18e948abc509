/* report/plot_step.c - where a step's time goes: per rank, per layer, and how steps differ. See plot_pen.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "report/clean.h"
#include "report/fields.h"
#include "report/plot_pen.h"
#include "report/table_parts.h"

enum { RANKS_SHOWN = 16, LAYERS_SHOWN = 64, BINS_MAX = 40 };

/* ---- breakdown ---- */

enum part { FORWARD, BACKWARD, BOTH, EXPOSED, OPTIMIZER, PARTS };

static const char *const part_names[PARTS] = {"forward", "backward", "forward and backward", "exposed", "optimizer"};

/* Median over a rank's kept steps of what each part sums up to; false if the timeline has none of that rank. */
static bool from_timeline(const json_t *d, size_t rank, double part[PARTS])
{
    const json_t *steps = table_at(json_array_get(table_at(d, "timeline", "ranks", NULL), rank), "steps", NULL);
    size_t n = json_array_size(steps);
    double *sum = calloc(n * PARTS + 1, sizeof *sum);
    for (size_t i = 0; sum && i < n; i++) {
        const json_t *p = table_at(json_array_get(steps, i), "parts", NULL);
        const json_t *name = json_object_get(p, "part"), *ns = json_object_get(p, "duration_ns");
        for (size_t k = 0; k < json_array_size(name); k++)
            for (int which = 0; which < PARTS; which++) {
                const char *is = json_string_value(json_array_get(name, k));
                if (is && strcmp(is, part_names[which]) == 0)
                    sum[(size_t)which * n + i] += 1e-9 * json_number_value(json_array_get(ns, k));
            }
    }
    for (int which = 0; sum && n > 0 && which < PARTS; which++)
        part[which] = stats_median(sum + (size_t)which * n, n);
    free(sum);
    return sum && n > 0;
}

static double zero_if_unknown(double x)
{
    return isfinite(x) && x > 0 ? x : 0;
}

static double parts_of(const json_t *d, size_t rank, double part[PARTS])
{
    static const char *const keys[PARTS] = {"forward_s", "backward_s", NULL, "exposed_s", "optimizer_s"};
    const json_t *s = json_object_get(d, "summary"), *node = json_array_get(json_object_get(d, "nodes"), rank);
    double all = 0;
    memset(part, 0, PARTS * sizeof *part);
    if (rank == 0) {
        for (int i = 0; i < PARTS; i++)
            part[i] = keys[i] ? zero_if_unknown(table_num(s, keys[i], "median")) : 0;
    } else if (!from_timeline(d, rank, part)) {
        part[BOTH] = zero_if_unknown(table_value(table_at(node, "summary", "compute_s", "median", NULL)));
        part[EXPOSED] = zero_if_unknown(table_value(table_at(node, "summary", "exposed_s", "median", NULL)));
    }
    for (int i = 0; i < PARTS; i++)
        all += part[i];
    return all;
}

bool plot_breakdown(struct plots *list, const json_t *d)
{
    static const char *const style[PARTS] = {PLOT_FORWARD, PLOT_BACKWARD, PLOT_BOTH, PLOT_EXPOSED, PLOT_OPTIMIZER};
    static const char *const title[PARTS] = {"forward", "backward", "computing", "standing still", "optimizer"};
    const json_t *nodes = json_object_get(d, "nodes");
    size_t all = json_array_size(nodes), n = all > RANKS_SHOWN ? RANKS_SHOWN : all;
    double part[PARTS], largest = 0;
    bool used[PARTS] = {false};
    struct pen pen;
    char name[PEN_NAME];
    for (size_t r = 0; r < n; r++)
        largest = fmax(largest, parts_of(d, r, part));
    if (!pen_begin(
            &pen, list, "breakdown", "Where a step goes", 130 + 46 * (int)(n ? n : 1),
            "rank name, then from and to in seconds of: forward, backward, computing, standing still, optimizer"))
        return false;
    if (!(largest > 0)) {
        pen_nothing(&pen, field_reason(d, "summary.step_s", "no timed step"));
        return pen_end(&pen);
    }
    struct pen_unit u = pen_unit_for(largest);
    for (size_t r = 0; r < n; r++) {
        double at = 0;
        parts_of(d, r, part);
        fprintf(pen.dat, "%zu ", r);
        clean_datum(pen.dat, pen_name(name, json_string_value(json_object_get(json_array_get(nodes, r), "name"))));
        for (int i = 0; i < PARTS; i++) {
            pen_number(&pen, at);
            pen_number(&pen, at += part[i]);
            used[i] |= part[i] > 0;
        }
        fputc('\n', pen.dat);
    }
    fprintf(pen.gp,
            "set xrange [0:%.9g]\nset yrange [%.1f:-0.5]\nset xlabel 'median step, %s'\nset ytics scale 0\nplot ",
            pen_above(largest * u.per_second), (double)n - 0.5, u.name);
    const char *between = "";
    for (int i = 0; i < PARTS; i++) {
        if (!used[i])
            continue;
        int from = 3 + 2 * i;
        fprintf(pen.gp,
                "%s'breakdown.dat' using ($%d*%g):1:($%d*%g):($%d*%g):($1-0.36):($1+0.36):ytic(2) with boxxyerror %s "
                "title '%s'",
                between, from, u.per_second, from, u.per_second, from + 1, u.per_second, style[i], title[i]);
        between = ", \\\n     ";
    }
    fputc('\n', pen.gp);
    pen_caption(&pen, "Medians of the timed steps");
    if (all > 1)
        pen_caption(
            &pen,
            "; \"standing still\" is the part of communication that nothing hides. Ranks after the first are told "
            "by the steps that were kept in detail");
    pen_caption(&pen, ".");
    if (all > n)
        pen_caption(&pen, " The first %zu of %zu ranks are shown.", n, all);
    return pen_end(&pen);
}

/* ---- layers ---- */

bool plot_layers(struct plots *list, const json_t *d)
{
    static const char *const keys[] = {"forward_s", "backward_s", "optimizer_s"};
    static const char *const style[] = {PLOT_FORWARD, PLOT_BACKWARD, PLOT_OPTIMIZER};
    const json_t *layers = json_object_get(d, "layers");
    size_t n = json_array_size(layers), shown = n > LAYERS_SHOWN ? LAYERS_SHOWN : n;
    double largest = 0;
    struct pen pen;
    char name[PEN_NAME];
    for (size_t i = 0; i < shown; i++)
        for (int k = 0; k < 3; k++)
            largest = fmax(largest, zero_if_unknown(table_num(json_array_get(layers, i), keys[k], "median")));
    if (!pen_begin(&pen, list, "layers", "Which layers take the time", 400,
                   "number name forward backward optimizer ready, seconds"))
        return false;
    if (!(largest > 0)) {
        pen_nothing(&pen, field_reason(d, "layers", "no layer was timed"));
        return pen_end(&pen);
    }
    struct pen_unit u = pen_unit_for(largest);
    for (size_t i = 0; i < shown; i++) {
        const json_t *o = json_array_get(layers, i);
        fprintf(pen.dat, "%zu ", i);
        clean_datum(pen.dat, pen_name(name, json_string_value(json_object_get(o, "name"))));
        for (int k = 0; k < 3; k++)
            pen_number(&pen, table_num(o, keys[k], "median"));
        pen_number(&pen, table_num(o, "ready_s", "median"));
        fputc('\n', pen.dat);
    }
    fprintf(pen.gp,
            "set xrange [-0.6:%.1f]\nset yrange [0:%.9g]\nset ylabel '%s'\nset xtics scale 0 rotate by -45\nset "
            "boxwidth 0.27\n"
            "set grid ytics lc rgb '#9a9a9a' lw 0.5\nplot ",
            (double)shown - 0.4, pen_above(largest * u.per_second), u.name);
    for (int k = 0; k < 3; k++)
        fprintf(pen.gp, "%s'layers.dat' using ($1%+.2f):($%d*%g)%s with boxes %s title '%.*s'", k ? ", \\\n     " : "",
                0.27 * (k - 1), 3 + k, u.per_second, k == 1 ? ":xtic(2)" : "", style[k], (int)strlen(keys[k]) - 2,
                keys[k]);
    fputc('\n', pen.gp);
    pen_caption(
        &pen,
        "Medians of rank 0, from the embedding to the head. Backward goes through them from right to left, so the "
        "gradients of the left ones are complete last.");
    if (n > shown)
        pen_caption(&pen, " The first %zu of %zu layers are shown.", shown, n);
    return pen_end(&pen);
}

/* ---- distribution ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Sorted step times; n is how many. NULL if memory is out. */
static double *steps_sorted(const json_t *d, size_t *n)
{
    json_t *list = json_object_get(d, "samples"), *o;
    double *x = calloc(json_array_size(list) + 1, sizeof *x);
    size_t i;
    *n = 0;
    json_array_foreach(list, i, o)
    {
        double s = table_num(o, "step_s", NULL);
        if (x && isfinite(s) && s >= 0)
            x[(*n)++] = s;
    }
    if (x)
        qsort(x, *n, sizeof *x, by_value);
    return x;
}

/* Freedman and Diaconis (1981): 2 IQR n^(-1/3). */
static int bins_for(const double *x, size_t n)
{
    double iqr = stats_quantile_sorted(x, n, 0.75) - stats_quantile_sorted(x, n, 0.25), range = x[n - 1] - x[0];
    double bins = iqr > 0 ? ceil(range / (2 * iqr / cbrt((double)n))) : 10;
    return bins < 5 ? 5 : bins > BINS_MAX ? BINS_MAX : (int)bins;
}

bool plot_distribution(struct plots *list, const json_t *d)
{
    struct pen pen;
    size_t n;
    double *x = steps_sorted(d, &n);
    if (!x)
        return false;
    if (!pen_begin(&pen, list, "distribution", "How steps differ", 340, "middle of the bin in seconds, steps in it")) {
        free(x);
        return false;
    }
    if (n == 0) {
        pen_nothing(&pen, field_reason(d, "summary.step_s", "no timed step"));
        free(x);
        return pen_end(&pen);
    }
    double low = x[0], high = x[n - 1];
    if (!(high - low > 1e-3 * high)) { /* equal steps still have a width to be seen with */
        low -= 0.005 * (high > 0 ? high : 1);
        high += 0.005 * (high > 0 ? high : 1);
    }
    int bins = bins_for(x, n), most = 0, count[BINS_MAX] = {0};
    double width = (high - low) / bins, median = stats_quantile_sorted(x, n, 0.5);
    for (size_t i = 0; i < n; i++) {
        int b = (int)((x[i] - low) / width);
        b = b < 0 ? 0 : b >= bins ? bins - 1 : b;
        most = ++count[b] > most ? count[b] : most;
    }
    struct pen_unit u = pen_unit_for(high);
    for (int b = 0; b < bins; b++)
        fprintf(pen.dat, "%.9g %d\n", low + (b + 0.5) * width, count[b]);
    fprintf(
        pen.gp,
        "set xrange [%.9g:%.9g]\nset yrange [0:%.9g]\nset xlabel 'step, %s'\nset ylabel 'steps'\nset boxwidth %.9g\n%s"
        "set arrow 1 from %.9g, graph 0 to %.9g, graph 1 nohead front dt 2 lw 2 lc rgb '#c23b4e'\n"
        "plot 'distribution.dat' using ($1*%g):2 with boxes %s title 'timed steps', "
        "1/0 with lines dt 2 lw 2 lc rgb '#c23b4e' title 'median'\n",
        (low - width) * u.per_second, (high + width) * u.per_second, fmax(1.05, pen_above(most)), u.name,
        width * u.per_second, most < 8 ? "set ytics 1\n" : "", median * u.per_second, median * u.per_second,
        u.per_second, PLOT_FORWARD);
    char text[48], from[48], to[48];
    pen_caption(&pen, "%zu timed step%s; median %s, from %s to %s.", n, n == 1 ? "" : "s",
                field_format(text, sizeof text, UNIT_SECONDS, median),
                field_format(from, sizeof from, UNIT_SECONDS, x[0]),
                field_format(to, sizeof to, UNIT_SECONDS, x[n - 1]));
    free(x);
    return pen_end(&pen);
}
