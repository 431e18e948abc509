/* ddp/beat.c - see beat.h. */
#include "ddp/beat.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

/* A full socket is no reason to wait: what is in it tells as much. */
static void *run(void *argument)
{
    const struct beat *b = argument;
    struct pollfd p = {b->stop_fd, POLLIN, 0};
    int ready;
    prctl(PR_SET_NAME, "ddp-beat");
    do {
        ssize_t unheard = send(b->fd, "\n", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
        (void)unheard;
        ready = poll(&p, 1, BEAT_MS);
    } while (ready == 0 || (ready < 0 && errno == EINTR));
    return NULL;
}

int beat_start(struct beat *beat, int fd, struct err *e)
{
    sigset_t all, before;
    *beat = (struct beat){.fd = fd, .stop_fd = eventfd(0, EFD_CLOEXEC)};
    if (beat->stop_fd < 0)
        return err_set(e, ERR_MEMORY, "no descriptor left: %m");
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the threads that were there before */
    int rc = pthread_create(&beat->thread, NULL, run, beat);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    beat->running = rc == 0;
    if (beat->running)
        return 0;
    close(beat->stop_fd);
    return err_set(e, ERR_MEMORY, "no thread to tell that this rank lives: %s", strerror(rc));
}

void beat_stop(struct beat *beat)
{
    uint64_t one = 1;
    if (!beat->running)
        return;
    while (write(beat->stop_fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
    pthread_join(beat->thread, NULL);
    close(beat->stop_fd);
    *beat = (struct beat){0};
}

void beat_heard(struct beat_watch *watch)
{
    watch->heard_ns = clock_now_ns();
    watch->warned = false;
}

enum beat_verdict beat_judge(struct beat_watch *watch, double timeout_s, double *silent_s)
{
    *silent_s = clock_seconds(watch->heard_ns, clock_now_ns());
    if (timeout_s > 0 && *silent_s >= timeout_s)
        return BEAT_LOST;
    if (watch->warned || *silent_s < BEAT_WARN_MS * 1e-3)
        return BEAT_ALIVE;
    watch->warned = true;
    return BEAT_WARN;
}
