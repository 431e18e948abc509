/* cli/demo_show.c - see demo_show.h. */
#include "cli/demo_show.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/output.h"
#include "report/table.h"

enum { INTERVAL_NS = 100000000 };

void demo_show_init(struct demo_show *s)
{
    *s =
        (struct demo_show){.terminal = output_is_terminal(STDERR_FILENO), .colour = output_wants_colour(STDERR_FILENO)};
}

void demo_show_begin(struct demo_show *s, int ranks)
{
    s->ranks = ranks < DEMO_RANKS_MAX ? ranks : DEMO_RANKS_MAX;
    s->drawn = 0;
    snprintf(s->stage, sizeof s->stage, "starting");
    memset(s->row, 0, sizeof s->row);
}

static int part_of(double part_s, double longest_s)
{
    return longest_s > 0 && part_s > 0 ? (int)fmin(DEMO_BAR, round(DEMO_BAR * part_s / longest_s)) : 0;
}

void demo_show_bar(char *bar, double work_s, double still_s, double longest_s)
{
    int work = part_of(work_s, longest_s), all = part_of(work_s + still_s, longest_s);
    memset(bar, '#', (size_t)work);
    memset(bar + work, '.', (size_t)(all - work));
    bar[all] = '\0';
}

static void draw_bar(const struct demo_show *s, int rank, double longest_s)
{
    char bar[DEMO_BAR + 1], work[32], still[32];
    demo_show_bar(bar, s->row[rank].work_s, s->row[rank].still_s, longest_s);
    int n = (int)strspn(bar, "#");
    fprintf(stderr, "  rank %-2d %s%.*s%s%s%s%*s  works %s, stands still %s", rank, s->colour ? "\033[32m" : "", n, bar,
            s->colour ? "\033[31m" : "", bar + n, s->colour ? "\033[0m" : "", DEMO_BAR - (int)strlen(bar), "",
            table_seconds(work, sizeof work, s->row[rank].work_s),
            table_seconds(still, sizeof still, s->row[rank].still_s));
}

static void draw_rows(const struct demo_show *s)
{
    double longest_s = 0;
    for (int r = 0; r < s->ranks; r++)
        longest_s = fmax(longest_s, s->row[r].work_s + s->row[r].still_s);
    for (int r = 0; r < s->ranks; r++) {
        if (s->row[r].known)
            draw_bar(s, r, longest_s);
        else
            fprintf(stderr, "  rank %-2d", r);
        fprintf(stderr, s->terminal ? "\033[K\n" : "\n");
    }
}

/* Back to the first row. */
static void rewind_rows(struct demo_show *s)
{
    if (s->drawn)
        fprintf(stderr, "\r\033[%dA", s->drawn);
    s->drawn = 0;
}

static void draw(struct demo_show *s)
{
    rewind_rows(s);
    draw_rows(s);
    fprintf(stderr, "  %s\033[K\n", s->stage);
    fflush(stderr);
    s->drawn = s->ranks + 1;
    s->drawn_ns = clock_now_ns();
}

void demo_show_word(struct demo_show *s, const struct live_word *w)
{
    if (w->rank >= s->ranks)
        return;
    if (w->step) {
        s->row[w->rank].known = true;
        s->row[w->rank].step_s = w->step_s;
        s->row[w->rank].work_s = w->work_s;
        s->row[w->rank].still_s = w->still_s;
        if (w->rank == 0)
            snprintf(s->stage, sizeof s->stage, "step %d", w->done);
    } else if (w->rank == 0 && w->total > 1) {
        snprintf(s->stage, sizeof s->stage, "%s %d/%d", w->stage, w->done, w->total);
    } else if (w->rank == 0) {
        snprintf(s->stage, sizeof s->stage, "%s", w->stage);
    }
    if (s->terminal && clock_now_ns() - s->drawn_ns >= INTERVAL_NS)
        draw(s);
}

static double median_of(const json_t *node, const char *key)
{
    const json_t *x = json_object_get(json_object_get(json_object_get(node, "summary"), key), "median");
    return json_is_number(x) ? json_number_value(x) : NAN;
}

void demo_show_end(struct demo_show *s, const json_t *document)
{
    const json_t *nodes = json_object_get(document, "nodes");
    for (int r = 0; r < s->ranks; r++) {
        const json_t *node = json_array_get(nodes, (size_t)r);
        bool alone = json_array_size(nodes) == 1; /* nobody to stand still for */
        s->row[r].work_s = alone ? median_of(document, "step_s") : median_of(node, "compute_s");
        s->row[r].still_s = alone ? 0 : median_of(node, "exposed_s");
        s->row[r].known = isfinite(s->row[r].work_s) && isfinite(s->row[r].still_s);
        if (!s->row[r].known)
            s->row[r].work_s = s->row[r].still_s = 0;
    }
    rewind_rows(s);
    draw_rows(s);
    if (s->terminal)
        fputs("\033[K", stderr); /* of the stage */
    fflush(stderr);
}

void demo_show_leave(struct demo_show *s)
{
    if (s->terminal && s->drawn)
        fputs(s->colour ? "\033[0m\r\n" : "\r\n", stderr);
    s->drawn = 0;
    fflush(stderr);
}
