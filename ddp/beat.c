/* ddp/beat.c - see beat.h. */
#include "ddp/beat.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

enum { LINE_BYTES = 96 };

/* A full socket is no reason to wait: what is in it tells as much. */
static void say(struct beat *b)
{
    char line[LINE_BYTES] = "\n";
    pthread_mutex_lock(&b->lock);
    struct step_word w = b->word;
    pthread_mutex_unlock(&b->lock);
    if (w.done > 0)
        snprintf(line, sizeof line, "= %d %.9g %.9g\n", w.done, w.work_s, w.still_s);
    ssize_t unheard = send(b->fd, line, strlen(line), MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)unheard;
}

static void *run(void *argument)
{
    struct beat *b = argument;
    struct pollfd p = {b->stop_fd, POLLIN, 0};
    int ready;
    prctl(PR_SET_NAME, "ddp-beat");
    do {
        say(b);
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
    pthread_mutex_init(&beat->lock, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the threads that were there before */
    int rc = pthread_create(&beat->thread, NULL, run, beat);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    beat->running = rc == 0;
    if (beat->running)
        return 0;
    close(beat->stop_fd);
    pthread_mutex_destroy(&beat->lock);
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
    pthread_mutex_destroy(&beat->lock);
    *beat = (struct beat){0};
}

void beat_tell(struct beat *beat, const struct step_word *word)
{
    if (!beat->running)
        return;
    pthread_mutex_lock(&beat->lock);
    beat->word = *word;
    pthread_mutex_unlock(&beat->lock);
}

/* The worker is this program, but what it says goes through the same door as what a node says. */
static void hear(struct step_word *word, const char *line, size_t n)
{
    char text[LINE_BYTES];
    struct step_word w = {0};
    if (n == 0 || n >= sizeof text)
        return;
    memcpy(text, line, n);
    text[n] = '\0';
    if (sscanf(text, "= %d %lf %lf", &w.done, &w.work_s, &w.still_s) == 3 && step_word_is_sane(&w))
        *word = w;
}

size_t beat_skip(const char *text, size_t n, struct step_word *word)
{
    size_t at = 0;
    while (at < n && (text[at] == '\n' || text[at] == '=')) {
        const char *end = memchr(text + at, '\n', n - at);
        if (!end)
            break;
        hear(word, text + at, (size_t)(end - text) - at);
        at = (size_t)(end - text) + 1;
    }
    return at;
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
