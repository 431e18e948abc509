/* cli/child.c - see child.h. */
#include "config.h" /* _GNU_SOURCE, for pipe2 */

#include "cli/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS_MAX = 128 };

static void become(const char *const *argv, int out, pid_t parent)
{
    const char *words[WORDS_MAX] = {"ddpbench"};
    int n = 1;
    for (int i = 0; argv[i] && n < WORDS_MAX - 2; i++)
        words[n++] = argv[i];
    words[n] = "--json";
    signal(SIGINT, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() == parent && dup2(out, STDOUT_FILENO) >= 0)
        execv("/proc/self/exe", (char **)words);
    _exit(ERR_MEMORY);
}

/* Everything until the other end is closed; NULL if memory is out. */
static char *drain(int fd, size_t *bytes)
{
    char *text = NULL;
    size_t room = 0;
    *bytes = 0;
    for (;;) {
        if (*bytes == room) {
            char *larger = realloc(text, room = room ? 2 * room : 65536);
            if (!larger) {
                free(text);
                return NULL;
            }
            text = larger;
        }
        ssize_t n = read(fd, text + *bytes, room - *bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return text;
        *bytes += (size_t)n;
    }
}

/* What a child that failed said, or that it died. */
static int explain(const json_t *document, const char *command, int status, struct err *e)
{
    const json_t *error = json_object_get(document, "error");
    const char *message = json_string_value(json_object_get(error, "message"));
    if (WIFSIGNALED(status))
        return err_set(e, ERR_WRONG_RESULT, "%s died: %s", command, strsignal(WTERMSIG(status)));
    return err_set(e, (enum err_code)WEXITSTATUS(status), "%s: %.400s", command, message ? message : "it failed");
}

json_t *child_run(const char *const *argv, int accepted, struct err *e)
{
    int pipe_fd[2], status = 0;
    size_t bytes;
    pid_t parent = getpid();
    if (pipe2(pipe_fd, O_CLOEXEC)) {
        err_set(e, ERR_MEMORY, "no pipe to %s: %s", argv[0], strerror(errno));
        return NULL;
    }
    fflush(NULL);
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    sigaction(SIGINT, &ignore, &before);
    pid_t pid = fork();
    if (pid == 0)
        become(argv, pipe_fd[1], parent);
    close(pipe_fd[1]);
    char *text = pid > 0 ? drain(pipe_fd[0], &bytes) : NULL;
    close(pipe_fd[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    sigaction(SIGINT, &before, NULL);
    if (!text) {
        err_set(e, ERR_MEMORY, "no memory to start %s, or for what it says", argv[0]);
        return NULL;
    }
    json_t *document = json_loadb(text, bytes, 0, NULL);
    free(text);
    bool well = WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == accepted);
    if (document && well)
        return document;
    explain(document, argv[0], status, e);
    json_decref(document);
    return NULL;
}
