/* cli/cmd_compare.c - is B faster than A? Saved runs; see report/compare.h. Start at cmd_compare(). */
#include "config.h" /* _GNU_SOURCE, for asprintf */

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/compare_live.h"
#include "cli/options.h"
#include "cli/output.h"
#include "report/compare.h"
#include "report/page_compare.h"
#include "report/pick.h"
#include "report/store.h"
#include "report/table_compare.h"
#include "report/ways.h"
#include "version.h"

static const char purpose[] =
    "Whether the runs B are faster than the runs A: faster, slower, no change seen, or too few runs.\n\n"
    "  compare A B                  two saved runs: files, names in the results folder, or 'last'\n"
    "  compare A1,A2,A3 B1,B2,B3    several of each, which show what changes from run to run\n"
    "  compare label:X label:Y      all complete runs of two labels\n"
    "  compare --iface eth0,wlan0 --peers HOST\n"
    "                               wired against wireless, measured now and in turns: the link, and four runs over "
    "each\n"
    "                               (--model and so on as for run, 10 s each; --duration is the link's)\n\n"
    "Exit status: 0, 1 if B is slower, 78 if the runs are not comparable.\n";

/* "threads (2 against 1), model (...)": all that is unlike, in one sentence. */
static int refuse(const json_t *unlike, struct err *e)
{
    char list[400] = "";
    size_t n = 0, i;
    json_t *o;
    json_array_foreach(unlike, i, o)
    {
        if (n < sizeof list)
            n += (size_t)snprintf(list + n, sizeof list - n, "%s%s (%.60s against %.60s)", i ? ", " : "",
                                  json_string_value(json_object_get(o, "condition")),
                                  json_string_value(json_object_get(o, "a")),
                                  json_string_value(json_object_get(o, "b")));
    }
    return err_set(e, ERR_CONFIG, "not comparable: %s; --force compares all the same", list);
}

/* Versions and hosts are what one compares, or cannot help: told, not refused. */
static void note(struct notes *notes, const struct compare_side *side)
{
    for (size_t i = 0; i < side->n; i++) {
        const char *status = json_string_value(json_object_get(side->digests[i], "status"));
        if (!status || strcmp(status, "complete") != 0)
            notes_add(notes, "%.200s is of a run that did not end well (%.40s): its steps until then are compared",
                      side->paths[i], status ? status : "no status");
    }
}

static int compare(json_t *d, struct notes *notes, const char *const *words, const struct options *o, struct err *e)
{
    char folder[PATH_MAX];
    struct compare_side a = {0}, b = {0};
    struct compare_options options = {.alpha = 0.05, .noise_floor = o->history.noise_floor, .seed = 1};
    if (store_place(folder, sizeof folder, o->results_dir, e))
        return -1;
    int result = pick_read(&a, folder, words[0], e) || pick_read(&b, folder, words[1], e) ? -1 : 0;
    if (!result) {
        json_t *unlike = compare_differences(&a, &b);
        json_object_set_new(d, "not_comparable", unlike);
        json_object_set_new(d, "forced", json_boolean(o->history.force && json_array_size(unlike) > 0));
        note(notes, &a);
        note(notes, &b);
        if (json_array_size(unlike) > 0 && !o->history.force)
            result = refuse(unlike, e);
        else
            result = compare_judge(d, &a, &b, &options, e);
    }
    pick_free(&a);
    pick_free(&b);
    return result;
}

static int slower(const json_t *d)
{
    const char *verdict = json_string_value(json_object_get(d, "verdict"));
    return verdict && strcmp(verdict, "slower") == 0 ? ERR_REGRESSION : ERR_OK;
}

/* An option that only runs yet to be made can have; NULL: none. */
static const char *option_of_runs(char *const *options)
{
    static const char *const names[] = {"--model",    "--batch",    "--seq",       "--steps",   "--time",    "--warmup",
                                        "--duration", "--schedule", "--bucket-mb", "--threads", "--encrypt", NULL};
    for (; *options; options++)
        for (int i = 0; names[i]; i++)
            if (strncmp(*options, names[i], strlen(names[i])) == 0 && strchr("=", (*options)[strlen(names[i])]))
                return names[i];
    return NULL;
}

/* Saved runs, or runs made for it; the document holds what was found, also if it was refused. */
static int answer(json_t *d, struct notes *notes, const char *const *words, int n, const struct options *o,
                  char *const *options, struct err *e)
{
    if (o->iface || o->peers) {
        if (n > 0)
            return err_set(e, ERR_USAGE, "--%s measures anew: leave out the saved runs", o->iface ? "iface" : "peers");
        if (!o->iface)
            return err_set(e, ERR_USAGE, "compare --peers needs two network interfaces: --iface eth0,wlan0");
        return compare_live(d, o, options, e);
    }
    const char *unused = option_of_runs(options);
    if (unused)
        return err_set(e, ERR_USAGE,
                       "%s is for runs that are made here (--iface eth0,wlan0 --peers HOST): saved ones stay as "
                       "they were",
                       unused);
    if (n != 2)
        return err_set(e, ERR_USAGE, "compare takes two runs, or two lists or labels of runs: compare A B");
    return compare(d, notes, words, o, e);
}

static char *render(const json_t *d)
{
    struct table_style style = {.colour = output_wants_colour(1)};
    char *ways = json_object_get(d, "ways") ? ways_render(d) : strdup(""), *text = NULL;
    char *table = table_compare_render(d, &style);
    const char *page = json_string_value(json_object_get(d, "page"));
    if (ways && table &&
        asprintf(&text, "%s%s%s%s%s", ways, table, page ? "page        " : "", page ? page : "", page ? "\n" : "") < 0)
        text = NULL;
    free(ways);
    free(table);
    return text;
}

/* The page, if one is asked for. What was found is told even if that cannot be written. */
static int write_page(const struct invocation *in, json_t *d, const struct options *o)
{
    struct err e = {0};
    char *page = o->output ? page_compare_render(d, DDPBENCH_VERSION, &e) : NULL;
    if (page && store_file(o->output, page, strlen(page), &e) == 0)
        json_object_set_new(d, "page", output_string(o->output));
    free(page);
    if (e.code)
        output_say("%s: the page is not written: %s", in->program, e.text);
    return (int)e.code;
}

/* A refusal keeps its list of differences in the document. */
static int fail(const struct invocation *in, json_t *d, const struct err *e)
{
    if (!in->json || !json_object_get(d, "not_comparable")) {
        json_decref(d);
        return output_fail(in, e);
    }
    output_set_error(d, e);
    output_say("%s: %s", in->program, e->text);
    return output_json(in, d, (int)e->code);
}

int cmd_compare(const struct invocation *in)
{
    struct options o;
    struct err e;
    struct notes notes = {0};
    const char *words[3];
    char **rest = options_words(OPTIONS_COMPARE, in->argc, in->argv, words, 3);
    int n = 0, argc = 0;
    if (!rest)
        return output_fail(in, &(struct err){ERR_MEMORY, "out of memory"});
    while (n < 3 && words[n])
        n++;
    while (rest[argc])
        argc++;
    int result = options_parse(&o, OPTIONS_COMPARE, argc, rest, &e);
    if (result || o.help || o.version) {
        free(rest);
        return result ? output_fail(in, &e) : output_help(in, &o, OPTIONS_COMPARE, purpose);
    }
    json_t *d = output_document();
    json_object_set_new(d, "command", json_string("compare"));
    result = answer(d, &notes, words, n, &o, rest, &e);
    free(rest);
    output_notes(in, &notes);
    if (result)
        return fail(in, d, &e);
    int code = write_page(in, d, &o);
    code = code ? code : slower(d);
    if (o.json)
        return output_json(in, d, code);
    char *text = render(d);
    code = text ? output_text(in, text, code) : output_fail(in, &(struct err){ERR_MEMORY, "out of memory"});
    free(text);
    json_decref(d);
    return code;
}
