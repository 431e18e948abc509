/*
 * comm/backlog.h - how much a TCP socket may hold that its peer has not acknowledged.
 *
 * Two regimes, told apart by how busy the sending thread was. On a link slower than the CPU (1 or 2.5 Gbit/s) a deep
 * buffer lets the thread sleep long: the kernel's own tuning does that. Where the CPU is the limit (tens of Gbit/s, or
 * two ranks on one machine) a deep buffer only means that data leaves the cache before it is read: with a shallow one
 * the same bytes took two thirds of the CPU time and half of the time (tools/bench_ring over an unshaped veth pair).
 * The shallow buffer still holds more than such links have in flight (100 Gbit/s at 20 us).
 *
 * Zeroed, it leaves the socket alone until there is a reason. Owned by the socket's thread; cannot fail: a kernel that
 * does not let go of a fixed size (before Linux 5.15) keeps the tuning it has.
 */
#ifndef COMM_BACKLOG_H
#define COMM_BACKLOG_H

#include <stdbool.h>
#include <stddef.h>

enum { BACKLOG_SHALLOW_BYTES = 128 * 1024, BACKLOG_WORTH_BYTES = 4 * 1024 * 1024 };

struct backlog {
    bool shallow;
};

/* After a transfer of that many bytes during which the thread used busy (0 to 1) of the time it was not waiting for the
 * peer. Short transfers say nothing and change nothing. */
void backlog_fit(struct backlog *b, int fd, size_t bytes, double busy);

#endif
