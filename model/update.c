/*
 * model/update.c - the optimizer of net.h, over any part of the parameters. Every element is updated by itself, so it does
 * not matter in which parts, in which order and on how many threads that happens: the bits are the same.
 */
#include <math.h>

#include "base/clock.h"
#include "model/buffers.h"
#include "model/ops.h"

struct update {
    const struct optimizer_spec *o;
    struct adamw h; /* h.shrink is set per tensor */
};

static struct update make_update(const struct optimizer_spec *o, int64_t t)
{
    struct update u = {.o = o};
    u.h.lr = o->lr;
    u.h.beta1 = o->beta1;
    u.h.beta2 = o->beta2;
    u.h.eps = o->eps;
    if (o->kind == OPTIMIZER_ADAMW) {
        u.h.step = (float)(o->lr / (1 - pow(o->beta1, (double)t)));
        u.h.inv_sqrt_correction2 = (float)(1 / sqrt(1 - pow(o->beta2, (double)t)));
    }
    return u;
}

/* Updates the elements of [from, to) that belong to tensor. */
static void update_part(struct net *net, const struct update *u, const struct tensor *tensor, size_t from, size_t to)
{
    size_t end = tensor->offset + tensor->count;
    if (from < tensor->offset)
        from = tensor->offset;
    if (to > end)
        to = end;
    if (from >= to)
        return;
    float shrink = tensor->decay ? 1 - u->o->lr * u->o->weight_decay : 1;
    if (u->o->kind == OPTIMIZER_SGD) {
        net->k->sgd(net->param + from, net->grad + from, to - from, u->o->lr, shrink);
    } else {
        struct adamw h = u->h;
        h.shrink = shrink;
        net->k->adamw(net->param + from, net->grad + from, net->m + from, net->v + from, to - from, &h);
    }
}

/* Threads divide [first, end), which tensors from .. to-1 cover. */
static void share_update(struct net *net, const struct update *u, int from, int to, size_t first, size_t end)
{
    size_t own, own_end;
    ops_share_span(first, end, &own, &own_end);
    for (int i = from; i < to; i++)
        update_part(net, u, &net->layout.tensor[i], own, own_end);
}

void net_update_span(struct net *net, const struct optimizer_spec *optimizer, int64_t t, size_t from, size_t count)
{
    if (net->stand_in) {
        net->stand_in->update(net->stand_in->ctx, net, from, count);
        return;
    }
    struct update u = make_update(optimizer, t);
    const struct tensor *tensor = net->layout.tensor;
    uint64_t now = clock_now_ns();
    for (int i = 0, next; i < net->layout.n; i = next) {
        int layer = tensor[i].layer;
        for (next = i + 1; next < net->layout.n && tensor[next].layer == layer;)
            next++;
        size_t first = tensor[i].offset, end = tensor[next - 1].offset + tensor[next - 1].count;
        if (first < from)
            first = from;
        if (end > from + count)
            end = from + count;
        if (first >= end)
            continue;
        ON_ALL_THREADS(net, share_update(net, &u, i, next, first, end));
        now = net_trace_phase(net, PHASE_OPTIMIZER, layer, now);
    }
}

void net_update(struct net *net, const struct optimizer_spec *optimizer, int64_t t)
{
    net_update_span(net, optimizer, t, 0, net->layout.params);
}

/* Threads divide the rows. Neighbours of the same kind are updated together. */
static void share_update_rows(struct net *net, const struct update *u, const struct tensor *tensor,
                              const struct net_rows *rows)
{
    size_t cols = (size_t)tensor->cols;
    int first, n = ops_share(rows->end - rows->first, &first);
    first += rows->first;
    for (int r = first, next; r < first + n; r = next) {
        bool chosen = (rows->mark[r] >= 0) == rows->marked;
        for (next = r + 1; next < first + n && ((rows->mark[next] >= 0) == rows->marked) == chosen;)
            next++;
        if (chosen)
            update_part(net, u, tensor, tensor->offset + (size_t)r * cols, tensor->offset + (size_t)next * cols);
    }
}

void net_update_rows(struct net *net, const struct optimizer_spec *optimizer, int64_t t, int index,
                     const struct net_rows *rows)
{
    const struct tensor *tensor = &net->layout.tensor[index];
    if (net->stand_in) {
        size_t n = 0;
        for (int row = rows->first; row < rows->end; row++)
            n += (rows->mark[row] >= 0) == rows->marked;
        net->stand_in->update(net->stand_in->ctx, net, NET_STAND_IN_ROWS, n * (size_t)tensor->cols);
        return;
    }
    struct update u = make_update(optimizer, t);
    uint64_t now = clock_now_ns();
    ON_ALL_THREADS(net, share_update_rows(net, &u, tensor, rows));
    net_trace_phase(net, PHASE_OPTIMIZER, tensor->layer, now);
}
