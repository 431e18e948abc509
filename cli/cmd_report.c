/*
 * cli/cmd_report.c - report RUN|last: a saved document as a page with figures in a folder (report/bundle.h), as figures in the terminal
 * (report/term.h), or as its fields in another format (report/export.h).
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "report/bundle.h"
#include "report/export.h"
#include "report/runs.h"
#include "report/store.h"
#include "report/term.h"
#include "report/verdict.h"
#include "version.h"

static const char purpose[] =
    "A saved result (of a run, a link or a prediction) as a page with figures.\n\n"
    "  report last                  the newest result; the page goes to NAME-report in the results folder\n"
    "  report RUN -o DIR            that of a file, or of that name in the results folder, into DIR\n"
    "  report RUN --plot term       figures in the terminal, no file\n"
    "  report RUN --format csv      its figures on standard output (or into the file -o names)\n\n"
    "DIR gets report.html, which needs nothing else, and for each figure the script NAME.gp, its NAME.dat, and what\n"
    "gnuplot draws from them. Without gnuplot the page has its tables.\n";

static json_t *load(char *path, const char *word, const struct options *o, struct err *e)
{
    char folder[PATH_MAX];
    if (store_place(folder, sizeof folder, o->results_dir, e) || runs_find(path, PATH_MAX, folder, word, e))
        return NULL;
    json_t *d = runs_read(path, e);
    if (d && document_kind(d) == DOCUMENT_OTHER) {
        err_set(e, ERR_DATA, "%.300s is no result of a run, a link or a prediction, so there is nothing to report on",
                path);
        json_decref(d);
        return NULL;
    }
    return d;
}

/* ---- text ---- */

/* To a file something is said about it; without one stdout is the text. */
static int deliver(const struct invocation *in, const struct options *o, char *text)
{
    struct err e;
    char line[2 * PATH_MAX + 64];
    int code;
    if (!text)
        return output_fail(in, &(struct err){ERR_MEMORY, "out of memory while writing the report"});
    if (!o->output)
        code = output_text(in, text, ERR_OK);
    else if (store_file(o->output, text, strlen(text), &e))
        code = output_fail(in, &e);
    else {
        snprintf(line, sizeof line, "report      %s\n", o->output);
        code = output_text(in, line, ERR_OK);
    }
    free(text);
    return code;
}

static int columns(void)
{
    struct winsize size;
    const char *text = getenv("COLUMNS");
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return text && atoi(text) > 0 ? atoi(text) : 80;
}

/* As setlocale() would find it: the first of these that is set and not empty. */
static bool speaks_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            return strstr(value, "UTF-8") || strstr(value, "utf8") || strstr(value, "utf-8") || strstr(value, "UTF8");
    }
    return false;
}

static int in_terminal(const struct invocation *in, const struct options *o, const json_t *d)
{
    struct err e;
    struct outlook *outlook = malloc(sizeof *outlook);
    struct term_style style = {output_wants_colour(STDOUT_FILENO) && !o->output, !speaks_utf8(), columns()};
    if (!outlook || outlook_make(outlook, d, &e)) {
        free(outlook);
        return output_fail(in, &(struct err){ERR_MEMORY, "out of memory while drawing"});
    }
    char *text = term_render(d, outlook, &style);
    free(outlook);
    return deliver(in, o, text);
}

/* ---- the page ---- */

/* results/20261130T173121Z-gpt2-124m.json gets results/20261130T173121Z-gpt2-124m-report, wherever the file itself is. */
static int place(char *folder, size_t size, const struct options *o, const char *path, struct err *e)
{
    char results[PATH_MAX];
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    size_t n = strlen(name);
    if (o->output) {
        snprintf(folder, size, "%s", o->output);
        return 0;
    }
    if (n > 5 && strcmp(name + n - 5, ".json") == 0)
        n -= 5;
    if (store_folder(results, sizeof results, o->results_dir, e))
        return -1;
    if (snprintf(folder, size, "%s/%.*s-report", results, (int)n, name) >= (int)size)
        return err_set(e, ERR_CANNOT_CREATE, "the path is too long: %.200s...", results);
    return 0;
}

static int told_as_json(const struct invocation *in, const struct bundle *b, const struct notes *notes)
{
    json_t *d = output_document(), *figures = json_array(), *warnings = json_array();
    json_object_set_new(d, "command", json_string("report"));
    json_object_set_new(d, "run", output_string(b->run));
    json_object_set_new(d, "saved", output_string(b->page));
    for (int i = 0; i < PLOTS && b->name[i]; i++)
        json_array_append_new(
            figures, json_pack("{s:s, s:b, s:b}", "name", b->name[i], "svg", b->has_svg[i], "png", b->has_png[i]));
    json_object_set_new(d, "figures", figures);
    for (int i = 0; i < notes->n; i++)
        json_array_append_new(warnings, output_string(notes->text[i]));
    json_object_set_new(d, "warnings", warnings);
    return output_json(in, d, ERR_OK);
}

static int page(const struct invocation *in, const struct options *o, const json_t *d, const char *path)
{
    struct err e;
    struct notes notes = {0};
    char folder[PATH_MAX], line[2 * PATH_MAX + 64];
    const char *how = o->report.plot;
    if (place(folder, sizeof folder, o, path, &e))
        return output_fail(in, &e);
    struct bundle b = {.run = path,
                       .folder = folder,
                       .version = DDPBENCH_VERSION,
                       .draw = strcmp(how, "none") != 0,
                       .png = strcmp(how, "png") == 0,
                       .gnuplot = {.deadline_s = o->report.deadline_s}};
    if (bundle_write(&b, d, &notes, &e))
        return output_fail(in, &e);
    output_notes(in, &notes);
    if (in->json)
        return told_as_json(in, &b, &notes);
    snprintf(line, sizeof line, "report      %s, of %s\n", b.page, path);
    return output_text(in, line, ERR_OK);
}

/* ---- the command ---- */

static int check(const struct invocation *in, const struct options *o, const struct export_format **format,
                 struct err *e)
{
    static const char *const plots[] = {"svg", "png", "term", "none"};
    bool html = strcmp(o->report.format, "html") == 0, known = false;
    for (size_t i = 0; i < sizeof plots / sizeof *plots; i++)
        known |= strcmp(o->report.plot, plots[i]) == 0;
    if (!known)
        return err_set(e, ERR_USAGE, "option --plot takes svg, png, term or none, not '%.60s'", o->report.plot);
    *format = html ? NULL : export_find(o->report.format, e);
    if (!html && !*format)
        return -1;
    if (!html && strcmp(o->report.plot, "term") == 0)
        return err_set(e, ERR_USAGE,
                       "--plot term draws in the terminal and --format %s writes fields: give one of the two",
                       o->report.format);
    if (in->json && (!html || strcmp(o->report.plot, "term") == 0))
        return err_set(e, ERR_USAGE, "--json tells what became of the page, and there is none with --%s",
                       html ? "plot term" : "format; for the fields as JSON take --format json alone");
    return 0;
}

int cmd_report(const struct invocation *in)
{
    struct options o;
    struct err e;
    char path[PATH_MAX];
    const struct export_format *format = NULL;
    int words = in->argc > 1 && in->argv[1][0] != '-';
    if (options_parse(&o, OPTIONS_REPORT, in->argc - words, in->argv + words, &e))
        return output_fail(in, &e);
    if (o.help || o.version)
        return output_help(in, &o, OPTIONS_REPORT, purpose);
    if (!words) {
        err_set(&e, ERR_USAGE, "report needs a result: a file, or 'last' for the newest one");
        return output_fail(in, &e);
    }
    if (check(in, &o, &format, &e))
        return output_fail(in, &e);
    json_t *d = load(path, in->argv[1], &o, &e);
    if (!d)
        return output_fail(in, &e);
    int code = format                               ? deliver(in, &o, format->render(d, path))
               : strcmp(o.report.plot, "term") == 0 ? in_terminal(in, &o, d)
                                                    : page(in, &o, d, path);
    json_decref(d);
    return code;
}
