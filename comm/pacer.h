/*
 * comm/pacer.h - makes connections behave like a slower, longer, shakier link, in user space and without privileges.
 *
 *     pacer_open(&p, &emulate, seed, e)
 *     pacer_insert(&p, &fd, PACER_LINK, e)     fd is another descriptor after this, and what it says passes the pacer
 *     pacer_start(&p, e)                       one thread moves everything
 *     pacer_close(&p, patience_s)              what is on its way is delivered first, for so long; then p.cost is known
 *
 * A connection's bytes go through a queue and leave it at the instants that pacer_lane.h derives. An end, or a break, of
 * either side reaches the other one after the bytes before it, so whoever talks over the connection sees what it would see
 * without the pacer, later.
 *
 * What it is not: no packet is lost or sent twice, and TCP's own congestion control never gets to see the emulated link.
 * It is an ideal link of that rate and delay.
 *
 * Owner: one thread calls these; the pacer's own thread has no signals and may run wherever the caller of pacer_start may.
 */
#ifndef COMM_PACER_H
#define COMM_PACER_H

#include <pthread.h>
#include <stdatomic.h>

#include "comm/emulate.h"
#include "comm/pacer_lane.h"

enum pacer_side {
    PACER_LINK, /* both ways are the link: the two ends are ranks of this host */
    PACER_OUT, /* the way out is; what comes in has passed the other host's. Half-duplex, it occupies the medium here too */
};

struct pacer_connection {
    enum pacer_side side;
    int fd[2];                  /* here, there; -1: closed */
    struct pacer_medium own[2]; /* unless shared */
    struct pacer_lane lane[2];  /* out, in */
};

/* What it did, over all connections. */
struct pacer_cost {
    double cpu_s;   /* of its thread */
    double busy_s;  /* media were handed out */
    double short_s; /* they were wanted and stood idle, because the thread did not get a processor in time */
    double bytes;
};

struct pacer {
    bool open;
    struct emulate emulate;
    uint64_t seed;
    int n;
    struct pacer_connection **connection;
    struct pacer_medium shared; /* half-duplex */
    pthread_t thread;
    bool running;
    int wake_fd;
    _Atomic uint64_t end_ns; /* the thread ends then; UINT64_MAX: not yet */
    struct pacer_cost cost;
};

/* seed decides the jitter. ERR_MEMORY. */
int pacer_open(struct pacer *p, const struct emulate *emulate, uint64_t seed, struct err *e);

/* Before pacer_start. fd, a connected stream socket, belongs to the pacer after this, and *fd is the caller's new one,
 * close-on-exec. On failure *fd is as it was. */
int pacer_insert(struct pacer *p, int *fd, enum pacer_side side, struct err *e);

int pacer_start(struct pacer *p, struct err *e);

/* Accepts a zeroed or closed pacer. */
void pacer_close(struct pacer *p, double patience_s);

#endif
