/*
 * cli/cmd_demo.c - demo straggler|wifi|bucket|batch: which script, where its results go, and what is said at the end.
 *
 * Start at cmd_demo(). See demo.h for what a script does. On stdout stands one table with what follows from it, or with --json one
 * document; both are kept beside the runs' documents, in a folder of their own in the results folder, so that runs of a
 * demonstration are never taken for the newest run of this node.
 */
#include "config.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/suggest.h"
#include "cli/demo.h"
#include "cli/node.h"
#include "cli/output.h"
#include "comm/peer_list.h"
#include "report/store.h"

enum { WIDTH = 100, SPAWN_MAX = 16 };

static const struct script {
    const char *name;
    int (*play)(struct demo *d, struct err *e);
    int nodes; /* with --spawn not given */
} scripts[] = {
    {"straggler", demo_straggler, 4}, {"wifi", demo_wifi, 2}, {"bucket", demo_bucket, 2},
    {"batch", demo_batch, 2},         {NULL, NULL, 0},
};

static const char purpose[] =
    "Up to three minutes that show one thing about data-parallel training, predicted and measured.\n\n"
    "  demo straggler   one rank at half the speed: all take its time, and fitting shares mend it\n"
    "  demo wifi        the same step over 1G-eth and over a medium that all share\n"
    "  demo bucket      bucket sizes from one tensor to everything: overlap gained and lost\n"
    "  demo batch       tokens per step from which a second node pays\n\n"
    "On a terminal it asks what you expect. It needs no second node and no privileges.\n";

/* ---- signals ---- */

volatile sig_atomic_t demo_stop;
static sigset_t open_mask;

static void on_signal(int number)
{
    (void)number;
    demo_stop = demo_stop + 1;
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, SIGINT);
    sigaddset(&ours, SIGTERM);
    sigaddset(&ours, SIGHUP);
    sigprocmask(SIG_BLOCK, &ours, &open_mask);
    sigdelset(&open_mask, SIGINT);
    sigdelset(&open_mask, SIGTERM);
    sigdelset(&open_mask, SIGHUP);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    node_catch_hangup(&action);
}

const sigset_t *demo_wait_mask(void)
{
    return &open_mask;
}

int demo_stopped(struct err *e)
{
    return demo_stop ? err_set(e, ERR_INTERRUPTED, "interrupted") : 0;
}

/* ---- talk ---- */

/* Lines of at most WIDTH columns. */
static void wrap(FILE *f, const char *text)
{
    size_t column = 0;
    while (*text) {
        size_t n = strcspn(text, " \n");
        if (column && column + 1 + n > WIDTH)
            column = 0, fputc('\n', f);
        else if (column)
            column++, fputc(' ', f);
        fprintf(f, "%.*s", (int)n, text);
        column += n;
        text += n + (text[n] != '\0');
    }
    fputc('\n', f);
}

void demo_say(const struct demo *d, const char *fmt, ...)
{
    (void)d;
    va_list ap;
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
}

void demo_tell(struct demo *d, const char *fmt, ...)
{
    char text[640];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    fputc('\n', d->said);
    wrap(d->said, text);
    json_array_append_new(json_object_get(d->document, "findings"), output_string(text));
}

/* What is shown and what is not, in the words of somebody who has to believe it. */
static void tell_real(struct demo *d)
{
    if (d->options->peers && strcmp(d->name, "straggler") == 0)
        demo_tell(d, "What is real here: nodes, link and exchange. Each node recorded its own steps and then slept "
                     "through them, the last one twice as long; nothing was learned, and what communication takes from "
                     "computing is not shown. The prediction takes all nodes to be like this one.");
    else if (d->options->peers)
        demo_tell(
            d, "What is real here: nodes, link, computing and exchange; where Wi-Fi is named, a pacer shared the rate "
               "of the real link out as a radio cell would. The prediction takes all nodes to be like this one.");
    else
        demo_tell(d, "What is real here: this node's steps, recorded; the exchange of all gradients between processes; "
                     "its sums, which are checked. What is emulated: each rank sleeps through recorded steps, so that "
                     "ranks on one machine do not disturb each other, and a pacer holds the connections to rate and "
                     "latency of the link named. What is not shown: what communication takes from computing, lost "
                     "packets, heat. Nothing is learned meanwhile.");
}

/* ---- start ---- */

static const struct script *find_script(const struct invocation *in, struct err *e)
{
    const char *words[sizeof scripts / sizeof *scripts] = {NULL}, *name = in->argc > 1 ? in->argv[1] : "";
    for (int i = 0; scripts[i].name; i++) {
        words[i] = scripts[i].name;
        if (strcmp(name, scripts[i].name) == 0)
            return &scripts[i];
    }
    if (!*name || *name == '-') {
        err_set(e, ERR_USAGE, "demo needs the name of one: straggler, wifi, bucket or batch");
        return NULL;
    }
    const char *near = suggest_nearest(name, words);
    err_set(e, ERR_USAGE, "unknown demonstration '%.60s'; %s%s", name,
            near ? "did you mean " : "there are straggler, wifi, bucket, batch", near ? near : "");
    return NULL;
}

static int count_nodes(struct demo *d, const struct script *script, struct err *e)
{
    static struct peer_list list;
    const struct options *o = d->options;
    if (o->peers && o->run.world > 1)
        return err_set(e, ERR_USAGE,
                       "--spawn is for ranks on this node and --peers for other nodes: give one of the two");
    if (!o->peers && (o->key_file || o->iface))
        return err_set(e, ERR_USAGE, "--%s is about --peers", o->key_file ? "key-file" : "iface");
    d->nodes = o->run.world > 1 ? o->run.world : script->nodes;
    if (!o->peers)
        return 0;
    if (peer_list_parse(&list, o->peers, o->test_this_host, e))
        return -1;
    d->nodes = list.n + 1;
    if (d->nodes > SPAWN_MAX)
        return err_set(e, ERR_USAGE, "a demonstration shows at most %d ranks, not %d", SPAWN_MAX, d->nodes);
    return 0;
}

/* RESULTS/demo-NAME-DATE */
static int make_folder(struct demo *d, struct err *e)
{
    char results[PATH_MAX], utc[21], compact[21];
    size_t n = 0;
    if (store_place(results, sizeof results, d->options->results_dir, e))
        return -1;
    clock_utc(utc);
    for (const char *c = utc; *c; c++)
        if (*c != '-' && *c != ':')
            compact[n++] = *c;
    compact[n] = '\0';
    n = (size_t)snprintf(d->folder, sizeof d->folder, "%s/demo-%s-%s", results, d->name, compact);
    if (n >= sizeof d->folder)
        return err_set(e, ERR_CANNOT_CREATE, "the name of the results folder is too long: %.200s", results);
    char made[PATH_MAX];
    return store_folder(made, sizeof made, d->folder, e);
}

static int begin(struct demo *d, struct err *e)
{
    if (make_folder(d, e))
        return -1;
    demo_show_init(&d->show);
    d->asks = !d->in->json && isatty(STDIN_FILENO) && output_is_terminal(STDERR_FILENO);
    d->wire = (struct demo_link){.name = "1G-eth", .emulate = "rate=941.5Mbit,rtt=200us"};
    link_model_state(&d->wire.model, 941.5e6 / 8, 200e-6, COST_DUPLEX);
    json_object_set_new(d->document, "kind", json_string("demo"));
    json_object_set_new(d->document, "demo", json_string(d->name));
    json_object_set_new(d->document, "world", json_integer(d->nodes));
    json_object_set_new(d->document, "emulated", json_boolean(!d->options->peers));
    json_object_set_new(d->document, "folder", output_string(d->folder));
    json_object_set_new(d->document, "questions", json_array());
    json_object_set_new(d->document, "parts", d->parts = json_array());
    json_object_set_new(d->document, "findings", json_array());
    json_object_set_new(d->document, "warnings", d->warnings = json_array());
    json_object_set_new(d->document, "reasons", json_object());
    return d->options->peers ? demo_measure_link(d, e) : 0;
}

/* ---- the end ---- */

static void tell_warnings(const struct demo *d)
{
    for (size_t i = 0; i < json_array_size(d->warnings); i++)
        demo_say(d, "%s: warning: %s", d->in->program, json_string_value(json_array_get(d->warnings, i)));
}

/* The document, and what was printed, beside the runs. */
static int keep(struct demo *d, const char *text, struct err *e)
{
    char path[PATH_MAX];
    char *json = json_dumps(d->document, JSON_INDENT(1));
    if (!json)
        return err_set(e, ERR_MEMORY, "out of memory while writing the result");
    int result = store_write(path, sizeof path, d->folder, "demo", ".json", json, strlen(json), e);
    free(json);
    if (result == 0 && text)
        result = store_write(path, sizeof path, d->folder, "demo", ".txt", text, strlen(text), e);
    return result;
}

static int finish(struct demo *d, char *text, struct err *e)
{
    struct err unsaved = {ERR_OK, ""};
    json_object_set_new(d->document, "status",
                        json_string(e->code == ERR_OK            ? "complete"
                                    : e->code == ERR_INTERRUPTED ? "interrupted"
                                                                 : "failed"));
    if (e->code)
        output_set_error(d->document, e);
    else
        json_object_set_new(d->document, "error", json_null());
    bool worth = json_array_size(d->parts) > 0;
    if (worth)
        keep(d, e->code ? NULL : text, &unsaved);
    else
        rmdir(d->folder); /* only if nothing is in it */
    if (unsaved.code)
        demo_say(d, "%s: the result is not saved: %s", d->in->program, unsaved.text);
    if (e->code)
        demo_say(d, "%s: %s%s%s", d->in->program, e->text, worth ? "; what was measured until then is in " : "",
                 worth ? d->folder : "");
    int code = e->code ? (int)e->code : (int)unsaved.code;
    if (d->in->json)
        return output_json(d->in, json_incref(d->document), code);
    return e->code ? code : output_text(d->in, text, code);
}

static int play(struct demo *d, const struct script *script)
{
    struct err e = {ERR_OK, ""};
    char *text = NULL, *said = NULL;
    size_t bytes = 0, said_bytes = 0;
    d->document = output_document();
    d->out = open_memstream(&text, &bytes);
    d->said = open_memstream(&said, &said_bytes);
    if (!d->out || !d->said || !d->document)
        return output_fail(d->in, &(struct err){ERR_MEMORY, "out of memory"});
    if (begin(d, &e) == 0 && script->play(d, &e) == 0) {
        tell_real(d);
        demo_report(d);
        tell_warnings(d);
        fprintf(d->said, "\nsaved       %s\n", d->folder);
        const char *page = json_string_value(json_object_get(d->document, "report"));
        if (page)
            fprintf(d->said, "report      %s\n", page);
        if (*d->last)
            fprintf(d->said, "more        %s trace %s -o trace.json\n", d->in->program, d->last);
    }
    demo_show_leave(&d->show);
    fclose(d->said);
    fputs(said, d->out);
    fclose(d->out);
    int code = d->parts ? finish(d, text, &e) : output_fail(d->in, &e); /* else there is no place for results */
    free(text);
    free(said);
    json_decref(d->document);
    return code;
}

/* Options without the name. */
static int parse(struct options *o, const struct invocation *in, bool named, struct err *e)
{
    char **rest = calloc((size_t)in->argc + 1, sizeof *rest);
    if (!rest)
        return err_set(e, ERR_MEMORY, "out of memory");
    rest[0] = in->argv[0];
    for (int i = 1 + named; i < in->argc; i++)
        rest[i - named] = in->argv[i];
    int result = options_parse(o, OPTIONS_DEMO, in->argc - named, rest, e);
    free(rest);
    return result;
}

int cmd_demo(const struct invocation *in)
{
    static struct options o;
    static struct demo d;
    struct err e;
    bool named = in->argc > 1 && in->argv[1][0] != '-';
    if (parse(&o, in, named, &e))
        return output_fail(in, &e);
    if (o.help || o.version)
        return output_help(in, &o, OPTIONS_DEMO, purpose);
    const struct script *script = find_script(in, &e);
    if (!script)
        return output_fail(in, &e);
    d = (struct demo){.in = in, .options = &o, .name = script->name};
    if (count_nodes(&d, script, &e))
        return output_fail(in, &e);
    catch_signals();
    return play(&d, script);
}
