/* probe/watch.c - see watch.h. */
#include "probe/watch.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/clock.h"

#define SHARE_MAX 0.001 /* of a processor */

static double thread_cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* CPUs on which no compute thread is bound: on a core without one, else beside one. */
static void find_place(struct watch *watch, int places)
{
    const struct probe *probe = watch->probe;
    const struct cpus *usable = &probe->affinity.usable;
    struct cpus taken = {{0}}, cores = {{0}}, beside = {{0}}, own = {{0}};
    int *cpu = calloc((size_t)(places > 0 ? places : 1), sizeof *cpu);
    bool bound = cpu && probe->pinned_n > 0 && probe_place_threads(probe, places, cpu) == 0;
    for (int i = 0; bound && i < places; i++) {
        cpus_add(&taken, cpu[i]);
        if (probe->topology.core_of[cpu[i]] >= 0)
            cpus_add(&cores, probe->topology.core_of[cpu[i]]);
    }
    for (int c = cpus_next(usable, -1); bound && c >= 0 && c < CPUS_MAX; c = cpus_next(usable, c)) {
        if (cpus_has(&taken, c))
            continue;
        cpus_add(&beside, c);
        if (!cpus_has(&cores, probe->topology.core_of[c]))
            cpus_add(&own, c);
    }
    watch->place = cpus_count(&own) ? own : beside;
    watch->apart = cpus_count(&watch->place) > 0;
    free(cpu);
}

static void take(struct watch *watch, bool last)
{
    double before_s = thread_cpu_s();
    if (last)
        health_take_last(watch->health, clock_now_ns());
    else
        health_take(watch->health, clock_now_ns());
    double cost_s = thread_cpu_s() - before_s;
    watch->cpu_s += cost_s;
    watch->interval_s = fmax(HEALTH_INTERVAL_S, cost_s / SHARE_MAX);
}

static struct timespec after(double seconds)
{
    uint64_t ns = clock_now_ns() + (uint64_t)(seconds * 1e9);
    return (struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
}

static void *run(void *argument)
{
    struct watch *watch = argument;
    prctl(PR_SET_NAME, "ddp-health");
    if (watch->apart)
        topology_bind_self(&watch->probe->topology, &watch->place, NULL);
    else
        probe_unbind_self(watch->probe); /* it was started by a thread that is bound */
    pthread_mutex_lock(&watch->lock);
    double first_s = watch->cpu_s;
    while (!watch->stop) {
        struct timespec until = after(watch->interval_s);
        while (!watch->stop && pthread_cond_timedwait(&watch->wake, &watch->lock, &until) == 0)
            ;
        if (!watch->stop)
            take(watch, false);
    }
    watch->cpu_s = first_s + thread_cpu_s(); /* with waking and going to sleep */
    pthread_mutex_unlock(&watch->lock);
    return NULL;
}

void watch_start(struct watch *watch, struct health *health, const struct probe *probe, int places)
{
    sigset_t all, before;
    pthread_condattr_t attribute;
    *watch = (struct watch){.health = health, .probe = probe};
    find_place(watch, places);
    pthread_condattr_init(&attribute);
    pthread_condattr_setclock(&attribute, CLOCK_MONOTONIC);
    pthread_mutex_init(&watch->lock, NULL);
    pthread_cond_init(&watch->wake, &attribute);
    pthread_condattr_destroy(&attribute);
    take(watch, false);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the thread that drives the steps */
    watch->running = pthread_create(&watch->thread, NULL, run, watch) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void watch_pause(struct watch *watch, bool on)
{
    if (watch->health && on)
        pthread_mutex_lock(&watch->lock);
    else if (watch->health)
        pthread_mutex_unlock(&watch->lock);
}

void watch_stop(struct watch *watch)
{
    if (!watch->health)
        return;
    if (watch->running) {
        pthread_mutex_lock(&watch->lock);
        watch->stop = true;
        pthread_cond_signal(&watch->wake);
        pthread_mutex_unlock(&watch->lock);
        pthread_join(watch->thread, NULL);
    }
    watch->running = false;
    take(watch, true);
    pthread_cond_destroy(&watch->wake);
    pthread_mutex_destroy(&watch->lock);
    watch->health = NULL;
}
