/* report/plot_link.c - a link that was measured: what messages get, what a round trip takes, how computing slows. See plot_pen.h. */
#include <math.h>
#include <string.h>

#include "report/clean.h"
#include "report/fields.h"
#include "report/plot_pen.h"
#include "report/table_parts.h"

/* ---- messages, or all-reduces ---- */

static const char *const ways[] = {"a_to_b", "b_to_a", "duplex_a_to_b", "duplex_b_to_a"};

bool plot_messages(struct plots *list, const json_t *d)
{
    static const char *const titles[] = {"A to B", "B to A", "A to B, both at once", "B to A, both at once"};
    const json_t *link = json_object_get(d, "link");
    json_t *all = json_object_get(link, "messages"), *sums = json_object_get(link, "allreduce"), *o;
    bool reduce = json_array_size(all) == 0 && json_array_size(sums) > 0;
    struct pen pen;
    size_t i;
    double low = INFINITY, high = 0, top = 0;
    if (!pen_begin(&pen, list, "messages", "What the link gives to messages of a size", 400,
                   reduce ? "bytes, bus bytes per second of an all-reduce"
                          : "bytes, bytes per second: A to B, B to A, both at once: A to B, B to A"))
        return false;
    json_array_foreach(reduce ? sums : all, i, o)
    {
        double bytes = table_num(o, "bytes", NULL);
        if (!(bytes > 0))
            continue;
        fprintf(pen.dat, "%.9g", bytes);
        for (int w = 0; w < (reduce ? 1 : 4); w++) {
            double rate = reduce ? table_num(o, "bus_bytes_per_s", NULL) : table_num(o, ways[w], "rate_bytes_per_s");
            pen_number(&pen, rate > 0 ? rate : NAN);
            top = rate > top ? rate : top;
        }
        fputc('\n', pen.dat);
        low = fmin(low, bytes);
        high = fmax(high, bytes);
    }
    if (!(top > 0)) {
        pen_nothing(&pen, field_reason(d, "link.messages", "no message was timed"));
        return pen_end(&pen);
    }
    fprintf(pen.gp,
            "set logscale xy\nset xrange [%.9g:%.9g]\nset yrange [%.9g:%.9g]\nset xlabel 'size'\nset ylabel 'Mbit/s'\n"
            "set grid lc rgb '#9a9a9a' lw 0.5\n"
            "set xtics ('4 B' 4, '64 B' 64, '1 KiB' 1024, '16 KiB' 16384, '256 KiB' 262144, '4 MiB' 4194304, '64 MiB' "
            "67108864)\nplot ",
            low / 1.3, high * 1.3, fmax(1e-3, top * 8e-6 * fmin(1e-4, low / high * 3)), top * 8e-6 * 2);
    static const char *const style[] = {"pt 6 lw 2 lc rgb '#2f6ea5'", "pt 8 dt 2 lw 2 lc rgb '#b07a1c'",
                                        "pt 7 lw 2 lc rgb '#c23b4e'", "pt 9 dt 2 lw 2 lc rgb '#5a3d80'"};
    for (int w = 0; w < (reduce ? 1 : 4); w++)
        fprintf(pen.gp, "%s'messages.dat' using 1:($%d*8e-6) with linespoints ps 0.9 %s title '%s'",
                w ? ", \\\n     " : "", 2 + w, style[w], reduce ? "all-reduce, bus rate" : titles[w]);
    fputc('\n', pen.gp);
    pen_caption(&pen, reduce ? "Median calls of every back-end that was measured."
                             : "Medians; the time of a message includes a round trip, so small ones see latency and "
                               "large ones the rate.");
    return pen_end(&pen);
}

/* ---- latency ---- */

bool plot_latency(struct plots *list, const json_t *d)
{
    static const char *const names[] = {"idle", "beside A to B", "beside B to A", "beside both"};
    static const char *const keys[] = {NULL, "a_to_b", "b_to_a", "duplex"}, *const what[] = {"p50", "p90", "p99"};
    const json_t *latency = table_at(d, "link", "latency", NULL);
    struct pen pen;
    double top = 0, low = INFINITY;
    if (!pen_begin(&pen, list, "latency", "What a round trip takes", 340,
                   "row name, seconds: half, 90 %, 99 % of them are shorter"))
        return false;
    for (int r = 0; r < 4; r++) {
        const json_t *o = keys[r] ? table_at(latency, "loaded", keys[r], NULL) : table_at(latency, "idle", NULL);
        fprintf(pen.dat, "%d \"%s\"", r, names[r]);
        for (int k = 0; k < 3; k++) {
            double x = table_num(o, what[k], NULL);
            pen_number(&pen, x > 0 ? x : NAN);
            top = x > top ? x : top;
            low = x > 0 && x < low ? x : low;
        }
        fputc('\n', pen.dat);
    }
    if (!(top > 0)) {
        pen_nothing(&pen, field_reason(d, "link.latency", "no round trip was timed"));
        return pen_end(&pen);
    }
    struct pen_unit u = pen_unit_for(top);
    double base = low * u.per_second / 2;
    fprintf(pen.gp,
            "set logscale y\nset xrange [-0.6:3.6]\nset yrange [%.9g:%.9g]\nset ylabel '%s'\nset xtics scale 0\nset "
            "boxwidth 0.27\n"
            "set grid ytics lc rgb '#9a9a9a' lw 0.5\n"
            "plot 'latency.dat' using ($1-0.27):($3*%g) with boxes %s title 'half are shorter', \\\n     "
            "'latency.dat' using 1:($4*%g):xtic(2) with boxes %s title '90 %%', \\\n     "
            "'latency.dat' using ($1+0.27):($5*%g) with boxes %s title '99 %%'\n",
            base, top * u.per_second * 1.5, u.name, u.per_second, PLOT_FORWARD, u.per_second, PLOT_BACKWARD,
            u.per_second, PLOT_OPTIMIZER);
    pen_caption(&pen, "4 bytes there and back, alone and beside streams that fill the link. The axis is logarithmic.");
    return pen_end(&pen);
}

/* ---- computing beside the link ---- */

bool plot_slowdown(struct plots *list, const json_t *d)
{
    json_t *all = table_at(d, "link", "interaction", NULL), *o;
    struct pen pen;
    size_t i;
    double top = 0;
    int row = 0;
    if (!pen_begin(&pen, list, "slowdown", "How much computing slows beside the link", 400,
                   "row name, times as long: on A, on B"))
        return false;
    json_array_foreach(all, i, o)
    {
        const char *work = json_string_value(json_object_get(o, "work"));
        double load = table_num(o, "load", NULL), a = table_value(table_at(o, "a", "slowdown", "median", NULL));
        double b = table_value(table_at(o, "b", "slowdown", "median", NULL));
        char name[64], clean[24];
        if (!(load > 0) || row == 16 || !isfinite(fmax(isfinite(a) ? a : 0, isfinite(b) ? b : 0)))
            continue;
        snprintf(name, sizeof name, "%s, %s%s", clean_text(clean, sizeof clean, work), load < 0.75 ? "half" : "full",
                 json_is_true(json_object_get(o, "reserved_core")) ? ", core kept" : "");
        fprintf(pen.dat, "%d ", row++);
        clean_datum(pen.dat, name);
        pen_number(&pen, a);
        pen_number(&pen, b);
        fputc('\n', pen.dat);
        top = fmax(top, fmax(isfinite(a) ? a : 0, isfinite(b) ? b : 0));
    }
    if (row == 0 || !(top > 0)) {
        pen_nothing(&pen, field_reason(d, "link.interaction", "computing beside the link was not measured"));
        return pen_end(&pen);
    }
    fprintf(pen.gp,
            "set xrange [-0.6:%.1f]\nset yrange [0:%.9g]\nset ylabel 'times as long'\nset xtics scale 0 rotate by "
            "-30\nset boxwidth 0.36\n"
            "set grid ytics lc rgb '#9a9a9a' lw 0.5\nset rmargin 8\n"
            "set arrow 1 from graph 0, first 1 to graph 1, first 1 nohead dt 3 lw 1.5 lc rgb '#7a7a7a'\n"
            "plot 'slowdown.dat' using ($1-0.18):3:xtic(2) with boxes %s title 'on A', 'slowdown.dat' using "
            "($1+0.18):4 with boxes %s "
            "title 'on B'\n",
            (double)row - 0.4, fmax(1.2, pen_above(top)), PLOT_FORWARD, PLOT_BACKWARD);
    pen_caption(&pen,
                "gemm: matrix products; memory: passes over memory; while the link carries half or all of what it can. "
                "\"core kept\": one core left to communication.");
    return pen_end(&pen);
}
