/*
 * comm/serve.h - waits for callers on one port, and takes part in one session at a time.
 *
 * The thread that calls serve_run() accepts connections and never waits for any of them (guest.h); sessions run on a
 * thread of their own. Strangers are limited: 16 connections, 4 from one address, 5 s, 8 KiB; when there are more, the
 * oldest of them makes room, so those who say nothing cannot keep out those who do. Handshakes that prove nothing are
 * rationed by address (throttle.h). Only private addresses may call unless any_source. Whatever a session or a stranger does,
 * the port listens on afterwards.
 *
 * A node that has proven its key while another session runs is told so ("busy"); nobody else learns it. It is told after
 * SERVE_BUSY_MS, for a caller whose run has just ended calls again before this node has done with the session.
 */
#ifndef COMM_SERVE_H
#define COMM_SERVE_H

#include "comm/guest.h"

enum { SERVE_GUESTS_MAX = 16, SERVE_GUESTS_PER_ADDRESS = 4, SERVE_BUSY_MS = 2000 };

struct serve_options {
    int port; /* 0: any that is free */
    const struct keystore *store;
    const unsigned char *file_key;       /* CRYPTO_KEY_BYTES; or NULL: stored keys and codes */
    const char *own_name, *version;      /* see session.h */
    struct greeting_protocols protocols; /* zeros: what this program speaks */
    bool codes;                          /* strangers may pair: show_code is called with each new code */
    int key_press_fd;                    /* readable: a new code is wanted; -1: nobody presses keys */
    bool once;                           /* end with the first session */
    double wait_s;                       /* end when nobody has come for so long; 0: never */
    bool any_source;
    double peer_timeout_s;
    int stop_fd; /* readable: end; -1: none */

    /* On the session's thread. plan: what this node would do if asked for that; *own is the caller's. Fails with the
     * reason if it cannot. run: the work itself; session_close() follows. */
    int (*plan)(void *ctx, const json_t *asked, json_t **own, struct err *e);
    int (*run)(void *ctx, struct session *session, struct err *e);
    /* One line for whoever looks on; on any thread. */
    void (*say)(void *ctx, const char *text);
    void (*show_code)(void *ctx, const char *code);
    void *ctx;
};

struct serve {
    struct serve_options options;
    int port; /* that it listens on */
    int listen_fd, done_fd;
    struct guest guests[SERVE_GUESTS_MAX];
    struct guest_house house;
    struct rendezvous rendezvous;
    bool had_code; /* its end has not been told yet */
    uint64_t idle_since_ns, complained_ns;
    int unheard; /* complaints that were not told */
    /* the session */
    bool running; /* its thread is to be joined */
    pthread_t thread;
    pthread_mutex_t lock;
    bool live;     /* under the lock: session may be stopped */
    bool stopping; /* under the lock: it is to be, as soon as it is live */
    struct session session;
    struct session_joining joining;
    struct channel channel;
    json_t *hello;
    struct err result;
    int setup_stop_fd; /* eventfd: give up the set-up */
    char with[PEER_TEXT_BYTES], since[8];
};

/* Listens. ERR_UNAVAILABLE if the port is taken. The serve must stay where it is. */
int serve_open(struct serve *serve, const struct serve_options *options, struct err *e);

/* 0 after one good session (once); else why it ended: ERR_INTERRUPTED, ERR_UNAVAILABLE (nobody came), or what ended the
 * session. */
int serve_run(struct serve *serve, struct err *e);

void serve_close(struct serve *serve); /* accepts a zeroed serve */

#endif
