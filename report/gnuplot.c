/* report/gnuplot.c - see gnuplot.h. Start at gnuplot_draw(); run() is one process. */
#include "config.h" /* _GNU_SOURCE, for posix_spawn_file_actions_addchdir_np */

#include "report/gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "report/clean.h"

extern char **environ;

enum { PLOTS_MAX = 32, SAID = 4096 };

enum ended { ENDED_WELL, ENDED_BADLY, ENDED_LATE, ENDED_UNBORN };

struct child {
    pid_t pid;
    int out; /* its stdout and stderr */
    char said[SAID];
    size_t n;
};

/* ---- environment ---- */

/* Ours without what would change how numbers are read, which fonts are found by chance, or what is drawn to. */
static char **environment(void)
{
    static const char *const dropped[] = {"LC_", "LANG", "GNUTERM=", "GNUPLOT", "DISPLAY=", "GDFONTPATH="};
    static char locale[] = "LC_ALL=C.UTF-8";
    int n = 0, kept = 0;
    while (environ[n])
        n++;
    char **list = calloc((size_t)n + 2, sizeof *list);
    for (int i = 0; list && i < n; i++) {
        bool drop = false;
        for (size_t k = 0; k < sizeof dropped / sizeof *dropped; k++)
            drop |= strncmp(environ[i], dropped[k], strlen(dropped[k])) == 0;
        if (!drop)
            list[kept++] = environ[i];
    }
    if (list)
        list[kept] = locale;
    return list;
}

/* ---- one process ---- */

static int start(struct child *c, const char *program, const char *folder, char *const *argv)
{
    int pipe_fd[2];
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, usual;
    char **env = environment();
    if (!env || pipe2(pipe_fd, O_CLOEXEC)) {
        free(env);
        return ENOMEM;
    }
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addchdir_np(&files, folder);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, pipe_fd[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, pipe_fd[1], STDERR_FILENO);
    sigemptyset(&none);
    sigfillset(&usual); /* this program ignores SIGPIPE and SIGXFSZ; the child should not */
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    int error = posix_spawnp(&c->pid, program, &files, &attributes, argv, env);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    close(pipe_fd[1]);
    free(env);
    if (error)
        close(pipe_fd[0]);
    else
        c->out = pipe_fd[0];
    return error;
}

/* Reads what it says until it closes its output or time is up. A child may close it and live on; then waiting goes on. */
static bool wait_for(struct child *c, int *status, int64_t deadline_ns)
{
    bool open = true;
    for (;;) {
        int64_t left_ns = deadline_ns - (int64_t)clock_now_ns();
        if (waitpid(c->pid, status, WNOHANG) == c->pid)
            return true;
        if (left_ns <= 0)
            return false;
        struct pollfd p = {.fd = open ? c->out : -1, .events = POLLIN};
        int wait_ms = (int)(left_ns / 1000000) + 1;
        int ready = poll(&p, 1, wait_ms < 20 ? wait_ms : 20); /* the end of the child is no event of its output */
        if (ready <= 0)
            continue;
        char rest[512];
        bool room = c->n < SAID - 1;
        ssize_t got = read(c->out, room ? c->said + c->n : rest, room ? SAID - 1 - c->n : sizeof rest);
        if (got <= 0)
            open = got < 0 && errno == EINTR;
        else if (room)
            c->n += (size_t)got;
    }
}

static enum ended run(struct child *c, const char *program, const char *folder, char *const *argv, int64_t deadline_ns,
                      int *detail)
{
    int status = 0;
    *c = (struct child){0};
    *detail = start(c, program, folder, argv);
    if (*detail)
        return ENDED_UNBORN;
    bool ended = wait_for(c, &status, deadline_ns);
    kill(-c->pid, SIGKILL); /* what it may have started, too */
    if (!ended)
        waitpid(c->pid, &status, 0);
    /* what is left in the pipe after the end */
    fcntl(c->out, F_SETFL, O_NONBLOCK);
    ssize_t got;
    while (c->n < SAID - 1 && (got = read(c->out, c->said + c->n, SAID - 1 - c->n)) > 0)
        c->n += (size_t)got;
    close(c->out);
    *detail = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    return !ended ? ENDED_LATE : *detail == 0 ? ENDED_WELL : ENDED_BADLY;
}

/* ---- what it wrote ---- */

static bool whole(const char *path, const char *format)
{
    static const unsigned char png_end[] = {'I', 'E', 'N', 'D', 0xae, 0x42, 0x60, 0x82};
    char tail[64];
    bool svg = strcmp(format, "svg") == 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : -1;
    ssize_t n = size > (off_t)sizeof tail ? pread(fd, tail, sizeof tail - 1, size - (off_t)sizeof tail + 1) : -1;
    if (fd >= 0)
        close(fd);
    if (n < (ssize_t)sizeof png_end)
        return false;
    tail[n] = '\0';
    return svg ? strstr(tail, "</svg>") != NULL : memcmp(tail + n - sizeof png_end, png_end, sizeof png_end) == 0;
}

/* The first line that says something; gnuplot begins with the script's name and the line. */
static void first_line(char *to, int size, const struct child *c)
{
    char text[SAID], clean[240];
    memcpy(text, c->said, c->n);
    text[c->n] = '\0';
    char *line = text + strspn(text, " \t\r\n^");
    for (char *next; (next = strchr(line, '\n')) && strstr(line, "warning:") && strstr(line, "warning:") < next;)
        line = next + 1 + strspn(next + 1, " \t\r\n^");
    line[strcspn(line, "\r\n")] = '\0';
    snprintf(to, (size_t)size, "%s", clean_text(clean, sizeof clean, line));
}

static void explain(char *why, int size, enum ended ended, int detail, const struct child *c, double deadline_s)
{
    char line[240];
    first_line(line, sizeof line, c);
    if (ended == ENDED_UNBORN)
        snprintf(why, (size_t)size, detail == ENOENT ? "gnuplot is not installed" : "gnuplot cannot be started: %s",
                 strerror(detail));
    else if (ended == ENDED_LATE)
        snprintf(why, (size_t)size, "gnuplot had not finished after %g s and was ended", deadline_s);
    else if (detail < 0)
        snprintf(why, (size_t)size, "gnuplot was ended by signal %d", -detail);
    else if (ended == ENDED_BADLY)
        snprintf(why, (size_t)size, "gnuplot failed with status %d%s%s", detail, *line ? ": " : "", line);
    else
        snprintf(why, (size_t)size, "gnuplot reported success but wrote no complete picture%s%s", *line ? ": " : "",
                 line);
}

int gnuplot_draw(const struct gnuplot *g, const char *folder, const char *const *names, int n, const char *format,
                 bool *drawn, char *why, int why_size)
{
    const char *program = g->program ? g->program : "gnuplot";
    char path[PATH_MAX], script[PLOTS_MAX][64], set_format[32];
    int64_t deadline_ns = (int64_t)clock_now_ns() + (int64_t)(g->deadline_s * 1e9);
    int first = 0, count = 0;
    *why = '\0';
    snprintf(set_format, sizeof set_format, "format='%s'", format);
    for (int i = 0; i < n; i++) {
        drawn[i] = false;
        snprintf(path, sizeof path, "%s/%s.%s", folder, names[i], format);
        unlink(path); /* an old one would pass for a new one */
    }
    while (first < n && n <= PLOTS_MAX) {
        char *argv[PLOTS_MAX + 5] = {(char *)program, (char *)"-d", (char *)"-e", set_format};
        struct child c;
        int detail;
        for (int i = first; i < n; i++) {
            snprintf(script[i], sizeof script[i], "%s.gp", names[i]);
            argv[4 + i - first] = script[i];
        }
        enum ended ended = run(&c, program, folder, argv, deadline_ns, &detail);
        int next = n;
        for (int i = first; i < n; i++) {
            snprintf(path, sizeof path, "%s/%s.%s", folder, names[i], format);
            drawn[i] = whole(path, format);
            count += drawn[i];
            if (!drawn[i]) {
                unlink(path);
                next = i < next ? i + 1 : next; /* the one it stopped at */
            }
        }
        if (next < n || !drawn[n - 1] || ended != ENDED_WELL)
            if (!*why)
                explain(why, why_size, ended, detail, &c, g->deadline_s);
        if (ended == ENDED_UNBORN || ended == ENDED_LATE || ended == ENDED_WELL)
            break;
        /* what came after the one it stopped at is drawn anew */
        for (int i = next; i < n; i++)
            count -= drawn[i];
        first = next;
    }
    return count;
}
