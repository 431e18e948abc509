/* cli/demo_child.c - see demo_child.h. Start at demo_child(). */
#include "config.h" /* _GNU_SOURCE, for ppoll */

#include "cli/demo_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/demo.h"

enum { OUT, ERROR, LIVE, PIPES, READ_BYTES = 4096, TAIL_BYTES = 2048, OUT_BYTES_MAX = 64 << 20 };

#define POLITE_S 3.0 /* to save what it has; then it is killed */

struct child {
    pid_t pid;
    int fd[PIPES]; /* our ends; -1: closed */
    char *out;     /* all of it */
    size_t out_bytes;
    char tail[TAIL_BYTES + 1]; /* the end of stderr */
    char line[512];            /* of LIVE, not whole yet */
    struct demo_show *show;
    uint64_t start_ns, asked_ns; /* asked: to end */
    bool killed;
};

/* ---- start ---- */

/* In the child: only calls that a fork of a program without threads may make. */
static void become(char **argv, const int ours[PIPES], const int theirs[PIPES], pid_t parent)
{
    sigset_t none;
    sigemptyset(&none);
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(ERR_INTERRUPTED);
    int nothing = open("/dev/null", O_RDONLY);
    if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(theirs[OUT], STDOUT_FILENO) < 0 ||
        dup2(theirs[ERROR], STDERR_FILENO) < 0 || fcntl(theirs[LIVE], F_SETFD, 0) < 0)
        _exit(ERR_IO);
    for (int i = 0; i < PIPES; i++)
        close(ours[i]);
    close(theirs[OUT]);
    close(theirs[ERROR]);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execv("/proc/self/exe", argv);
    _exit(ERR_IO);
}

static void close_all(int fd[PIPES])
{
    for (int i = 0; i < PIPES; i++) {
        if (fd[i] >= 0)
            close(fd[i]);
        fd[i] = -1;
    }
}

static int start(struct child *c, char **argv, struct err *e)
{
    char number[16];
    int theirs[PIPES] = {-1, -1, -1};
    for (int i = 0; i < PIPES; i++) {
        int pair[2];
        if (pipe2(pair, O_CLOEXEC)) {
            err_set(e, ERR_MEMORY, "no pipe to a run: %m");
            close_all(theirs);
            close_all(c->fd);
            return -1;
        }
        c->fd[i] = pair[0];
        theirs[i] = pair[1];
        fcntl(pair[0], F_SETFL, O_NONBLOCK);
    }
    snprintf(number, sizeof number, "%d", theirs[LIVE]);
    for (int i = 1; argv[i]; i++)
        if (strcmp(argv[i - 1], "--live") == 0)
            argv[i] = number;
    pid_t parent = getpid();
    c->start_ns = clock_now_ns();
    c->pid = fork();
    if (c->pid == 0)
        become(argv, c->fd, theirs, parent);
    close_all(theirs);
    if (c->pid > 0)
        return 0;
    close_all(c->fd);
    return err_set(e, ERR_MEMORY, "no process for a run: %m");
}

/* ---- listen ---- */

static void hear_live(struct child *c, const char *text, size_t n)
{
    size_t have = strlen(c->line);
    for (size_t i = 0; i < n; i++) {
        struct live_word word;
        if (text[i] != '\n') {
            if (have + 1 < sizeof c->line)
                c->line[have++] = text[i];
            continue;
        }
        c->line[have] = '\0';
        have = 0;
        if (c->show && live_parse(&word, c->line))
            demo_show_word(c->show, &word);
    }
    c->line[have] = '\0';
}

static void hear_error(struct child *c, const char *text, size_t n)
{
    size_t have = strlen(c->tail);
    if (n > TAIL_BYTES) {
        text += n - TAIL_BYTES;
        n = TAIL_BYTES;
    }
    if (have + n > TAIL_BYTES) {
        size_t drop = have + n - TAIL_BYTES;
        memmove(c->tail, c->tail + drop, have - drop);
        have -= drop;
    }
    memcpy(c->tail + have, text, n);
    c->tail[have + n] = '\0';
}

static int hear_out(struct child *c, const char *text, size_t n, struct err *e)
{
    char *more = c->out_bytes + n < OUT_BYTES_MAX ? realloc(c->out, c->out_bytes + n + 1) : NULL;
    if (!more)
        return err_set(e, ERR_MEMORY, "no memory for the result of a run");
    memcpy(more + c->out_bytes, text, n);
    c->out = more;
    c->out_bytes += n;
    c->out[c->out_bytes] = '\0';
    return 0;
}

static int hear(struct child *c, int which, struct err *e)
{
    char text[READ_BYTES];
    ssize_t n = read(c->fd[which], text, sizeof text);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0) {
        close(c->fd[which]);
        c->fd[which] = -1;
        return 0;
    }
    if (which == LIVE)
        hear_live(c, text, (size_t)n);
    else if (which == ERROR)
        hear_error(c, text, (size_t)n);
    return which == OUT ? hear_out(c, text, (size_t)n, e) : 0;
}

/* First it may save what it has; later nothing of its session is spared. */
static void ask_to_end(struct child *c)
{
    uint64_t now_ns = clock_now_ns();
    if (!c->asked_ns) {
        c->asked_ns = now_ns;
        kill(c->pid, SIGTERM);
    } else if (demo_stop > 1 || clock_seconds(c->asked_ns, now_ns) > POLITE_S) {
        kill(-c->pid, SIGKILL);
        c->killed = true;
    }
}

/* Until it has closed its output, or was killed. */
static int listen_to(struct child *c, struct err *e)
{
    static const struct timespec tick = {0, 200000000};
    while (c->fd[OUT] >= 0 && !c->killed) {
        struct pollfd p[PIPES];
        for (int i = 0; i < PIPES; i++)
            p[i] = (struct pollfd){c->fd[i], POLLIN, 0};
        bool late = clock_seconds(c->start_ns, clock_now_ns()) > DEMO_CHILD_MAX_S;
        if (demo_stop || late)
            ask_to_end(c);
        int n = ppoll(p, PIPES, &tick, demo_wait_mask());
        for (int i = 0; n > 0 && i < PIPES; i++)
            if (p[i].revents && hear(c, i, e))
                return -1;
    }
    return 0;
}

/* ---- the end ---- */

/* "./bench: warning: ..." lines are no reason; the last line is. */
static void last_words(const struct child *c, struct err *e, enum err_code code)
{
    char text[TAIL_BYTES + 1];
    snprintf(text, sizeof text, "%s", c->tail);
    size_t n = strlen(text);
    while (n && text[n - 1] == '\n')
        text[--n] = '\0';
    const char *line = strrchr(text, '\n');
    line = line ? line + 1 : text;
    const char *said = strstr(line, ": ");
    err_set(e, code, "a run of this demonstration ended with status %d: %.300s", (int)code,
            *line ? (said ? said + 2 : line) : "it said nothing");
}

static json_t *judge(const struct child *c, int status, struct err *e)
{
    json_error_t why;
    json_t *d = c->out ? json_loads(c->out, JSON_REJECT_DUPLICATES, &why) : NULL;
    const json_t *error = json_object_get(d, "error");
    if (demo_stopped(e)) {
    } else if (WIFSIGNALED(status) && c->asked_ns) {
        err_set(e, ERR_WRONG_RESULT, "a run of this demonstration took longer than %g s and was ended",
                DEMO_CHILD_MAX_S);
    } else if (WIFSIGNALED(status)) {
        err_set(e, ERR_PEER_LOST, "a run of this demonstration was ended by signal %d", WTERMSIG(status));
    } else if (json_is_object(error)) {
        err_set(e, (enum err_code)json_integer_value(json_object_get(error, "code")), "%.480s",
                json_string_value(json_object_get(error, "message")));
    } else if (WEXITSTATUS(status)) {
        last_words(c, e, (enum err_code)WEXITSTATUS(status));
    } else if (!d) {
        err_set(e, ERR_WRONG_RESULT, "a run of this demonstration left no document: %.100s",
                c->out ? why.text : "nothing");
    } else {
        return d;
    }
    json_decref(d);
    return NULL;
}

json_t *demo_child(char **argv, struct demo_show *show, struct err *e)
{
    struct child c = {.fd = {-1, -1, -1}, .show = show};
    json_t *d = NULL;
    int status = 0;
    if (demo_stopped(e) || start(&c, argv, e))
        return NULL;
    int result = listen_to(&c, e);
    if (result)
        kill(-c.pid, SIGKILL);
    siginfo_t ended;
    while (waitid(P_PID, (id_t)c.pid, &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR)
        ;
    kill(-c.pid, SIGKILL); /* what is left of its group, while the number is still its own */
    waitpid(c.pid, &status, 0);
    for (int i = 0; i < PIPES && result == 0; i++)
        for (int more = 0; more < 64 && c.fd[i] >= 0; more++)
            hear(&c, i, e);
    close_all(c.fd);
    if (result == 0)
        d = judge(&c, status, e);
    free(c.out);
    return d;
}
