/* cli/demo_ask.c - questions of a demonstration; see demo.h. */
#include "config.h" /* _GNU_SOURCE, for ppoll */

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "cli/demo.h"
#include "cli/output.h"

/* A line from the terminal without its end; *n is -1 at its end. What is longer than the buffer is passed over. */
static int read_line(char *line, size_t size, int *n, struct err *e)
{
    size_t have = 0;
    for (;;) {
        struct pollfd p = {STDIN_FILENO, POLLIN, 0};
        char c;
        if (demo_stopped(e))
            return -1;
        if (ppoll(&p, 1, NULL, demo_wait_mask()) < 0) {
            if (errno != EINTR)
                return err_set(e, ERR_IO, "cannot wait for an answer: %m");
            continue;
        }
        ssize_t got = read(STDIN_FILENO, &c, 1);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got <= 0 || c == '\n') {
            line[have] = '\0';
            *n = got <= 0 && have == 0 ? -1 : (int)have;
            return 0;
        }
        if (have + 1 < size)
            line[have++] = c;
    }
}

/* "2", also with blanks around it; -1: none of 1..n. */
static int chosen(const char *line, int n)
{
    line += strspn(line, " \t");
    int answer = *line >= '1' && *line <= '9' ? *line - '1' : -1;
    return answer >= 0 && answer < n && line[1 + strspn(line + 1, " \t\r")] == '\0' ? answer : -1;
}

int demo_ask(struct demo *d, const char *question, const char *const *choices, int *answer, struct err *e)
{
    int n = 0;
    *answer = -1;
    demo_say(d, "\nWhat do you expect? %s", question);
    for (; choices[n]; n++)
        demo_say(d, "  %d  %s", n + 1, choices[n]);
    while (d->asks) {
        char line[16];
        int length = -1;
        fprintf(stderr, "1 to %d, or Enter for no answer: ", n);
        fflush(stderr);
        if (read_line(line, sizeof line, &length, e))
            return -1;
        if (length < 0)
            fputc('\n', stderr);
        if (length <= 0)
            break;
        *answer = chosen(line, n);
        if (*answer >= 0)
            break;
    }
    return 0;
}

void demo_judge(struct demo *d, const char *question, const char *const *choices, int answer, int right)
{
    json_t *o = json_object(), *list = json_array();
    for (int i = 0; choices[i]; i++)
        json_array_append_new(list, json_string(choices[i]));
    json_object_set_new(o, "question", json_string(question));
    json_object_set_new(o, "choices", list);
    json_object_set_new(o, "measured", json_string(choices[right]));
    if (answer >= 0)
        json_object_set_new(o, "answer", json_string(choices[answer]));
    else
        json_unknown(d->document, o, "answer", "questions[].answer",
                     d->asks ? "no answer was given" : "nobody was asked: there is no terminal");
    json_array_append_new(json_object_get(d->document, "questions"), o);
    if (answer >= 0)
        demo_say(d, "You expected: %s. Measured: %s.", choices[answer], choices[right]);
}
