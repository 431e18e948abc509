/*
 * ddp/spawn.h - the ranks of a run on this node: one process each, started, watched and gathered by rank 0.
 *
 *     spawn_start(&s, world, argv, &watch, NULL, e)    rank 0 is the caller; argv: the workers' arguments
 *     ... spawn_lost(&s) turns true when a worker has died or failed ...
 *     spawn_gather(&s, seconds)                  after the own connections are closed: all workers are gone after this
 *     s.worker[r - 1].report                     what rank r said, or NULL
 *     spawn_explain(&s, "at step 3", kernel, e)  the first cause, if a worker is to blame
 *     spawn_fini(&s)
 *
 * Or one of them for a ring that somebody else has set up, as a node does that serves a rank 0 elsewhere:
 *
 *     spawn_one(&worker, &place, argv, e)
 *     spawn_await(&worker, &watch, stop_fd, e)   until it has ended; killed if stop_fd becomes readable
 *     spawn_worker_fini(&worker)
 *
 * Workers are this program again, by exec: a process that has used OpenBLAS must not fork. A worker finds its place in
 * one more argument, --worker=RANK:WORLD:CONTROL:NEXT:PREV:SEALED, where CONTROL, NEXT and PREV are inherited descriptors;
 * all others of this program are close-on-exec. If SEALED is 1, the keys of the two connections wait on CONTROL. CONTROL is
 * one end of a socket pair, on which the worker tells that it lives (beat.h) and writes one JSON document when it ends, with
 * "error" in it if it failed. One that is silent for 3 s is warned of, one that is silent for the time in struct spawn_watch
 * is stopped or frozen: it is killed, and counts as lost. NEXT and PREV are TCP connections over loopback to its neighbours in the
 * ring, or whatever the caller of spawn_one has. Workers read nothing and have no standard output.
 *
 * No worker outlives rank 0: the kernel kills it when the thread that called spawn_start ends, however that comes about.
 *
 * A thread of its own watches the control sockets; everything but spawn_lost belongs to the thread that called
 * spawn_start.
 */
#ifndef DDP_SPAWN_H
#define DDP_SPAWN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/json.h"
#include "comm/crypto.h"
#include "comm/pacer.h"
#include "ddp/beat.h"

struct spawn_watch {
    double timeout_s; /* of silence; 0: none is too long */
    /* A worker is silent: warn once, in words, and silent now and then with how long; step now and then with what the worker
     * said last (spawn_await). On the thread that watches. May be NULL. */
    void (*warn)(void *ctx, const char *text);
    void (*silent)(void *ctx, double silent_s);
    void (*step)(void *ctx, const struct step_word *word);
    void *ctx;
};

struct spawn_worker {
    pid_t pid;
    int control;
    char *text; /* what has come so far */
    size_t bytes, room;
    bool ended;     /* its control socket is closed */
    json_t *report; /* NULL: it said nothing that is JSON */
    bool killed;    /* by us */
    struct beat_watch beat;
    struct step_word word;
    double silent_s; /* it was killed because of that; 0: it was not */
    bool reaped;
    int status; /* as from waitpid */
};

struct spawn {
    int world;
    struct spawn_watch watch;
    struct spawn_worker *worker; /* [world - 1], rank 1 first */
    int next_fd, prev_fd;        /* rank 0's connections, the caller's to close; -1: none */
    atomic_bool lost;
    pthread_t watcher;
    bool watching;
    pthread_mutex_t lock; /* guards ended, ends, gathering, and who is killed */
    pthread_cond_t end;
    int ends;
    bool gathering; /* from here on only spawn_gather kills */
};

/* What a worker is told. */
struct spawn_place {
    int rank, world, control_fd, next_fd, prev_fd;
    bool sealed; /* with these, which go through CONTROL and never through an argument */
    unsigned char next_key[CRYPTO_KEY_BYTES], prev_key[CRYPTO_KEY_BYTES];
};

/* argv ends with NULL. pacer: the connections between ranks pass through it, and it is started; NULL: they do not.
 * ERR_MEMORY (71, as the system's resources) or ERR_UNAVAILABLE; nothing is left behind then. */
int spawn_start(struct spawn *s, int world, char *const *argv, const struct spawn_watch *watch, struct pacer *pacer,
                struct err *e);

static inline bool spawn_lost(const struct spawn *s)
{
    return atomic_load_explicit(&s->lost, memory_order_relaxed);
}

/* Waits so long for the workers to end by themselves, kills those that have not, and reaps all. */
void spawn_gather(struct spawn *s, double seconds);

/* If a worker was ended by a signal, failed by itself or left without a word, e becomes that: ERR_WRONG_RESULT for a
 * crash, ERR_PEER_LOST for a worker that was killed, else the worker's own error. when is put behind the rank, kernel (what
 * multiplies matrices, the first suspect) into the sentence on a crash. Returns whether it did. */
bool spawn_explain(const struct spawn *s, const char *when, const char *kernel, struct err *e);

void spawn_fini(struct spawn *s); /* kills and reaps what is left; accepts a zeroed struct */

/* A worker alone; place->control_fd is made here, next_fd and prev_fd stay the caller's too. Any thread, and the worker
 * dies with that. */
int spawn_one(struct spawn_worker *worker, const struct spawn_place *place, char *const *argv, struct err *e);

/* Returns when the worker has ended, with its report in worker->report: 0 if it went well, ERR_INTERRUPTED if it was killed
 * because stop_fd became readable, ERR_PEER_LOST if because of its silence; else what spawn_explain would say, the worker's own error as it is. */
int spawn_await(struct spawn_worker *worker, const struct spawn_watch *watch, int stop_fd, struct err *e);

void spawn_worker_fini(struct spawn_worker *worker); /* kills and reaps it if it lives; accepts a zeroed one */

/* In a worker: the argument's value taken apart; ERR_USAGE if it cannot be one of spawn_start's. From here on the worker
 * dies with its parent. */
int spawn_place_parse(struct spawn_place *place, const char *text, struct err *e);

/* In a worker, once it does not start itself again: the three descriptors are not inherited any further, and the keys are in
 * this process alone. */
void spawn_place_keep(struct spawn_place *place);

/* In a worker: the last word, after beat_stop. */
int spawn_report(const struct spawn_place *place, const json_t *document, struct err *e);

#endif
