/*
 * cli/cmd_serve.c - waits for another node and works with it: the other end of --peers.
 *
 * Start at cmd_serve(). What it says goes to stderr; a one-time code only if that is a terminal. stdout gets nothing but
 * the document of --json at the end.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/node.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/work.h"
#include "comm/serve.h"
#include "comm/ssh_start.h"
#include "config.h"

const struct work works[] = {
    {"check", work_check_accept, work_check_serve},
    {"train", work_train_accept, work_train_serve},
    {"link", work_link_accept, work_link_serve},
    {NULL, NULL, NULL},
};

#define SSH_PATIENCE_S 60.0 /* for who started this node to come */

struct serving {
    const struct invocation *in;
    struct options options;
    struct node node;
    struct serve serve;
    int sessions;
};

static const struct work *find_work(const json_t *plan)
{
    const char *name = json_string_value(json_object_get(plan, "work"));
    for (const struct work *w = works; w->name; w++)
        if (name && strcmp(w->name, name) == 0)
            return w;
    return NULL;
}

/* KEY=VALUE, a number if it looks like one, in place of what this node would do. */
static void alter(json_t *plan, const char *text)
{
    char key[64], *end;
    size_t n = strcspn(text, "=");
    if (!text[n] || n >= sizeof key)
        return;
    memcpy(key, text, n);
    key[n] = '\0';
    long long number = strtoll(text + n + 1, &end, 10);
    json_object_set_new(plan, key, *end ? json_string(text + n + 1) : json_integer(number));
}

static int plan(void *ctx, const json_t *asked, json_t **own, struct err *e)
{
    const struct serving *s = ctx;
    char name[PEER_TEXT_BYTES];
    const struct work *w = find_work(asked);
    wire_text(asked, "work", name, sizeof name);
    if (!w)
        return err_set(e, ERR_PROTOCOL, "the work '%s' is unknown here", name);
    const char *wire = json_string_value(json_object_get(asked, "wire"));
    if (s->options.require_encrypt && !(wire && strcmp(wire, "tls") == 0))
        return err_set(e, ERR_PROTOCOL, "this node takes part with --encrypt only (serve --require-encrypt)");
    if (w->plan(asked, &s->options, own, e))
        return -1;
    if (s->options.test_plan)
        alter(*own, s->options.test_plan);
    return 0;
}

static int run(void *ctx, struct session *session, struct err *e)
{
    struct serving *s = ctx;
    s->sessions++;
    return find_work(session->plan)->run(session, &s->options, e);
}

static void say(void *ctx, const char *text)
{
    const struct serving *s = ctx;
    output_say("%s serve: %s", s->in->program, text);
}

static void show_code(void *ctx, const char *code)
{
    const struct serving *s = ctx;
    output_say(
        "\n    code for pairing: %s\n\nIt is asked for on the other machine when that names this one (%s), once; "
        "it is valid for %d minutes.",
        code, s->node.name, CODE_MINUTES);
}

static void introduce(const struct serving *s)
{
    struct keystore_peer *peers = calloc(KEYSTORE_PEERS_MAX, sizeof *peers);
    struct err e;
    int paired = peers ? keystore_list(&s->node.store, peers, KEYSTORE_PEERS_MAX, &e) : 0;
    char who[64] = "any node with the same key file";
    free(peers);
    if (!s->node.has_key)
        snprintf(who, sizeof who, "%d paired node%s", paired < 0 ? 0 : paired, paired == 1 ? "" : "s");
    output_say("%s serve: %s waits for %s on port %d", s->in->program, s->node.name, who, s->serve.port);
    if (!s->node.has_key && !s->serve.options.codes)
        output_say("%s serve: no new ones: this is no terminal to show a code on", s->in->program);
}

/* --key-stdin: the one line that the caller's ssh looks for. */
static int answer(struct serving *s, struct err *e)
{
    if (printf(SSH_START_PREFIX "{\"port\": %d}\n", s->serve.port) < 0 || fflush(stdout))
        return err_set(e, ERR_IO, "standard output takes no answer: %m");
    return 0;
}

/* Whoever started this node by ssh holds the other end of standard input; when that is gone, so is the reason to be here. */
static void *hold_lifeline(void *argument)
{
    struct serving *s = argument;
    char ignored[256];
    uint64_t one = 1;
    ssize_t n;
    prctl(PR_SET_NAME, "ddp-lifeline");
    while ((n = read(STDIN_FILENO, ignored, sizeof ignored)) > 0 || (n < 0 && errno == EINTR))
        ;
    if (write(s->node.stop_fd, &one, sizeof one) < 0)
        say(s, "standard input has ended, and this node cannot tell itself");
    return NULL;
}

static int serve(struct serving *s, struct err *e)
{
    const struct options *o = &s->options;
    struct serve_options options = {.port = o->port,
                                    .store = &s->node.store,
                                    .file_key = s->node.has_key ? s->node.key : NULL,
                                    .own_name = s->node.name,
                                    .version = PACKAGE_VERSION,
                                    .codes = !s->node.has_key && isatty(STDERR_FILENO),
                                    .key_press_fd = !o->key_stdin && isatty(STDIN_FILENO) ? STDIN_FILENO : -1,
                                    .once = o->once,
                                    .wait_s = o->wait_s,
                                    .any_source = o->any_source,
                                    .peer_timeout_s = o->peer_timeout_s,
                                    .stop_fd = s->node.stop_fd,
                                    .plan = plan,
                                    .run = run,
                                    .say = say,
                                    .show_code = show_code,
                                    .ctx = s};
    if (o->key_stdin && o->wait_s <= 0)
        options.wait_s = SSH_PATIENCE_S;
    if (serve_open(&s->serve, &options, e)) {
        if (!o->key_stdin || e->code != ERR_UNAVAILABLE)
            return -1;
        serve_close(&s->serve); /* the usual port is taken: the caller is told which one it is instead */
        options.port = 0;
        if (serve_open(&s->serve, &options, e))
            return -1;
    }
    if (!o->key_stdin) {
        introduce(s);
        return serve_run(&s->serve, e);
    }
    pthread_t lifeline;
    if (answer(s, e))
        return -1;
    if (pthread_create(&lifeline, NULL, hold_lifeline, s))
        return err_set(e, ERR_MEMORY, "no thread to watch standard input");
    int result = serve_run(&s->serve, e);
    pthread_cancel(lifeline);
    pthread_join(lifeline, NULL);
    return result;
}

int cmd_serve(const struct invocation *in)
{
    static struct serving s;
    struct err e;
    s.in = in;
    if (options_parse(&s.options, OPTIONS_SERVE, in->argc, in->argv, &e))
        return output_fail(in, &e);
    if (s.options.help || s.options.version)
        return output_help(in, &s.options, OPTIONS_SERVE,
                           "Waits for another node and works with it, again and again. The first time a code is shown "
                           "here and typed there.\n");
    int result = node_open(&s.node, in->program, &s.options, &e);
    if (result == 0)
        result = serve(&s, &e);
    serve_close(&s.serve);
    node_close(&s.node);
    if (result)
        return output_fail(in, &e);
    if (!in->json)
        return ERR_OK;
    json_t *d = output_document();
    json_object_set_new(d, "command", json_string("serve"));
    json_object_set_new(d, "sessions", json_integer(s.sessions));
    return output_json(in, d, ERR_OK);
}
