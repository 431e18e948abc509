/*
 * ddp/beat.h - a worker's sign of life: a line on its control socket every second, from a thread of its own.
 *
 * Whoever started the worker hears from it however long its steps are, and can tell one that computes from one that is
 * stopped or frozen. The line is empty, or "= DONE WORK_S STILL_S" once there is something to say of the last step
 * (beat_tell()). A report that follows is JSON, which begins with neither; beat_stop() comes before it.
 *
 * The other side takes the lines off what has come with beat_skip() and keeps a struct beat_watch: beat_heard() whenever
 * something came, beat_judge() now and then.
 */
#ifndef DDP_BEAT_H
#define DDP_BEAT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/step_word.h"

enum { BEAT_MS = 1000, BEAT_WARN_MS = 3000 };

struct beat {
    bool running;
    int fd; /* borrowed */
    int stop_fd;
    pthread_t thread;
    pthread_mutex_t lock;
    struct step_word word; /* under the lock */
};

/* ERR_MEMORY if there is no thread. An exec ends it, so the program that follows starts another. */
int beat_start(struct beat *beat, int fd, struct err *e);
void beat_stop(struct beat *beat); /* accepts a zeroed beat */

/* Goes with the next beat. Does nothing on a zeroed beat. */
void beat_tell(struct beat *beat, const struct step_word *word);

struct beat_watch {
    uint64_t heard_ns;
    bool warned;
};

enum beat_verdict { BEAT_ALIVE, BEAT_WARN, BEAT_LOST }; /* BEAT_WARN once for each silence */

void beat_heard(struct beat_watch *watch);

/* How many of the n characters are beats in front of a report; word: what the last of them said, left alone if they said
 * nothing. A line that is not complete yet is not counted. */
size_t beat_skip(const char *text, size_t n, struct step_word *word);

/* timeout_s of silence end a worker; 0: never. silent_s: since it was heard. */
enum beat_verdict beat_judge(struct beat_watch *watch, double timeout_s, double *silent_s);

#endif
