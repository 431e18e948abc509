/*
 * comm/data_socket.h - what a connection for gradients needs of the kernel, whoever moves the bytes: ring, link or pacer.
 *
 * Set up, a socket does not block, and on TCP small messages do not wait for an acknowledgement of the previous one. Its
 * congestion control is what the system has as default, except BBR: to measure the round trip that empties the path for 200 ms
 * every ten seconds, which buckets that wait for each other feel in full (2 to 4 % of the exchange on a Gigabit link, see
 * doc/METHOD.md). In its place comes cubic, the kernel's usual default, or reno, which every user may choose. Where neither may
 * be chosen the system's stays. The depth of the send buffer is backlog.h's. Any thread; the socket stays the caller's.
 */
#ifndef COMM_DATA_SOCKET_H
#define COMM_DATA_SOCKET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum { CONGESTION_NAME_BYTES = 16 }; /* as the kernel has them */

struct data_socket {
    bool tcp;                               /* else another stream, which only does not block */
    char congestion[CONGESTION_NAME_BYTES]; /* its control from now on; "": not TCP, or the kernel does not say */
};

/* ERR_IO with the peer's name. */
int data_socket_init(struct data_socket *s, int fd, const char *peer, struct err *e);

/* The part of it that is about congestion control; name as above. */
void data_socket_settle_congestion(int fd, char name[CONGESTION_NAME_BYTES]);

/* What the socket uses, unchanged; "": the kernel does not say. */
void data_socket_congestion(int fd, char name[CONGESTION_NAME_BYTES]);

/* The kernel is to wake its reader for so many bytes, not for a packet. *low_water is what was asked last, 0 if that is not
 * known. A socket that does not have the option wakes its reader more often. */
void data_socket_wake_for(int fd, size_t bytes, int *low_water);

#endif
