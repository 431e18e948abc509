/*
 * cli/node.h - this node as the commands that meet others need it: its store and key, its name, the signals that end it, a
 * person who may be asked for a code.
 *
 *     node_open(&node, program, &options, &e)     before anything else: it also sees to it that no core file can hold a key
 *     call = node_call(&node, &options); call.peers = ..., call.plan = ...
 *     node_connect(&session, &call, &e)           a session, as rank 0; a person may be asked for codes
 *     node_close(&node)
 *
 * The storage of a node outlives the sessions that it has opened: their warnings name the program.
 */
#ifndef CLI_NODE_H
#define CLI_NODE_H

#include <signal.h>

#include "cli/options.h"
#include "comm/code.h"
#include "comm/keystore.h"
#include "comm/session.h"

struct node {
    const char *program; /* as warnings call it; borrowed */
    struct keystore store;
    bool has_key; /* --key-file */
    unsigned char key[CRYPTO_KEY_BYTES];
    char name[PEER_TEXT_BYTES]; /* of the host */
    int stop_fd;                /* readable after SIGINT or SIGTERM; a second one ends the program */
};

int node_open(struct node *node, const char *program, const struct options *options, struct err *e);
void node_close(struct node *node); /* wipes the key */

/* For SIGHUP, unless whoever started this wants it ignored (nohup). */
void node_catch_hangup(const struct sigaction *action);

/* What this node says of itself, asks and warns when it calls others. Whom, with which plan, over which interface if not the
 * options' one: the caller adds it. */
struct session_options node_call(struct node *node, const struct options *options);

/* session_connect(), and tells which peers were paired with on the way. */
int node_connect(struct session *session, const struct session_options *call, struct err *e);

/* Asks on the controlling terminal, whatever the standard streams are; -1 without one, or if what is typed is no code
 * three times. */
int node_ask_code(void *node, const char *peer, char code[static CODE_TEXT_BYTES]);

#endif
