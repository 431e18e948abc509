/* model/net.c - see net.h: planning, initial parameters, clipping, the trace. The optimizer is in update.c. */
#include "model/net.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"
#include "model/buffers.h"
#include "model/gemm.h"
#include "model/ops.h"

void buffers_plan(struct net *net, void *pointer, const char *name, size_t bytes)
{
    struct net_buffers *b = net->buffers;
    b->slot[b->slots].pointer = pointer;
    b->slot[b->slots].offset = arena_plan(&net->memory, name, bytes);
    b->slots++;
}

static int check_shape(const struct model_spec *spec, int B, int T, struct err *e)
{
    if (B < 1 || T < 1)
        return err_set(e, ERR_USAGE, "batch %d x sequence %d: both must be at least 1", B, T);
    if (spec->kind == MODEL_GPT && T > spec->context)
        return err_set(e, ERR_USAGE, "sequence length %d exceeds the context of %s, which is %d", T, spec->name,
                       spec->context);
    if (spec->kind == MODEL_MLP && T != 1)
        return err_set(e, ERR_USAGE, "%s has no sequence: its sequence length is 1, not %d", spec->name, T);
    if ((int64_t)B * T > 1 << 24)
        return err_set(e, ERR_USAGE, "batch %d x sequence %d is more than 16,777,216 positions", B, T);
    return 0;
}

int net_plan(struct net *net, const struct model_spec *spec, int B, int T, int threads, struct err *e)
{
    memset(net, 0, sizeof *net);
    if (check_shape(spec, B, T, e) || layout_init(&net->layout, spec, e))
        return -1;
    net->spec = *spec;
    net->B = B;
    net->T = T;
    net->threads = threads;
    net->k = kernels_best();
    net->buffers = calloc(1, sizeof *net->buffers);
    if (!net->buffers)
        return err_set(e, ERR_MEMORY, "no memory for the plan of %s", spec->name);
    size_t bytes = net->layout.params * sizeof(float);
    buffers_plan(net, &net->param, "parameters", bytes);
    buffers_plan(net, &net->grad, "gradients", bytes);
    if (spec->optimizer.kind == OPTIMIZER_ADAMW) {
        buffers_plan(net, &net->m, "first moments", bytes);
        buffers_plan(net, &net->v, "second moments", bytes);
    }
    if (spec->kind == MODEL_GPT)
        gpt_plan(net);
    else
        mlp_plan(net);
    return 0;
}

int net_take(struct net *net, struct err *e)
{
    if (arena_take(&net->memory, e))
        return -1;
    for (int i = 0; i < net->buffers->slots; i++) {
        void *address = arena_at(&net->memory, net->buffers->slot[i].offset);
        memcpy(net->buffers->slot[i].pointer, &address, sizeof address);
    }
    gemm_set_threads(net->threads);
#pragma omp parallel
    kernels_flush_subnormals();
    return 0;
}

void net_fini(struct net *net)
{
    arena_fini(&net->memory);
    free(net->buffers);
    memset(net, 0, sizeof *net);
}

void net_use_kernels(struct net *net, const struct kernels *k)
{
    net->k = k;
}

/* ---- initial parameters ---- */

static void init_tensor(const struct net *net, int index, uint64_t seed)
{
    const struct tensor *t = &net->layout.tensor[index];
    float *p = net->param + t->offset;
    struct rng rng;
    rng_init(&rng, seed, (uint64_t)index);
    if (net->spec.kind == MODEL_MLP) {
        int layer = t->layer;
        double bound = 1 / sqrt((double)net->spec.dim[layer]);
        for (size_t i = 0; i < t->count; i++)
            p[i] = (float)(bound * (2 * rng_uniform(&rng) - 1));
    } else if (t->cols > 1) {
        for (size_t i = 0; i < t->count; i++)
            p[i] = (float)(0.02 * rng_normal(&rng));
    } else {
        bool norm_weight = strstr(t->name, "ln") && strstr(t->name, "weight");
        for (size_t i = 0; i < t->count; i++)
            p[i] = norm_weight ? 1 : 0;
    }
}

void net_init_params(struct net *net, uint64_t seed)
{
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < net->layout.n; i++)
        init_tensor(net, i, seed);
}

/* ---- one update ---- */

float net_step(struct net *net, const void *inputs, const int32_t *targets, float scale, bool accumulate)
{
    if (net->stand_in)
        return net->stand_in->step(net->stand_in->ctx, net);
    if (net->spec.kind == MODEL_GPT)
        return gpt_step(net, inputs, targets, scale, accumulate, true);
    return mlp_step(net, inputs, scale, accumulate, true);
}

int net_head_slices(const struct net *net)
{
    if (net->spec.kind != MODEL_GPT)
        return 1;
    int rows = net->B * net->T, most = net->buffers->head_rows;
    return (rows - 1) / most + 1;
}

float net_loss(struct net *net, const void *inputs, const int32_t *targets)
{
    if (net->spec.kind == MODEL_GPT)
        return gpt_step(net, inputs, targets, 1, false, false);
    return mlp_step(net, inputs, 1, false, false);
}

/* In parts that depend on the layout only: every rank has the same norm of the same gradient, with however many threads. */
static void share_sum_squares(struct net *net)
{
    size_t lines = (net->layout.params + SQUARE_LANES - 1) / SQUARE_LANES;
    for (size_t i = (size_t)omp_get_thread_num(); i < NET_NORM_PARTS; i += (size_t)omp_get_num_threads()) {
        size_t from = lines * i / NET_NORM_PARTS * SQUARE_LANES, to = lines * (i + 1) / NET_NORM_PARTS * SQUARE_LANES;
        to = to < net->layout.params ? to : net->layout.params;
        net->norm_part[i] = net->k->sum_squares(net->grad + from, to - from);
    }
}

static void share_scale(struct net *net, float factor)
{
    size_t from, to;
    ops_share_span(0, net->layout.params, &from, &to);
    net->k->scale(net->grad + from, to - from, factor);
}

double net_clip(struct net *net, float clip)
{
    double sum = 0;
    ON_ALL_THREADS(net, share_sum_squares(net));
    for (int i = 0; i < NET_NORM_PARTS; i++)
        sum += net->norm_part[i];
    double norm = sqrt(sum);
    if (clip > 0 && norm + 1e-6 > clip)
        ON_ALL_THREADS(net, share_scale(net, (float)(clip / (norm + 1e-6))));
    return norm;
}

/* ---- trace ---- */

void net_trace_reset(struct net *net)
{
    memset(&net->trace, 0, sizeof net->trace);
}

uint64_t net_trace_phase(struct net *net, enum phase_kind kind, int layer, uint64_t start_ns)
{
    struct net_trace *trace = &net->trace;
    uint64_t now = clock_now_ns();
    if (trace->n == PHASES_MAX)
        trace->dropped++;
    else
        trace->phase[trace->n++] = (struct phase){kind, layer, start_ns, now};
    return now;
}

void net_tell_ready(struct net *net, int index)
{
    if (index < 0)
        return;
    struct net_trace *trace = &net->trace;
    uint64_t now = clock_now_ns();
    if (!trace->ready_ns[index] && trace->ready_n < TENSORS_MAX)
        trace->ready_order[trace->ready_n++] = index;
    trace->ready_ns[index] = now;
    if (net->ready)
        net->ready(net->ready_ctx, &net->layout.tensor[index], now);
}
