/*
 * comm/keystore.h - what this node remembers of others: its own number, and a key for each node it has met.
 *
 * The folder is $XDG_STATE_HOME/ddpbench (~/.local/state for an unset or relative XDG_STATE_HOME), mode 0700:
 *
 *     node             32 hexadecimal digits, made at the first use: with /etc/machine-id, should there be one, they
 *                      make this node's number, so that nodes which share a home have one each
 *     peers/NUMBER     {"key": 64 digits, "names": [...], "since": date} of the node with that number, mode 0600
 *
 * Files are written beside, synced and renamed. A peer is found by its number, and by the names it was called here: a
 * name that suddenly has another number is refused (ERR_NOT_PAIRED), as is a key file that others can read. Keys are
 * wiped by the caller. One thread at a time per folder.
 */
#ifndef COMM_KEYSTORE_H
#define COMM_KEYSTORE_H

#include <limits.h>
#include <stdbool.h>

#include "base/err.h"
#include "comm/crypto.h"
#include "comm/greeting.h"
#include "comm/peer_text.h"

enum { KEYSTORE_NAMES_MAX = 8, KEYSTORE_PEERS_MAX = 1024 };

struct keystore {
    char folder[PATH_MAX - 80];
    unsigned char node[GREETING_NODE_BYTES]; /* this node's number */
};

struct keystore_peer {
    unsigned char node[GREETING_NODE_BYTES];
    unsigned char key[CRYPTO_KEY_BYTES];
    int names_n;
    char names[KEYSTORE_NAMES_MAX][PEER_TEXT_BYTES]; /* the latest last */
    char since[21];                                  /* UTC */
};

/* folder NULL: the usual one. Makes what is missing. ERR_CANNOT_CREATE, ERR_NOT_PAIRED if others may enter it. */
int keystore_open(struct keystore *store, const char *folder, struct err *e);

/* node becomes the number that a folder with this one gives on this machine; machine as in /etc/machine-id, "" for none. */
int keystore_number(unsigned char node[static GREETING_NODE_BYTES], const char *machine, struct err *e);

/* 1 found, 0 not there, -1 unreadable. */
int keystore_find(const struct keystore *store, const unsigned char node[static GREETING_NODE_BYTES],
                  struct keystore_peer *peer, struct err *e);
int keystore_find_name(const struct keystore *store, const char *name, struct keystore_peer *peer, struct err *e);

bool keystore_is_called(const struct keystore_peer *peer, const char *name);

/* Adds a name, dropping the oldest of too many. */
void keystore_add_name(struct keystore_peer *peer, const char *name);

/* Replaces what is known of peer->node. */
int keystore_save(const struct keystore *store, const struct keystore_peer *peer, struct err *e);

/* Every peer, in no order, without keys: fills at most max, returns how many or -1. */
int keystore_list(const struct keystore *store, struct keystore_peer *peers, int max, struct err *e);

/* By name, or by number. ERR_NO_HOST if nobody is called that. */
int keystore_forget(const struct keystore *store, const char *name, struct err *e);

/* A key of 64 hexadecimal digits from a file of mode 0600 or less, or an inherited descriptor (/dev/fd/N).
 * ERR_NO_INPUT, ERR_DATA, ERR_NOT_PAIRED if others may read it. */
int keystore_read_key(unsigned char key[static CRYPTO_KEY_BYTES], const char *path, struct err *e);

#endif
