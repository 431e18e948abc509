/*
 * comm/peer_list.h - whom a run is to meet: the list given to --peers, checked before the network is touched.
 *
 * A list is names separated by commas. A name is a host name, an IPv4 address or an IPv6 address (with %interface where
 * it needs one), perhaps with USER@ for ssh in front, followed by :port if it is not the usual one; an IPv6 address with a port stands in brackets. Only
 * ssh: in front means: only by starting it over ssh; tcp: only if it listens already. Only
 * A-Z a-z 0-9 . _ : % @ [ ] - occur, and no name begins with a minus sign, so a name can be handed to another program.
 * Pure but for the host's own name, any thread.
 */
#ifndef COMM_PEER_LIST_H
#define COMM_PEER_LIST_H

#include <stdbool.h>

#include "base/err.h"

/* The port that everything of this program listens on: control and data, outside the range of short-lived ports. */
enum { PEER_PORT = 27124, PEERS_MAX = 63, PEER_HOST_BYTES = 254 };

enum peer_way { PEER_ANY, PEER_TCP, PEER_SSH };

struct peer {
    enum peer_way way;
    char login[PEER_HOST_BYTES]; /* for ssh: host, or user@host */
    char host[PEER_HOST_BYTES];  /* without brackets */
    int port;
    char name[PEER_HOST_BYTES + 8]; /* as texts name it: host, with the port if it is not the usual one */
};

struct peer_list {
    int n;
    struct peer peer[PEERS_MAX];
};

/* ERR_USAGE for an empty list or name, a character that has no place there, a port that is none, a name given twice, and
 * this host's own name unless this_host is allowed. */
int peer_list_parse(struct peer_list *list, const char *text, bool this_host, struct err *e);

#endif
