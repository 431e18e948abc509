/*
 * comm/session_connect.c - rank 0's side of a session's beginning; see session.h.
 *
 * Start at session_connect(). Everybody is dialled at once, and everybody's greeting is read before anybody is asked
 * anything: a node that is missing, foreign or of another version ends it before a person types a code. Typing takes
 * longer than a connection may wait, so all are dialled again after it.
 */
#include "config.h" /* _GNU_SOURCE, for dup3 */

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comm/dial.h"
#include "comm/session.h"
#include "comm/wait.h"

struct callee { /* a peer on its way into the session */
    const struct peer *peer;
    struct addresses addresses;
    unsigned char intro[GREETING_INTRO_BYTES], raw[GREETING_BYTES];
    struct greeting greeting;
    enum session_key kind;
    unsigned char root[CRYPTO_KEY_BYTES]; /* what both know */
    bool has_root;
    struct keystore_peer known;
    char code[CODE_TEXT_BYTES];
    struct channel channel;
    unsigned char data_key[CRYPTO_KEY_BYTES];
    char own_name[PEER_TEXT_BYTES]; /* as it calls itself */
};

struct calling {
    const struct session_options *options;
    struct session *session;
    struct tls_context tls;
    struct dial *dials;
    struct callee *callees;
    int n;
    json_t *plan; /* with the version */
};

/* Before anything is agreed on nothing is lost when a connection ends: the peer is unavailable. */
static int unavailable(struct err *e)
{
    if (e && e->code == ERR_PEER_LOST)
        e->code = ERR_UNAVAILABLE;
    return -1;
}

/* ---- greetings ---- */

static struct greeting_intro own_intro(const struct calling *c, enum greeting_kind kind)
{
    struct greeting_intro intro = {.protocols = c->options->protocols, .kind = (uint8_t)kind};
    if (!intro.protocols.high)
        intro.protocols = (struct greeting_protocols){GREETING_PROTOCOL, GREETING_PROTOCOL};
    memcpy(intro.node, c->options->store->node, sizeof intro.node);
    return intro;
}

/* The greeting, given up at the first byte that cannot be part of one: such a server may say little and then wait. */
static int read_greeting(struct callee *callee, int fd, uint64_t deadline_ns, int stop_fd, struct err *e)
{
    const char *name = callee->peer->name;
    size_t have = 0;
    while (have < GREETING_BYTES) {
        size_t got;
        if (wait_receive_some(fd, callee->raw + have, GREETING_BYTES - have, &got, name, e))
            return err_context(e, "no bench peer there, or it has too many visitors"), unavailable(e);
        have += got;
        if (have > 0 && !greeting_plausible(callee->raw, have))
            return greeting_decode(callee->raw, &callee->greeting, name, e);
        if (got == 0 && wait_ready(fd, POLLIN, deadline_ns, stop_fd, name, e))
            return err_context(e, "no whole greeting came within %d s", SESSION_HANDSHAKE_S);
    }
    return greeting_decode(callee->raw, &callee->greeting, name, e);
}

static int greet(struct calling *c, int i, struct err *e)
{
    struct callee *callee = &c->callees[i];
    struct greeting_intro intro = own_intro(c, GREETING_CONTROL);
    uint64_t deadline_ns = wait_deadline(SESSION_HANDSHAKE_S);
    greeting_encode_intro(callee->intro, &intro);
    if (wait_send(c->dials[i].fd, callee->intro, sizeof callee->intro, deadline_ns, c->options->stop_fd,
                  callee->peer->name, e))
        return unavailable(e);
    if (read_greeting(callee, c->dials[i].fd, deadline_ns, c->options->stop_fd, e) ||
        greeting_agree(intro.protocols, callee->greeting.protocols, callee->peer->name, e))
        return -1;
    if (!c->options->this_host && memcmp(callee->greeting.node, intro.node, sizeof intro.node) == 0)
        return err_set(e, ERR_USAGE, "peer is this host: %s answers with this node's own number", callee->peer->name);
    for (int k = 0; k < i; k++)
        if (memcmp(callee->greeting.node, c->callees[k].greeting.node, sizeof callee->greeting.node) == 0)
            return err_set(e, ERR_USAGE, "%s and %s are the same node", c->callees[k].peer->name, callee->peer->name);
    return 0;
}

/* ---- keys ---- */

/* The key that belongs to this peer, if there is one. A name that leads to another node than it used to is refused:
 * whoever can answer in its place must not get as far as a prompt for a code. */
static int choose_key(struct calling *c, struct callee *callee, struct err *e)
{
    const char *name = callee->peer->name;
    struct keystore_peer named = {0};
    const struct session_given *given = c->options->given ? &c->options->given[callee - c->callees] : NULL;
    callee->has_root = true;
    if (given && given->given) {
        callee->kind = SESSION_KEY_FILE; /* as the other end has it too */
        memcpy(callee->root, given->key, sizeof callee->root);
        return 0;
    }
    if (c->options->file_key) {
        callee->kind = SESSION_KEY_FILE;
        memcpy(callee->root, c->options->file_key, sizeof callee->root);
        return 0;
    }
    if (*callee->code) {
        callee->kind = SESSION_KEY_CODE;
        return code_key(callee->root, callee->code, callee->greeting.salt, e);
    }
    int found = keystore_find(c->options->store, callee->greeting.node, &callee->known, e);
    if (found < 0)
        return -1;
    callee->kind = SESSION_KEY_STORED;
    callee->has_root = found;
    if (found)
        memcpy(callee->root, callee->known.key, sizeof callee->root);
    crypto_wipe(callee->known.key, sizeof callee->known.key);
    if (found && keystore_is_called(&callee->known, name))
        return 0; /* others may call themselves that too */
    found = keystore_find_name(c->options->store, name, &named, e);
    crypto_wipe(named.key, sizeof named.key);
    if (found < 0)
        return -1;
    if (found && memcmp(named.node, callee->greeting.node, sizeof named.node) != 0)
        return err_set(e, ERR_NOT_PAIRED,
                       "%s answers as another node than the one that was paired under that name; if that is right, run "
                       "'peers forget %s' and pair again",
                       name, name);
    return 0;
}

static int ask(struct calling *c, struct callee *callee, struct err *e)
{
    const char *name = callee->peer->name;
    if (!callee->greeting.pairing)
        return err_set(e, ERR_NOT_PAIRED,
                       "%s and this node have not met, and %s shows no code: run 'serve' there on a terminal (or use "
                       "--key-file on both)",
                       name, name);
    int asked = c->options->ask_code ? c->options->ask_code(c->options->ctx, name, callee->code) : -1;
    if (asked > 0)
        return err_set(e, ERR_INTERRUPTED, "interrupted while the code of %s was asked for", name);
    if (asked)
        return err_set(e, ERR_NOT_PAIRED,
                       "%s and this node have not met: run this once on a terminal and type the code that %s shows (or "
                       "use --key-file on both)",
                       name, name);
    return 0;
}

static void hang_up(struct calling *c)
{
    for (int i = 0; i < c->n; i++) {
        if (c->dials[i].fd >= 0)
            close(c->dials[i].fd);
        c->dials[i].fd = -1;
    }
}

/* Everybody on the line, with a key for each. */
static int call_everybody(struct calling *c, struct err *e)
{
    for (int round = 0; round < 2; round++) {
        bool asked = false;
        uint64_t deadline_ns = wait_deadline(SESSION_CONNECT_MS * 1e-3);
        if (dial_all(c->dials, c->n, c->options->interface, deadline_ns, c->options->stop_fd, e))
            return -1;
        for (int i = 0; i < c->n; i++)
            if (greet(c, i, e) || choose_key(c, &c->callees[i], e))
                return -1;
        for (int i = 0; i < c->n; i++) {
            if (c->callees[i].has_root)
                continue;
            if (!asked)
                hang_up(c);
            asked = true;
            if (ask(c, &c->callees[i], e))
                return -1;
        }
        if (!asked)
            return 0;
    }
    return err_set(e, ERR_NOT_PAIRED, "a peer changed while its code was typed; try again");
}

static int shake_hands(struct calling *c, int i, struct err *e)
{
    struct callee *callee = &c->callees[i];
    char identity[TLS_IDENTITY_BYTES], own[2 * GREETING_NODE_BYTES + 1], other[sizeof own];
    unsigned char key[CRYPTO_KEY_BYTES];
    crypto_hex(own, c->options->store->node, GREETING_NODE_BYTES);
    crypto_hex(other, callee->greeting.node, GREETING_NODE_BYTES);
    snprintf(identity, sizeof identity, "ddpbench 1 %s %s %s", session_key_names[callee->kind], own, other);
    int fd = c->dials[i].fd, result = greeting_key(key, callee->root, callee->intro, callee->raw, e);
    if (result == 0) {
        c->dials[i].fd = -1;
        result = channel_connect(&callee->channel, &c->tls, fd, callee->peer->name, identity, key,
                                 wait_deadline(SESSION_HANDSHAKE_S), c->options->stop_fd, e);
        if (result && e && e->code == ERR_NOT_PAIRED)
            err_context(e, callee->kind == SESSION_KEY_CODE   ? "wrong code, or it is used up"
                           : callee->kind == SESSION_KEY_FILE ? "the key files differ"
                                                              : "refused; 'peers forget' on both, then pair again");
        unavailable(e);
    }
    crypto_wipe(key, sizeof key);
    crypto_wipe(callee->root, sizeof callee->root);
    crypto_wipe(callee->code, sizeof callee->code);
    return result;
}

/* ---- what is to be done ---- */

static int say_hello(struct calling *c, int i, struct err *e)
{
    json_t *hello = json_pack("{s:s, s:s, s:i, s:i, s:f, s:O}", "type", "hello", "name", c->options->own_name, "world",
                              c->n + 1, "rank", i + 1, "peer_timeout_s", c->options->peer_timeout_s, "plan", c->plan);
    if (!hello)
        return err_set(e, ERR_MEMORY, "out of memory");
    return channel_send(&c->callees[i].channel, hello, wait_deadline(SESSION_HANDSHAKE_S), e);
}

/* A first meeting, or a new name for an old acquaintance, is written down. */
static int remember(struct calling *c, struct callee *callee, struct err *e)
{
    if (callee->kind == SESSION_KEY_FILE)
        return 0;
    memcpy(callee->known.node, callee->greeting.node, sizeof callee->known.node);
    int names = callee->known.names_n;
    keystore_add_name(&callee->known, callee->peer->name);
    if (callee->kind == SESSION_KEY_STORED && callee->known.names_n == names)
        return 0;
    struct keystore_peer stored;
    int result = 0;
    if (callee->kind == SESSION_KEY_CODE)
        result = tls_export(&callee->channel.tls, "EXPORTER-ddpbench-pair", callee->known.key, e);
    else if (keystore_find(c->options->store, callee->known.node, &stored, e) == 1)
        memcpy(callee->known.key, stored.key, sizeof stored.key);
    else
        result = -1;
    if (result == 0)
        result = keystore_save(c->options->store, &callee->known, e);
    crypto_wipe(&stored, sizeof stored);
    crypto_wipe(callee->known.key, sizeof callee->known.key);
    return result;
}

static int hear_hello(struct calling *c, int i, struct err *e)
{
    struct callee *callee = &c->callees[i];
    char differences[400];
    json_t *hello;
    if (channel_receive(&callee->channel, "hello", &hello, wait_deadline(2 * SESSION_HANDSHAKE_S), e))
        return unavailable(e);
    wire_text(hello, "name", callee->own_name, sizeof callee->own_name);
    int n = session_differences(differences, sizeof differences, c->plan, json_object_get(hello, "plan"),
                                callee->peer->name);
    json_decref(hello);
    if (remember(c, callee, e))
        return -1;
    if (n)
        return err_set(e, ERR_PROTOCOL, "%s would do other work: %s", callee->peer->name, differences);
    return tls_export(&callee->channel.tls, "EXPORTER-ddpbench-data", callee->data_key, e);
}

/* ---- the ring ---- */

/* Who rank r is to its neighbours. An edge that rank 0 is at has the key that its control connection exports. */
static json_t *introduce(struct calling *c, int rank, const unsigned char *edge_key)
{
    char address[ADDRESS_TEXT_BYTES], hex[2 * CRYPTO_KEY_BYTES + 1] = "";
    if (edge_key)
        crypto_hex(hex, edge_key, CRYPTO_KEY_BYTES);
    if (rank > 0)
        address_text(&c->dials[rank - 1].remote, address);
    json_t *o =
        json_pack("{s:s, s:s, s:s, s:i}", "name", rank ? c->callees[rank - 1].own_name : c->options->own_name, "key",
                  hex, "address", rank ? address : "", "port", rank ? c->callees[rank - 1].peer->port : 0);
    crypto_wipe(hex, sizeof hex);
    return o;
}

static int invite(struct calling *c, const unsigned char *id, struct err *e)
{
    unsigned char before[CRYPTO_KEY_BYTES], after[CRYPTO_KEY_BYTES]; /* of the edges to and from rank r */
    char session[2 * DATALINK_SESSION_BYTES + 1];
    int result = 0;
    crypto_hex(session, id, DATALINK_SESSION_BYTES);
    for (int r = 1; r <= c->n && result == 0; r++) {
        bool last = r == c->n;
        if (crypto_random(after, sizeof after, e))
            return -1;
        json_t *join = json_pack("{s:s, s:s, s:o, s:o}", "type", "join", "session", session, "prev",
                                 introduce(c, r - 1, r > 1 ? before : NULL), "next",
                                 introduce(c, last ? 0 : r + 1, last ? NULL : after));
        memcpy(before, after, sizeof before);
        result = join ? channel_send(&c->callees[r - 1].channel, join, wait_deadline(SESSION_HANDSHAKE_S), e)
                      : err_set(e, ERR_MEMORY, "out of memory");
    }
    crypto_wipe(before, sizeof before);
    crypto_wipe(after, sizeof after);
    return result;
}

/* The same short message to all, or from all. */
static int tell_all(struct calling *c, const char *type, struct err *e)
{
    for (int i = 0; i < c->n; i++)
        if (channel_send(&c->callees[i].channel, json_pack("{s:s}", "type", type), wait_deadline(SESSION_HANDSHAKE_S),
                         e))
            return -1;
    return 0;
}

static int hear_all(struct calling *c, const char *type, struct err *e)
{
    for (int i = 0; i < c->n; i++) {
        json_t *message;
        if (channel_receive(&c->callees[i].channel, type, &message, wait_deadline(3 * SESSION_HANDSHAKE_S), e))
            return -1;
        json_decref(message);
    }
    return 0;
}

static int dial_data(struct calling *c, const unsigned char *id, int peer, int edge, enum datalink_direction direction,
                     int *fd, unsigned char *seal, struct err *e)
{
    struct callee *callee = &c->callees[peer];
    struct addresses one = {.n = 1, .address = {c->dials[peer].remote}};
    struct dial dial = {.name = callee->peer->name, .addresses = &one};
    struct datalink link = {.edge = (uint16_t)edge, .direction = (uint8_t)direction};
    struct greeting_intro intro = own_intro(c, GREETING_DATA);
    memcpy(link.session, id, sizeof link.session);
    memcpy(link.key, callee->data_key, sizeof link.key);
    uint64_t deadline_ns = wait_deadline(SESSION_HANDSHAKE_S);
    int result = dial_all(&dial, 1, c->options->interface, deadline_ns, c->options->stop_fd, e);
    if (result == 0)
        result = datalink_dial(dial.fd, &link, &intro, dial.name, seal, deadline_ns, c->options->stop_fd, e);
    crypto_wipe(&link, sizeof link);
    if (result && dial.fd >= 0)
        close(dial.fd);
    else
        *fd = dial.fd;
    return result;
}

/* Every node first listens for its neighbours, then all dial. */
static int close_ring(struct calling *c, struct err *e)
{
    struct session *s = c->session;
    unsigned char id[DATALINK_SESSION_BYTES];
    if (crypto_random(id, sizeof id, e) || invite(c, id, e) || hear_all(c, "joined", e) || tell_all(c, "dial", e) ||
        dial_data(c, id, 0, 0, DATALINK_OUT, &s->next_fd, s->next_key, e) ||
        dial_data(c, id, c->n - 1, c->n, DATALINK_IN, &s->prev_fd, s->prev_key, e) || hear_all(c, "ready", e))
        return -1;
    return tell_all(c, "start", e);
}

/* ---- the whole ---- */

static int settle(struct calling *c, struct err *e)
{
    struct session *s = c->session;
    for (int i = 0; i < c->n; i++) {
        struct session_peer *p = &s->peers[i];
        peer_text_clean(p->name, sizeof p->name, c->callees[i].peer->name);
        address_text(&c->dials[i].remote, p->address);
        memcpy(p->node, c->callees[i].greeting.node, sizeof p->node);
        p->paired = c->callees[i].kind == SESSION_KEY_CODE;
        if (session_start_control(s, i, &c->callees[i].channel, c->options->peer_timeout_s, c->options->warn,
                                  c->options->ctx, e))
            return -1;
    }
    memcpy(s->next_name, s->peers[0].name, sizeof s->next_name);
    memcpy(s->prev_name, s->peers[c->n - 1].name, sizeof s->prev_name);
    address_text(&c->dials[0].local, s->local_addr);
    s->same_host =
        address_same_host(&c->dials[0].local, &c->dials[0].remote) || address_is_loopback(&c->dials[0].local);
    s->plan = json_incref(c->plan);
    return 0;
}

/* Tells whoever still listens why this ends. */
static void excuse(struct calling *c, const struct err *why)
{
    struct err unsaid;
    for (int i = 0; i < c->n; i++)
        if (c->callees[i].channel.tls.ssl)
            channel_send(&c->callees[i].channel, channel_refusal(why), wait_deadline(0.2), &unsaid);
}

static int connect_all(struct calling *c, struct err *e)
{
    for (int i = 0; i < c->n; i++) {
        c->callees[i].peer = &c->options->peers->peer[i];
        if (address_resolve(&c->callees[i].addresses, c->callees[i].peer, c->options->this_host, e))
            return -1;
        c->dials[i] = (struct dial){.name = c->callees[i].peer->name, .addresses = &c->callees[i].addresses, .fd = -1};
    }
    if (call_everybody(c, e))
        return -1;
    for (int i = 0; i < c->n; i++)
        if (shake_hands(c, i, e) || say_hello(c, i, e))
            return unavailable(e);
    for (int i = 0; i < c->n; i++)
        if (hear_hello(c, i, e))
            return -1;
    return close_ring(c, e) || settle(c, e) ? -1 : 0;
}

int session_connect(struct session *session, const struct session_options *options, struct err *e)
{
    struct err own = {0};
    struct calling c = {.options = options, .session = session, .n = options->peers->n};
    *session = (struct session){.next_fd = -1, .prev_fd = -1, .stop_fd = -1};
    e = e ? e : &own;
    if (options->interface && address_check_interface(options->interface, e))
        return -1;
    c.plan = session_full_plan(options->plan, options->version);
    c.callees = calloc((size_t)c.n, sizeof *c.callees);
    c.dials = calloc((size_t)c.n, sizeof *c.dials);
    for (int i = 0; c.dials && i < c.n; i++)
        c.dials[i].fd = -1;
    int result = c.plan && c.callees && c.dials ? 0 : err_set(e, ERR_MEMORY, "out of memory");
    if (result == 0)
        result = session_init(session, 0, c.n + 1, c.n, e);
    if (result == 0 && options->stop_fd >= 0 && dup3(options->stop_fd, session->stop_fd, O_CLOEXEC) < 0)
        result = err_set(e, ERR_MEMORY, "no descriptor left: %m");
    if (result == 0)
        result = tls_context_open(&c.tls, false, e);
    if (result == 0)
        result = connect_all(&c, e);
    if (result && c.callees)
        excuse(&c, e);
    if (c.dials)
        hang_up(&c);
    for (int i = 0; c.callees && i < c.n; i++)
        channel_close(&c.callees[i].channel);
    tls_context_close(&c.tls);
    if (c.callees)
        crypto_wipe(c.callees, (size_t)c.n * sizeof *c.callees);
    free(c.callees);
    free(c.dials);
    json_decref(c.plan);
    if (result)
        session_close(session, e);
    return result;
}
