/*
 * cli/progress.h - one line on a terminal that says where a run is and how long it will take.
 *
 * The line is rewritten in place at most five times a second and only if stderr is a terminal; otherwise
 * nothing is written at all. progress_show() fits run_execute()'s callback. Call progress_clear() before
 * anything else is printed on stderr.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "ddp/run.h"

struct progress {
    bool terminal;
    bool shown;       /* a line stands on the terminal */
    uint64_t last_ns; /* when it was written */
};

void progress_init(struct progress *p);
void progress_show(void *progress, const struct run_progress *at);
void progress_clear(struct progress *p);

/* "training  12/30  4 s  loss 3.21  about 20 s left": the line itself, at most size - 1 bytes. */
void progress_line(char *line, unsigned size, const struct run_progress *at);

#endif
