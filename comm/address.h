/*
 * comm/address.h - from a peer's name to socket addresses, and this host's own side of the way to it.
 *
 * A host's own name often leads to its loopback (a line for 127.0.1.1 in /etc/hosts), and every machine with containers
 * has the same 172.17.0.1. So what another node is told of this one is never looked up: it is the local address of the
 * route to that node. And what a name leads to is compared with this host's own addresses before it is dialled.
 * Looking up a name may take as long as the system's resolver does; nothing else here waits. Any thread.
 */
#ifndef COMM_ADDRESS_H
#define COMM_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

#include "base/err.h"
#include "comm/peer_list.h"

enum { ADDRESSES_MAX = 8, ADDRESS_TEXT_BYTES = 64 };

struct address {
    struct sockaddr_storage sa;
    socklen_t bytes;
};

struct addresses {
    int n;
    struct address address[ADDRESSES_MAX];
};

/* Where the peer may be found, best first; a name without a dot that nobody knows is tried as NAME.local. Addresses of
 * this host are left out unless this_host. ERR_NO_HOST: unknown, or leads to this host's loopback only; ERR_USAGE: it is
 * this host itself, or a number that no single machine has (0.0.0.0, a group, fe80::1 without its interface). */
int address_resolve(struct addresses *out, const struct peer *peer, bool this_host, struct err *e);

/* A numeric address with its port, as another node gave it: 0 or -1. */
int address_parse(struct address *out, const char *text, int port);

/* ERR_USAGE listing the names that exist unless there is an interface called that. */
int address_check_interface(const char *name, struct err *e);

/* Binds a socket that is to be connected to `to` to the interface; ERR_CONFIG if it has no address of that kind. */
int address_bind_interface(int fd, const char *name, const struct address *to, struct err *e);

/* The number without the port: "10.77.0.1", "fe80::1%eth0"; an IPv4 address in IPv6's clothes is shown as IPv4. */
void address_text(const struct address *a, char out[static ADDRESS_TEXT_BYTES]);

/* Loopback, link-local, or from the ranges that are not routed on the internet (RFC 1918, RFC 4193). */
bool address_is_private(const struct address *a);

/* Private, or IPv6 in the network of one of this host's interfaces. */
bool address_is_local(const struct address *a);

bool address_is_loopback(const struct address *a);

/* The same host; ports are not compared. */
bool address_same_host(const struct address *a, const struct address *b);

#endif
