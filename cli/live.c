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

static void tell_step(const struct live *live, int rank, const struct step_word *w, double step_s)
{
    char line[LINE_BYTES];
    tell(live, line,
         snprintf(line, sizeof line, "step %d %d %.9f %.9f %.9f\n", rank, w->done, step_s, w->work_s, w->still_s));
}

/* This rank's last step, and what others said of theirs. */
static void tell_steps(struct live *live)
{
    const struct run *run = live->run;
    const struct run_sample *s = &run->sample[run->n - 1];
    struct step_word w = {.done = run->n,
                          .work_s = s->forward_s + s->backward_s + s->optimizer_s,
                          .still_s = run->options.world > 1 ? s->exposed_s : 0};
    live->told = run->n;
    if (live->tell)
        live->tell(live->others, &w);
    if (live->fd < 0)
        return;
    tell_step(live, run->options.rank, &w, s->step_s);
    for (int r = 1; live->hear && r < run->options.world; r++)
        if (live->hear(live->others, r, &w))
            tell_step(live, r, &w, w.work_s + w.still_s);
}

void live_show(void *ctx, const struct run_progress *at)
{
    struct live *live = ctx;
    char line[LINE_BYTES];
    if (live->progress)
        progress_show(live->progress, at);
    if (live->run->n > live->told)
        tell_steps(live);
    else if (live->fd >= 0 && strcmp(at->stage, "training") != 0)
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
