/* cli/progress.c - see progress.h. */
#include "cli/progress.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/output.h"
#include "report/table.h"

enum { INTERVAL_NS = 200000000, LINE_MAX_BYTES = 79 };

void progress_init(struct progress *p)
{
    *p = (struct progress){.terminal = output_is_terminal(STDERR_FILENO)};
}

__attribute__((format(printf, 3, 4))) static void append(char *line, unsigned size, const char *fmt, ...)
{
    size_t used = strlen(line);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line + used, size - used, fmt, ap);
    va_end(ap);
}

void progress_line(char *line, unsigned size, const struct run_progress *at)
{
    char s[48];
    snprintf(line, size, "%s", at->stage);
    if (at->total > 1)
        append(line, size, "  %d/%d", at->done, at->total);
    else if (at->total < 0)
        append(line, size, "  %d", at->done);
    append(line, size, "  %s", table_seconds(s, sizeof s, ceil(at->elapsed_s)));
    if (isfinite(at->loss) && at->loss != 0)
        append(line, size, "  loss %.4g", (double)at->loss);
    if (at->eta_s >= 0)
        append(line, size, "  about %s left", table_seconds(s, sizeof s, at->eta_s < 1 ? 1 : ceil(at->eta_s)));
}

void progress_show(void *progress, const struct run_progress *at)
{
    struct progress *p = progress;
    uint64_t now_ns = clock_now_ns();
    if (!p->terminal || (p->shown && now_ns - p->last_ns < INTERVAL_NS))
        return;
    char line[LINE_MAX_BYTES + 1];
    progress_line(line, sizeof line, at);
    fprintf(stderr, "\r%s\033[K", line); /* then clear to the end of the line */
    fflush(stderr);
    p->shown = true;
    p->last_ns = now_ns;
}

void progress_clear(struct progress *p)
{
    if (p->shown) {
        fputs("\r\033[K", stderr);
        fflush(stderr); /* what comes next may be the result, on stdout */
    }
    p->shown = false;
}
