/*
 * comm/link_socket.h - what the kernel says of a connection: by which interface it leaves, and how TCP fares on it.
 *
 * The interface is asked of the routing table for the connection's own pair of addresses: a socket that is bound to one
 * interface's address may still leave by another one. Any thread; nothing here fails, unknown is "" or -1.
 */
#ifndef COMM_LINK_SOCKET_H
#define COMM_LINK_SOCKET_H

#include <net/if.h>
#include <stdbool.h>

#include "comm/address.h"
#include "comm/data_socket.h"

struct link_socket {
    char interface[IF_NAMESIZE]; /* by which it leaves */
    char owner[IF_NAMESIZE];     /* which has its local address */
    char local[ADDRESS_TEXT_BYTES], remote[ADDRESS_TEXT_BYTES];
    int mtu_bytes;                          /* of the interface; -1: unknown */
    char congestion[CONGESTION_NAME_BYTES]; /* "cubic" */
    int segment_bytes;                      /* largest, as sent; -1: unknown */
    double retransmits;                     /* segments so far; -1: unknown */
};

void link_socket_read(struct link_socket *s, int fd);

/* The same for packets that would go to the address from that interface's own address, without sending any. ERR_CONFIG if
 * the interface has no address of that kind, ERR_UNAVAILABLE if there is no way. */
int link_socket_try(struct link_socket *s, const char *interface, const struct address *to, struct err *e);

#endif
