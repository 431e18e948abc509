/* comm/link_busy.c - see link_busy.h. */
#include "comm/link_busy.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/clock.h"

static void *compute(void *argument)
{
    struct link_busy *b = argument;
    prctl(PR_SET_NAME, "compute");
    b->result = b->work->begin ? b->work->begin(b->work->ctx, b->threads, &b->err) : 0;
    while (b->result == 0 && !atomic_load(&b->stop)) {
        b->work->unit(b->work->ctx, b->threads);
        b->end_ns[b->n++ % LINK_BUSY_UNITS_MAX] = clock_now_ns();
        atomic_store(&b->ready, true);
    }
    atomic_store(&b->ready, true);
    if (b->work->end)
        b->work->end(b->work->ctx);
    return NULL;
}

int link_busy_start(struct link_busy *b, const struct link_work *work, int threads, struct err *e)
{
    sigset_t all, before;
    *b = (struct link_busy){.work = work, .threads = threads > 0 ? threads : 1};
    b->end_ns = calloc(LINK_BUSY_UNITS_MAX, sizeof *b->end_ns);
    if (!b->end_ns)
        return err_set(e, ERR_MEMORY, "out of memory");
    sigfillset(&all); /* signals are the main thread's */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&b->thread, NULL, compute, b);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) {
        free(b->end_ns);
        return err_set(e, ERR_MEMORY, "no thread to compute on");
    }
    while (!atomic_load(&b->ready))
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return 0;
}

/* From the end of the first unit that ended in the window to the end of the last one. */
static void count(const struct link_busy *b, const uint64_t window_ns[2], struct link_result *r)
{
    uint64_t first_ns = 0, last_ns = 0;
    int from = b->n > LINK_BUSY_UNITS_MAX ? b->n - LINK_BUSY_UNITS_MAX : 0, units = 0;
    for (int i = from; i < b->n; i++) {
        uint64_t at = b->end_ns[i % LINK_BUSY_UNITS_MAX];
        if (at < window_ns[0] || at > window_ns[1])
            continue;
        if (units++ == 0)
            first_ns = at;
        last_ns = at;
    }
    r->units = units > 1 ? (uint64_t)units - 1 : 0;
    r->units_s = units > 1 ? clock_seconds(first_ns, last_ns) : 0;
}

int link_busy_end(struct link_busy *b, const uint64_t window_ns[2], struct link_result *r, struct err *e)
{
    atomic_store(&b->stop, true);
    pthread_join(b->thread, NULL);
    count(b, window_ns, r);
    free(b->end_ns);
    if (b->result && e)
        *e = b->err;
    return b->result;
}
