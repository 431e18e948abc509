/*
 * comm/pacer_lane.h - one direction of a connection that is made slower: a queue of bytes with the instants at which they
 * may arrive. Private to the pacer, whose thread owns lanes and media.
 *
 * Time on a medium is handed out in order: bytes read at `now` occupy it from max(now, free) for bytes / rate, and
 * arrive when that is over and the way has been travelled:
 *
 *     start = max(now, free);  free = start + bytes / rate;  release = max(last release, free + rtt / 2 + jitter x U)
 *
 * U is uniform in [0, 1), drawn again when the medium had been idle and every PACER_REDRAW_NS while it is busy; the maximum is
 * what keeps bytes in order. Up to PACER_AHEAD_NS of the medium are handed out in advance, so that a thread that wakes
 * late delays what it should have written but takes nothing from the rate.
 */
#ifndef COMM_PACER_LANE_H
#define COMM_PACER_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/rng.h"

#define PACER_AHEAD_NS 10000000u
#define PACER_REDRAW_NS 10000000u

enum { PACER_RECORDS = 4096 };

struct pacer_medium {
    double ns_per_byte; /* 0: no limit */
    uint64_t free_ns;   /* nobody has it from here on */
    bool wanted;        /* somebody could use it then */
    double busy_s;      /* was handed out */
    double short_s;     /* was wanted and not handed out, because the thread came too late */
    uint64_t bytes;
};

struct pacer_record {
    uint64_t release_ns;
    size_t bytes;
};

struct pacer_lane {
    int from, to;                /* borrowed */
    struct pacer_medium *medium; /* NULL: none */
    double delay_ns, jitter_ns;
    size_t quantum; /* bytes taken at once */
    struct rng rng;

    char *queue; /* [capacity] */
    size_t capacity, head, bytes;
    size_t due;                  /* bytes at the head that may be written */
    struct pacer_record *record; /* [PACER_RECORDS]: of the bytes behind those */
    int record_head, record_n;
    uint64_t release_ns; /* of the last record */
    double extra_ns;     /* jitter as last drawn */
    uint64_t redraw_ns;

    bool empty;   /* nothing to read until poll says so */
    bool blocked; /* no room to write until poll says so */
    bool ahead;   /* the medium is handed out far enough */
    bool eof;     /* nothing more will come */
    bool over;    /* all is written, and the other side has been told */
    bool broken;  /* nothing can be written any more */
};

/* capacity follows from rate and delay. ERR_MEMORY. */
int pacer_lane_init(struct pacer_lane *lane, int from, int to, struct pacer_medium *medium, double delay_s,
                    double jitter_s, uint64_t seed, struct err *e);

/* Writes what is due and reads what may be read, once each; returns whether anything moved. */
bool pacer_lane_turn(struct pacer_lane *lane, uint64_t now_ns);

/* When there is something to do without poll; UINT64_MAX: never. */
uint64_t pacer_lane_next_ns(const struct pacer_lane *lane);

/* Whether poll should look for input, for room. */
bool pacer_lane_wants_input(const struct pacer_lane *lane);
bool pacer_lane_wants_room(const struct pacer_lane *lane);

void pacer_lane_fini(struct pacer_lane *lane); /* accepts a zeroed one; the descriptors are the caller's */

#endif
