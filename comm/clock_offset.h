/*
 * comm/clock_offset.h - how far two hosts' monotonic clocks are apart, from messages there and back. Pure functions.
 *
 * One exchange has four instants: sent and back by the own clock, arrived and answered by the other one. If the two ways
 * take d and d', the other clock is ahead by
 *
 *     offset = ((arrived - sent) + (answered - back)) / 2  +  (d' - d) / 2
 *
 * and d + d' is the round trip, back - sent - (answered - arrived), so that the first term is at most half a round trip wrong,
 * whichever way is the slower one. Of several exchanges the one with the shortest round trip bounds the offset best.
 *
 * Clocks drift apart, by some 1e-5. Two measurements some time apart give the drift, and the offset at any time between is at
 * most as wrong as the worse of the two.
 */
#ifndef COMM_CLOCK_OFFSET_H
#define COMM_CLOCK_OFFSET_H

#include <stdbool.h>
#include <stdint.h>

struct clock_exchange {
    uint64_t sent_ns, arrived_ns, answered_ns, back_ns;
};

struct clock_reading { /* offset_ns: the other clock minus this one, at the instant at_ns of this one */
    bool known;
    uint64_t at_ns;
    double offset_ns, error_ns;
};

struct clock_offset {
    struct clock_reading before, after;
};

/* Makes reading the better of itself and the exchange; false if that is impossible (an answer before the question). */
bool clock_reading_add(struct clock_reading *reading, const struct clock_exchange *exchange);

/* Seconds per second by which the other clock is faster, and how far that can be wrong; false without two readings that are
 * apart. */
bool clock_offset_drift(const struct clock_offset *offset, double *drift, double *error);

/* Of the readings that are known the larger one; what holds from the first to the second. */
double clock_offset_error_ns(const struct clock_offset *offset);

#endif
