/*
 * comm/emulate.h - what a link is asked to be like: --emulate's text taken apart.
 *
 *     rate=941.5Mbit,rtt=2ms,jitter=1ms,half-duplex
 *
 * in any order, each at most once; at least rate or rtt. How the link is then made like that: pacer.h. Pure functions.
 */
#ifndef COMM_EMULATE_H
#define COMM_EMULATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct emulate {
    double rate_bytes_per_s; /* of payload and frame headers, each way; 0: as fast as it goes */
    double rtt_s;            /* the least: half of it is added each way */
    double jitter_s;         /* up to so much more each way */
    bool half_duplex;        /* both ways share the rate, and so do all ranks of this host */
};

/* What a link may hold on the way: rate x (rtt / 2 + jitter). */
#define EMULATE_FLIGHT_MAX_BYTES 256e6

/* ERR_USAGE with one sentence. */
int emulate_parse(struct emulate *emulate, const char *text, struct err *e);

/* "100 Mbit/s (12.5 MB/s), rtt 2 ms, jitter 1 ms, half-duplex". Returns buf. */
const char *emulate_describe(char *buf, size_t size, const struct emulate *emulate);

#endif
