/* model/blas_child.c - see blas_child.h. */
#include "model/blas_child.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "model/gemm.h"

extern char **environ;

/* What decides kernel and threads is taken out of the child's environment and set anew. */
static const char *const replaced[] = {
    "OPENBLAS_CORETYPE=", "OPENBLAS_NUM_THREADS=", "OMP_NUM_THREADS=", "GOTO_NUM_THREADS=", "OMP_THREAD_LIMIT="};

static bool is_replaced(const char *variable)
{
    for (unsigned i = 0; i < sizeof replaced / sizeof *replaced; i++)
        if (strncmp(variable, replaced[i], strlen(replaced[i])) == 0)
            return true;
    return false;
}

/* The strings stay where they are; only the array is the caller's to free. */
static char **child_environment(char *core_type)
{
    static char one_blas[] = "OPENBLAS_NUM_THREADS=1", one_omp[] = "OMP_NUM_THREADS=1";
    size_t n = 0, used = 0;
    while (environ[n])
        n++;
    char **env = malloc((n + 4) * sizeof *env);
    if (!env)
        return NULL;
    for (size_t i = 0; i < n; i++)
        if (!is_replaced(environ[i]))
            env[used++] = environ[i];
    env[used++] = one_blas;
    env[used++] = one_omp;
    if (core_type)
        env[used++] = core_type;
    env[used] = NULL;
    return env;
}

/* Returns the child's pid and the end of its stdout to read from, or -1. */
static pid_t start(const char *exe, char **env, int *out)
{
    char name[] = "ddpbench", argument[] = BLAS_CHILD_ARGUMENT;
    char *argv[] = {name, argument, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t all, none;
    int end[2];
    pid_t pid = -1;
    if (pipe(end))
        return -1;
    /* no other child may inherit them; dup2 clears the flag on the copy that becomes stdout */
    fcntl(end[0], F_SETFD, FD_CLOEXEC);
    fcntl(end[1], F_SETFD, FD_CLOEXEC);
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, end[1], 1);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setsigmask(&attributes, &none);
    if (posix_spawn(&pid, exe, &actions, &attributes, argv, env))
        pid = -1;
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(end[1]);
    if (pid < 0)
        close(end[0]);
    *out = end[0];
    return pid;
}

/* Reads until the child closes its end; false at the deadline. What does not fit is dropped. */
static bool read_all(int fd, char *text, size_t bytes, uint64_t deadline_ns)
{
    size_t used = 0;
    for (;;) {
        char part[256];
        uint64_t now = clock_now_ns();
        if (now >= deadline_ns)
            return false;
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int ready = poll(&p, 1, (int)((deadline_ns - now) / 1000000u) + 1);
        if (ready <= 0)
            continue;
        ssize_t n = read(fd, part, sizeof part);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        size_t take = (size_t)n < bytes - 1 - used ? (size_t)n : bytes - 1 - used;
        memcpy(text + used, part, take);
        used += take;
    }
    text[used] = '\0';
    return true;
}

/* Waits until the deadline and then no longer: the child is killed. Returns false in that case. */
static bool reap(pid_t pid, int *status, uint64_t deadline_ns)
{
    const struct timespec nap = {.tv_nsec = 2000000};
    *status = 0;
    for (;;) {
        pid_t done = waitpid(pid, status, WNOHANG);
        if (done == pid)
            return true;
        if (done < 0 && errno != EINTR)
            return true; /* SIGCHLD is ignored here: what the child wrote must speak for itself */
        if (clock_now_ns() >= deadline_ns)
            break;
        nanosleep(&nap, NULL);
    }
    kill(pid, SIGKILL);
    while (waitpid(pid, status, 0) < 0 && errno == EINTR)
        ;
    return false;
}

static void parse(struct blas_candidate *c, const char *text)
{
    char active[BLAS_CORE_MAX];
    double gflops, error;
    int end = 0;
    if (sscanf(text, "%23s %lf %lf%n", active, &gflops, &error, &end) != 3 || strcmp(text + end, "\n") != 0) {
        c->status = BLAS_FAILED;
        return;
    }
    memcpy(c->active, active, sizeof c->active);
    c->gflops = gflops;
    c->relative_error = error;
    blas_candidate_judge(c);
}

void blas_child_try(struct blas_candidate *c, const char *exe, const char *default_core, double limit_s)
{
    char core_type[64], text[128] = "";
    const char *core = c->core[0] ? c->core : default_core;
    uint64_t deadline_ns = clock_now_ns() + (uint64_t)(limit_s * 1e9);
    int out, status;
    c->active[0] = '\0';
    c->signal = 0;
    c->gflops = c->relative_error = NAN;
    c->status = BLAS_FAILED;
    snprintf(core_type, sizeof core_type, "OPENBLAS_CORETYPE=%s", core ? core : "");
    char **env = child_environment(core ? core_type : NULL);
    pid_t pid = env ? start(exe, env, &out) : -1;
    free(env);
    if (pid < 0)
        return;
    bool in_time = read_all(out, text, sizeof text, deadline_ns);
    close(out);
    in_time &= reap(pid, &status, deadline_ns);
    if (!in_time) {
        c->status = BLAS_LATE;
    } else if (WIFSIGNALED(status)) {
        c->status = WTERMSIG(status) == SIGALRM ? BLAS_LATE : BLAS_DIED;
        c->signal = WTERMSIG(status);
    } else if (WEXITSTATUS(status) == 0) {
        parse(c, text);
    }
}

bool blas_choice_child(int argc, char **argv, int *exit_code)
{
    if (argc != 2 || strcmp(argv[1], BLAS_CHILD_ARGUMENT) != 0)
        return false;
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}); /* dying is an expected answer */
    alarm((unsigned)BLAS_CHILD_LIMIT_SECONDS + 1);
    struct gemm_rate rate = gemm_measure(1, BLAS_CHILD_SECONDS);
    int written = dprintf(STDOUT_FILENO, "%s %.6g %.6g\n", gemm_core(), rate.flops_per_s * 1e-9, rate.relative_error);
    *exit_code = written > 0 ? 0 : ERR_IO;
    return true;
}
