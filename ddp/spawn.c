/*
 * ddp/spawn.c - see spawn.h. Start at spawn_start(): connections, processes, the watching thread.
 */
#include "config.h" /* _GNU_SOURCE: accept4, sigabbrev_np */

#include "ddp/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "comm/loopback.h"

extern char **environ;

enum { REPORT_MAX_BYTES = 64 << 20 };

#define EXIT_NS 2000000000u /* from a worker's last word to its exit */

/* ---- connections ---- */

static int no_socket(struct err *e)
{
    bool resource = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
    return err_set(e, resource ? ERR_MEMORY : ERR_UNAVAILABLE, "cannot connect ranks over loopback: %s",
                   strerror(errno));
}

struct ring_fds { /* of each rank */
    int *next, *prev;
};

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void close_rank(struct ring_fds *ring, int rank)
{
    if (ring->prev[rank] != ring->next[rank])
        close_fd(&ring->prev[rank]);
    close_fd(&ring->next[rank]);
    ring->prev[rank] = -1;
}

/* Two ranks share one connection, which carries both directions. */
static int connect_ring(struct ring_fds *ring, int world, struct pacer *pacer, struct err *e)
{
    int fd[2], connections = world == 2 ? 1 : world;
    for (int r = 0; r < world; r++)
        ring->next[r] = ring->prev[r] = -1;
    for (int r = 0; r < connections; r++) {
        if (loopback_pair(fd))
            return no_socket(e);
        ring->next[r] = fd[0];
        ring->prev[(r + 1) % world] = fd[1];
        if (pacer && pacer_insert(pacer, &ring->next[r], PACER_LINK, e))
            return -1;
    }
    if (world == 2) {
        ring->prev[0] = ring->next[0];
        ring->next[1] = ring->prev[1];
    }
    return pacer ? pacer_start(pacer, e) : 0;
}

/* ---- processes ---- */

/* Naming a descriptor as its own copy makes posix_spawn clear its close-on-exec flag, in the new process alone. */
static int describe_files(posix_spawn_file_actions_t *files, int control, int next, int prev)
{
    int rc = posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    rc = rc ? rc : posix_spawn_file_actions_addopen(files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    rc = rc ? rc : posix_spawn_file_actions_adddup2(files, control, control);
    rc = rc ? rc : posix_spawn_file_actions_adddup2(files, next, next);
    return rc ? rc : posix_spawn_file_actions_adddup2(files, prev, prev);
}

static int start_worker(struct spawn_worker *worker, const struct spawn_place *place, char *const *argv)
{
    char option[96];
    size_t n = 0;
    while (argv[n])
        n++;
    char **own = malloc((n + 2) * sizeof *own);
    if (!own)
        return ENOMEM;
    memcpy(own, argv, n * sizeof *own);
    snprintf(option, sizeof option, "--worker=%d:%d:%d:%d:%d:%d", place->rank, place->world, place->control_fd,
             place->next_fd, place->prev_fd, place->sealed);
    own[n] = option;
    own[n + 1] = NULL;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attribute; /* the calling thread may have signals blocked */
    sigset_t none;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attribute);
    int rc = posix_spawnattr_setsigmask(&attribute, &none);
    rc = rc ? rc : posix_spawnattr_setflags(&attribute, POSIX_SPAWN_SETSIGMASK);
    rc = rc ? rc : describe_files(&files, place->control_fd, place->next_fd, place->prev_fd);
    if (rc == 0)
        rc = posix_spawn(&worker->pid, "/proc/self/exe", &files, &attribute, own, environ);
    posix_spawnattr_destroy(&attribute);
    posix_spawn_file_actions_destroy(&files);
    free(own);
    if (rc)
        worker->pid = 0;
    beat_heard(&worker->beat);
    return rc;
}

static int start_all(struct spawn *s, struct ring_fds *ring, char *const *argv, struct err *e)
{
    for (int r = 1; r < s->world; r++) {
        struct spawn_worker *worker = &s->worker[r - 1];
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
            return no_socket(e);
        worker->control = pair[0];
        struct spawn_place place = {
            .rank = r, .world = s->world, .control_fd = pair[1], .next_fd = ring->next[r], .prev_fd = ring->prev[r]};
        int rc = start_worker(worker, &place, argv);
        close(pair[1]);
        close_rank(ring, r); /* so that its death is seen by its neighbours */
        if (rc)
            return err_set(e, ERR_MEMORY, "cannot start rank %d of %d: %s", r, s->world, strerror(rc));
    }
    return 0;
}

/* ---- watching ---- */

static void read_report(struct spawn_worker *worker)
{
    worker->report = worker->bytes ? json_loadb(worker->text, worker->bytes, 0, NULL) : NULL;
}

static void conclude(struct spawn *s, struct spawn_worker *worker)
{
    read_report(worker);
    if (!worker->report || json_object_get(worker->report, "error"))
        atomic_store(&s->lost, true);
    pthread_mutex_lock(&s->lock);
    worker->ended = true;
    s->ends++;
    pthread_cond_signal(&s->end);
    pthread_mutex_unlock(&s->lock);
}

/* Signs of life in front of the report are not kept. */
static void skip_beats(struct spawn_worker *worker)
{
    size_t n = beat_skip(worker->text, worker->bytes, &worker->word);
    memmove(worker->text, worker->text + n, worker->bytes - n);
    worker->bytes -= n;
}

/* Takes what has come; true at the end. */
static bool listen_to(struct spawn_worker *worker)
{
    if (worker->room - worker->bytes < 4096) {
        size_t room = worker->room ? 2 * worker->room : 16384;
        char *text = room <= REPORT_MAX_BYTES ? realloc(worker->text, room) : NULL;
        if (!text)
            return true;
        worker->text = text;
        worker->room = room;
    }
    ssize_t n = read(worker->control, worker->text + worker->bytes, worker->room - worker->bytes);
    if (n > 0) {
        worker->bytes += (size_t)n;
        skip_beats(worker);
        beat_heard(&worker->beat);
    }
    return n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN);
}

/* How often silence is looked for. */
enum { LOOK_MS = 250 };
#define STOPPED_S 2.0

/* A worker that was silent for too long is killed, so that its connections end and everybody knows. */
static void give_up(struct spawn *s, struct spawn_worker *worker, double silent_s)
{
    atomic_store(&s->lost, true);
    pthread_mutex_lock(&s->lock);
    if (!s->gathering && worker->silent_s == 0) {
        worker->silent_s = silent_s;
        kill(worker->pid, SIGKILL);
    }
    pthread_mutex_unlock(&s->lock);
}

static void judge_silence(struct spawn *s, int rank)
{
    struct spawn_worker *worker = &s->worker[rank - 1];
    struct err text;
    double silent_s;
    switch (beat_judge(&worker->beat, s->watch.timeout_s, &silent_s)) {
    case BEAT_ALIVE:
        return;
    case BEAT_LOST:
        give_up(s, worker, silent_s);
        return;
    case BEAT_WARN:
        err_set(&text, ERR_OK, "no sign of life from rank %d for %.0f s; giving up after %.0f s", rank, silent_s,
                s->watch.timeout_s);
        if (s->watch.warn)
            s->watch.warn(s->watch.ctx, text.text);
    }
}

/* Ends when all workers have. */
static void *watch(void *argument)
{
    struct spawn *s = argument;
    struct pollfd *fds = calloc((size_t)s->world, sizeof *fds);
    int left = s->world - 1;
    prctl(PR_SET_NAME, "ddp-watch");
    if (!fds)
        atomic_store(&s->lost, true);
    for (int i = 0; fds && i < left; i++)
        fds[i] = (struct pollfd){.fd = s->worker[i].control, .events = POLLIN};
    while (fds && left > 0) {
        uint64_t from_ns = clock_now_ns();
        int ready = poll(fds, (nfds_t)(s->world - 1), LOOK_MS);
        if (clock_seconds(from_ns, clock_now_ns()) > STOPPED_S) /* this process was, and they perhaps with it */
            for (int i = 0; i < s->world - 1; i++)
                beat_heard(&s->worker[i].beat);
        if (ready < 0 && errno != EINTR)
            break;
        for (int i = 0; i < s->world - 1 && ready >= 0; i++) {
            if (fds[i].fd >= 0 && fds[i].revents && listen_to(&s->worker[i])) {
                fds[i].fd = -1;
                left--;
                conclude(s, &s->worker[i]);
            } else if (fds[i].fd >= 0) {
                judge_silence(s, i + 1);
            }
        }
    }
    free(fds);
    return NULL;
}

/* Signals are for the thread that drives the steps. */
static int start_watching(struct spawn *s, struct err *e)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&s->watcher, NULL, watch, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    s->watching = rc == 0;
    return rc ? err_set(e, ERR_MEMORY, "no thread to watch the ranks: %s", strerror(rc)) : 0;
}

int spawn_start(struct spawn *s, int world, char *const *argv, const struct spawn_watch *watch_options,
                struct pacer *pacer, struct err *e)
{
    *s = (struct spawn){.world = world, .watch = *watch_options, .next_fd = -1, .prev_fd = -1};
    pthread_condattr_t attribute;
    pthread_condattr_init(&attribute);
    pthread_condattr_setclock(&attribute, CLOCK_MONOTONIC);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->end, &attribute);
    pthread_condattr_destroy(&attribute);
    s->worker = calloc((size_t)world, sizeof *s->worker);
    int *fds = calloc(2 * (size_t)world, sizeof *fds);
    if (!s->worker || !fds) {
        free(fds);
        spawn_fini(s);
        return err_set(e, ERR_MEMORY, "no memory for %d ranks", world);
    }
    for (int i = 0; i < world - 1; i++)
        s->worker[i].control = -1;
    struct ring_fds ring = {fds, fds + world};
    int result = connect_ring(&ring, world, pacer, e) ? -1 : start_all(s, &ring, argv, e);
    if (result == 0)
        result = start_watching(s, e);
    if (result == 0) {
        s->next_fd = ring.next[0];
        s->prev_fd = ring.prev[0];
    } else {
        for (int r = 0; r < world; r++)
            close_rank(&ring, r);
        spawn_fini(s);
    }
    free(fds);
    return result;
}

/* ---- the end ---- */

static struct timespec moment(uint64_t ns)
{
    return (struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
}

static void wait_for_ends(struct spawn *s, uint64_t deadline_ns)
{
    struct timespec deadline = moment(deadline_ns);
    pthread_mutex_lock(&s->lock);
    while (s->watching && s->ends < s->world - 1 && pthread_cond_timedwait(&s->end, &s->lock, &deadline) == 0)
        ;
    pthread_mutex_unlock(&s->lock);
}

static void reap(struct spawn_worker *worker, int flags)
{
    if (worker->pid <= 0 || worker->reaped)
        return;
    pid_t pid;
    while ((pid = waitpid(worker->pid, &worker->status, flags)) < 0 && errno == EINTR)
        ;
    worker->reaped = pid != 0;
}

static void bury(struct spawn_worker *worker)
{
    if (worker->pid <= 0 || worker->reaped)
        return;
    worker->killed = true;
    kill(worker->pid, SIGKILL);
    reap(worker, 0);
}

/* A worker that has said its last word has only its exit before it. */
static bool all_reaped(struct spawn *s)
{
    bool all = true;
    for (int i = 0; i < s->world - 1; i++) {
        reap(&s->worker[i], WNOHANG);
        all &= s->worker[i].pid <= 0 || s->worker[i].reaped;
    }
    return all;
}

void spawn_gather(struct spawn *s, double seconds)
{
    const struct timespec nap = {0, 2000000};
    if (!s->worker)
        return;
    uint64_t deadline_ns = clock_now_ns() + (uint64_t)(seconds * 1e9);
    pthread_mutex_lock(&s->lock);
    s->gathering = true;
    pthread_mutex_unlock(&s->lock);
    wait_for_ends(s, deadline_ns);
    while (!all_reaped(s) && clock_now_ns() < deadline_ns)
        nanosleep(&nap, NULL);
    for (int i = 0; i < s->world - 1; i++)
        bury(&s->worker[i]);
    if (s->watching)
        pthread_join(s->watcher, NULL);
    s->watching = false;
}

static bool is_crash(int number)
{
    return number == SIGILL || number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGABRT ||
           number == SIGSYS || number == SIGTRAP;
}

/* How much a worker's end says about the cause: the others only saw their neighbour go. */
static int blame(const struct spawn_worker *worker)
{
    const json_t *error = json_object_get(worker->report, "error");
    json_int_t code = json_integer_value(json_object_get(error, "code"));
    if (worker->silent_s > 0)
        return 3;
    if (worker->killed)
        return 0;
    if (worker->reaped && WIFSIGNALED(worker->status))
        return 3;
    if (error)
        return code == ERR_PEER_LOST || code == ERR_INTERRUPTED ? 0 : 2;
    return worker->report ? 0 : 1;
}

/* What a signal says: a crash is a wrong result, anything else a loss. */
static void explain_signal(const struct spawn_worker *worker, int rank, const char *when, const char *kernel,
                           struct err *e)
{
    int number = WTERMSIG(worker->status);
    const char *name = sigabbrev_np(number);
    if (worker->silent_s > 0)
        err_set(e, ERR_PEER_LOST, "rank %d is lost %s: no sign of life for %.0f s: it is stopped or frozen", rank, when,
                worker->silent_s);
    else if (is_crash(number))
        err_set(e, ERR_WRONG_RESULT, "worker died: SIG%s (rank %d, %s, OpenBLAS kernel %s)", name ? name : "?", rank,
                when, kernel);
    else
        err_set(e, ERR_PEER_LOST, "rank %d was ended by SIG%s %s%s", rank, name ? name : "?", when,
                number == SIGKILL ? "; if nobody did that, memory ran out (see dmesg)" : "");
}

bool spawn_explain(const struct spawn *s, const char *when, const char *kernel, struct err *e)
{
    int worst = 0, rank = 0;
    for (int i = 0; i < s->world - 1; i++)
        if (blame(&s->worker[i]) > worst) {
            worst = blame(&s->worker[i]);
            rank = i + 1;
        }
    if (worst == 0)
        return false;
    const struct spawn_worker *worker = &s->worker[rank - 1];
    const json_t *error = json_object_get(worker->report, "error");
    const char *message = json_string_value(json_object_get(error, "message"));
    if (worst == 3)
        explain_signal(worker, rank, when, kernel, e);
    else if (worst == 2)
        err_set(e, (enum err_code)json_integer_value(json_object_get(error, "code")), "rank %d: %s", rank,
                message ? message : "failed without a reason");
    else
        err_set(e, ERR_PEER_LOST, "rank %d ended with status %d %s, without a word", rank, WEXITSTATUS(worker->status),
                when);
    return true;
}

void spawn_worker_fini(struct spawn_worker *worker)
{
    bury(worker);
    if (worker->pid > 0 || worker->control > 0)
        close_fd(&worker->control);
    json_decref(worker->report);
    free(worker->text);
    *worker = (struct spawn_worker){0};
}

void spawn_fini(struct spawn *s)
{
    if (!s->world)
        return;
    spawn_gather(s, 0);
    for (int i = 0; s->worker && i < s->world - 1; i++)
        spawn_worker_fini(&s->worker[i]);
    free(s->worker);
    pthread_cond_destroy(&s->end);
    pthread_mutex_destroy(&s->lock);
    *s = (struct spawn){0};
}

/* ---- one alone ---- */

/* Into an empty buffer, so there is room. */
static int hand_over_keys(int control, const struct spawn_place *place)
{
    if (!place->sealed)
        return 0;
    unsigned char both[2 * CRYPTO_KEY_BYTES];
    memcpy(both, place->next_key, CRYPTO_KEY_BYTES);
    memcpy(both + CRYPTO_KEY_BYTES, place->prev_key, CRYPTO_KEY_BYTES);
    bool whole = send(control, both, sizeof both, MSG_NOSIGNAL) == (ssize_t)sizeof both;
    crypto_wipe(both, sizeof both);
    return whole ? 0 : -1;
}

int spawn_one(struct spawn_worker *worker, const struct spawn_place *place, char *const *argv, struct err *e)
{
    struct spawn_place own = *place;
    int pair[2];
    *worker = (struct spawn_worker){.control = -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        return no_socket(e);
    worker->control = pair[0];
    own.control_fd = pair[1];
    int rc = hand_over_keys(pair[0], &own) ? errno : start_worker(worker, &own, argv);
    close(pair[1]);
    crypto_wipe(&own, sizeof own);
    if (rc == 0)
        return 0;
    spawn_worker_fini(worker);
    return err_set(e, ERR_MEMORY, "cannot start a worker: %s", strerror(rc));
}

static int explain_end(const struct spawn_worker *worker, struct err *e)
{
    if (worker->silent_s > 0)
        return err_set(e, ERR_PEER_LOST, "no sign of life from the worker for %.0f s: it is stopped or frozen",
                       worker->silent_s);
    const json_t *error = json_object_get(worker->report, "error");
    const char *message = json_string_value(json_object_get(error, "message"));
    int number = WIFSIGNALED(worker->status) && !worker->killed ? WTERMSIG(worker->status) : 0;
    const char *name = sigabbrev_np(number);
    if (number)
        return err_set(e, is_crash(number) ? ERR_WRONG_RESULT : ERR_PEER_LOST, "worker died: SIG%s%s",
                       name ? name : "?", number == SIGKILL ? " (if nobody did that, memory ran out there)" : "");
    if (error)
        return err_set(e, (enum err_code)json_integer_value(json_object_get(error, "code")), "%s",
                       message ? message : "the worker failed without a reason");
    if (!worker->report)
        return err_set(e, ERR_PEER_LOST, "the worker ended with status %d, without a word",
                       WEXITSTATUS(worker->status));
    return 0;
}

static void judge_worker(struct spawn_worker *worker, const struct spawn_watch *o)
{
    struct err text;
    double silent_s;
    enum beat_verdict verdict = beat_judge(&worker->beat, o->timeout_s, &silent_s);
    if (o->silent)
        o->silent(o->ctx, silent_s);
    if (o->step && worker->word.done > 0)
        o->step(o->ctx, &worker->word);
    if (verdict == BEAT_LOST) {
        worker->silent_s = silent_s;
        bury(worker);
    } else if (verdict == BEAT_WARN && o->warn) {
        err_set(&text, ERR_OK, "no sign of life from the worker for %.0f s; giving up after %.0f s", silent_s,
                o->timeout_s);
        o->warn(o->ctx, text.text);
    }
}

int spawn_await(struct spawn_worker *worker, const struct spawn_watch *watch_options, int stop_fd, struct err *e)
{
    struct pollfd p[] = {{worker->control, POLLIN, 0}, {stop_fd, POLLIN, 0}};
    const struct timespec nap = {0, 2000000};
    while (!worker->ended && worker->silent_s == 0) {
        if (poll(p, 2, LOOK_MS) < 0)
            continue;
        if (p[1].revents) {
            bury(worker);
            return err_set(e, ERR_INTERRUPTED, "stopped");
        }
        if (p[0].revents)
            worker->ended = listen_to(worker);
        if (!worker->ended)
            judge_worker(worker, watch_options);
    }
    read_report(worker);
    for (uint64_t until_ns = clock_now_ns() + EXIT_NS; !worker->reaped && clock_now_ns() < until_ns;) {
        reap(worker, WNOHANG);
        if (!worker->reaped)
            nanosleep(&nap, NULL);
    }
    bury(worker); /* it has said all, and hangs */
    return explain_end(worker, e);
}
