/*
 * cli/peers.c - see peers.h. Reports and reasons come from other machines: what goes into the result is copied member by
 * member with texts cut and cleaned, see harmless().
 */
#include "cli/peers.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cli/output.h"
#include "comm/address.h"
#include "comm/dial.h"
#include "comm/wait.h"

/* For reports after a run that went well, and after one that did not. The latter come at once or not at all, except from a machine
 * that is very busy, or from a rank that is in the middle of a long computation. */
#define PATIENCE_WELL_S 20.0
#define PATIENCE_FAILED_S 3.0

/* The shortest of so many round trips counts; all of them take milliseconds, the time is for a machine that is busy. */
#define CLOCK_S 2.0
enum { CLOCK_EXCHANGES = 40 };

enum { TEXT_BYTES = 400, HARMLESS_DEPTH = 6 };

/* ---- before the run ---- */

static int refuse(const char *option, struct err *e)
{
    return err_set(e, ERR_USAGE, "%s does not go with --peers in this version", option);
}

/* A key file is for nodes that serve with it too. */
static bool may_start(const struct peer *peer, const struct options *o)
{
    return peer->way == PEER_SSH || (peer->way == PEER_ANY && !o->key_file && !o->no_ssh && ssh_start_possible());
}

/* What the names lead to, then whether anybody listens there. */
static int try_all(struct peers *peers, const struct options *o, struct err *e)
{
    const struct peer_list *list = &peers->list;
    struct addresses *addresses = calloc(PEERS_MAX, sizeof *addresses);
    struct dial *dials = calloc(PEERS_MAX, sizeof *dials);
    int result = addresses && dials ? 0 : err_set(e, ERR_MEMORY, "no memory for %d peers", list->n);
    for (int i = 0; i < list->n && result == 0; i++) {
        result = address_resolve(&addresses[i], &list->peer[i], o->test_this_host, e);
        dials[i] = (struct dial){
            .name = list->peer[i].name, .addresses = &addresses[i], .optional = may_start(&list->peer[i], o)};
    }
    if (result == 0)
        result = dial_all(dials, list->n, o->iface, wait_deadline(SESSION_CONNECT_MS * 1e-3), -1, e);
    for (int i = 0; i < list->n && result == 0; i++) {
        peers->closed[i] = dials[i].fd < 0;
        if (dials[i].fd >= 0)
            close(dials[i].fd);
    }
    free(addresses);
    free(dials);
    return result;
}

/* What would be ignored without --peers was meant to do something. */
static int check_alone(const struct options *o, struct err *e)
{
    const char *given = o->encrypt    ? "encrypt"
                        : o->clear    ? "clear"
                        : o->remote   ? "remote"
                        : o->no_ssh   ? "no-ssh"
                        : o->key_file ? "key-file"
                        : o->iface    ? "iface"
                                      : NULL;
    return given ? err_set(e, ERR_USAGE, "--%s is about the connections of --peers", given) : 0;
}

int peers_check(struct peers *peers, const struct options *o, struct err *e)
{
    *peers = (struct peers){0};
    if (!o->peers)
        return check_alone(o, e);
    if (o->run.world > 1)
        return refuse("--spawn", e);
    if (*o->compute.path)
        return err_set(e, ERR_USAGE,
                       "--compute replay:%.80s is on this node only: with --peers each records its own, "
                       "--compute replay",
                       o->compute.path);
    if (peer_list_parse(&peers->list, o->peers, o->test_this_host, e))
        return -1;
    if (o->iface && address_check_interface(o->iface, e))
        return -1;
    for (int i = 0; i < peers->list.n && o->no_ssh; i++)
        if (peers->list.peer[i].way == PEER_SSH)
            return err_set(e, ERR_USAGE, "ssh:%s and --no-ssh contradict each other", peers->list.peer[i].name);
    return try_all(peers, o, e);
}

/* The computation looks at a flag, not at a descriptor. */
static void *watch(void *argument)
{
    struct peers *peers = argument;
    struct pollfd p[] = {{peers->session.stop_fd, POLLIN, 0}, {peers->end_fd, POLLIN, 0}};
    prctl(PR_SET_NAME, "ddp-watch");
    while (poll(p, 2, -1) < 0 && errno == EINTR)
        ;
    if (p[0].revents)
        atomic_store(&peers->lost, true);
    return NULL;
}

static int start_watching(struct peers *peers, struct err *e)
{
    sigset_t all, before;
    peers->end_fd = eventfd(0, EFD_CLOEXEC);
    if (peers->end_fd < 0)
        return err_set(e, ERR_MEMORY, "no descriptor left: %m");
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    peers->watching = pthread_create(&peers->watcher, NULL, watch, peers) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return peers->watching ? 0 : err_set(e, ERR_MEMORY, "no thread to watch the peers");
}

static void stop_watching(struct peers *peers)
{
    uint64_t one = 1;
    if (peers->watching) {
        while (write(peers->end_fd, &one, sizeof one) < 0 && errno == EINTR)
            ;
        pthread_join(peers->watcher, NULL);
    }
    if (peers->end_fd > 0)
        close(peers->end_fd);
    peers->watching = false;
    peers->end_fd = 0;
}

/* ---- nodes that are started ---- */

static bool has_terminal(void)
{
    int tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (tty >= 0)
        close(tty);
    return tty >= 0;
}

/* Whoever listens and is known, or can be paired with on a terminal, needs no start. */
static int needs_start(const struct peers *peers, int i, const struct options *o)
{
    const struct peer *peer = &peers->list.peer[i];
    struct keystore_peer known = {0};
    struct err e;
    if (peer->way == PEER_SSH || !may_start(peer, o) || peers->closed[i])
        return peer->way == PEER_SSH || (may_start(peer, o) && peers->closed[i]);
    int found = keystore_find_name(&peers->node.store, peer->name, &known, &e);
    crypto_wipe(&known, sizeof known);
    return found == 0 && !has_terminal();
}

/* A name alone may have been meant either way, so both are told. */
static int cannot_start(const struct peers *peers, const struct peer *peer, bool closed, struct err *e)
{
    if (peer->way == PEER_SSH || e->code == ERR_INTERRUPTED)
        return -1;
    e->code = ERR_UNAVAILABLE;
    err_context(e,
                closed ? "nothing listens on %s, port %d, and starting it by ssh failed"
                       : "%s, port %d, is not paired with this node, and starting it by ssh failed",
                peer->name, peer->port);
    size_t used = strlen(e->text);
    snprintf(e->text + used, sizeof e->text - used,
             "; type '%s serve' on %s, or make 'ssh %s ddpbench --version' work here", peers->node.program, peer->name,
             peer->login);
    return -1;
}

static int start_all(struct peers *peers, const struct options *o, struct err *e)
{
    struct peer_list *list = &peers->list;
    bool any = false, started[PEERS_MAX] = {false};
    for (int i = 0; i < list->n; i++)
        any |= started[i] = needs_start(peers, i, o);
    if (!any)
        return 0;
    peers->ssh = calloc((size_t)list->n, sizeof *peers->ssh);
    peers->own = calloc((size_t)list->n, sizeof *peers->own);
    if (!peers->ssh || !peers->own)
        return err_set(e, ERR_MEMORY, "no memory for %d peers", list->n);
    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < list->n; i++) {
        struct peer *peer = &list->peer[i];
        if (!started[i])
            continue;
        if (crypto_random(peers->own[i].key, CRYPTO_KEY_BYTES, e))
            return -1;
        peers->own[i].given = true;
        if (ssh_start_begin(&peers->ssh[i], peer->login, peer->name, o->remote, peers->own[i].key, e))
            return cannot_start(peers, peer, peers->closed[i], e);
    }
    uint64_t deadline_ns = wait_deadline(SSH_START_ANSWER_S);
    for (int i = 0; i < list->n; i++) {
        if (!started[i])
            continue;
        if (ssh_start_wait(&peers->ssh[i], deadline_ns, peers->node.stop_fd, e))
            return cannot_start(peers, &list->peer[i], peers->closed[i], e);
        list->peer[i].port = peers->ssh[i].port;
    }
    return 0;
}

static void end_started(struct peers *peers)
{
    for (int i = 0; peers->ssh && i < peers->list.n; i++)
        ssh_start_end(&peers->ssh[i]);
    if (peers->own)
        crypto_wipe(peers->own, (size_t)peers->list.n * sizeof *peers->own);
    free(peers->ssh);
    free(peers->own);
    peers->ssh = NULL;
    peers->own = NULL;
}

/* ---- the session ---- */

/* How far the peers' clocks are from this one. A clock that is not known is no failure: only a picture needs it. */
static void read_clocks(struct peers *peers, bool after)
{
    struct session *s = &peers->session;
    struct err unknown;
    for (int i = 0; i < s->peers_n && !s->same_host; i++) {
        struct clock_offset *clock = &peers->clock[i];
        control_clock(&s->peers[i].control, after ? &clock->after : &clock->before, CLOCK_EXCHANGES,
                      wait_deadline(CLOCK_S), s->stop_fd, &unknown);
    }
}

static int meet(struct peers *peers, const struct options *o, json_t *plan, struct err *e)
{
    struct session_options call = node_call(&peers->node, o);
    call.peers = &peers->list;
    call.given = peers->own;
    call.plan = plan;
    if (node_connect(&peers->session, &call, e))
        return -1;
    peers->open = true;
    read_clocks(peers, false);
    return start_watching(peers, e);
}

int peers_call(struct peers *peers, const struct options *o, json_t *plan, const char *program, struct err *e)
{
    int result = node_open(&peers->node, program, o, e);
    if (result == 0)
        result = start_all(peers, o, e);
    if (result == 0)
        result = meet(peers, o, plan, e);
    if (result)
        end_started(peers);
    node_close(&peers->node);
    return result;
}

void peers_interrupt(struct peers *peers)
{
    if (peers->open)
        session_stop(&peers->session);
}

/* ---- after the run ---- */

static json_t *harmless(const json_t *value, int depth);

static json_t *harmless_object(const json_t *value, int depth)
{
    json_t *copy = json_object(), *member;
    char key[TEXT_BYTES];
    const char *name;
    json_object_foreach((json_t *)value, name, member)
    {
        peer_text_clean(key, sizeof key, name);
        json_object_set_new(copy, key, harmless(member, depth - 1));
    }
    return copy;
}

static json_t *harmless(const json_t *value, int depth)
{
    char text[TEXT_BYTES];
    size_t i;
    json_t *copy, *member;
    if (json_is_string(value)) {
        peer_text_clean(text, sizeof text, json_string_value(value));
        return json_string(text);
    }
    if (depth > 0 && json_is_object(value))
        return harmless_object(value, depth);
    if (depth > 0 && json_is_array(value)) {
        copy = json_array();
        json_array_foreach(value, i, member)
        {
            json_array_append_new(copy, harmless(member, depth - 1));
        }
        return copy;
    }
    return json_is_object(value) || json_is_array(value) ? json_null() : json_deep_copy(value);
}

/* Only reasons about the peer's own entry. */
static json_t *own_reasons(const json_t *reasons, int rank)
{
    char prefix[24];
    const char *path;
    json_t *reason, *copy = json_object();
    int n = snprintf(prefix, sizeof prefix, "nodes[%d].", rank);
    json_object_foreach((json_t *)reasons, path, reason)
    {
        if (strncmp(path, prefix, (size_t)n) == 0 && json_is_string(reason))
            json_object_set(copy, path, reason);
    }
    return copy;
}

/* The entry of a node is told by its user's name for it; "host" is what it calls itself. */
static void name_node(json_t *node, const struct session_peer *peer, int rank)
{
    json_t *host = json_object_get(node, "name");
    json_object_set(node, "host", json_is_string(host) ? host : json_null());
    json_object_set_new(node, "name", json_string(peer->name));
    json_object_set_new(node, "address", json_string(peer->address));
    json_object_set_new(node, "rank", json_integer(rank));
}

static json_t *take_report(struct session_peer *peer, int rank, double seconds)
{
    struct err unheard;
    json_t *message, *report;
    if (control_receive(&peer->control, "report", &message, wait_deadline(seconds), -1, &unheard))
        return NULL;
    report = harmless(json_object_get(message, "report"), HARMLESS_DEPTH);
    json_decref(message);
    if (!json_is_object(report)) {
        json_decref(report);
        return NULL;
    }
    json_object_set_new(report, "reasons", own_reasons(json_object_get(report, "reasons"), rank));
    json_t *node = json_object_get(report, "node");
    if (json_is_object(node))
        name_node(node, peer, rank);
    return report;
}

/* How a text names a peer. */
static const char *describe(const struct session_peer *peer, char *text, size_t size)
{
    if (strcmp(peer->name, peer->address) == 0)
        snprintf(text, size, "%s", peer->name);
    else
        snprintf(text, size, "%s (%s)", peer->name, peer->address);
    return text;
}

/* A node that failed by itself comes before one that only saw others go. */
static bool blame_report(const struct session *s, const char *when, json_t *const *report, struct err *err)
{
    char who[PEER_TEXT_BYTES + ADDRESS_TEXT_BYTES + 4];
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < s->peers_n; i++) {
            const json_t *error = json_object_get(report[i], "error");
            const char *text = json_string_value(json_object_get(error, "message"));
            int code = (int)json_integer_value(json_object_get(error, "code"));
            bool own =
                json_is_true(json_object_get(report[i], "died")) || (code != ERR_PEER_LOST && code != ERR_INTERRUPTED);
            if (!error || (round == 0 && !own) || code < ERR_USAGE || code > ERR_INTERRUPTED)
                continue;
            if (round == 1 && err->code != ERR_INTERRUPTED)
                continue;
            err_set(err, (enum err_code)code, "%s, rank %d, %s: %s", describe(&s->peers[i], who, sizeof who), i + 1,
                    when, text ? text : "it failed without a reason");
            return true;
        }
    return false;
}

static bool blame_loss(struct session *s, const char *when, struct err *err)
{
    char who[PEER_TEXT_BYTES + ADDRESS_TEXT_BYTES + 4];
    struct err why;
    for (int i = 0; i < s->peers_n; i++)
        if (control_lost(&s->peers[i].control, &why)) {
            enum err_code code = why.code == ERR_PROTOCOL ? ERR_PROTOCOL : ERR_PEER_LOST; /* damaged, or gone */
            err_set(err, code, "%s, rank %d, is lost %s: %s", describe(&s->peers[i], who, sizeof who), i + 1, when,
                    why.text);
            return true;
        }
    return false;
}

/* A peer's control connection may say more than a data socket that has ended. Once ours are closed, what it says is about that. */
void peers_listen(struct peers *peers, const struct err *err)
{
    struct err none;
    if (peers->open && err->code == ERR_PEER_LOST)
        peers->heard = wait_ready(peers->session.stop_fd, POLLIN, wait_deadline(SESSION_REASON_MS * 1e-3), -1,
                                  "a reason", &none) == 0;
}

void peers_leave(struct peers *peers, const char *when, json_t **report, struct err *err)
{
    struct session *s = &peers->session;
    struct err none;
    if (!peers->open)
        return;
    bool lost = atomic_load(&peers->lost) || wait_ready(s->stop_fd, POLLIN, 0, -1, "a reason", &none) == 0;
    bool well = !lost && (err->code == ERR_OK || err->code == ERR_INTERRUPTED);
    uint64_t until_ns = wait_deadline(well ? PATIENCE_WELL_S : PATIENCE_FAILED_S);
    for (int i = 0; i < s->peers_n; i++)
        report[i] = take_report(&s->peers[i], i + 1, (double)wait_left_ms(until_ns) * 1e-3);
    if (well)
        read_clocks(peers, true);
    bool again = err->code == ERR_PEER_LOST || err->code == ERR_INTERRUPTED || err->code == ERR_OK;
    if (again && !blame_report(s, when, report, err) && (err->code != ERR_PEER_LOST || peers->heard))
        blame_loss(s, when, err);
    for (int i = 0; i < s->peers_n && well; i++) {
        if (!report[i] && err->code == ERR_OK)
            err_set(err, ERR_PEER_LOST, "%s did not tell what it measured", s->peers[i].name);
        session_send(s, i, json_pack("{s:s}", "type", "done"), &none);
    }
    stop_watching(peers);
    peers->open = false;
    session_close(s, well && (err->code == ERR_OK || err->code == ERR_INTERRUPTED) ? NULL : err);
}

void peers_fini(struct peers *peers)
{
    stop_watching(peers);
    if (peers->open)
        session_close(&peers->session, NULL);
    peers->open = false;
    end_started(peers);
}
