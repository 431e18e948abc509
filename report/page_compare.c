/* report/page_compare.c - see page_compare.h. Start at page_compare_render(): it is the order of the page. */
#include "report/page_compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/clean.h"
#include "report/page_parts.h"
#include "report/table_compare.h"
#include "report/table_parts.h"
#include "report/ways.h"

enum { WIDTH = 760, LEFT = 150, RIGHT = 70, LINE = 34, PATH_BYTES = 80 };

/* Ratios beyond this lie at the edge of the picture. */
#define RATIO_MOST 32.0

/* ---- words ---- */

static const json_t *ways_of(const json_t *d)
{
    const json_t *ways = json_object_get(d, "ways");
    return json_array_size(ways) == 2 ? ways : NULL;
}

static const char *side_name(const json_t *d, int side)
{
    const json_t *ways = ways_of(d);
    if (ways)
        return table_text(json_array_get(ways, (size_t)side), "interface", "?");
    return side ? "B" : "A";
}

static void title(FILE *f, const json_t *d)
{
    fprintf(f, "<header>\n<h1>");
    clean_html(f, side_name(d, 0));
    fprintf(f, " against ");
    clean_html(f, side_name(d, 1));
    fprintf(f, "</h1>\n<p class=\"meta\">%s</p>\n</header>\n",
            ways_of(d) ? "two nodes over either interface, measured in turns" : "saved runs");
}

/* "Two nodes over eth0 are 1.64 times as fast as one, over wlan0 0.53 times." */
static void worth(FILE *f, const json_t *d)
{
    const json_t *ways = ways_of(d);
    for (int i = 0; ways && i < 2; i++) {
        double speedup = table_num(json_array_get(ways, (size_t)i), "measured_speedup", NULL);
        if (!isfinite(speedup))
            continue;
        fprintf(f, "<p>Over ");
        clean_html(f, side_name(d, i));
        fprintf(f, " two nodes are %.2f times as fast as one%s.</p>\n", speedup,
                speedup < 1 ? ": the second one makes it slower" : "");
    }
}

static void verdict(FILE *f, const json_t *d)
{
    const char *word = table_text(d, "verdict", "?");
    bool faster = strcmp(word, "faster") == 0, slower = strcmp(word, "slower") == 0;
    fprintf(f, "<section class=\"verdict %s\">\n<p class=\"word\">", faster ? "good" : slower ? "bad" : "open");
    if (faster || slower) {
        clean_html(f, side_name(d, 1));
        fprintf(f, " is %s", word);
    } else {
        clean_html(f, word);
    }
    fprintf(f, "</p>\n<p class=\"head\">");
    if (isfinite(table_num(d, "ratio", "median"))) {
        fprintf(f, "A step of ");
        clean_html(f, side_name(d, 1));
        fprintf(f, " takes %.3f of one of ", table_num(d, "ratio", "median"));
        clean_html(f, side_name(d, 0));
        if (isfinite(table_num(d, "ratio", "lo")) && isfinite(table_num(d, "ratio", "hi")))
            fprintf(f, " (95 %%: %.3f .. %.3f)", table_num(d, "ratio", "lo"), table_num(d, "ratio", "hi"));
        fprintf(f, ".");
    }
    fprintf(f, "</p>\n");
    worth(f, d);
    if (isfinite(table_num(d, "noise_floor", NULL))) {
        fprintf(f, "<p>By %s; less than %.1f %% is no change (", table_text(d, "unit", "?"),
                100 * table_num(d, "noise_floor", NULL));
        clean_html(f, table_text(d, "noise_floor_source", "?"));
        fprintf(f, ").</p>\n");
    }
    fprintf(f, "</section>\n");
}

/* A cell with a number of the document, text for people; a dash for what is none. */
static void number_cell(FILE *f, const json_t *value, const char *path, const char *text)
{
    fprintf(f, "<td class=\"num\">");
    if (json_is_number(value))
        page_number(f, value, path, text);
    else
        fprintf(f, "<span class=\"unknown\">-</span>");
    fprintf(f, "</td>");
}

/* ---- two interfaces ---- */

static void open_picture(FILE *f, int height, const char *label)
{
    fprintf(f,
            "<div class=\"plot\"><svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">\n"
            "<g font-size=\"13\" fill=\"currentColor\">\n",
            WIDTH, height, label);
}

static void close_picture(FILE *f)
{
    fprintf(f, "</g></svg></div>\n");
}

/* A step over each: what is computed, and hatched what is waited for. */
static void draw_steps(FILE *f, const json_t *d)
{
    const json_t *ways = ways_of(d);
    double longest = 0;
    for (size_t i = 0; i < 2; i++)
        longest = fmax(longest, table_num(json_array_get(ways, i), "step_s", NULL));
    if (!(longest > 0))
        return;
    fprintf(f, "<figure id=\"steps\">\n<h2>What a step is made of</h2>\n");
    open_picture(f, 2 * LINE + 8, "a step over either interface, computing and standing still");
    fprintf(f, "<defs><pattern id=\"still\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
               "patternTransform=\"rotate(45)\">"
               "<rect width=\"6\" height=\"6\" fill=\"#e8b4a0\"/><rect width=\"2\" height=\"6\" "
               "fill=\"#a03c14\"/></pattern></defs>\n");
    for (int i = 0; i < 2; i++) {
        const json_t *way = json_array_get(ways, (size_t)i);
        double step_s = table_num(way, "step_s", NULL), still_s = table_num(way, "exposed_s", NULL);
        double scale = (WIDTH - LEFT - RIGHT) / longest;
        char text[TABLE_CELL];
        if (!isfinite(step_s) || !isfinite(still_s))
            continue;
        int y = 10 + i * LINE;
        fprintf(f, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", LEFT - 10, y + 17);
        clean_html(f, side_name(d, i));
        fprintf(f, "</text>\n<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"24\" fill=\"#2f5f9e\"/>\n", LEFT, y,
                scale * fmax(step_s - still_s, 0));
        fprintf(f, "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"24\" fill=\"url(#still)\" stroke=\"#a03c14\"/>\n",
                LEFT + scale * fmax(step_s - still_s, 0), y, scale * still_s);
        fprintf(f, "<text x=\"%.1f\" y=\"%d\">%s</text>\n", LEFT + scale * step_s + 6, y + 17,
                table_time(text, step_s));
    }
    close_picture(f);
    fprintf(f,
            "<figcaption>Filled: forward, backward and optimizer, with the communication hidden behind them. Hatched: "
            "standing still until the gradients of both have arrived.</figcaption>\n</figure>\n");
}

static void ways_table(FILE *f, const json_t *d)
{
    const json_t *ways = ways_of(d);
    fprintf(f,
            "<div class=\"scroll\"><table class=\"across\">\n<caption>Side by side</caption>\n<tr><th>interface</th>");
    for (size_t i = 0; i < 2; i++) {
        const char *kind = table_text(json_array_get(ways, i), "kind", NULL);
        fprintf(f, "<th>");
        clean_html(f, side_name(d, (int)i));
        if (kind) {
            fprintf(f, ", ");
            clean_html(f, kind);
        }
        fprintf(f, "</th>");
    }
    fprintf(f, "</tr>\n");
    for (const struct way_figure *w = way_figures; w->key; w++) {
        fprintf(f, "<tr><th>%s</th>", w->title);
        for (size_t i = 0; i < 2; i++) {
            const json_t *value = json_object_get(json_array_get(ways, i), w->key);
            char cell[WAYS_CELL], path[PATH_BYTES];
            snprintf(path, sizeof path, "ways[%zu].%s", i, w->key);
            number_cell(f, value, path, w->format(cell, table_value(value)));
        }
        fprintf(f, "</tr>\n");
    }
    fprintf(f, "</table></div>\n<ul class=\"notes\">\n");
    for (const struct way_figure *w = way_figures; w->key; w++)
        if (w->note)
            fprintf(f, "<li>%s: %s</li>\n", w->title, w->note);
    fprintf(f, "</ul>\n");
}

/* ---- all figures ---- */

static double place_of(double ratio)
{
    double x = log(fmin(fmax(ratio, 1 / RATIO_MOST), RATIO_MOST)) / log(RATIO_MOST);
    return LEFT + (WIDTH - LEFT - RIGHT) * (x + 1) / 2;
}

/* The ratio of each figure with its interval, on a logarithmic axis. */
static void draw_ratios(FILE *f, const json_t *d)
{
    static const double marks[] = {1.0 / 16, 0.25, 0.5, 1, 2, 4, 16};
    const json_t *list = json_object_get(d, "metrics");
    int n = 0;
    for (size_t i = 0; i < json_array_size(list); i++)
        n += isfinite(table_num(json_array_get(list, i), "ratio", "median"));
    if (n == 0)
        return;
    int bottom = 14 + n * 24;
    fprintf(f, "<figure id=\"ratios\">\n<h2>How much more or less</h2>\n");
    open_picture(f, bottom + 34, "the ratio of each figure with its interval");
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        fprintf(f,
                "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"4\" y2=\"%d\" stroke=\"currentColor\" stroke-opacity=\"%s\"/><text "
                "x=\"%.1f\" "
                "y=\"%d\" text-anchor=\"middle\">%.4g</text>\n",
                place_of(marks[i]), place_of(marks[i]), bottom, marks[i] > 0.9 && marks[i] < 1.1 ? "0.8" : "0.2",
                place_of(marks[i]), bottom + 18, marks[i]);
    for (size_t i = 0, row = 0; i < json_array_size(list); i++) {
        const json_t *m = json_array_get(list, i);
        double ratio = table_num(m, "ratio", "median"), lo = table_num(m, "ratio", "lo"),
               hi = table_num(m, "ratio", "hi");
        if (!isfinite(ratio))
            continue;
        int y = 18 + (int)row++ * 24;
        fprintf(f, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", LEFT - 10, y + 4);
        clean_html(f, table_text(m, "name", "?"));
        fprintf(f, "</text>");
        if (isfinite(lo) && isfinite(hi))
            fprintf(f, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" stroke=\"#2f5f9e\" stroke-width=\"3\"/>",
                    place_of(lo), place_of(hi), y, y);
        fprintf(f, "<circle cx=\"%.1f\" cy=\"%d\" r=\"4.5\" fill=\"#2f5f9e\"/>\n", place_of(ratio), y);
    }
    close_picture(f);
    fprintf(f, "<figcaption>");
    clean_html(f, side_name(d, 1));
    fprintf(f, " / ");
    clean_html(f, side_name(d, 0));
    fprintf(f, ", medians with 95 %% intervals. Left of 1 is less, right of it more.</figcaption>\n</figure>\n");
}

static void change(FILE *f, const json_t *m)
{
    double ratio = table_num(m, "ratio", "median"), lo = table_num(m, "ratio", "lo"), hi = table_num(m, "ratio", "hi");
    if (!isfinite(ratio)) {
        fprintf(f, "-");
        return;
    }
    fprintf(f, "%+.1f %%", 100 * (ratio - 1));
    if (isfinite(lo) && isfinite(hi))
        fprintf(f, " <span class=\"unknown\">[%+.1f .. %+.1f]</span>", 100 * (lo - 1), 100 * (hi - 1));
}

static void metrics_table(FILE *f, const json_t *d)
{
    const json_t *list = json_object_get(d, "metrics");
    fprintf(f, "<div class=\"scroll\"><table>\n<caption>Medians</caption>\n<tr><th></th><th class=\"num\">");
    clean_html(f, side_name(d, 0));
    fprintf(f, "</th><th class=\"num\">");
    clean_html(f, side_name(d, 1));
    fprintf(f, "</th><th class=\"num\">change [95 %%]</th><th class=\"num\">p</th><th>verdict</th></tr>\n");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *m = json_array_get(list, i);
        fprintf(f, "<tr><td>");
        clean_html(f, table_text(m, "name", "?"));
        fprintf(f, "</td>");
        for (int side = 0; side < 2; side++) {
            const char *key = side ? "b" : "a";
            const json_t *value = json_object_get(m, key);
            char cell[TABLE_CELL], path[PATH_BYTES];
            snprintf(path, sizeof path, "metrics[%zu].%s", i, key);
            number_cell(f, value, path, table_compare_figure(cell, m, key));
        }
        double p = table_num(m, "p", NULL);
        fprintf(f, "<td class=\"num\">");
        change(f, m);
        fprintf(f, isfinite(p) ? "</td><td class=\"num\">%.4f</td><td>" : "</td><td class=\"num\">-</td><td>", p);
        clean_html(f, table_text(m, "verdict", "?"));
        fprintf(f, "</td></tr>\n");
    }
    fprintf(f, "</table></div>\n");
}

static void runs(FILE *f, const json_t *d)
{
    fprintf(f, "<div class=\"scroll\"><table>\n<caption>Runs</caption>\n<tr><th></th><th>run</th><th "
               "class=\"num\">steps</th><th>version"
               "</th><th>status</th></tr>\n");
    for (int side = 0; side < 2; side++) {
        const json_t *list = json_object_get(json_object_get(d, side ? "b" : "a"), "runs"), *run;
        size_t i;
        json_array_foreach(list, i, run)
        {
            fprintf(f, "<tr><td>");
            clean_html(f, side_name(d, side));
            fprintf(f, "</td><td>");
            clean_html(f, table_text(run, "run", "?"));
            fprintf(f, "</td><td class=\"num\">%.0f</td><td>", table_num(run, "steps", NULL));
            clean_html(f, table_text(run, "version", "?"));
            fprintf(f, "</td><td>");
            clean_html(f, table_text(run, "status", "?"));
            fprintf(f, "</td></tr>\n");
        }
    }
    fprintf(f, "</table></div>\n");
}

static void unlike(FILE *f, const json_t *d)
{
    const json_t *list = json_object_get(d, "not_comparable"), *o;
    size_t i;
    if (json_array_size(list) == 0)
        return;
    fprintf(f, "<section>\n<h2>In what the two are unlike</h2>\n<ul class=\"notes\">\n");
    json_array_foreach(list, i, o)
    {
        fprintf(f, "<li>");
        clean_html(f, table_text(o, "condition", "?"));
        fprintf(f, ": ");
        clean_html(f, table_text(o, "a", "?"));
        fprintf(f, " against ");
        clean_html(f, table_text(o, "b", "?"));
        fprintf(f, "</li>\n");
    }
    fprintf(f, "</ul>\n</section>\n");
}

char *page_compare_render(const json_t *document, const char *version, struct err *e)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f) {
        err_set(e, ERR_MEMORY, "no memory for the page");
        return NULL;
    }
    page_head(f, "Comparison");
    title(f, document);
    verdict(f, document);
    unlike(f, document);
    if (ways_of(document)) {
        draw_steps(f, document);
        ways_table(f, document);
    }
    draw_ratios(f, document);
    metrics_table(f, document);
    runs(f, document);
    page_foot(f, version,
              "Figures of several runs are medians over them, of one run over blocks of its steps; p is of a rank "
              "test (Mann-Whitney), exact for up to fifty figures and by the normal law for more. Every number carries "
              "the path under which it stands in the document.");
    if (fclose(f) == 0)
        return text;
    free(text);
    err_set(e, ERR_MEMORY, "no memory for the page");
    return NULL;
}
