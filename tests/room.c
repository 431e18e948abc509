/* tests/room.c - see room.h. */
#include "tests/room.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define NAP_S 0.002
#define LATE_S 0.001       /* any machine wakes a thread by so much too late */
#define LATE_SHARE 0.02    /* of the time that was measured */
#define STOLEN_SHARE 0.005 /* of all processors' time */

static void *nap(void *argument)
{
    struct room *room = argument;
    const struct timespec time = {.tv_nsec = (long)(NAP_S * 1e9)};
    while (!atomic_load(&room->over)) {
        uint64_t from_ns = clock_now_ns();
        nanosleep(&time, NULL);
        double late_s = clock_seconds(from_ns, clock_now_ns()) - NAP_S;
        room->late_s += late_s > LATE_S ? late_s : 0;
    }
    return NULL;
}

/* What the hypervisor gave to others since boot; 0 where the kernel does not say. */
static double stolen_s(void)
{
    long long ticks = 0;
    FILE *f = fopen("/proc/stat", "r");
    if (f && fscanf(f, "cpu %*d %*d %*d %*d %*d %*d %*d %lld", &ticks) != 1)
        ticks = 0;
    if (f)
        fclose(f);
    return (double)ticks / (double)sysconf(_SC_CLK_TCK);
}

void room_open(struct room *room)
{
    *room = (struct room){.from_ns = clock_now_ns(), .stolen_s = stolen_s()};
    ck_assert_int_eq(pthread_create(&room->thread, NULL, nap, room), 0);
}

bool room_close(struct room *room)
{
    double load, processors = (double)sysconf(_SC_NPROCESSORS_ONLN);
    double took_s = clock_seconds(room->from_ns, clock_now_ns());
    atomic_store(&room->over, true);
    pthread_join(room->thread, NULL);
    bool busy = getloadavg(&load, 1) == 1 && load > 0.5 * processors;
    bool stolen = stolen_s() - room->stolen_s > STOLEN_SHARE * took_s * processors;
    return !busy && !stolen && room->late_s <= LATE_SHARE * took_s && !getenv("SANITIZER");
}
