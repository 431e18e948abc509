/* cli/cmd_trace.c - trace RUN|last: the timeline of a saved run, for a trace viewer. See report/trace.h. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "report/runs.h"
#include "report/store.h"
#include "report/trace.h"

static bool is_run(const json_t *d)
{
    return json_object_get(d, "model") && json_is_array(json_object_get(d, "samples"));
}

static int render(char **text, char *path, const char *word, const struct options *o, struct err *e)
{
    char folder[PATH_MAX];
    static const struct runs_kind kind = {"run", "./bench", is_run};
    if (store_place(folder, sizeof folder, o->results_dir, e))
        return -1;
    json_t *run = runs_open(path, PATH_MAX, folder, word, &kind, e);
    if (!run)
        return -1;
    *text = trace_render(run, e);
    json_decref(run);
    return *text ? 0 : err_context(e, "%.200s", path);
}

/* To a file something is said about it; without one stdout is the trace. */
static int deliver(const struct invocation *in, const struct options *o, const char *path, const char *text)
{
    struct err e;
    char line[2 * PATH_MAX + 64];
    if (!o->output)
        return output_text(in, text, ERR_OK);
    if (store_file(o->output, text, strlen(text), &e))
        return output_fail(in, &e);
    if (in->json) {
        json_t *d = output_document();
        json_object_set_new(d, "command", json_string("trace"));
        json_object_set_new(d, "run", output_string(path));
        json_object_set_new(d, "saved", output_string(o->output));
        return output_json(in, d, ERR_OK);
    }
    snprintf(line, sizeof line, "trace       %s, of %s\n", o->output, path);
    return output_text(in, line, ERR_OK);
}

int cmd_trace(const struct invocation *in)
{
    struct options o;
    struct err e;
    char path[PATH_MAX], *text;
    int words = in->argc > 1 && in->argv[1][0] != '-';
    if (options_parse(&o, OPTIONS_TRACE, in->argc - words, in->argv + words, &e))
        return output_fail(in, &e);
    if (o.help || o.version)
        return output_help(in, &o, OPTIONS_TRACE,
                           "What every rank did when in some steps of a saved run, as a file for a trace viewer\n"
                           "(ui.perfetto.dev, chrome://tracing).\n\n"
                           "  trace last -o FILE     of the newest run\n"
                           "  trace RUN -o FILE      of the run in a file, or of that name in the results folder\n"
                           "  trace RUN              on standard output\n");
    if (!words) {
        err_set(&e, ERR_USAGE, "trace needs a run: a file, or 'last' for the newest one");
        return output_fail(in, &e);
    }
    if (in->json && !o.output) {
        err_set(&e, ERR_USAGE, "--json goes with -o FILE: without it the trace itself is printed, which is JSON");
        return output_fail(in, &e);
    }
    if (render(&text, path, in->argv[1], &o, &e))
        return output_fail(in, &e);
    int code = deliver(in, &o, path, text);
    free(text);
    return code;
}
