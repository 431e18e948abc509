/*
 * comm/session_join.c - the other ranks' side of a session's beginning; see session.h and session_connect.c.
 *
 * Start at session_join(). Everything here comes from a node that has proven its key, and is still checked: ranks and
 * ports are in range, texts are cleaned, and an address is only dialled if it is private or so is the caller's.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "comm/dial.h"
#include "comm/session.h"
#include "comm/wait.h"

enum { JOIN_S = 3 * SESSION_HANDSHAKE_S };

static int remember(struct channel *channel, const struct session_joining *j, const char *name, struct err *e)
{
    struct keystore_peer peer = {0};
    if (j->key == SESSION_KEY_FILE)
        return 0;
    int found = keystore_find(j->store, j->node, &peer, e);
    int names = peer.names_n, result = 0;
    if (j->key == SESSION_KEY_CODE) { /* a new meeting replaces what was known, also if that was damaged */
        peer = (struct keystore_peer){0};
        memcpy(peer.node, j->node, sizeof peer.node);
        result = tls_export(&channel->tls, "EXPORTER-ddpbench-pair", peer.key, e);
        names = -1;
    } else if (found != 1) {
        result = found < 0 ? -1 : err_set(e, ERR_NOT_PAIRED, "%s has just been forgotten", name);
    }
    keystore_add_name(&peer, name);
    if (result == 0 && peer.names_n != names)
        result = keystore_save(j->store, &peer, e);
    crypto_wipe(&peer, sizeof peer);
    return result;
}

/* Ranks, name and plans; both plans in *own and *asked. */
static int read_hello(struct session *s, struct channel *channel, const json_t *hello, const struct session_joining *j,
                      double *timeout_s, struct err *e)
{
    json_int_t world = json_integer_value(json_object_get(hello, "world"));
    json_int_t rank = json_integer_value(json_object_get(hello, "rank"));
    char name[PEER_TEXT_BYTES];
    wire_text(hello, "name", name, sizeof name);
    if (world < 2 || world > PEERS_MAX + 1 || rank < 1 || rank >= world || !*name ||
        !json_is_object(json_object_get(hello, "plan")))
        return err_set(e, ERR_PROTOCOL, "a hello without rank, name or plan");
    if (session_init(s, (int)rank, (int)world, 1, e))
        return -1;
    memcpy(s->peers[0].name, name, sizeof name);
    memcpy(s->peers[0].address, j->address, sizeof s->peers[0].address);
    memcpy(s->peers[0].node, j->node, sizeof s->peers[0].node);
    channel_rename(channel, name);
    *timeout_s = json_number_value(json_object_get(hello, "peer_timeout_s"));
    if (!(*timeout_s > 0 && *timeout_s < j->peer_timeout_s)) /* the shorter patience counts at both ends */
        *timeout_s = j->peer_timeout_s;
    return remember(channel, j, name, e);
}

/* Answers with this node's own plan, then compares: both ends see every difference. */
static int compare_plans(struct session *s, struct channel *channel, const json_t *asked,
                         const struct session_joining *j, struct err *e)
{
    char differences[400];
    json_t *own = NULL;
    if (j->plan(j->ctx, asked, &own, e))
        return -1;
    s->plan = session_full_plan(own, j->version);
    json_decref(own);
    json_t *hello = json_pack("{s:s, s:s, s:O}", "type", "hello", "name", j->own_name, "plan", s->plan);
    if (!hello)
        return err_set(e, ERR_MEMORY, "out of memory");
    if (channel_send(channel, hello, wait_deadline(SESSION_HANDSHAKE_S), e))
        return -1;
    if (session_differences(differences, sizeof differences, s->plan, asked, channel->peer))
        return err_set(e, ERR_PROTOCOL, "%s asks for other work: %s", channel->peer, differences);
    return 0;
}

struct neighbours {
    struct datalink prev, next;
    bool dials_next; /* else that edge is waited for too */
    struct addresses next_address;
};

static int read_neighbour(struct datalink *link, char *name, const json_t *o, const unsigned char *own_key,
                          struct err *e)
{
    const char *hex = json_string_value(json_object_get(o, "key"));
    wire_text(o, "name", name, PEER_TEXT_BYTES);
    if (!hex || (*hex && crypto_unhex(link->key, sizeof link->key, hex)))
        return err_set(e, ERR_PROTOCOL, "an introduction without a key");
    if (!*hex)
        memcpy(link->key, own_key, sizeof link->key);
    crypto_wipe((char *)hex, strlen(hex)); /* the message's copy, about to be freed */
    return 0;
}

static int read_join(struct session *s, struct neighbours *n, const json_t *join, const unsigned char *own_key,
                     const struct session_joining *j, struct err *e)
{
    const char *id = json_string_value(json_object_get(join, "session"));
    const json_t *prev = json_object_get(join, "prev"), *next = json_object_get(join, "next");
    bool last = s->rank == s->world - 1;
    n->prev = (struct datalink){.edge = (uint16_t)(s->rank - 1), .direction = DATALINK_OUT};
    n->next = (struct datalink){.edge = (uint16_t)s->rank, .direction = last ? DATALINK_IN : DATALINK_OUT};
    n->dials_next = !last;
    if (!id || crypto_unhex(n->prev.session, sizeof n->prev.session, id))
        return err_set(e, ERR_PROTOCOL, "a session without a number");
    memcpy(n->next.session, n->prev.session, sizeof n->next.session);
    if (read_neighbour(&n->prev, s->prev_name, prev, own_key, e) ||
        read_neighbour(&n->next, s->next_name, next, own_key, e))
        return -1;
    if (last)
        return 0;
    const char *text = json_string_value(json_object_get(next, "address"));
    json_int_t port = json_integer_value(json_object_get(next, "port"));
    struct address *to = &n->next_address.address[0], caller;
    n->next_address.n = 1;
    if (!text || port < 1 || port > 65535 || address_parse(to, text, (int)port))
        return err_set(e, ERR_PROTOCOL, "an introduction without an address");
    if (!address_is_local(to) && address_parse(&caller, j->address, 1) == 0 && address_is_private(&caller))
        return err_set(e, ERR_PROTOCOL, "%s introduces a neighbour outside the local networks", s->peers[0].name);
    return 0;
}

static int dial_next(struct session *s, const struct neighbours *n, const struct session_joining *j, struct err *e)
{
    struct dial dial = {.name = s->next_name, .addresses = &n->next_address};
    struct greeting_intro intro = {.protocols = {GREETING_PROTOCOL, GREETING_PROTOCOL}, .kind = GREETING_DATA};
    memcpy(intro.node, j->store->node, sizeof intro.node);
    uint64_t deadline_ns = wait_deadline(SESSION_HANDSHAKE_S);
    if (dial_all(&dial, 1, NULL, deadline_ns, j->stop_fd, e))
        return -1;
    if (datalink_dial(dial.fd, &n->next, &intro, dial.name, s->next_key, deadline_ns, j->stop_fd, e)) {
        close(dial.fd);
        return -1;
    }
    s->next_fd = dial.fd;
    return 0;
}

static int signal_and_hear(struct channel *channel, const char *say, const char *hear, struct err *e)
{
    json_t *message;
    if (channel_send(channel, json_pack("{s:s}", "type", say), wait_deadline(SESSION_HANDSHAKE_S), e) ||
        channel_receive(channel, hear, &message, wait_deadline(JOIN_S), e))
        return -1;
    json_decref(message);
    return 0;
}

static int close_ring(struct session *s, struct channel *channel, const struct session_joining *j, struct err *e)
{
    struct neighbours n = {0};
    unsigned char own_key[CRYPTO_KEY_BYTES];
    json_t *join = NULL;
    uint64_t deadline_ns = wait_deadline(JOIN_S);
    int result = tls_export(&channel->tls, "EXPORTER-ddpbench-data", own_key, e);
    if (result == 0)
        result = channel_receive(channel, "join", &join, deadline_ns, e);
    if (result == 0)
        result = read_join(s, &n, join, own_key, j, e);
    json_decref(join);
    if (result == 0)
        result = rendezvous_expect(j->rendezvous, &n.prev, e);
    if (result == 0 && !n.dials_next)
        result = rendezvous_expect(j->rendezvous, &n.next, e);
    if (result == 0)
        result = signal_and_hear(channel, "joined", "dial", e);
    if (result == 0 && n.dials_next)
        result = dial_next(s, &n, j, e);
    if (result == 0 && !n.dials_next)
        result = rendezvous_wait(j->rendezvous, n.next.edge, &s->next_fd, s->next_key, s->next_name, deadline_ns,
                                 j->stop_fd, e);
    if (result == 0)
        result = rendezvous_wait(j->rendezvous, n.prev.edge, &s->prev_fd, s->prev_key, s->prev_name, deadline_ns,
                                 j->stop_fd, e);
    if (result == 0)
        result = signal_and_hear(channel, "ready", "start", e);
    crypto_wipe(own_key, sizeof own_key);
    crypto_wipe(&n, sizeof n);
    return result;
}

/* This host's end of the control connection: what the caller sees of it. */
static void note_local(struct session *s, int fd)
{
    struct address local = {.bytes = sizeof local.sa}, remote = {.bytes = sizeof remote.sa};
    if (getsockname(fd, (struct sockaddr *)&local.sa, &local.bytes) ||
        getpeername(fd, (struct sockaddr *)&remote.sa, &remote.bytes))
        return;
    address_text(&local, s->local_addr);
    s->same_host = address_same_host(&local, &remote) || address_is_loopback(&local);
}

int session_join(struct session *session, struct channel *channel, json_t *hello, const struct session_joining *joining,
                 struct err *e)
{
    double timeout_s = 0;
    *session = (struct session){.next_fd = -1, .prev_fd = -1, .stop_fd = -1};
    channel->stop_fd = joining->stop_fd;
    int result = read_hello(session, channel, hello, joining, &timeout_s, e);
    if (result == 0)
        result = compare_plans(session, channel, json_object_get(hello, "plan"), joining, e);
    json_decref(hello);
    if (result == 0)
        result = close_ring(session, channel, joining, e);
    note_local(session, channel->tls.fd);
    if (result == 0)
        result = session_start_control(session, 0, channel, timeout_s, joining->warn, joining->ctx, e);
    rendezvous_clear(joining->rendezvous);
    if (result == 0)
        return 0;
    if (channel->tls.ssl) { /* the caller hears why, unless it is the reason itself */
        struct err unsaid;
        channel_send(channel, channel_refusal(e), wait_deadline(0.2), &unsaid);
    }
    channel_close(channel);
    session_close(session, e);
    return -1;
}
