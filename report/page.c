/* report/page.c - see page.h. Start at page_render(): it is the order of the page. */
#include "report/page.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/advice.h"
#include "report/clean.h"
#include "report/fields.h"
#include "report/page_parts.h"
#include "report/table_parts.h"
#include "report/verdict.h"

enum { ELEMENTS_SHOWN = 64, COLUMNS = 24 };

static const char *text_at(const json_t *o, const char *key)
{
    return json_string_value(json_object_get(o, key));
}

/* ---- numbers ---- */

static void number(FILE *f, const struct field_value *v)
{
    char text[128];
    page_number(f, v->value, v->path, field_format(text, sizeof text, v->field->unit, json_number_value(v->value)));
}

static void value(FILE *f, const struct field_value *v)
{
    if (json_is_null(v->value)) {
        fprintf(f, "<span class=\"unknown\">%s: ", field_null(v->field));
        clean_html(f, v->reason);
        fprintf(f, "</span>");
    } else if (v->field->kind == FIELD_TEXT) {
        clean_html(f, json_string_value(v->value));
    } else if (v->field->kind == FIELD_FLAG) {
        fputs(json_is_true(v->value) ? "yes" : "no", f);
    } else {
        number(f, v);
    }
}

struct list { /* all fields of the document, in their order */
    struct field_value *v;
    size_t n, room;
};

static void collect(void *ctx, const struct field_value *v)
{
    struct list *l = ctx;
    if (l->n == l->room) {
        size_t room = l->room ? 2 * l->room : 128;
        struct field_value *more = realloc(l->v, room * sizeof *more);
        if (!more)
            return;
        l->v = more;
        l->room = room;
    }
    l->v[l->n++] = *v;
}

static const struct field_value *find(const struct list *l, const char *path)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->v[i].path, path) == 0)
            return &l->v[i];
    return NULL;
}

/* ---- top ---- */

static void head(FILE *f, const struct page *p)
{
    const char *model = text_at(json_object_get(p->document, "model"), "name");
    page_head(f, model ? model : p->run);
}

static void title(FILE *f, const struct page *p)
{
    const json_t *d = p->document, *m = json_object_get(d, "model");
    double world = table_num(d, "world", NULL);
    enum document_kind kind = document_kind(d);
    const char *model =
        kind == DOCUMENT_PREDICTION ? text_at(json_object_get(d, "source"), "model") : text_at(m, "name");
    const char *started = text_at(d, "started"), *label = text_at(d, "label"),
               *version = text_at(json_object_get(d, "tool"), "version");
    fprintf(f, "<header>\n<h1>");
    if (kind == DOCUMENT_LINK) {
        fprintf(f, "Link to ");
        clean_html(f, text_at(json_object_get(d, "peer"), "name"));
    } else {
        clean_html(f, model ? model : "Stated numbers");
        if (kind == DOCUMENT_PREDICTION)
            fprintf(f, ", predicted");
        else if (world > 1)
            fprintf(f, " on %.0f ranks", world);
        else
            fprintf(f, " on one node");
    }
    fprintf(f, "</h1>\n<p class=\"meta\">");
    if (label) {
        clean_html(f, label);
        fprintf(f, " · ");
    }
    if (started) {
        clean_html(f, started);
        fprintf(f, " · ");
    }
    if (version) {
        fprintf(f, "measured by version ");
        clean_html(f, version);
        fprintf(f, " · ");
    }
    clean_html(f, p->run);
    fprintf(f, "</p>\n</header>\n");
}

static void verdict(FILE *f, const struct page *p)
{
    static const char *const tones[] = {[TONE_GOOD] = "good", [TONE_BAD] = "bad", [TONE_OPEN] = "open"};
    struct report_verdict v;
    report_verdict(&v, p->document);
    fprintf(f, "<section class=\"verdict %s\">\n<p class=\"word\">", tones[v.tone]);
    clean_html(f, v.word);
    fprintf(f, "</p>\n<p class=\"head\">");
    clean_html(f, v.head);
    fprintf(f, "</p>\n");
    if (*v.detail) {
        fprintf(f, "<p>");
        clean_html(f, v.detail);
        fprintf(f, "</p>\n");
    }
    fprintf(f, "</section>\n");
}

static void tiles(FILE *f, const struct list *l)
{
    static const struct {
        const char *path, *title;
    } shown[] = {{"speedup.measured", "speed-up, measured"},
                 {"prediction.speedup.median", "speed-up, predicted"},
                 {"summary.step_s.median", "step, median"},
                 {"summary.tokens_per_s.median", "tokens per second"},
                 {"communication.exposed_s", "standing still per step"},
                 {"communication.arithmetic.rate_bytes_per_s", "the link, as seen"},
                 {"link.rate_bytes_per_s", "rate of the link"},
                 {"link.rtt_s", "round trip"}};
    bool any = false;
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        const struct field_value *v = find(l, shown[i].path);
        if (!v || json_is_null(v->value))
            continue;
        fputs(any ? "" : "<ul class=\"tiles\">\n", f);
        any = true;
        fprintf(f, "<li><b>");
        number(f, v);
        fprintf(f, "</b><span>%s</span></li>\n", shown[i].title);
    }
    fputs(any ? "</ul>\n" : "", f);
}

static void next_steps(FILE *f, const struct page *p)
{
    struct advice a;
    advice_make(&a, p->document, p->outlook);
    fprintf(f, "<section>\n<h2>What to change next</h2>\n");
    if (a.n == 0) {
        fprintf(f, "<p>Nothing stands out.</p>\n</section>\n");
        return;
    }
    fprintf(f, "<ol class=\"next\">\n");
    for (int i = 0; i < a.n; i++) {
        fprintf(f, "<li><strong>");
        clean_html(f, a.item[i].head);
        fprintf(f, ".</strong> ");
        clean_html(f, a.item[i].detail);
        if (*a.item[i].option) {
            fprintf(f, " <code>");
            clean_html(f, a.item[i].option);
            fprintf(f, "</code>");
        }
        fprintf(f, "</li>\n");
    }
    fprintf(f, "</ol>\n</section>\n");
}

/* ---- figures ---- */

static void picture(FILE *f, const struct page *p, int i)
{
    const struct plot *plot = &p->plots->plot[i];
    if (p->svg && p->svg[i]) {
        fprintf(f, "<div class=\"plot\">%s</div>\n", p->svg[i]);
        return;
    }
    fprintf(f, "<p class=\"nodata\">not drawn: ");
    clean_html(f, p->undrawn ? p->undrawn : "no picture was asked for");
    fprintf(f, ". The numbers are in %s.dat, and %s.gp draws them.</p>\n", plot->name, plot->name);
}

static void figures(FILE *f, const struct page *p)
{
    for (int i = 0; i < p->plots->n; i++) {
        const struct plot *plot = &p->plots->plot[i];
        fprintf(f, "<figure id=\"%s\">\n<h2>%s</h2>\n", plot->name, plot->heading);
        if (*plot->nothing) {
            fprintf(f, "<p class=\"nodata\">no data: ");
            clean_html(f, plot->nothing);
            fprintf(f, "</p>\n");
        } else {
            picture(f, p, i);
        }
        if (*plot->caption) {
            fprintf(f, "<figcaption>");
            clean_html(f, plot->caption);
            fprintf(f, "</figcaption>\n");
        }
        fprintf(f, "</figure>\n");
    }
}

/* ---- tables ---- */

static void interval(FILE *f, struct estimate e)
{
    if (isfinite(e.lo))
        fprintf(f, "%.2f <span class=\"unknown\">[%.2f .. %.2f]</span>", e.median, e.lo, e.hi);
    else if (isfinite(e.median))
        fprintf(f, "%.3f", e.median);
    else
        fprintf(f, "-");
}

static void outlook_table(FILE *f, const struct outlook *o)
{
    if (o->n > 0) {
        fprintf(f, "<div class=\"scroll\"><table>\n<caption>Predicted for more nodes, over ");
        clean_html(f, o->link);
        fprintf(f, "</caption>\n<tr><th class=\"num\">nodes</th><th class=\"num\">speed-up [90 %%]</th><th "
                   "class=\"num\">efficiency</th></tr>\n");
        for (int i = 0; i < o->n; i++) {
            fprintf(f, "<tr><td class=\"num\">%.0f</td><td class=\"num\">", o->node[i].x);
            interval(f, o->node[i].speedup);
            if (isfinite(o->node[i].efficiency.median))
                fprintf(f, "</td><td class=\"num\">%.0f %%</td></tr>\n", 100 * o->node[i].efficiency.median);
            else
                fprintf(f, "</td><td class=\"num\">-</td></tr>\n");
        }
        fprintf(f, "</table></div>\n");
    }
    if (o->changes > 0) {
        fprintf(f,
                "<div class=\"scroll\"><table>\n<caption>Predicted for %d nodes with one "
                "change</caption>\n<tr><th>change</th><th "
                "class=\"num\">speed-up [90 %%]</th><th>verdict</th></tr>\n",
                o->pair);
        for (int i = 0; i < o->changes; i++) {
            fprintf(f, "<tr><td><code>");
            clean_html(f, o->change[i].name);
            fprintf(f, "</code></td><td class=\"num\">");
            interval(f, o->change[i].speedup);
            fprintf(f, "</td><td>");
            clean_html(f, o->change[i].verdict);
            fprintf(f, "%s</td></tr>\n", o->change[i].flips ? ", another than now" : "");
        }
        fprintf(f, "</table></div>\n");
    }
}

/* Why nothing of a group is known, if it is the same for all of it; else NULL. */
static const char *one_reason(const struct list *l, const char *group)
{
    const char *reason = NULL;
    int n = 0;
    for (size_t i = 0; i < l->n; i++) {
        const struct field_value *v = &l->v[i];
        if (v->index >= 0 || strcmp(v->field->group, group) != 0)
            continue;
        if (!json_is_null(v->value) || (reason && strcmp(reason, v->reason) != 0))
            return NULL;
        reason = v->reason;
        n++;
    }
    return n > 1 ? reason : NULL;
}

/* Fields of one group whose path has no []. */
static void plain_table(FILE *f, const struct list *l, const char *group)
{
    bool any = false;
    const char *reason = one_reason(l, group);
    if (reason) {
        fprintf(f, "<table>\n<caption>%s</caption>\n<tr><td class=\"unknown\">not known: ", group);
        clean_html(f, reason);
        fprintf(f, "</td></tr>\n</table>\n");
        return;
    }
    for (size_t i = 0; i < l->n; i++) {
        const struct field_value *v = &l->v[i];
        if (v->index >= 0 || strcmp(v->field->group, group) != 0)
            continue;
        if (!any)
            fprintf(f, "<table>\n<caption>%s</caption>\n", group);
        any = true;
        fprintf(f, "<tr><td class=\"wide\">%s</td><td>", v->field->title);
        value(f, v);
        fprintf(f, "</td></tr>\n");
    }
    fputs(any ? "</table>\n" : "", f);
}

static void cell(FILE *f, const struct list *l, const struct field *field, int element, const char *tag)
{
    const struct field_value *v = NULL;
    for (size_t i = 0; i < l->n && !v; i++)
        v = l->v[i].index == element && l->v[i].field == field ? &l->v[i] : NULL;
    fprintf(f, "<%s%s>", tag, field->kind == FIELD_TEXT ? "" : " class=\"num\"");
    if (v && !json_is_null(v->value))
        value(f, v);
    else
        fputs("<span class=\"unknown\">-</span>", f);
    fprintf(f, "</%s>", tag);
}

/* The fields of one list stand together in the list of fields. An element is a row and a field a column, or, where there
 * are fewer elements, the other way round: two nodes stand side by side. */
static void element_table(FILE *f, const struct list *l, const char *group)
{
    const struct field *column[COLUMNS];
    int columns = 0, rows = 0;
    for (size_t i = 0; i < l->n; i++) {
        const struct field_value *v = &l->v[i];
        if (v->index < 0 || strcmp(v->field->group, group) != 0)
            continue;
        rows = v->index + 1 > rows ? v->index + 1 : rows;
        bool known = false;
        for (int c = 0; c < columns; c++)
            known |= column[c] == v->field;
        if (!known && columns < COLUMNS)
            column[columns++] = v->field;
    }
    if (columns == 0)
        return;
    int shown = rows < ELEMENTS_SHOWN ? rows : ELEMENTS_SHOWN;
    fprintf(f, "<div class=\"scroll\"><table%s>\n<caption>%s, one by one</caption>\n",
            rows < columns ? " class=\"across\"" : "", group);
    if (rows < columns) {
        for (int c = 0; c < columns; c++) {
            fprintf(f, "<tr><th>%s</th>", column[c]->title);
            for (int r = 0; r < shown; r++)
                cell(f, l, column[c], r, c ? "td" : "th");
            fprintf(f, "</tr>\n");
        }
    } else {
        fprintf(f, "<tr>");
        for (int c = 0; c < columns; c++)
            fprintf(f, "<th%s>%s</th>", column[c]->kind == FIELD_TEXT ? "" : " class=\"num\"", column[c]->title);
        fprintf(f, "</tr>\n");
        for (int r = 0; r < shown; r++) {
            fprintf(f, "<tr>");
            for (int c = 0; c < columns; c++)
                cell(f, l, column[c], r, "td");
            fprintf(f, "</tr>\n");
        }
    }
    fprintf(f, "</table></div>\n");
    if (rows > ELEMENTS_SHOWN)
        fprintf(f, "<p class=\"unknown\">The first %d of %d are shown.</p>\n", ELEMENTS_SHOWN, rows);
}

static void tables(FILE *f, const struct list *l)
{
    const char *done[16];
    int n = 0;
    fprintf(f, "<section id=\"numbers\">\n<h2>All numbers</h2>\n");
    for (const struct field *field = fields; field->path; field++) {
        bool told = false;
        for (int i = 0; i < n; i++)
            told |= strcmp(done[i], field->group) == 0;
        if (told || n == 16)
            continue;
        done[n++] = field->group;
        plain_table(f, l, field->group);
        element_table(f, l, field->group);
    }
    fprintf(f, "</section>\n");
}

/* ---- end ---- */

static void sentences(FILE *f, const json_t *list, const char *heading)
{
    size_t n = json_array_size(list);
    if (n == 0)
        return;
    fprintf(f, "<section>\n<h2>%s</h2>\n<ul class=\"notes\">\n", heading);
    for (size_t i = 0; i < n; i++) {
        fprintf(f, "<li>");
        clean_html(f, json_string_value(json_array_get(list, i)));
        fprintf(f, "</li>\n");
    }
    fprintf(f, "</ul>\n</section>\n");
}

char *page_render(const struct page *p, struct err *e)
{
    char *text = NULL;
    size_t size = 0;
    struct list l = {0};
    FILE *f = open_memstream(&text, &size);
    if (!f) {
        err_set(e, ERR_MEMORY, "no memory for the page");
        return NULL;
    }
    fields_each(p->document, collect, &l);
    head(f, p);
    title(f, p);
    verdict(f, p);
    tiles(f, &l);
    next_steps(f, p);
    sentences(f, json_object_get(p->document, "warnings"), "Warnings");
    figures(f, p);
    outlook_table(f, p->outlook);
    tables(f, &l);
    const json_t *assumed = json_object_get(p->document, "assumptions");
    sentences(f, assumed ? assumed : table_at(p->document, "prediction", "assumptions", NULL),
              "What the prediction assumes");
    page_foot(f, p->version,
              "Medians and MADs (median absolute deviations) are over timed steps. Every number carries the path under "
              "which it "
              "stands in the document. MB is 1e6 bytes; rates of links are TCP payload.");
    free(l.v);
    if (fclose(f) == 0)
        return text;
    free(text);
    err_set(e, ERR_MEMORY, "no memory for the page");
    return NULL;
}
