/*
 * cli/cmd_history.c - the saved runs over time: listed, drawn, checked, or told to another program. Start at cmd_history().
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "report/history.h"
#include "report/history_check.h"
#include "report/history_export.h"
#include "report/history_plot.h"
#include "report/store.h"
#include "report/table_compare.h"

static const double noise_floor = 0.02;

static const char purpose[] =
    "The saved runs, oldest first.\n\n"
    "  history                         a list\n"
    "  history --check                 has something become slower for good?\n"
    "  history --plot term             the step over time, drawn here\n"
    "  history --format bencher        figures for another program\n\n"
    "Exit status of --check: 0 no regression, or no baseline yet; 1 a regression; 65 no regression, but files that\n"
    "cannot be read; 66 no baseline and --require-baseline.\n";

struct request {
    const struct invocation *in;
    const struct options *o;
    struct history_filter filter;
    struct history history;
};

static int fail_memory(const struct request *r)
{
    return output_fail(r->in, &(struct err){ERR_MEMORY, "out of memory"});
}

/* Prints and frees. */
static int deliver(const struct request *r, char *text, int code)
{
    if (!text)
        return fail_memory(r);
    code = output_text(r->in, text, code);
    free(text);
    return code;
}

static json_t *start(const char *what)
{
    json_t *d = output_document();
    json_object_set_new(d, "command", json_string("history"));
    json_object_set_new(d, "kind", json_string(what));
    return d;
}

static int list(const struct request *r)
{
    struct table_style style = {.colour = output_wants_colour(1)};
    json_t *d = start("history"), *found = history_list(&r->history, &r->filter, r->o->history.last);
    json_object_update(d, found);
    json_decref(found);
    if (r->o->json)
        return output_json(r->in, d, ERR_OK);
    int code = deliver(r, table_history_render(d, &style), ERR_OK);
    json_decref(d);
    return code;
}

/* A regression is 1 whatever else is wrong; and nothing else is 1. */
static int judge(const struct request *r, const struct history_check *check, struct err *e)
{
    if (check->regressions)
        return ERR_REGRESSION;
    if (r->history.bad) {
        err_set(e, ERR_DATA, "%d file%s in %.200s cannot be used as %s, so the history may lack something",
                r->history.bad, r->history.bad == 1 ? "" : "s", r->history.folder,
                r->history.bad == 1 ? "a result" : "results");
        return ERR_DATA;
    }
    if (!check->judged && r->o->history.require_baseline) {
        err_set(e, ERR_NO_INPUT, "no baseline: no group of like runs in %.200s is large enough to see a change",
                r->history.folder);
        return ERR_NO_INPUT;
    }
    return ERR_OK;
}

static int check(const struct request *r)
{
    struct table_style style = {.colour = output_wants_colour(1)};
    struct history_check found;
    struct err e;
    double floor = isfinite(r->o->history.noise_floor) ? r->o->history.noise_floor : noise_floor;
    json_t *d = start("check"), *all = history_list(&r->history, &r->filter, 1);
    json_object_set(d, "folder", json_object_get(all, "folder"));
    json_object_set(d, "skipped", json_object_get(all, "skipped"));
    json_decref(all);
    if (history_check(&found, d, &r->history, &r->filter, floor, &e)) {
        json_decref(d);
        return output_fail(r->in, &e);
    }
    int code = judge(r, &found, &e);
    if (code > ERR_REGRESSION) {
        output_say("%s: %s", r->in->program, e.text);
        output_set_error(d, &e);
    }
    if (r->o->json)
        return output_json(r->in, d, code);
    code = deliver(r, table_check_render(d, &style), code);
    json_decref(d);
    return code;
}

static int columns(void)
{
    struct winsize w;
    const char *text = getenv("COLUMNS");
    int given = text ? atoi(text) : 0;
    if (given >= 40 && given <= 1000)
        return given;
    return isatty(1) && ioctl(1, TIOCGWINSZ, &w) == 0 && w.ws_col >= 40 ? w.ws_col : 80;
}

static int plot(const struct request *r)
{
    struct history_plot p;
    struct err e;
    const char *where = r->o->history.plot;
    size_t n = strlen(where);
    bool svg = n > 4 && strcmp(where + n - 4, ".svg") == 0;
    double floor = isfinite(r->o->history.noise_floor) ? r->o->history.noise_floor : noise_floor;
    int code;
    if (!svg && strcmp(where, "term") != 0) {
        err_set(&e, ERR_USAGE, "option --plot takes term or a file whose name ends with .svg, not '%.80s'", where);
        return output_fail(r->in, &e);
    }
    if (history_plot_make(&p, &r->history, &r->filter, r->o->history.metric, floor, &e)) {
        code = output_fail(r->in, &e);
    } else if (!svg) {
        code = deliver(r, history_plot_text(&p, columns()), ERR_OK);
    } else {
        char *text = history_plot_svg(&p), line[PATH_MAX + 64];
        snprintf(line, sizeof line, "plot        %s\n", where);
        if (!text)
            code = fail_memory(r);
        else if (store_file(where, text, strlen(text), &e))
            code = output_fail(r->in, &e);
        else
            code = output_text(r->in, line, ERR_OK);
        free(text);
    }
    history_plot_free(&p);
    return code;
}

/* Who asks for figures is told on stderr what is not among them. */
static int export(const struct request *r)
{
    struct err e;
    const struct history_format *format = history_format_find(r->o->history.format, &e);
    if (!format)
        return output_fail(r->in, &e);
    for (int i = 0; i < r->history.n; i++)
        if (r->history.rows[i].bad)
            output_say("%s: warning: left out: %s", r->in->program, r->history.rows[i].bad);
    return deliver(r, format->render(&r->history, &r->filter), ERR_OK);
}

/* One thing at a time. */
static int settle(const struct options *o, struct err *e)
{
    const struct history_options *h = &o->history;
    if (h->check + (h->plot != NULL) + (h->format != NULL) > 1)
        return err_set(e, ERR_USAGE, "--check, --plot and --format are three answers: ask for one of them");
    if (o->json && (h->plot || h->format))
        return err_set(e, ERR_USAGE, "--%s says what is printed: leave out --json", h->plot ? "plot" : "format");
    if (h->require_baseline && !h->check)
        return err_set(e, ERR_USAGE, "--require-baseline goes with --check");
    if (h->last && (h->check || h->plot || h->format))
        return err_set(e, ERR_USAGE, "--last shortens the list: leave out --%s",
                       h->check  ? "check"
                       : h->plot ? "plot"
                                 : "format");
    if (h->metric && !h->plot)
        return err_set(e, ERR_USAGE, "--metric goes with --plot");
    return 0;
}

int cmd_history(const struct invocation *in)
{
    static struct request r;
    struct options o;
    struct err e;
    char folder[PATH_MAX];
    if (options_parse(&o, OPTIONS_HISTORY, in->argc, in->argv, &e))
        return output_fail(in, &e);
    if (o.help || o.version)
        return output_help(in, &o, OPTIONS_HISTORY, purpose);
    r = (struct request){.in = in, .o = &o, .filter = {o.history.model, o.history.node, o.label}};
    if (settle(&o, &e) || store_place(folder, sizeof folder, o.results_dir, &e))
        return output_fail(in, &e);
    /* A default folder that is not there yet holds no runs; one that was named has to be there. */
    if (o.results_dir && access(folder, F_OK) != 0) {
        err_set(&e, ERR_NO_INPUT, "cannot read the results in %.300s: %s", folder, strerror(errno));
        return output_fail(in, &e);
    }
    if (history_open(&r.history, folder, &e))
        return output_fail(in, &e);
    int code = o.history.check ? check(&r) : o.history.plot ? plot(&r) : o.history.format ? export(&r) : list(&r);
    history_close(&r.history);
    return code;
}
