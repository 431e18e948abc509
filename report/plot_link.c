/* report/plot_link.c - a link that was measured: what messages get, what a round trip takes, how computing slows. See plot_pen.h. */
#include <math.h>
#include <stdlib.h>
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
    double low = INFINITY, high = 0, top = 0, least = INFINITY;
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
            least = rate > 0 && rate < least ? rate : least;
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
            "67108864)\n",
            low / 1.3, high * 1.3, least * 8e-6 / 2, top * 8e-6 * 2);
    pen_log_tics(&pen, 'y', least * 8e-6 / 2, top * 8e-6 * 2);
    fprintf(pen.gp, "plot ");
    static const char *const style[] = {"pt 6 lw 2 lc rgb '#2f6ea5'", "pt 8 dt 2 lw 2 lc rgb '#b07a1c'",
                                        "pt 7 lw 2 lc rgb '#c23b4e'", "pt 9 dt 2 lw 2 lc rgb '#8a63b8'"};
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
    double base = low * u.per_second / 2, end = top * u.per_second * 2;
    fprintf(pen.gp,
            "set logscale y\nset xrange [-0.6:3.6]\nset yrange [%.9g:%.9g]\nset ylabel '%s'\nset xtics scale 0\n"
            "set grid ytics lc rgb '#9a9a9a' lw 0.5\n",
            base, end, u.name);
    pen_log_tics(&pen, 'y', base, end);
    fprintf(pen.gp,
            "plot 'latency.dat' using ($1-0.12):($3*%g) with points pt 7 ps 0.9 lc rgb '#2f6ea5' title 'half are "
            "shorter', \\\n     'latency.dat' using 1:($4*%g):xtic(2) with points pt 4 ps 0.9 lw 2 lc rgb '#b07a1c' "
            "title '90 %%', \\\n     'latency.dat' using ($1+0.12):($5*%g) with points pt 9 ps 0.9 lc rgb '#c23b4e' "
            "title '99 %%'\n",
            u.per_second, u.per_second, u.per_second);
    pen_caption(&pen, "4 bytes there and back, alone and beside streams that fill the link. The axis is logarithmic.");
    return pen_end(&pen);
}

/* ---- computing beside the link ---- */

enum { LOADS_SHOWN = 16 };

struct beside { /* one work beside one load */
    const char *work;
    double load, a, b; /* a, b: times as long; NaN: not known */
    bool reserved;
};

/* They were measured in a drawn order; here each work stands together, the light load before the full one. */
static int by_work(const void *x, const void *y)
{
    const struct beside *a = x, *b = y;
    int order = strcmp(a->work, b->work);
    if (order == 0)
        order = a->reserved - b->reserved;
    return order ? order : a->load < b->load ? -1 : a->load > b->load;
}

static int besides(struct beside *row, const json_t *d)
{
    json_t *all = table_at(d, "link", "interaction", NULL), *o;
    size_t i;
    int n = 0;
    json_array_foreach(all, i, o)
    {
        const char *work = json_string_value(json_object_get(o, "work"));
        struct beside r = {.work = work ? work : "?",
                           .load = table_num(o, "load", NULL),
                           .a = table_value(table_at(o, "a", "slowdown", "median", NULL)),
                           .b = table_value(table_at(o, "b", "slowdown", "median", NULL)),
                           .reserved = json_is_true(json_object_get(o, "reserved_core"))};
        if (r.load > 0 && n < LOADS_SHOWN && (isfinite(r.a) || isfinite(r.b)))
            row[n++] = r;
    }
    qsort(row, (size_t)n, sizeof *row, by_work);
    return n;
}

bool plot_slowdown(struct plots *list, const json_t *d)
{
    struct beside all[LOADS_SHOWN] = {{.load = 0}};
    struct pen pen;
    double top = 0;
    int rows = besides(all, d);
    if (!pen_begin(&pen, list, "slowdown", "How much computing slows beside the link", 400,
                   "row name, times as long: on A, on B"))
        return false;
    for (int i = 0; i < rows; i++) {
        const struct beside *r = &all[i];
        char name[64], clean[24];
        snprintf(name, sizeof name, "%s, %s%s", clean_text(clean, sizeof clean, r->work),
                 r->load < 0.75 ? "half" : "full", r->reserved ? ", core kept" : "");
        fprintf(pen.dat, "%d ", i);
        clean_datum(pen.dat, name);
        pen_number(&pen, r->a);
        pen_number(&pen, r->b);
        fputc('\n', pen.dat);
        top = fmax(top, fmax(isfinite(r->a) ? r->a : 0, isfinite(r->b) ? r->b : 0));
    }
    if (!(top > 0)) {
        pen_nothing(&pen, field_reason(d, "link.interaction", "computing beside the link was not measured"));
        return pen_end(&pen);
    }
    fprintf(pen.gp,
            "set xrange [-0.6:%.1f]\nset yrange [0:%.9g]\nset ylabel 'times as long'\nset xtics scale 0%s\n"
            "set boxwidth 0.36\n"
            "set grid ytics lc rgb '#9a9a9a' lw 0.5\nset rmargin 8\n"
            "set arrow 1 from graph 0, first 1 to graph 1, first 1 nohead dt 3 lw 1.5 lc rgb '#7a7a7a'\n"
            "plot 'slowdown.dat' using 1:(0):xtic(2) with points ps 0 notitle, \\\n     'slowdown.dat' using "
            "($1-0.18):3 with boxes %s title 'on A', 'slowdown.dat' using ($1+0.18):4 with boxes %s title 'on B'\n",
            rows - 0.4, fmax(1.2, pen_above(top)), rows > 4 ? " rotate by -30" : "", PLOT_FORWARD, PLOT_BACKWARD);
    pen_caption(&pen,
                "gemm: matrix products; memory: passes over memory; while the link carries half or all of what it can. "
                "\"core kept\": one core left to communication.");
    return pen_end(&pen);
}
