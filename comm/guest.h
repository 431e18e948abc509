/*
 * comm/guest.h - a connection that nobody knows yet: from accept() to a proven node, without ever waiting for it.
 *
 * A guest is moved on by guest_step() whenever its socket is ready, and goes when its time (guest->deadline_ns) is over or
 * when it has sent more than it may. What a silent, slow or talkative stranger costs is therefore one descriptor and a
 * few kilobytes for a few seconds, whatever it does. Private to serve.c; one owner thread.
 *
 *     intro in, greeting out, then either a data socket's hello, or a TLS handshake and a "hello" message
 *
 * After the greeting a guest is held until its address has a permit (throttle.h): guest->held_until_ns says when to ask again.
 */
#ifndef COMM_GUEST_H
#define COMM_GUEST_H

#include "comm/address.h"
#include "comm/code.h"
#include "comm/datalink.h"
#include "comm/keystore.h"
#include "comm/session.h"
#include "comm/throttle.h"
#include "comm/tls.h"
#include "comm/wire.h"

enum { GUEST_BYTES_MAX = 8 * 1024, GUEST_SECONDS = 5 };

/* GUEST_WAITS is serve.c's: a proven node that waits for the end of somebody's session, until held_until_ns. */
enum guest_stage { GUEST_FREE, GUEST_INTRO, GUEST_HELD, GUEST_DATA, GUEST_TLS, GUEST_HELLO, GUEST_WAITS };

enum guest_outcome { GUEST_GOES_ON, GUEST_GONE, GUEST_IS_DATA, GUEST_IS_NODE };

struct guest_house { /* what all guests share */
    const struct keystore *store;
    const unsigned char *file_key; /* or NULL */
    struct greeting_protocols protocols;
    struct code code;
    struct rendezvous *rendezvous;
    struct tls_context tls;
    struct throttle throttle;
};

struct guest {
    enum guest_stage stage;
    struct guest_house *house;
    int fd; /* -1 once it is somebody else's */
    struct address from;
    char address[ADDRESS_TEXT_BYTES];
    uint64_t arrived_ns, deadline_ns, held_until_ns;
    uint8_t kind; /* that its intro names */
    short events; /* to poll for */
    unsigned char intro[GREETING_INTRO_BYTES], greeting[GREETING_BYTES], data[DATALINK_HELLO_BYTES];
    size_t have; /* of the intro, then of the data hello */
    unsigned char node[GREETING_NODE_BYTES];
    enum session_key key;
    struct tls tls;
    struct wire wire;
    json_t *hello; /* GUEST_IS_NODE: the caller's */
};

/* guest must stay where it is until it has gone. */
void guest_init(struct guest *guest, struct guest_house *house, int fd, const struct address *from);

/* Moves on as far as possible now. GUEST_GONE with the reason in e, or code 0 if it just left. */
enum guest_outcome guest_step(struct guest *guest, struct err *e);

/* Closes what is still the guest's. */
void guest_fini(struct guest *guest);

#endif
