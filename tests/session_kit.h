/*
 * tests/session_kit.h - nodes on this machine for the tests of sessions: each with a state folder and a port of its own.
 *
 * A node serves on a thread; what it says is kept. The test itself is the caller, another node. Nothing leaves the
 * loopback. Failing system calls end the test.
 */
#ifndef TESTS_SESSION_KIT_H
#define TESTS_SESSION_KIT_H

#include <pthread.h>
#include <stdatomic.h>

#include "comm/serve.h"
#include "comm/session.h"

enum { KIT_SAID_BYTES = 16384 };

enum kit_work { KIT_NOTHING, KIT_ECHO, KIT_HOLD, KIT_RING, KIT_STEP };

struct kit_node {
    char folder[64];
    struct keystore store;
    struct serve_options options; /* to be changed before kit_serve() */
    struct serve serve;
    pthread_t thread;
    bool serving;
    int stop_fd, sessions_fd; /* the latter counts sessions that have begun */
    int result;
    struct err err; /* what serve_run() ended with */
    pthread_mutex_t lock;
    char said[KIT_SAID_BYTES]; /* under the lock */
    char code[CODE_TEXT_BYTES];
    json_t *own_plan;      /* what this node would do; NULL: what it is asked to */
    atomic_int work;       /* enum kit_work: the test sets it while a session before may still be ending */
    struct err run_err;    /* of the work */
    atomic_int control_fd; /* of the session's connection to the caller, for tests that cut it */
};

/* A state folder with a fresh number; options are those of a node with stored keys on any free port. */
void kit_node_open(struct kit_node *node, const char *name);
void kit_serve(struct kit_node *node);
/* Ends serving, if it has not ended by itself: its result is in node->result and node->err. */
void kit_serve_end(struct kit_node *node);
void kit_node_close(struct kit_node *node);

/* Waits until one more session is under way than were when this was called last; false after a long time. */
bool kit_begun(struct kit_node *node);

/* Waits until the node has said something with text in it, whenever that was; false after a long time. */
bool kit_said(struct kit_node *node, const char *text);

/* The code that the node shows, once it does. */
const char *kit_shown_code(struct kit_node *node);

/* Both know each other, as after a pairing. */
void kit_pair(struct kit_node *a, struct kit_node *b, const char *name_of_b);

/* "127.0.0.1:port" of the node, and of several; static. */
const char *kit_address(const struct kit_node *node);

/* session_connect() from a to the list with this plan. */
struct kit_call {
    struct peer_list peers;
    struct session_options options;
    struct session session;
    struct err err;
    const char *typed; /* the code that a person types; NULL: nobody is there */
    int asked;
};
void kit_call_init(struct kit_call *call, struct kit_node *from, const char *list);
int kit_call(struct kit_call *call);
void kit_call_end(struct kit_call *call, const struct err *why);

/* A plain TCP connection to a port of the loopback. */
int kit_connect_plain(int port);

/* A listener of the test's own; *port is filled. */
int kit_listen_plain(int *port);

double kit_seconds_since(uint64_t from_ns);

#endif
