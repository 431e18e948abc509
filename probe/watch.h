/*
 * probe/watch.h - a thread that takes readings of this node's health while something else computes.
 *
 * It sleeps nearly always: a reading is some tens of small files, every half second, and less often if they are dear, so that
 * it takes at most a thousandth of a processor. It runs beside the compute threads if a usable CPU is free of them, on a core
 * of its own if there is one. What it costs is measured.
 *
 *     watch_start(&watch, &health, &probe, taken);   the first reading
 *     ... watch_pause(&watch, true); ... watch_pause(&watch, false);    no reading meanwhile, so no open file of it either
 *     watch_stop(&watch);                            the last one; health is the caller's again
 *
 * Owner: the thread that started it.
 */
#ifndef PROBE_WATCH_H
#define PROBE_WATCH_H

#include <pthread.h>

#include "probe/health.h"

struct watch {
    struct health *health; /* the thread's while it runs, under lock */
    const struct probe *probe;
    struct cpus place; /* where it runs; empty: anywhere usable */
    bool apart;        /* no compute thread is bound there */
    pthread_t thread;
    bool running;
    pthread_mutex_t lock; /* guards all below and health */
    pthread_cond_t wake;
    bool stop;
    double cpu_s;      /* processor time of all readings */
    double interval_s; /* between readings, as it was at the end */
};

/* places: how many compute threads are bound on this node, those of other ranks included. Without a thread there are the
 * first and the last reading only. */
void watch_start(struct watch *watch, struct health *health, const struct probe *probe, int places);
void watch_pause(struct watch *watch, bool on);
void watch_stop(struct watch *watch); /* accepts a zeroed or stopped watch */

#endif
