/*
 * comm/wait.h - waiting for a socket, never without a deadline.
 *
 * Deadlines are instants of clock_now_ns(). stop_fd is a descriptor that becomes readable when everything has to end (an
 * eventfd, say), -1 for none. who is the peer as errors name it. Sockets are non-blocking. Any thread.
 *
 * Errors: ERR_UNAVAILABLE at the deadline, ERR_INTERRUPTED when stop_fd is readable, ERR_PEER_LOST when the
 * connection has ended or failed.
 */
#ifndef COMM_WAIT_H
#define COMM_WAIT_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

uint64_t wait_deadline(double seconds);

/* For poll(): until the deadline in ms, rounded up. */
int wait_left_ms(uint64_t deadline_ns);

/* Until fd is ready for events (POLLIN, POLLOUT) or broken, which the next call on it tells. */
int wait_ready(int fd, short events, uint64_t deadline_ns, int stop_fd, const char *who, struct err *e);

/* All of it or an error. */
int wait_send(int fd, const void *data, size_t bytes, uint64_t deadline_ns, int stop_fd, const char *who,
              struct err *e);
int wait_receive(int fd, void *data, size_t bytes, uint64_t deadline_ns, int stop_fd, const char *who, struct err *e);

/* One read: 0 with *got, which is 0 if nothing is there now. */
int wait_receive_some(int fd, void *data, size_t bytes, size_t *got, const char *who, struct err *e);

#endif
