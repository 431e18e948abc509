/* comm/guest.c - see guest.h. Start at guest_step(): one function per stage. */
#include "comm/guest.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "comm/wait.h"

void guest_init(struct guest *guest, struct guest_house *house, int fd, const struct address *from)
{
    int on = 1;
    *guest = (struct guest){.stage = GUEST_INTRO, .house = house, .fd = fd, .from = *from, .events = POLLIN};
    guest->arrived_ns = clock_now_ns();
    guest->deadline_ns = guest->arrived_ns + (uint64_t)GUEST_SECONDS * 1000000000u;
    address_text(from, guest->address);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static enum guest_outcome gone(void)
{
    return GUEST_GONE;
}

/* Reads up to n bytes in all into buffer: 1 complete, 0 not yet, -1 over. */
static int fill(struct guest *g, unsigned char *buffer, size_t n, struct err *e)
{
    while (g->have < n) {
        size_t got;
        if (wait_receive_some(g->fd, buffer + g->have, n - g->have, &got, g->address, e))
            return -1;
        if (got == 0)
            return 0;
        g->have += got;
    }
    return 1;
}

/* ---- keys ---- */

/* The root key for what a client says it has; called by the handshake, before anything is proven. */
static int find_root(struct guest *g, const char *kind, unsigned char root[static CRYPTO_KEY_BYTES])
{
    struct guest_house *house = g->house;
    struct keystore_peer peer;
    struct err unknown;
    if (strcmp(kind, session_key_names[SESSION_KEY_FILE]) == 0 && house->file_key) {
        g->key = SESSION_KEY_FILE;
        memcpy(root, house->file_key, CRYPTO_KEY_BYTES);
        return 0;
    }
    if (house->file_key)
        return -1;
    if (strcmp(kind, session_key_names[SESSION_KEY_CODE]) == 0 && code_valid(&house->code)) {
        g->key = SESSION_KEY_CODE;
        memcpy(root, house->code.key, CRYPTO_KEY_BYTES);
        code_count_try(&house->code);
        return 0;
    }
    if (strcmp(kind, session_key_names[SESSION_KEY_STORED]) != 0 ||
        keystore_find(house->store, g->node, &peer, &unknown) != 1)
        return -1;
    g->key = SESSION_KEY_STORED;
    memcpy(root, peer.key, CRYPTO_KEY_BYTES);
    crypto_wipe(&peer, sizeof peer);
    return 0;
}

/* "ddpbench 1 KIND CLIENT SERVER": a key counts in one direction only, so a node's own words cannot be played back to
 * it. */
static int find_key(void *ctx, const char *identity, unsigned char key[static CRYPTO_KEY_BYTES])
{
    struct guest *g = ctx;
    char kind[8], own[2 * GREETING_NODE_BYTES + 1], other[sizeof own], expected[TLS_IDENTITY_BYTES];
    unsigned char root[CRYPTO_KEY_BYTES];
    struct err e;
    if (sscanf(identity, "ddpbench 1 %7[a-z] ", kind) != 1)
        return -1;
    crypto_hex(own, g->house->store->node, GREETING_NODE_BYTES);
    crypto_hex(other, g->node, GREETING_NODE_BYTES);
    snprintf(expected, sizeof expected, "ddpbench 1 %s %s %s", kind, other, own);
    if (strcmp(identity, expected) != 0 || find_root(g, kind, root))
        return -1;
    int result = greeting_key(key, root, g->intro, g->greeting, &e);
    crypto_wipe(root, sizeof root);
    return result;
}

/* ---- stages ---- */

static int send_greeting(struct guest *g, struct err *e)
{
    struct guest_house *house = g->house;
    struct greeting greeting = {.protocols = house->protocols, .pairing = code_valid(&house->code)};
    memcpy(greeting.node, house->store->node, sizeof greeting.node);
    memcpy(greeting.salt, house->code.salt, sizeof greeting.salt);
    if (crypto_random(greeting.nonce, sizeof greeting.nonce, e))
        return -1;
    greeting_encode(g->greeting, &greeting);
    /* The first bytes into an empty buffer: there is room. */
    if (send(g->fd, g->greeting, sizeof g->greeting, MSG_NOSIGNAL) != (ssize_t)sizeof g->greeting)
        return err_set(e, ERR_PEER_LOST, "%s went away", g->address);
    return 0;
}

static enum guest_outcome hear_intro(struct guest *g, struct err *e)
{
    struct greeting_intro intro;
    int whole = fill(g, g->intro, sizeof g->intro, e);
    if (whole >= 0 && !greeting_plausible(g->intro, g->have))
        return err_set(e, ERR_PROTOCOL, "a connection that does not speak this program's protocol"), gone();
    if (whole <= 0)
        return whole ? gone() : GUEST_GOES_ON;
    g->have = 0;
    if (greeting_decode_intro(g->intro, &intro, e) || send_greeting(g, e) ||
        greeting_agree(g->house->protocols, intro.protocols, "the caller", e))
        return gone();
    memcpy(g->node, intro.node, sizeof g->node);
    g->kind = intro.kind;
    if (g->kind != GREETING_DATA && g->kind != GREETING_CONTROL)
        return err_set(e, ERR_PROTOCOL, "a connection of an unknown kind"), gone();
    g->stage = GUEST_HELD;
    return guest_step(g, e);
}

/* What comes next costs work, so strangers get it in moderation. */
static enum guest_outcome ask_for_permit(struct guest *g, struct err *e)
{
    g->events = 0;
    if (!throttle_take(&g->house->throttle, &g->from, clock_now_ns(), &g->held_until_ns))
        return GUEST_GOES_ON;
    g->held_until_ns = 0;
    g->events = POLLIN;
    if (g->kind == GREETING_DATA) {
        g->stage = GUEST_DATA;
        return guest_step(g, e);
    }
    int fd = g->fd;
    g->fd = -1;
    if (tls_accept(&g->tls, &g->house->tls, fd, g->address, find_key, g, e))
        return gone();
    g->stage = GUEST_TLS;
    return guest_step(g, e);
}

static enum guest_outcome hear_data(struct guest *g, struct err *e)
{
    int whole = fill(g, g->data, sizeof g->data, e);
    if (whole <= 0)
        return whole ? gone() : GUEST_GOES_ON;
    if (rendezvous_offer(g->house->rendezvous, g->fd, g->intro, g->greeting, g->data, e))
        return gone();
    g->fd = -1;
    throttle_return(&g->house->throttle, &g->from, clock_now_ns());
    return GUEST_IS_DATA;
}

static enum guest_outcome shake_hands(struct guest *g, struct err *e)
{
    enum tls_result r = tls_handshake(&g->tls, e);
    if (r == TLS_WANT_READ || r == TLS_WANT_WRITE) {
        g->events = r == TLS_WANT_READ ? POLLIN : POLLOUT;
        if (tls_received_bytes(&g->tls) > GUEST_BYTES_MAX)
            return err_set(e, ERR_PROTOCOL, "a handshake that does not end"), gone();
        return GUEST_GOES_ON;
    }
    if (r != TLS_OK)
        return gone();
    throttle_return(&g->house->throttle, &g->from, clock_now_ns());
    if (g->key == SESSION_KEY_CODE)
        code_fini(&g->house->code); /* it has done what it was for */
    g->stage = GUEST_HELLO;
    g->events = POLLIN;
    return guest_step(g, e);
}

static enum guest_outcome hear_hello(struct guest *g, struct err *e)
{
    unsigned char bytes[4096];
    for (;;) {
        size_t got;
        enum tls_result r = tls_read(&g->tls, bytes, sizeof bytes, &got, e);
        if (r == TLS_WANT_READ || r == TLS_WANT_WRITE)
            return GUEST_GOES_ON;
        if (r == TLS_END)
            return err_set(e, ERR_PEER_LOST, "left before it said hello"), gone();
        if (r != TLS_OK || wire_put(&g->wire, bytes, got, e) || wire_take(&g->wire, &g->hello, e))
            return gone();
        if (g->hello)
            return strcmp(wire_type(g->hello), "hello") == 0
                       ? GUEST_IS_NODE
                       : (err_set(e, ERR_PROTOCOL, "a first message that is no hello"), gone());
    }
}

enum guest_outcome guest_step(struct guest *guest, struct err *e)
{
    switch (guest->stage) {
    case GUEST_INTRO:
        return hear_intro(guest, e);
    case GUEST_HELD:
        return ask_for_permit(guest, e);
    case GUEST_DATA:
        return hear_data(guest, e);
    case GUEST_TLS:
        return shake_hands(guest, e);
    case GUEST_HELLO:
        return hear_hello(guest, e);
    case GUEST_WAITS:
    case GUEST_FREE:
        break;
    }
    return gone();
}

void guest_fini(struct guest *guest)
{
    if (guest->stage == GUEST_FREE)
        return;
    if (guest->tls.ssl)
        tls_close(&guest->tls);
    if (guest->fd >= 0)
        close(guest->fd);
    json_decref(guest->hello);
    wire_fini(&guest->wire);
    crypto_wipe(guest, sizeof *guest);
}
