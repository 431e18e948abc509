/* cli/live.c - see live.h. */
#include "cli/live.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES = 160 };

/* The descriptor is shared with others and may not be made non-blocking here; a full pipe is seen beforehand. */
static void tell(const struct live *live, const char *line, int n)
{
    struct pollfd room = {.fd = live->fd, .events = POLLOUT};
    if (n <= 0 || n >= LINE_BYTES || poll(&room, 1, 0) != 1 || !(room.revents & POLLOUT))
        return;
    ssize_t unheard = write(live->fd, line, (size_t)n);
    (void)unheard;
}

static void tell_step(struct live *live)
{
    char line[LINE_BYTES];
    const struct run *run = live->run;
    const struct run_sample *s = &run->sample[run->n - 1];
    live->told = run->n;
    double work_s = s->forward_s + s->backward_s + s->optimizer_s;
    tell(live, line,
         snprintf(line, sizeof line, "step %d %d %.9f %.9f %.9f\n", run->options.rank, run->n, s->step_s, work_s,
                  run->options.world > 1 ? s->exposed_s : 0));
}

void live_show(void *ctx, const struct run_progress *at)
{
    struct live *live = ctx;
    char line[LINE_BYTES];
    if (live->progress)
        progress_show(live->progress, at);
    if (live->fd < 0)
        return;
    if (live->run->n > live->told)
        tell_step(live);
    else if (strcmp(at->stage, "training") != 0)
        tell(live, line,
             snprintf(line, sizeof line, "stage %d %d %d %.20s\n", live->run->options.rank, at->done, at->total,
                      at->stage));
}

bool live_parse(struct live_word *w, const char *line)
{
    int end = 0;
    *w = (struct live_word){0};
    if (sscanf(line, "step %d %d %lf %lf %lf%n", &w->rank, &w->done, &w->step_s, &w->work_s, &w->still_s, &end) == 5)
        w->step = true;
    else if (sscanf(line, "stage %d %d %d %23[a-z -]%n", &w->rank, &w->done, &w->total, w->stage, &end) != 4)
        return false;
    return line[end] == '\0' && w->rank >= 0;
}
