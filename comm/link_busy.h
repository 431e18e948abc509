/*
 * comm/link_busy.h - a thread that computes while the link is measured: how long a unit of work takes then.
 *
 *     link_busy_start(&busy, work, threads, e)       waits until the first unit is done
 *     ...
 *     link_busy_end(&busy, window_ns, result, e)     fills units and units_s from the units that lie within the window
 */
#ifndef COMM_LINK_BUSY_H
#define COMM_LINK_BUSY_H

#include <pthread.h>
#include <stdatomic.h>

#include "comm/link.h"

enum { LINK_BUSY_UNITS_MAX = 1 << 16 };

struct link_busy {
    const struct link_work *work;
    int threads;
    pthread_t thread;
    atomic_bool ready, stop;
    int n;            /* ends of units; the thread's until it is joined */
    uint64_t *end_ns; /* the latest LINK_BUSY_UNITS_MAX, in a circle */
    int result;
    struct err err;
};

int link_busy_start(struct link_busy *busy, const struct link_work *work, int threads, struct err *e);
int link_busy_end(struct link_busy *busy, const uint64_t window_ns[2], struct link_result *result, struct err *e);

#endif
