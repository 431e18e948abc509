/*
 * comm/session.h - nodes that are about to do the same work: who they are, a control connection to each, sockets of a ring.
 *
 * One node, the caller, has rank 0 and starts the session (session_connect.c); the others serve (serve.h, session_join.c)
 * and get the ranks in the order in which the caller lists them. Rank 0 has a control connection to every other rank; the
 * others have one to rank 0, so index 0 of their peers is rank 0. The caller introduces each pair of neighbours: they
 * prove themselves to each other with a key that only the two of them and the caller have had.
 *
 *     session_connect(&session, &options, e)
 *     ring_options.next_fd = session_take_next(&session) ...       the ring owns the data sockets from there on
 *     session_send(&session, peer, json_pack(...), e)              anything the work has to say beside the data
 *     session_receive(&session, peer, "type", &message, deadline, e)
 *     session_close(&session, &err)                                says goodbye, or why not
 *
 * stop_fd becomes readable when a peer is lost or gives up, and after session_stop(): give it to the ring, whose
 * ERR_INTERRUPTED session_reason() then explains. One owner thread, except session_stop(), which a signal handler may
 * call, and the warnings, which come on other threads.
 */
#ifndef COMM_SESSION_H
#define COMM_SESSION_H

#include "base/json.h"
#include "comm/address.h"
#include "comm/code.h"
#include "comm/control.h"
#include "comm/datalink.h"
#include "comm/keystore.h"

/* SESSION_REASON_MS: how long a reason may come after the end of a data socket. Who has one says it at once, so only a node on a
 * machine that is very busy needs all of it; less would turn its "gave up: ..." into a bare "connection lost". */
enum { SESSION_HANDSHAKE_S = 5, SESSION_CONNECT_MS = 3500, SESSION_REASON_MS = 2000 };

/* Who of the two ends a key comes from; the first word of a TLS identity. */
enum session_key { SESSION_KEY_FILE, SESSION_KEY_STORED, SESSION_KEY_CODE };
extern const char *const session_key_names[];

struct session_peer {
    char name[PEER_TEXT_BYTES]; /* as the user calls it (rank 0), or as it calls itself */
    char address[ADDRESS_TEXT_BYTES];
    unsigned char node[GREETING_NODE_BYTES];
    bool paired; /* just now, by a code */
    struct control control;
};

struct session {
    int rank, world;
    int next_fd, prev_fd;                                                 /* data, non-blocking; -1 once taken */
    unsigned char next_key[CRYPTO_KEY_BYTES], prev_key[CRYPTO_KEY_BYTES]; /* for a ring that seals them */
    char next_name[PEER_TEXT_BYTES], prev_name[PEER_TEXT_BYTES];
    char local_addr[ADDRESS_TEXT_BYTES]; /* this host's end of the connection to the first peer */
    bool same_host;                      /* that connection does not leave this machine */
    int stop_fd;                         /* an eventfd */
    json_t *plan;                        /* what all nodes agreed on */
    int peers_n;
    struct session_peer *peers;
};

struct session_options {
    const struct peer_list *peers;
    const struct keystore *store;
    const char *interface;         /* NULL: by the route */
    const unsigned char *file_key; /* CRYPTO_KEY_BYTES, or NULL: stored keys and codes */
    const struct session_given {   /* [peers->n]: keys made for this session alone; NULL: none */
        bool given;
        unsigned char key[CRYPTO_KEY_BYTES];
    } * given;
    const char *own_name; /* what peers are told */
    const char *version;  /* of the program: compared */
    json_t *plan;         /* an object: compared value by value; borrowed */
    double peer_timeout_s;
    bool this_host;                      /* peers on this host are allowed */
    int stop_fd;                         /* of the caller, for the set-up; -1: none */
    struct greeting_protocols protocols; /* zeros: what this program speaks */
    /* Asks a person for the code that peer shows; -1 if there is nobody to ask. NULL: never ask. */
    int (*ask_code)(void *ctx, const char *peer, char code[static CODE_TEXT_BYTES]);
    void (*warn)(void *ctx, const char *text); /* a peer is silent; on another thread */
    void *ctx;
};

/* Rank 0. ERR_NO_HOST, ERR_USAGE, ERR_UNAVAILABLE (naming who is missing; the others are free again),
 * ERR_NOT_PAIRED, ERR_PROTOCOL (no bench peer, another version, or every difference between the plans). */
int session_connect(struct session *session, const struct session_options *options, struct err *e);

/* The other ranks, for serve.c: on a channel whose first message, hello, has been read. plan: see serve.h. */
struct session_joining {
    const struct keystore *store;
    const char *own_name, *version;
    double peer_timeout_s;
    unsigned char node[GREETING_NODE_BYTES]; /* of rank 0, proven */
    enum session_key key;                    /* how it was proven */
    char address[ADDRESS_TEXT_BYTES];        /* of rank 0 */
    struct rendezvous *rendezvous;
    int stop_fd;
    int (*plan)(void *ctx, const json_t *asked, json_t **own, struct err *e);
    void (*warn)(void *ctx, const char *text);
    void *ctx;
};
int session_join(struct session *session, struct channel *channel, json_t *hello, const struct session_joining *joining,
                 struct err *e);

/* Whether the plan says so: "wire" is "tls" in it. All nodes then give the keys to their rings. */
bool session_seals(const struct session *session);

/* Data sockets, which are the caller's from here on. */
int session_take_next(struct session *session);
int session_take_prev(struct session *session);

int session_send(struct session *session, int peer, json_t *message, struct err *e);
int session_receive(struct session *session, int peer, const char *type, json_t **message, uint64_t deadline_ns,
                    struct err *e);

/* What this node does for the session gives no sign of life itself, for so long: peers are told, since the heartbeat says only
 * that the node lives. Any thread, until session_close(). */
void session_tell_silence(struct session *session, double silent_s);

/* What the last step of this node was like, for its peers; what a peer said last of its own, false: nothing yet. Once a second at
 * most, with the heartbeat. Any thread, until session_close(). */
void session_tell_step(struct session *session, const struct step_word *word);
bool session_step(struct session *session, int peer, struct step_word *word);

/* Makes stop_fd readable. Safe in a signal handler. */
void session_stop(struct session *session);

/* What the work's failure e was really about. ERR_INTERRUPTED becomes the loss of a peer if that rang the bell. For
 * ERR_PEER_LOST, which the end of a data socket is too, it waits a moment for a peer to say why it gives up, and puts that
 * in front. Returns -1. */
int session_reason(struct session *session, struct err *e);

/* why NULL or code 0: goodbye; else peers are told the reason. Closes everything; accepts a zeroed session. */
void session_close(struct session *session, const struct err *why);

/* Every difference between two plans, "model gpt2-124m here, shakespeare-char on laptopb; ..."; returns how many. */
int session_differences(char *text, size_t size, const json_t *here, const json_t *there, const char *peer);

/* plan with the program's version in it: what is compared. The caller's. */
json_t *session_full_plan(const json_t *plan, const char *version);

/* stop_fd and the peers' storage; for the two sides of the set-up. */
int session_init(struct session *session, int rank, int world, int peers, struct err *e);

/* Starts the control of a peer. */
int session_start_control(struct session *session, int peer, struct channel *channel, double timeout_s,
                          void (*warn)(void *ctx, const char *text), void *ctx, struct err *e);

#endif
