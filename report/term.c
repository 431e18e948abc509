/* report/term.c - see term.h. Start at term_render(). */
#include "report/term.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/clean.h"
#include "report/fields.h"
#include "report/table_parts.h"
#include "report/verdict.h"

enum {
    LABEL = 16,
    FIGURES = 37, /* " 1.21 [0.45 .. 2.01]  measured 1.23" */
    WIDTH_MIN = 40,
    WIDTH_MAX = 200,
    BINS = 12,
    BUCKETS = 24,
    RANKS = 16
};

struct canvas {
    FILE *f;
    const struct term_style *style;
    int width; /* of the drawing, without label and figures */
};

static void heading(struct canvas *c, const char *text)
{
    fprintf(c->f, c->style->colour ? "\n\033[1m%s\033[0m\n" : "\n%s\n", text);
}

static void label(struct canvas *c, const char *text)
{
    char clean[CLEAN_MAX];
    clean_text(clean, sizeof clean, text ? text : "?");
    int shown = 0, at = 0;
    for (; clean[at] && shown < LABEL - 2; at++) /* count characters, not bytes */
        shown += (clean[at] & 0xc0) != 0x80;
    while ((clean[at] & 0xc0) == 0x80)
        at++;
    fprintf(c->f, "%.*s%*s", at, clean, LABEL - shown, "");
}

/* n cells that mean `letter`: with blocks or colours where there are any, else the letter itself. */
static void cells(struct canvas *c, char letter, int n)
{
    static const struct {
        char letter;
        const char *block, *colour;
    } looks[] = {{'F', "░", "\033[36m"}, {'B', "█", "\033[34m"}, {'C', "▓", "\033[34m"}, {'X', "╳", "\033[31m"},
                 {'O', "▒", "\033[90m"}, {'w', "·", "\033[33m"}, {'m', "█", "\033[32m"}, {'s', "▒", "\033[35m"},
                 {'#', "█", "\033[34m"}, {'-', "─", "\033[90m"}};
    const char *block = NULL, *colour = "";
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++)
        if (looks[i].letter == letter) {
            block = looks[i].block;
            colour = looks[i].colour;
        }
    if (n <= 0)
        return;
    if (c->style->colour && block)
        fputs(colour, c->f);
    for (int i = 0; i < n; i++) {
        if (c->style->ascii || !block)
            fputc(letter, c->f);
        else
            fputs(block, c->f);
    }
    if (c->style->colour && block)
        fputs("\033[0m", c->f);
}

static int cells_of(double x, double whole, int width)
{
    double n = x / whole * width;
    return n > 0 ? n < width ? (int)lround(n) : width : 0;
}

/* ---- where a step goes ---- */

static void legend(struct canvas *c, const char *letters, const char *const *names)
{
    for (int i = 0; letters[i]; i++) {
        fputs(i ? "  " : "", c->f);
        cells(c, letters[i], 2);
        fprintf(c->f, " %s", names[i]);
    }
    fputc('\n', c->f);
}

static void breakdown(struct canvas *c, const json_t *d)
{
    static const char *const names[] = {"forward", "backward", "computing", "standing still", "optimizer"};
    static const char letters[] = "FBCXO";
    const json_t *nodes = json_object_get(d, "nodes"), *s = json_object_get(d, "summary");
    size_t n = json_array_size(nodes);
    double longest = table_num(s, "step_s", "median");
    char text[48];
    heading(c, "Where a step goes");
    if (!(longest > 0)) {
        fprintf(c->f, "no data: no timed step\n");
        return;
    }
    for (size_t r = 1; r < n; r++) {
        double x = table_value(table_at(json_array_get(nodes, r), "summary", "step_s", "median", NULL));
        longest = x > longest ? x : longest;
    }
    for (size_t r = 0; r < n && r < RANKS; r++) {
        const json_t *node = json_array_get(nodes, r), *own = json_object_get(node, "summary");
        double part[5] = {table_num(s, "forward_s", "median"), table_num(s, "backward_s", "median"), NAN,
                          table_num(s, "exposed_s", "median"), table_num(s, "optimizer_s", "median")};
        double at = 0;
        int drawn = 0;
        if (r > 0) {
            part[0] = part[1] = part[4] = NAN;
            part[2] = table_num(own, "compute_s", "median");
            part[3] = table_num(own, "exposed_s", "median");
        }
        label(c, json_string_value(json_object_get(node, "name")));
        for (int i = 0; i < 5; i++) {
            at += part[i] > 0 ? part[i] : 0;
            int to = cells_of(at, longest, c->width);
            cells(c, letters[i], to - drawn);
            drawn = to;
        }
        fprintf(c->f, "%*s %s\n", c->width - drawn, "", field_format(text, sizeof text, UNIT_SECONDS, at));
    }
    legend(c, letters, names);
}

/* ---- buckets ---- */

static void bucket(struct canvas *c, const json_t *b, size_t i, double longest)
{
    double ready = table_num(b, "ready_s", "median"), start = table_num(b, "start_s", "median");
    double end = table_num(b, "end_s", "median"), wait = table_num(b, "wait_s", "median"),
           move = table_num(b, "move_s", "median");
    double sum = table_num(b, "sum_s", "median");
    char text[48], name[64];
    snprintf(name, sizeof name, "%zu %s", i, table_bytes(text, sizeof text, table_num(b, "bytes", NULL)));
    label(c, name);
    if (!isfinite(move))
        move = end - start;
    int at = cells_of(ready < start ? ready : start, longest, c->width), edge[4];
    double to = start;
    fprintf(c->f, "%*s", at, "");
    edge[0] = cells_of(start, longest, c->width);
    cells(c, '-', edge[0] - at);
    double part[3] = {wait, move, sum};
    for (int k = 0; k < 3; k++) {
        to += part[k] > 0 ? part[k] : 0;
        edge[k + 1] = cells_of(fmin(to, end), longest, c->width);
        cells(c, "wms"[k], edge[k + 1] - edge[k]);
    }
    fputc('\n', c->f);
}

static void buckets(struct canvas *c, const json_t *d)
{
    static const char *const names[] = {"ready, not sent", "waiting", "moving", "summing"};
    const json_t *list = table_at(d, "communication", "buckets", NULL);
    size_t n = json_array_size(list);
    double longest = table_value(table_at(d, "summary", "step_s", "median", NULL));
    char text[48];
    if (!(table_num(d, "world", NULL) > 1))
        return;
    heading(c, "When the buckets travel, from the begin of the step (medians)");
    if (n == 0 || !(longest > 0)) {
        fprintf(c->f, "no data: no bucket was timed\n");
        return;
    }
    for (size_t i = 0; i < n && i < BUCKETS; i++)
        bucket(c, json_array_get(list, i), i, longest);
    if (n > BUCKETS)
        fprintf(c->f, "the first %d of %zu\n", BUCKETS, n);
    fprintf(c->f, "%*s0%*s\n", LABEL, "", c->width - 1, field_format(text, sizeof text, UNIT_SECONDS, longest));
    legend(c, "-wms", names);
}

/* ---- how steps differ ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static bool distribution(struct canvas *c, const json_t *d)
{
    json_t *list = json_object_get(d, "samples"), *o;
    size_t i, n = 0;
    double *x = calloc(json_array_size(list) + 1, sizeof *x);
    int count[BINS] = {0}, most = 0;
    char text[48];
    if (!x)
        return false;
    json_array_foreach(list, i, o)
    {
        double s = table_num(o, "step_s", NULL);
        if (s >= 0)
            x[n++] = s;
    }
    heading(c, "How steps differ");
    if (n == 0)
        fprintf(c->f, "no data: no timed step\n");
    qsort(x, n, sizeof *x, by_value);
    double low = n ? x[0] : 0, width = n ? (x[n - 1] - low) / BINS : 0;
    int bins = width > 0 ? BINS : n > 0;
    for (i = 0; i < n; i++) {
        int b = width > 0 ? (int)((x[i] - low) / width) : 0;
        most = ++count[b < BINS ? b : BINS - 1] > most ? count[b < BINS ? b : BINS - 1] : most;
    }
    for (int b = 0; b < bins; b++) {
        label(c, field_format(text, sizeof text, UNIT_SECONDS, low + (b + 0.5) * width));
        cells(c, '#', cells_of(count[b], most, c->width));
        fprintf(c->f, " %d\n", count[b]);
    }
    free(x);
    return true;
}

/* ---- more nodes ---- */

static void scaling(struct canvas *c, const json_t *d, const struct outlook *o)
{
    char text[64];
    double top = 1, measured = table_num(d, "speedup", "measured"), world = table_num(d, "world", NULL);
    heading(c, "What more nodes would bring: speed-up, predicted");
    if (o->n == 0) {
        fprintf(c->f, "no data: %s\n", o->why);
        return;
    }
    for (int i = 0; i < o->n; i++)
        top = fmax(top, o->node[i].speedup.median);
    for (int i = 0; i < o->n; i++) {
        const struct estimate *e = &o->node[i].speedup;
        snprintf(text, sizeof text, "%.0f", o->node[i].x);
        label(c, text);
        cells(c, '#', cells_of(e->median, top, c->width));
        fprintf(c->f, " %.2f", e->median);
        if (isfinite(e->lo))
            fprintf(c->f, " [%.2f .. %.2f]", e->lo, e->hi);
        if (isfinite(measured) && fabs(world - o->node[i].x) < 0.5)
            fprintf(c->f, "  measured %.2f", measured);
        fputc('\n', c->f);
    }
    fprintf(c->f, "over %s\n", o->link);
}

/* Words of a text that is clean, in lines no longer than width unless a word is. */
static void paragraph(FILE *f, const char *text, int width)
{
    int used = 0;
    while (*(text += strspn(text, " "))) {
        int n = (int)strcspn(text, " ");
        bool fits = used > 0 && used + 1 + n <= width;
        fprintf(f, "%s%.*s", used == 0 ? "" : fits ? " " : "\n", n, text);
        used = fits ? used + 1 + n : n;
        text += n;
    }
    fputc('\n', f);
}

char *term_render(const json_t *d, const struct outlook *o, const struct term_style *style)
{
    char *text = NULL;
    size_t size = 0;
    struct report_verdict v;
    int width = style->width < WIDTH_MIN ? WIDTH_MIN : style->width > WIDTH_MAX ? WIDTH_MAX : style->width;
    struct canvas c = {open_memstream(&text, &size), style, width - LABEL - FIGURES};
    bool good = true;
    if (!c.f)
        return NULL;
    if (c.width < 16)
        c.width = 16;
    report_verdict(&v, d);
    fprintf(c.f, style->colour ? "\033[1m%s\033[0m\n" : "%s\n", v.word);
    paragraph(c.f, v.head, width);
    if (*v.detail)
        paragraph(c.f, v.detail, width);
    enum document_kind kind = document_kind(d);
    if (kind == DOCUMENT_RUN) {
        breakdown(&c, d);
        buckets(&c, d);
        good = distribution(&c, d);
    }
    if (kind != DOCUMENT_LINK)
        scaling(&c, d, o);
    if (fclose(c.f) == 0 && good)
        return text;
    free(text);
    return NULL;
}
