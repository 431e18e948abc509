/* report/plot_outlook.c - what more nodes and other links would bring. See plot_pen.h. */
#include <math.h>
#include <string.h>

#include "report/fields.h"
#include "report/plot_pen.h"
#include "report/table.h"
#include "report/table_parts.h"

static void estimate_row(struct pen *pen, double x, struct estimate e)
{
    fprintf(pen->dat, "%.9g", x);
    pen_number(pen, e.median);
    pen_number(pen, e.lo);
    pen_number(pen, e.hi);
}

/* ---- scaling ---- */

/* Points of their own: what was measured, and what the document had predicted. */
static void points(struct pen *pen, const json_t *d)
{
    double world = table_num(d, "world", NULL), measured = table_num(d, "speedup", "measured");
    const json_t *p = json_object_get(d, "prediction");
    double nodes = table_num(p, "nodes", NULL), before = table_num(p, "speedup", "median");
    pen_next_block(pen);
    fprintf(pen->dat, "# measured\n");
    if (isfinite(measured) && world >= 1)
        fprintf(pen->dat, "%.9g %.9g\n", world, measured);
    else
        fprintf(pen->dat, "? ?\n");
    pen_next_block(pen);
    fprintf(pen->dat, "# predicted before the run\n");
    if (world > 1 && isfinite(before) && isfinite(nodes))
        estimate_row(pen, nodes,
                     (struct estimate){before, table_num(p, "speedup", "lo"), table_num(p, "speedup", "hi")});
    else
        fprintf(pen->dat, "? ? ? ?");
    fputc('\n', pen->dat);
}

static void draw_scaling(struct pen *pen, const json_t *d, const struct outlook *o)
{
    double last = o->node[o->n - 1].x, top = 1, measured = table_num(d, "speedup", "measured");
    double world = table_num(d, "world", NULL);
    bool interval = false,
         stored = world > 1 && isfinite(table_num(table_at(d, "prediction", NULL), "speedup", "median"));
    for (int i = 0; i < o->n; i++) {
        interval |= isfinite(o->node[i].speedup.lo);
        top = fmax(top, fmax(o->node[i].speedup.median, isfinite(o->node[i].speedup.hi) ? o->node[i].speedup.hi : 0));
    }
    if (isfinite(measured))
        top = fmax(top, measured);
    if (isfinite(measured) && world > last)
        last = world;
    top = fmin(fmax(last, top), top * 1.3); /* the ideal line leaves the frame where it is far above everything else */
    fprintf(pen->gp,
            "set xrange [0.5:%.9g]\nset yrange [0:%.9g]\nset xlabel 'nodes'\nset ylabel 'speed-up'\nset grid lc rgb "
            "'#9a9a9a' lw 0.5\n"
            "set xtics %s\nset arrow 1 from graph 0, first 1 to graph 1, first 1 nohead dt 3 lw 1.5 lc rgb "
            "'#7a7a7a'\nplot ",
            last + 0.5, pen_above(top), last <= 16 ? "1" : "autofreq");
    if (interval)
        fprintf(pen->gp, "'scaling.dat' index 0 using 1:3:4 with filledcurves fs transparent solid 0.28 noborder fc "
                         "rgb '#2f6ea5' title "
                         "'90 %% interval', \\\n     ");
    fprintf(pen->gp,
            "'scaling.dat' index 0 using 1:5 with lines dt 2 lw 2 lc rgb '#7a7a7a' title 'ideal', \\\n     "
            "'scaling.dat' index 0 using 1:2 with linespoints pt 6 ps 0.7 lw 2.5 lc rgb '#2f6ea5' title 'predicted'");
    if (stored)
        fprintf(
            pen->gp,
            ", \\\n     'scaling.dat' index 2 using 1:2:3:4 with yerrorbars pt 4 ps 1.2 lw 2 lc rgb '#b07a1c' title "
            "'predicted before the run'");
    if (isfinite(measured) && world >= 1)
        fprintf(
            pen->gp,
            ", \\\n     'scaling.dat' index 1 using 1:2 with points pt 7 ps 1.1 lc rgb '#c23b4e' title 'measured  '");
    fputc('\n', pen->gp);
}

bool plot_scaling(struct plots *list, const json_t *d, const struct outlook *o)
{
    struct pen pen;
    if (!pen_begin(
            &pen, list, "scaling", "What more nodes would bring", 430,
            "index 0: nodes, speed-up, 5 %, 95 %, ideal; 1: nodes and speed-up measured; 2: predicted before the run"))
        return false;
    if (o->n == 0) {
        pen_nothing(&pen, *o->why ? o->why : "nothing could be predicted");
        return pen_end(&pen);
    }
    for (int i = 0; i < o->n; i++) {
        estimate_row(&pen, o->node[i].x, o->node[i].speedup);
        pen_number(&pen, o->node[i].x);
        fputc('\n', pen.dat);
    }
    points(&pen, d);
    draw_scaling(&pen, d, o);
    pen_caption(&pen, "Speed-up over the fastest node alone. Predicted, not measured%s; over %s. %s",
                isfinite(table_num(d, "speedup", "measured")) ? ", but for the filled point" : "", o->link, o->basis);
    if (o->n > 0 && o->node[o->n - 1].x > SCENARIO_VALIDATED_NODES)
        pen_caption(&pen, " Beyond %d nodes the prediction has not been compared with measurements.",
                    SCENARIO_VALIDATED_NODES);
    return pen_end(&pen);
}

/* ---- bandwidth ---- */

bool plot_bandwidth(struct plots *list, const json_t *d, const struct outlook *o)
{
    struct pen pen;
    char even[96];
    (void)d;
    if (!pen_begin(&pen, list, "bandwidth", "What a faster link would bring", 400,
                   "Mbit/s, efficiency, 5 %, 95 %: speed-up over the sum of all nodes' own rates"))
        return false;
    if (o->rates == 0) {
        pen_nothing(&pen, *o->why ? o->why : "nothing could be predicted");
        return pen_end(&pen);
    }
    double low = o->rate[0].x * 8e-6, high = o->rate[o->rates - 1].x * 8e-6, here = o->link_bytes_per_s * 8e-6, top = 1;
    for (int i = 0; i < o->rates; i++) {
        estimate_row(&pen, o->rate[i].x * 8e-6, o->rate[i].efficiency);
        fputc('\n', pen.dat);
        top = fmax(top, o->rate[i].efficiency.hi);
    }
    if (here > 0) {
        low = fmin(low, here / 1.3);
        high = fmax(high, here * 1.3);
    }
    fprintf(
        pen.gp,
        "set logscale x\nset xrange [%.9g:%.9g]\nset yrange [0:%.9g]\nset xlabel 'what the link carries each way, "
        "bit/s'\n"
        "set ylabel 'efficiency, %%'\nset grid lc rgb '#9a9a9a' lw 0.5\n"
        "set xtics ('10M' 10, '30M' 30, '100M' 100, '300M' 300, '1G' 1000, '3G' 3000, '10G' 10000, '30G' 30000, '100G' "
        "100000, "
        "'300G' 300000)\n",
        low / 1.001, high * 1.001, pen_above(100 * top)); /* the labels at the ends are within */
    if (here > 0)
        fprintf(pen.gp, "set arrow 1 from %.9g, graph 0 to %.9g, graph 1 nohead dt 2 lw 2 lc rgb '#c23b4e'\n", here,
                here);
    fprintf(pen.gp,
            "plot 'bandwidth.dat' using 1:($3*100):($4*100) with filledcurves fs transparent solid 0.28 noborder fc "
            "rgb '#2f6ea5' title "
            "'90 %% interval', \\\n     'bandwidth.dat' using 1:($2*100) with linespoints pt 6 ps 0.7 lw 2.5 lc rgb "
            "'#2f6ea5' title "
            "'predicted, %d nodes'%s\n",
            o->pair, here > 0 ? ", \\\n     1/0 with lines dt 2 lw 2 lc rgb '#c23b4e' title 'this link'" : "");
    pen_caption(&pen,
                "%d nodes: speed-up divided by what they would reach without any cost of communication. This link: %s.",
                o->pair, o->link);
    if (isfinite(o->even_bytes_per_s))
        pen_caption(&pen, " %d nodes are as fast as one from %s on.", o->pair,
                    table_rate(even, sizeof even, o->even_bytes_per_s));
    else if (o->now < 1)
        pen_caption(&pen, " No rate makes %d nodes faster than one.", o->pair);
    return pen_end(&pen);
}

/* ---- tokens per node, of a prediction ---- */

bool plot_tokens(struct plots *list, const json_t *d)
{
    json_t *curve = json_object_get(d, "curve"), *all = json_object_get(curve, "points"), *o;
    struct pen pen;
    size_t i, n = json_array_size(all);
    double top = 1, low = INFINITY, high = 0;
    if (!pen_begin(&pen, list, "tokens", "What larger batches would bring", 380,
                   "tokens per node, speed-up, 5 %, 95 %"))
        return false;
    json_array_foreach(all, i, o)
    {
        double x = table_num(o, "tokens_per_node", NULL);
        struct estimate e = {table_num(o, "speedup", "median"), table_num(o, "speedup", "lo"),
                             table_num(o, "speedup", "hi")};
        if (!(x > 0) || !isfinite(e.median)) {
            n--;
            continue;
        }
        estimate_row(&pen, x, e);
        fputc('\n', pen.dat);
        top = fmax(top, isfinite(e.hi) ? e.hi : e.median);
        low = fmin(low, x);
        high = fmax(high, x);
    }
    if (n == 0) {
        pen_nothing(&pen, field_reason(d, "curve", "the prediction has no curve"));
        return pen_end(&pen);
    }
    fprintf(pen.gp,
            "set logscale x 2\nset xrange [%.9g:%.9g]\nset yrange [0:%.9g]\nset xlabel 'tokens per node and step'\nset "
            "ylabel "
            "'speed-up'\nset grid lc rgb '#9a9a9a' lw 0.5\n"
            "set arrow 1 from graph 0, first 1 to graph 1, first 1 nohead dt 3 lw 1.5 lc rgb '#7a7a7a'\n"
            "plot 'tokens.dat' using 1:3:4 with filledcurves fs transparent solid 0.28 noborder fc rgb '#2f6ea5' title "
            "'90 %% interval', "
            "\\\n     'tokens.dat' using 1:2 with linespoints pt 6 ps 0.7 lw 2.5 lc rgb '#2f6ea5' title 'predicted'\n",
            low / 1.2, high * 1.2, pen_above(top));
    double even = table_num(curve, "even_at_tokens", NULL);
    pen_caption(&pen, "More tokens between two updates mean the same bytes for more computing.");
    if (isfinite(even))
        pen_caption(&pen, " Even at %.0f tokens per node.", even);
    return pen_end(&pen);
}
