/*
 * cli/live.h - what each rank of a run is doing, told step by step to whoever started the run.
 *
 * A run that was given --live FD writes one line per step and rank to that descriptor, between steps, where nothing is
 * timed; `demo` reads them and draws them. All ranks on this node inherit the descriptor: a line is shorter than PIPE_BUF and
 * is written in one call, so lines of several ranks do not mix. Ranks on other nodes say it with their heartbeats, once a second;
 * rank 0 writes their lines. A reader that does not keep up loses lines; a run never waits for it.
 *
 *     step RANK DONE STEP_S WORK_S STILL_S       a timed step is over
 *     stage RANK DONE TOTAL NAME                 anything else; TOTAL < 0: unknown
 *
 * live_show() fits run_execute()'s callback. Owner: the main thread.
 */
#ifndef CLI_LIVE_H
#define CLI_LIVE_H

#include <stdbool.h>

#include "base/step_word.h"
#include "cli/progress.h"
#include "ddp/run.h"

struct live {
    struct progress *progress; /* the line on rank 0's terminal; NULL: none */
    const struct run *run;
    int fd;   /* -1: nobody listens */
    int told; /* steps that were told */
    /* The ranks on other nodes: told of this one's step, and what one of them has said of its own. NULL: there are none. */
    void (*tell)(void *others, const struct step_word *word);
    bool (*hear)(void *others, int rank, struct step_word *word);
    void *others;
};

void live_show(void *live, const struct run_progress *at);

struct live_word {
    bool step; /* else a stage */
    int rank, done, total;
    double step_s, work_s, still_s; /* forward + backward + optimizer; stood still for communication */
    char stage[24];
};

/* Whether the line, without its end, is one of the two. */
bool live_parse(struct live_word *word, const char *line);

#endif
