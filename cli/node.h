/*
 * cli/node.h - this node as the commands that meet others need it: its store and key, its name, the signals that end it, a
 * person who may be asked for a code.
 *
 *     node_open(&node, &options, &e)     before anything else: it also sees to it that no core file can hold a key
 *     node_ask_code as session_options.ask_code, with the node as ctx
 *     node_close(&node)
 */
#ifndef CLI_NODE_H
#define CLI_NODE_H

#include "cli/options.h"
#include "comm/code.h"
#include "comm/keystore.h"

struct node {
    struct keystore store;
    bool has_key; /* --key-file */
    unsigned char key[CRYPTO_KEY_BYTES];
    char name[PEER_TEXT_BYTES]; /* of the host */
    int stop_fd;                /* readable after SIGINT or SIGTERM; a second one ends the program */
};

int node_open(struct node *node, const struct options *options, struct err *e);
void node_close(struct node *node); /* wipes the key */

/* Asks on the controlling terminal, whatever the standard streams are; -1 without one, or if what is typed is no code
 * three times. */
int node_ask_code(void *node, const char *peer, char code[static CODE_TEXT_BYTES]);

#endif
