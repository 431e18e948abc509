/* ddp/replay.c - see replay.h; start at step() and update(), which stand in for the net. */
#include "ddp/replay.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/clock.h"
#include "base/stats.h"

enum { CHECK_STRIDE = 509, BLOCK_SHIFT = 12 };

#define LOOK_NS 20000000u /* how often a sleep looks whether it was abandoned */

int replay_init(struct replay *r, int steps, int tensors, struct err *e)
{
    r->step = calloc((size_t)steps, sizeof *r->step);
    r->ready_s = calloc((size_t)steps * (size_t)tensors, sizeof *r->ready_s);
    r->n = steps;
    r->tensors = tensors;
    return r->step && r->ready_s ? 0 : err_set(e, ERR_MEMORY, "no memory for %d recorded steps", steps);
}

void replay_fini(struct replay *r)
{
    free(r->step);
    free(r->ready_s);
    r->step = NULL;
    r->ready_s = NULL;
    r->n = 0;
}

double replay_median_s(const struct replay *r)
{
    double all[REPLAY_STEPS_MAX];
    int n = r->n < REPLAY_STEPS_MAX ? r->n : REPLAY_STEPS_MAX;
    for (int i = 0; i < n; i++)
        all[i] = (r->step[i].forward_s + r->step[i].backward_s + r->step[i].optimizer_s) * r->slow;
    return stats_median(all, (size_t)n);
}

/* ---- time ---- */

static void sleep_until(const struct net *net, uint64_t until_ns)
{
    for (uint64_t now_ns; (now_ns = clock_now_ns()) < until_ns && !net_abandoned(net);) {
        uint64_t next_ns = until_ns - now_ns > LOOK_NS ? now_ns + LOOK_NS : until_ns;
        struct timespec t = {(time_t)(next_ns / 1000000000u), (long)(next_ns % 1000000000u)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
    }
}

static uint64_t after(uint64_t from_ns, double seconds)
{
    return from_ns + (seconds > 0 ? (uint64_t)llround(seconds * 1e9) : 0);
}

/* ---- gradients ---- */

static unsigned block_value(size_t block, int rank, uint32_t number)
{
    return (unsigned)((block * 7 + (unsigned)rank * 3u + number) % 11);
}

static void fill(const struct replay *r, struct net *net)
{
    size_t n = net->layout.params;
    for (size_t block = 0; block << BLOCK_SHIFT < n; block++) {
        size_t from = block << BLOCK_SHIFT, end = from + (1u << BLOCK_SHIFT);
        float base = (float)block_value(block, r->rank, r->number);
        for (size_t i = from; i < (end < n ? end : n); i++)
            net->grad[i] = base + (float)(i & 7);
    }
}

static void check(struct replay *r, const struct net *net, size_t from, size_t count)
{
    for (size_t i = from; i < from + count && r->wrong.code == ERR_OK; i += CHECK_STRIDE) {
        unsigned sum = 0;
        for (int rank = 0; rank < r->world; rank++)
            sum += block_value(i >> BLOCK_SHIFT, rank, r->number);
        float due = (float)(sum + (unsigned)r->world * (i & 7));
        if (net->grad[i] != due)
            err_set(&r->wrong, ERR_WRONG_RESULT, "the sum over %d ranks of gradient element %zu is %.9g, not %.9g",
                    r->world, i, (double)net->grad[i], (double)due);
    }
}

/* ---- in place of the net ---- */

struct event {
    uint64_t at_ns;
    int tensor;
};

static int by_time(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns ? -1 : 1;
    return y->tensor - x->tensor; /* backward goes from the end */
}

static void tell_head(struct net *net, uint64_t from_ns, uint64_t end_ns)
{
    for (int part = 0; net->head_part && part < net->head_parts && !net_abandoned(net); part++) {
        sleep_until(net, from_ns + (end_ns - from_ns) * (uint64_t)(part + 1) / (uint64_t)net->head_parts);
        net->head_part(net->ready_ctx, part, clock_now_ns());
    }
}

/* Backward of the last micro-batch: gradients in the order and at the instants as recorded. */
static void finish_gradients(struct replay *r, struct net *net, uint64_t start_ns, uint64_t forward_ns,
                             uint64_t backward_ns)
{
    const struct replay_step *s = &r->step[r->at];
    const double *ready_s = r->ready_s + (size_t)r->at * (size_t)r->tensors;
    double before_s = (s->forward_s + s->backward_s) * (r->accum - 1) / r->accum;
    struct event event[TENSORS_MAX] = {{0}}; /* no tensors, no garbage to sort */
    for (int i = 0; i < r->tensors; i++) {
        uint64_t at_ns = after(start_ns, (ready_s[i] - before_s) * r->slow);
        event[i] = (struct event){at_ns < forward_ns ? forward_ns : at_ns > backward_ns ? backward_ns : at_ns, i};
    }
    qsort(event, (size_t)r->tensors, sizeof *event, by_time);
    for (int i = 0; i < r->tensors && !net_abandoned(net); i++) {
        if (i == 0)
            tell_head(net, forward_ns, event[i].at_ns);
        sleep_until(net, event[i].at_ns);
        net_tell_ready(net, event[i].tensor);
    }
}

/* Layers are not told apart: all of a kind is one phase, of layer 0. */
static float step(void *ctx, struct net *net)
{
    struct replay *r = ctx;
    const struct replay_step *s = &r->step[r->at];
    uint64_t start_ns = clock_now_ns();
    uint64_t forward_ns = after(start_ns, s->forward_s / r->accum * r->slow);
    uint64_t backward_ns = after(start_ns, (s->forward_s + s->backward_s) / r->accum * r->slow);
    bool last = r->k == r->accum - 1;
    r->summed = last && r->communicated && r->reduces;
    if (last && r->communicated)
        fill(r, net);
    sleep_until(net, forward_ns);
    uint64_t from_ns = net_trace_phase(net, PHASE_FORWARD, 0, start_ns);
    if (last)
        finish_gradients(r, net, start_ns, forward_ns, backward_ns);
    sleep_until(net, backward_ns);
    net_trace_phase(net, PHASE_BACKWARD, 0, from_ns);
    r->k = last ? 0 : r->k + 1;
    return NAN;
}

static void update(void *ctx, struct net *net, size_t from, size_t count)
{
    struct replay *r = ctx;
    uint64_t start_ns = clock_now_ns();
    double part = (double)count / (double)net->layout.params;
    if (r->summed && from != NET_STAND_IN_ROWS)
        check(r, net, from, count);
    sleep_until(net, after(start_ns, r->step[r->at].optimizer_s * part * r->slow));
    net_trace_phase(net, PHASE_OPTIMIZER, 0, start_ns);
    r->updated += count;
    if (r->updated < net->layout.params)
        return;
    r->updated = 0;
    r->number += r->summed;
    r->summed = false;
    r->at = (r->at + 1) % r->n;
}

void replay_attach(struct replay *r, struct net *net, int accum, int rank, int world, bool reduces)
{
    r->accum = accum;
    r->rank = rank;
    r->world = world;
    r->reduces = reduces;
    r->at = world > 0 ? (int)((long)r->n * rank / world) : 0;
    r->k = 0;
    if (r->slow == 0)
        r->slow = 1;
    r->stand_in = (struct net_stand_in){step, update, r};
    net->stand_in = &r->stand_in;
    prctl(PR_SET_TIMERSLACK, 1UL); /* else the kernel rounds every sleep of this thread up by 50 us */
}

int replay_wrong(const struct replay *r, struct err *e)
{
    if (r->wrong.code == ERR_OK)
        return 0;
    return err_set(e, r->wrong.code, "%s", r->wrong.text);
}
