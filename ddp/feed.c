/* ddp/feed.c - see feed.h. */
#include "ddp/feed.h"

#include <stdlib.h>
#include <string.h>

static size_t window_tokens(const struct run *run)
{
    return (size_t)run->options.seq + 1;
}

size_t feed_bytes(const struct run *run)
{
    return (size_t)run->options.accum * (size_t)run->batch_all * window_tokens(run) * sizeof(uint16_t);
}

static int open_samplers(struct feed *feed, const struct run *run, struct err *e)
{
    const struct run_options *o = &run->options;
    int n = run->unequal ? 1 : o->world;
    feed->sampler = calloc((size_t)n, sizeof *feed->sampler);
    if (!feed->sampler)
        return err_set(e, ERR_MEMORY, "no memory for the order of data of %d ranks", n);
    for (int r = 0; r < n; r++)
        if (sampler_init(&feed->sampler[r], run->sampler.positions, r, n, o->drop_last, o->seed, e))
            return -1;
    return 0;
}

int feed_open(struct feed *feed, const struct run *run, struct err *e)
{
    struct team *team = run->options.team;
    struct team_word mine = {.wish = !run->data.token};
    *feed = (struct feed){0};
    if (team_agree(team, 0, &mine, e))
        return -1;
    for (int r = 0; r < team->world; r++)
        feed->on |= team->word[r].wish != 0;
    if (!feed->on)
        return 0;
    if (team->word[0].wish)
        return err_set(e, ERR_PROTOCOL, "rank 0 has no data to give to the others");
    feed->bytes = feed_bytes(run);
    feed->token = malloc(feed->bytes);
    if (!feed->token)
        return err_set(e, ERR_MEMORY, "no memory for %zu bytes of the ranks' token ids", feed->bytes);
    return team->rank == 0 ? open_samplers(feed, run, e) : 0;
}

/* Rank 0: everybody's windows of this step. */
static void gather(struct feed *feed, const struct run *run)
{
    size_t T1 = window_tokens(run);
    uint16_t *to = feed->token;
    for (int k = 0; k < run->options.accum; k++)
        for (int r = 0; r < run->options.world; r++)
            for (int b = 0; b < run->batch_of[r]; b++, to += T1)
                memcpy(to, run->data.token + sampler_next(&feed->sampler[run->unequal ? 0 : r]), T1 * sizeof *to);
}

int feed_take(struct feed *feed, const struct run *run, int32_t *inputs, int32_t *targets, struct err *e)
{
    const struct run_options *o = &run->options;
    size_t T = (size_t)o->seq, T1 = T + 1;
    if (o->rank == 0)
        gather(feed, run);
    if (team_broadcast(o->team, feed->token, feed->bytes, e)) {
        feed->given_up = o->team->agree->unfinished;
        return -1;
    }
    for (int k = 0; k < o->accum; k++) {
        const uint16_t *from = feed->token + ((size_t)k * (size_t)run->batch_all + (size_t)run->batch_before) * T1;
        for (int b = 0; b < o->batch; b++, from += T1) {
            for (size_t t = 0; t < T1; t++)
                if (from[t] >= run->spec.V)
                    return err_set(e, ERR_PROTOCOL, "rank 0 gave the token %d, and %s has the ids 0 to %d", from[t],
                                   run->spec.name, run->spec.V - 1);
            for (size_t t = 0; t < T; t++) {
                *inputs++ = from[t];
                *targets++ = from[t + 1];
            }
        }
    }
    return 0;
}

void feed_close(struct feed *feed)
{
    if (!feed->given_up)
        free(feed->token);
    free(feed->sampler);
    *feed = (struct feed){0};
}
