/*
 * comm/congestion.h - which congestion control a connection for gradients uses.
 *
 * What the system has as default, except BBR: to measure the round trip it empties the path for 200 ms every ten seconds,
 * which buckets that wait for each other feel in full (2 to 4 % of the exchange on a Gigabit link, see doc/METHOD.md). In its
 * place comes cubic, the kernel's usual default, or reno, which every user may choose. Where neither may be chosen the system's
 * stays. Any thread.
 */
#ifndef COMM_CONGESTION_H
#define COMM_CONGESTION_H

enum { CONGESTION_NAME_BYTES = 16 }; /* as the kernel has them */

/* name becomes what the TCP socket uses from now on, "" if the kernel does not say. */
void congestion_settle(int fd, char name[CONGESTION_NAME_BYTES]);

#endif
