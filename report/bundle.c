/* report/bundle.c - see bundle.h. Start at bundle_write(). */
#include "report/bundle.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "report/outlook.h"
#include "report/page.h"
#include "report/store.h"
#include "report/svg.h"
#include "report/verdict.h"

enum { SVG_MAX = 4 * 1024 * 1024 };

/* Not synced: what can be made again from the result need not survive a power cut. */
static int write_file(const char *folder, const char *name, const char *suffix, const char *text)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s%s", folder, name, suffix) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    FILE *f = fopen(path, "we");
    if (!f)
        return -1;
    int failed = fputs(text, f) < 0 ? errno : 0;
    if (fclose(f) != 0 && !failed)
        failed = errno;
    errno = failed;
    return failed ? -1 : 0;
}

static char *read_svg(const char *folder, const char *name)
{
    char path[PATH_MAX];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s.svg", folder, name);
    FILE *f = fopen(path, "re");
    char *text = NULL;
    if (f && fstat(fileno(f), &st) == 0 && st.st_size > 0 && st.st_size < SVG_MAX &&
        (text = malloc((size_t)st.st_size + 1)))
        text[fread(text, 1, (size_t)st.st_size, f)] = '\0';
    if (f)
        fclose(f);
    return text;
}

/* Scripts and data; false, with a note, if they are not all there. */
static bool write_scripts(const struct bundle *b, const struct plots *plots, struct notes *notes)
{
    for (int i = 0; i < plots->n; i++)
        if (write_file(b->folder, plots->plot[i].name, ".gp", plots->plot[i].script) ||
            write_file(b->folder, plots->plot[i].name, ".dat", plots->plot[i].data)) {
            notes_add(notes, "the figures could not be written into %.200s: %s", b->folder, strerror(errno));
            return false;
        }
    return true;
}

static void draw(struct bundle *b, const struct plots *plots, char **svg, char *why, int size, struct notes *notes)
{
    char later[240];
    int drawn = gnuplot_draw(&b->gnuplot, b->folder, b->name, plots->n, "svg", b->has_svg, why, size);
    for (int i = 0; i < plots->n; i++) {
        char *drawing = b->has_svg[i] ? read_svg(b->folder, plots->plot[i].name) : NULL;
        struct err e;
        svg[i] = drawing ? svg_inline(drawing, plots->plot[i].name, plots->plot[i].heading, &e) : NULL;
        if (drawing && !svg[i]) {
            drawn--;
            snprintf(why, (size_t)size, "%.200s", e.text);
        }
        free(drawing);
        b->drawn += svg[i] && !*plots->plot[i].nothing;
    }
    if (drawn < plots->n)
        notes_add(notes, "%s; %s, and the scripts and data of the figures are in %.150s", why,
                  drawn ? "some figures are missing in the page" : "the page has tables only", b->folder);
    else if (b->png &&
             gnuplot_draw(&b->gnuplot, b->folder, b->name, plots->n, "png", b->has_png, later, sizeof later) < plots->n)
        notes_add(notes, "no PNG: %s", later);
}

static int finish(struct bundle *b, const json_t *d, const struct outlook *outlook, const struct plots *plots,
                  char *const *svg, const char *undrawn, struct err *e)
{
    struct page page = {.document = d,
                        .run = b->run,
                        .outlook = outlook,
                        .plots = plots,
                        .svg = svg,
                        .undrawn = *undrawn ? undrawn : NULL,
                        .version = b->version};
    if (snprintf(b->page, sizeof b->page, "%s/report.html", b->folder) >= (int)sizeof b->page)
        return err_set(e, ERR_CANNOT_CREATE, "the path is too long: %.200s...", b->folder);
    char *text = page_render(&page, e);
    int result = text ? store_file(b->page, text, strlen(text), e) : -1;
    free(text);
    return result;
}

int bundle_write(struct bundle *b, const json_t *d, struct notes *notes, struct err *e)
{
    struct outlook *outlook = malloc(sizeof *outlook);
    struct plots plots = {0};
    char folder[PATH_MAX], why[240] = "", *svg[PLOTS] = {NULL};
    int result = -1;
    if (!outlook)
        return err_set(e, ERR_MEMORY, "no memory for the report");
    if (document_kind(d) == DOCUMENT_OTHER)
        err_set(e, ERR_DATA, "this is no result of a run, a link or a prediction, so there is nothing to report on");
    else if (store_folder(folder, sizeof folder, b->folder, e) == 0 && outlook_make(outlook, d, e) == 0 &&
             plots_make(&plots, d, outlook, e) == 0) {
        for (int i = 0; i < plots.n; i++) {
            b->name[i] = plots.plot[i].name;
            b->figures += !*plots.plot[i].nothing;
        }
        bool written = write_scripts(b, &plots, notes);
        if (!written)
            snprintf(why, sizeof why, "the scripts could not be written");
        else if (b->draw)
            draw(b, &plots, svg, why, sizeof why, notes);
        result = finish(b, d, outlook, &plots, svg, why, e);
    }
    for (int i = 0; i < plots.n; i++)
        free(svg[i]);
    plots_fini(&plots);
    free(outlook);
    return result;
}
