/* comm/ssh_start.c - see ssh_start.h. What ssh's failures mean is in meanings[]. */
#include "config.h" /* _GNU_SOURCE: pipe2 */

#include "comm/ssh_start.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "comm/wait.h"

extern char **environ;

enum { REMOTE_BYTES = 512, NOT_EXECUTABLE = 126, NOT_FOUND = 127, SSH_FAILED = 255 };

#define END_NS 2000000000u /* for ssh to end when its lifeline has */
#define LAST_NS 500000000u /* for its last words when it has closed its output */

static const char harmless[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/+@%:,~ -";

int ssh_start_check_remote(const char *remote, struct err *e)
{
    char shown[PEER_TEXT_BYTES];
    peer_text_clean(shown, sizeof shown, remote);
    if (!*remote || *remote == '-' || remote[strspn(remote, harmless)] || strlen(remote) > REMOTE_BYTES - 64)
        return err_set(
            e, ERR_USAGE,
            "'%s' is no path for --remote: letters, digits, blanks and . _ / + @ %% : , ~ - may stand there, "
            "and no minus sign first",
            shown);
    return 0;
}

bool ssh_start_possible(void)
{
    const char *path = getenv("PATH");
    char file[4096];
    while (path && *path) {
        size_t n = strcspn(path, ":");
        snprintf(file, sizeof file, "%.*s/ssh", (int)n, path);
        if (n > 0 && access(file, X_OK) == 0)
            return true;
        path += n + (path[n] == ':');
    }
    return false;
}

/* For the shell over there, which expands a leading ~/ only outside quotes. */
static void make_command(char *out, size_t size, const char *remote)
{
    bool home = remote && strncmp(remote, "~/", 2) == 0;
    if (remote)
        snprintf(out, size, "%s'%s' serve --once --key-stdin", home ? "~/" : "", remote + (home ? 2 : 0));
    else
        snprintf(out, size, "ddpbench serve --once --key-stdin");
}

/* ---- the process ---- */

static void close_all(int pipes[3][2])
{
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 2; k++)
            if (pipes[i][k] >= 0)
                close(pipes[i][k]);
}

static int start(struct ssh_start *s, char *const *argv, int pipes[3][2])
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attribute;
    sigset_t none, usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attribute);
    int rc = posix_spawnattr_setsigmask(&attribute, &none);
    rc = rc ? rc : posix_spawnattr_setsigdefault(&attribute, &usual);
    rc = rc ? rc : posix_spawnattr_setpgroup(&attribute, 0);
    rc = rc ? rc
            : posix_spawnattr_setflags(&attribute,
                                       POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    rc = rc ? rc : posix_spawn_file_actions_adddup2(&files, pipes[0][0], STDIN_FILENO);
    rc = rc ? rc : posix_spawn_file_actions_adddup2(&files, pipes[1][1], STDOUT_FILENO);
    rc = rc ? rc : posix_spawn_file_actions_adddup2(&files, pipes[2][1], STDERR_FILENO);
    rc = rc ? rc : posix_spawnp(&s->pid, "ssh", &files, &attribute, argv, environ);
    posix_spawnattr_destroy(&attribute);
    posix_spawn_file_actions_destroy(&files);
    if (rc)
        s->pid = 0;
    return rc;
}

/* The key and an end of line, into an empty pipe. */
static int hand_over(int fd, const unsigned char *key)
{
    char text[2 * CRYPTO_KEY_BYTES + 2];
    crypto_hex(text, key, CRYPTO_KEY_BYTES);
    memcpy(text + 2 * CRYPTO_KEY_BYTES, "\n", 2);
    bool whole = write(fd, text, sizeof text - 1) == (ssize_t)sizeof text - 1;
    crypto_wipe(text, sizeof text);
    return whole ? 0 : -1;
}

int ssh_start_begin(struct ssh_start *s, const char *login, const char *name, const char *remote,
                    const unsigned char key[static CRYPTO_KEY_BYTES], struct err *e)
{
    int pipes[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
    char command[REMOTE_BYTES];
    const char *argv[] = {
        "ssh", "-T",    "-o", "BatchMode=yes", "-o", "ConnectTimeout=5", "-o", "ClearAllForwardings=yes", "--",
        login, command, NULL};
    *s = (struct ssh_start){0};
    peer_text_clean(s->name, sizeof s->name, name);
    if (remote && ssh_start_check_remote(remote, e))
        return -1;
    make_command(command, sizeof command, remote);
    for (int i = 0; i < 3; i++)
        if (pipe2(pipes[i], O_CLOEXEC)) {
            close_all(pipes);
            return err_set(e, ERR_MEMORY, "no descriptor left: %m");
        }
    if (hand_over(pipes[0][1], key)) {
        close_all(pipes);
        return err_set(e, ERR_IO, "cannot hand a key to ssh: %m");
    }
    int rc = start(s, (char *const *)argv, pipes);
    if (rc) {
        close_all(pipes);
        return err_set(e, ERR_UNAVAILABLE, "cannot start ssh: %s", strerror(rc));
    }
    s->in_fd = pipes[0][1];
    s->out_fd = pipes[1][0];
    s->err_fd = pipes[2][0];
    close(pipes[0][0]);
    close(pipes[1][1]);
    close(pipes[2][1]);
    fcntl(s->out_fd, F_SETFL, O_NONBLOCK);
    fcntl(s->err_fd, F_SETFL, O_NONBLOCK);
    return 0;
}

/* Until then at most; whether it has ended, with its status. */
static bool reap(struct ssh_start *s, uint64_t deadline_ns, int *status)
{
    const struct timespec nap = {0, 5000000};
    for (;;) {
        pid_t pid = waitpid(s->pid, status, WNOHANG);
        if (pid == s->pid || (pid < 0 && errno == ECHILD)) {
            s->pid = 0;
            return true;
        }
        if (clock_now_ns() >= deadline_ns)
            return false;
        nanosleep(&nap, NULL);
    }
}

void ssh_start_end(struct ssh_start *s)
{
    int status;
    if (s->in_fd > 0) {
        close(s->in_fd);
        close(s->out_fd);
        close(s->err_fd);
    }
    if (s->pid > 0 && !reap(s, clock_now_ns() + END_NS, &status)) {
        kill(s->pid, SIGTERM);
        if (!reap(s, clock_now_ns() + END_NS / 4, &status)) {
            kill(s->pid, SIGKILL);
            while (waitpid(s->pid, &status, 0) < 0 && errno == EINTR)
                ;
        }
    }
    *s = (struct ssh_start){0};
}

/* ---- its answer ---- */

/* The port, if this is the line. */
static void judge_line(struct ssh_start *s)
{
    size_t n = strlen(SSH_START_PREFIX);
    s->line[s->have] = '\0';
    if (!s->too_long && strncmp(s->line, SSH_START_PREFIX, n) == 0) {
        json_t *answer = json_loads(s->line + n, JSON_REJECT_DUPLICATES, NULL);
        json_int_t port = json_integer_value(json_object_get(answer, "port"));
        if (port >= 1 && port <= 65535)
            s->port = (int)port;
        json_decref(answer);
    }
    s->have = 0;
    s->too_long = false;
}

/* False at the end. */
static bool hear(struct ssh_start *s)
{
    char bytes[4096];
    ssize_t n = read(s->out_fd, bytes, sizeof bytes);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    for (ssize_t i = 0; i < n && s->port == 0; i++) {
        if (bytes[i] == '\n')
            judge_line(s);
        else if (s->have + 1 < sizeof s->line)
            s->line[s->have++] = bytes[i];
        else
            s->too_long = true;
    }
    s->taken += (size_t)n;
    return n > 0;
}

static bool overhear(struct ssh_start *s)
{
    char bytes[4096];
    ssize_t n = read(s->err_fd, bytes, sizeof bytes);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    size_t room = sizeof s->said - 1 - s->said_bytes, take = (size_t)n < room ? (size_t)n : room;
    memcpy(s->said + s->said_bytes, bytes, take);
    s->said_bytes += take;
    return n > 0;
}

/* ---- its failures ---- */

static const struct {
    const char *words; /* of ssh */
    enum err_code code;
    const char *meaning; /* with the node's name in place of every %s */
} meanings[] = {
    {"HOST IDENTIFICATION HAS CHANGED", ERR_NOT_PAIRED,
     "%s shows another host key than ssh knows for it; if that is right, remove the old one with 'ssh-keygen -R %s'"},
    {"Host key verification failed", ERR_NOT_PAIRED, "ssh does not know %s yet: run 'ssh %s' once and compare its key"},
    {"Permission denied", ERR_NOT_PAIRED,
     "ssh is not let in by %s without a password: install a key there (ssh-copy-id %s), or pair with it instead: run "
     "'serve' on its terminal and name it here on yours"},
    {"Could not resolve", ERR_NO_HOST, "ssh does not know a host %s"},
    {"timed out", ERR_UNAVAILABLE, "%s does not answer ssh"},
    {"Connection refused", ERR_UNAVAILABLE, "%s does not take ssh connections"},
};

/* What ssh said, on one line and harmless, in front of the rest of a sentence; with nothing to quote nothing. */
static void quote(const struct ssh_start *s, char *out, size_t size)
{
    char text[sizeof s->said], clean[240];
    size_t n = 0;
    for (size_t i = 0; i < s->said_bytes; i++) {
        char c = s->said[i] == '\n' ? ' ' : s->said[i], before = i ? s->said[i - 1] : '\n', after = s->said[i + 1];
        bool frame = c == '@' && strchr("@ \n\r", before) && strchr("@ \n\r", after); /* around a warning */
        if (c != '\r' && !frame)
            text[n++] = c;
    }
    while (n > 0 && text[n - 1] == ' ')
        n--;
    text[n] = '\0';
    peer_text_clean(clean, sizeof clean, text + strspn(text, " "));
    snprintf(out, size, *clean ? " (it said: %s)" : "", clean);
}

static int explain(struct ssh_start *s, int status, struct err *e)
{
    char said[300], meaning[400];
    int exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : SSH_FAILED;
    s->said[s->said_bytes] = '\0';
    quote(s, said, sizeof said);
    if (exit_status == NOT_FOUND || exit_status == NOT_EXECUTABLE)
        return err_set(e, ERR_UNAVAILABLE, "ddpbench is not found on %s: say with --remote PATH where it is%s", s->name,
                       said);
    for (size_t i = 0; exit_status == SSH_FAILED && i < sizeof meanings / sizeof *meanings; i++)
        if (strstr(s->said, meanings[i].words)) {
            const char *from = meanings[i].meaning;
            size_t n = 0;
            for (; *from && n + sizeof s->name < sizeof meaning; from++)
                if (from[0] == '%' && from[1] == 's')
                    n += (size_t)snprintf(meaning + n, sizeof meaning - n, "%s", s->name), from++;
                else
                    meaning[n++] = *from;
            meaning[n] = '\0';
            return err_set(e, meanings[i].code, "%s%s", meaning, said);
        }
    return err_set(e, ERR_UNAVAILABLE, "%s on %s ended with status %d before it served%s",
                   exit_status == SSH_FAILED ? "ssh" : "ddpbench", s->name, exit_status, said);
}

static int fail(struct ssh_start *s, struct err *e)
{
    int status = 0;
    for (uint64_t until_ns = clock_now_ns() + LAST_NS; overhear(s) && clock_now_ns() < until_ns;)
        poll(&(struct pollfd){s->err_fd, POLLIN, 0}, 1, wait_left_ms(until_ns));
    if (reap(s, clock_now_ns() + END_NS, &status))
        return explain(s, status, e);
    return err_set(e, ERR_UNAVAILABLE, "ssh to %s closed its output without an answer", s->name);
}

int ssh_start_wait(struct ssh_start *s, uint64_t deadline_ns, int stop_fd, struct err *e)
{
    bool speaks = true;
    while (s->port == 0) {
        struct pollfd p[] = {{s->out_fd, POLLIN, 0}, {speaks ? s->err_fd : -1, POLLIN, 0}, {stop_fd, POLLIN, 0}};
        int left = wait_left_ms(deadline_ns), ready = poll(p, 3, left);
        if (ready < 0 && errno != EINTR)
            return err_set(e, ERR_IO, "poll: %m");
        if (ready > 0 && p[2].revents)
            return err_set(e, ERR_INTERRUPTED, "interrupted while %s was started by ssh", s->name);
        if (ready > 0 && p[1].revents)
            speaks = overhear(s);
        if (ready > 0 && p[0].revents && !hear(s) && s->port == 0)
            return fail(s, e);
        if (s->port == 0 && s->taken > SSH_START_OUTPUT_BYTES)
            return err_set(e, ERR_UNAVAILABLE, "%s prints more than %d bytes and no answer among them", s->name,
                           SSH_START_OUTPUT_BYTES);
        if (ready == 0 && left == 0)
            return err_set(e, ERR_UNAVAILABLE, "%s did not answer over ssh within its time", s->name);
    }
    return 0;
}
