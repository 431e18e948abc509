/*
 * report/plot_buckets.c - one step of a run of several ranks, drawn against time: what each rank computes, when each bucket is
 * ready, waits, moves and is summed, and where the step stands still. See plot_pen.h; start at plot_buckets().
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/clean.h"
#include "report/fields.h"
#include "report/plot_pen.h"
#include "report/table_parts.h"

enum { RANKS_SHOWN = 8, BUCKETS_SHOWN = 24, BUCKETS_LOOKED_AT = 10000 };

static double ns_at(const json_t *columns, const char *key, size_t i)
{
    return table_value(json_array_get(json_object_get(columns, key), i)) * 1e-9;
}

/* The kept step whose duration is nearest to the median of all timed ones: neither the best nor the worst. */
static size_t typical_step(const json_t *d, const json_t *steps)
{
    double median = table_value(table_at(d, "summary", "step_s", "median", NULL)), nearest = INFINITY;
    size_t best = 0;
    for (size_t i = 0; i < json_array_size(steps); i++) {
        double off = fabs(table_num(json_array_get(steps, i), "duration_ns", NULL) * 1e-9 - median);
        if (off < nearest) {
            nearest = off;
            best = i;
        }
    }
    return best;
}

static int kind_of(const char *part)
{
    static const char *const names[] = {"forward", "backward", "forward and backward", "exposed", "optimizer"};
    for (int i = 0; part && i < 5; i++)
        if (strcmp(part, names[i]) == 0)
            return i;
    return -1;
}

/* Rows "row name from to kind" of one rank's step; the label is the row's only once. */
static void compute_rows(struct pen *pen, const json_t *d, size_t rank, size_t which, int row)
{
    const json_t *steps = table_at(json_array_get(table_at(d, "timeline", "ranks", NULL), rank), "steps", NULL);
    const json_t *p = table_at(json_array_get(steps, which), "parts", NULL), *names = json_object_get(p, "part");
    char label[32];
    snprintf(label, sizeof label, "rank %zu", rank);
    for (size_t i = 0; i < json_array_size(names); i++) {
        int kind = kind_of(json_string_value(json_array_get(names, i)));
        double from = ns_at(p, "start_ns", i), took = ns_at(p, "duration_ns", i);
        if (kind < 0 || !isfinite(from + took))
            continue;
        fprintf(pen->dat, "%d ", row);
        clean_datum(pen->dat, label);
        pen_number(pen, from);
        pen_number(pen, from + took);
        fprintf(pen->dat, " %d\n", kind);
    }
}

/* Which buckets are drawn: all, or the largest of many, in the order of sending. */
static size_t choose(const json_t *b, size_t index[BUCKETS_SHOWN])
{
    size_t n = json_array_size(json_object_get(b, "bucket")), used = 0;
    double least = 0;
    if (n > BUCKETS_LOOKED_AT) { /* no plan has so many: a damaged document */
        least = INFINITY;
    } else if (n > BUCKETS_SHOWN) { /* the smallest size of which there are not too many */
        for (size_t i = 0; i < n; i++) {
            double bytes = table_value(json_array_get(json_object_get(b, "bytes"), i));
            size_t larger = 0;
            for (size_t k = 0; k < n; k++)
                larger += table_value(json_array_get(json_object_get(b, "bytes"), k)) >= bytes;
            if (larger <= BUCKETS_SHOWN && (least <= 0 || bytes < least))
                least = bytes;
        }
        if (least <= 0)
            least = INFINITY; /* all alike: the first ones */
    }
    for (size_t i = 0; i < n && used < BUCKETS_SHOWN; i++)
        if (isinf(least) || table_value(json_array_get(json_object_get(b, "bytes"), i)) >= least)
            index[used++] = i;
    return used;
}

/* Rows "row name ready start wait-end move-end sum-end end"; returns how many. */
static int bucket_rows(struct pen *pen, const json_t *b, int row)
{
    size_t index[BUCKETS_SHOWN], n = choose(b, index);
    for (size_t k = 0; k < n; k++) {
        size_t i = index[k];
        double number = table_value(json_array_get(json_object_get(b, "bucket"), i));
        double bytes = table_value(json_array_get(json_object_get(b, "bytes"), i)), at = ns_at(b, "start_ns", i);
        double end = ns_at(b, "end_ns", i);
        double part[3] = {ns_at(b, "wait_ns", i), ns_at(b, "move_ns", i), ns_at(b, "sum_ns", i)};
        char size[48], label[80];
        if (number < 0)
            snprintf(label, sizeof label, "ids, %s", table_bytes(size, sizeof size, bytes));
        else
            snprintf(label, sizeof label, "%.0f: %s", number, table_bytes(size, sizeof size, bytes));
        fprintf(pen->dat, "%d ", row + (int)k);
        clean_datum(pen->dat, label);
        pen_number(pen, ns_at(b, "ready_ns", i));
        pen_number(pen, at);
        for (int p = 0; p < 3; p++) /* a back-end that does not tell them: all of it is moving */
            pen_number(pen, at = isfinite(part[p]) ? fmin(at + part[p], end) : p == 1 ? end : at);
        pen_number(pen, end);
        fputc('\n', pen->dat);
    }
    return (int)n;
}

/* Where rank 0 stands still: bands behind all rows. */
static void exposed_bands(struct pen *pen, const json_t *parts, double per_second, double rows)
{
    const json_t *names = json_object_get(parts, "part");
    int object = 1;
    for (size_t i = 0; i < json_array_size(names) && object < 200; i++) {
        double from = ns_at(parts, "start_ns", i), took = ns_at(parts, "duration_ns", i);
        if (kind_of(json_string_value(json_array_get(names, i))) != 3 || !isfinite(from + took))
            continue;
        fprintf(pen->gp,
                "set object %d rectangle from %.9g,-0.6 to %.9g,%.9g behind fc rgb '#c23b4e' fs transparent solid 0.16 "
                "noborder\n",
                object++, from * per_second, (from + took) * per_second, rows - 0.4);
    }
}

static void draw(struct pen *pen, const json_t *parts, double duration_s, int ranks, int buckets)
{
    struct pen_unit u = pen_unit_for(duration_s);
    static const struct {
        const char *style, *title;
        int kind;
    } computing[] = {{PLOT_FORWARD, "forward", 0},
                     {PLOT_BACKWARD, "backward", 1},
                     {PLOT_BOTH, "computing", 2},
                     {PLOT_EXPOSED, "standing still", 3},
                     {PLOT_OPTIMIZER, "optimizer", 4}};
    static const struct {
        const char *style, *title;
        int from;
    } moving[] = {{PLOT_WAITING, "waiting", 4}, {PLOT_MOVING, "moving", 5}, {PLOT_SUMMING, "summing", 6}};
    fprintf(pen->gp,
            "set xrange [0:%.9g]\nset yrange [%.1f:-0.6]\nset xlabel 'since the step began, %s'\nset ytics scale 0\n",
            duration_s * 1.02 * u.per_second, (double)(ranks + buckets) - 0.4, u.name);
    fprintf(pen->gp, "set key above horizontal left maxrows 3\n");
    exposed_bands(pen, parts, u.per_second, ranks + buckets);
    fprintf(pen->gp, "plot ");
    const char *between = "";
    for (size_t i = 0; i < sizeof computing / sizeof *computing; i++) {
        char needle[16];
        snprintf(needle, sizeof needle, " %d\n", computing[i].kind);
        fflush(pen->dat);
        if (!pen->plot->data || !strstr(pen->plot->data, needle)) /* no entry in the key for what does not occur */
            continue;
        fprintf(pen->gp,
                "%s'buckets.dat' index 0 using ($5==%d?$3*%g:1/0):1:($3*%g):($4*%g):($1-0.38):($1+0.38):ytic(2) with "
                "boxxyerror %s "
                "title '%s'",
                between, computing[i].kind, u.per_second, u.per_second, u.per_second, computing[i].style,
                computing[i].title);
        between = ", \\\n     ";
    }
    for (size_t i = 0; buckets > 0 && i < 3; i++)
        fprintf(pen->gp,
                "%s'buckets.dat' index 1 using ($%d*%g):1:($%d*%g):($%d*%g):($1-0.3):($1+0.3):ytic(2) with boxxyerror "
                "%s title '%s'",
                ", \\\n     ", moving[i].from, u.per_second, moving[i].from, u.per_second, moving[i].from + 1,
                u.per_second, moving[i].style, moving[i].title);
    if (buckets > 0)
        fprintf(pen->gp,
                ", \\\n     'buckets.dat' index 1 using ($3*%g):1 with points pt 2 ps 0.8 lw 3 lc rgb '#c23b4e' title "
                "'ready'",
                u.per_second);
    fputc('\n', pen->gp);
}

/* How many times a step goes forward: more than once if the head's logits are made, and gone back through, in slices. */
static int forwards(const json_t *parts)
{
    const json_t *names = json_object_get(parts, "part");
    int n = 0;
    for (size_t i = 0; i < json_array_size(names); i++)
        n += kind_of(json_string_value(json_array_get(names, i))) == 0;
    return n;
}

static const char *missing(const json_t *d, const json_t *steps)
{
    if (!(table_num(d, "world", NULL) > 1))
        return "one rank communicates with nobody";
    if (json_array_size(steps) == 0)
        return field_reason(d, "timeline", "no step was kept event by event");
    return NULL;
}

bool plot_buckets(struct plots *list, const json_t *d)
{
    const json_t *all = table_at(d, "timeline", "ranks", NULL),
                 *steps = table_at(json_array_get(all, 0), "steps", NULL);
    const char *why = missing(d, steps);
    struct pen pen;
    size_t which = why ? 0 : typical_step(d, steps);
    const json_t *step = json_array_get(steps, which), *b = json_object_get(step, "buckets");
    double duration_s = table_num(step, "duration_ns", NULL) * 1e-9;
    size_t index[BUCKETS_SHOWN], shown = why ? 0 : choose(b, index),
                                 total = json_array_size(json_object_get(b, "bucket"));
    int ranks = json_array_size(all) > RANKS_SHOWN ? RANKS_SHOWN : (int)json_array_size(all), rows = 0;
    if (!why && !(duration_s > 0))
        why = "the kept step has no duration";
    if (!pen_begin(
            &pen, list, "buckets", "When the buckets travel", why ? 200 : 190 + 27 * (ranks + (int)shown),
            "seconds. Index 0: row name from to kind (0 forward 1 backward 2 both 3 standing still 4 optimizer); "
            "index 1: row name ready start end-of-waiting of-moving of-summing end"))
        return false;
    if (why) {
        pen_nothing(&pen, why);
        return pen_end(&pen);
    }
    for (int r = 0; r < ranks; r++)
        compute_rows(&pen, d, (size_t)r, which, rows++);
    pen_next_block(&pen);
    int buckets = bucket_rows(&pen, b, rows);
    draw(&pen, json_object_get(step, "parts"), duration_s, ranks, buckets);
    pen_caption(
        &pen,
        "Step %.0f of rank 0, whose duration is nearest to the median. A cross marks when a bucket's gradients are "
        "ready; from there to its bar it waits for its turn. Within a bucket waiting, moving and summing alternate; "
        "they are drawn as their sums, one after the other. The "
        "red band is where rank 0 stands still: communication that nothing hides.",
        table_num(step, "step", NULL));
    if (ranks > 1)
        pen_caption(&pen, " Each rank's step begins at 0.");
    if (forwards(json_object_get(step, "parts")) > 1)
        pen_caption(&pen, " Forward and backward alternate where the head is computed slice by slice.");
    if (total > shown)
        pen_caption(&pen, " The %zu largest of %zu buckets are shown.", shown, total);
    return pen_end(&pen);
}
