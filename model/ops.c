/* model/ops.c - see ops.h. Every operation is a share_ function, which does the calling thread's
 * contiguous share of the rows, and an ops_ function, which calls it on all threads. */
#include "model/ops.h"

#include <omp.h>
#include <string.h>

int ops_share(int n, int *first)
{
    int64_t t = omp_get_thread_num(), of = omp_get_num_threads();
    *first = (int)(n * t / of);
    return (int)(n * (t + 1) / of) - *first;
}

void ops_share_span(size_t first, size_t end, size_t *from, size_t *to)
{
    size_t lines = (end - first + 15) / 16, t = (size_t)omp_get_thread_num(), of = (size_t)omp_get_num_threads();
    *from = first + lines * t / of * 16;
    *to = first + lines * (t + 1) / of * 16;
    if (*from > end)
        *from = end;
    if (*to > end)
        *to = end;
}

static bool products_only(const struct net *net)
{
    return net->k == &kernels_null;
}

static size_t cells(int rows, int C)
{
    return (size_t)rows * (size_t)C;
}

static void share_embed(struct net *net, float *x, const int32_t *tokens)
{
    const float *wte = net->param + net->layout.tensor[net->layout.wte].offset;
    const float *wpe = net->param + net->layout.tensor[net->layout.wpe].offset;
    int C = net->spec.C, r0, rows = ops_share(net->B * net->T, &r0);
    net->k->embed(x + cells(r0, C), wte, wpe, tokens + r0, rows, r0, net->T, C);
}

void ops_embed(struct net *net, float *x, const int32_t *tokens)
{
    if (!products_only(net))
        ON_ALL_THREADS(net, share_embed(net, x, tokens));
}

/* Threads divide the columns, not the rows: tokens repeat, and two threads must not add to one row, nor to one cache line. */
static void share_embed_backward(struct net *net, float *d_wte, float *d_wpe, const float *dx, const int32_t *tokens,
                                 bool accumulate)
{
    int C = net->spec.C;
    size_t c0, end;
    ops_share_span(0, (size_t)C, &c0, &end);
    size_t columns = end - c0;
    if (!accumulate)
        for (int t = 0; t < net->spec.context; t++)
            memset(d_wpe + cells(t, C) + c0, 0, columns * sizeof *d_wpe);
    for (int i = 0; i < net->B * net->T; i++) {
        const float *d = dx + cells(i, C) + c0;
        float *row = net->apart ? net->apart + cells(net->apart_row[i], C) : d_wte + cells(tokens[i], C);
        net->k->add(row + c0, d, columns);
        net->k->add(d_wpe + cells(i % net->T, C) + c0, d, columns);
    }
}

void ops_embed_backward(struct net *net, float *d_wte, float *d_wpe, const float *dx, const int32_t *tokens,
                        bool accumulate)
{
    if (!products_only(net))
        ON_ALL_THREADS(net, share_embed_backward(net, d_wte, d_wpe, dx, tokens, accumulate));
}

static void share_layernorm(struct net *net, float *out, float *mean, float *rstd, const float *x, const float *w,
                            const float *b)
{
    int C = net->spec.C, r0, rows = ops_share(net->B * net->T, &r0);
    net->k->layernorm(out + cells(r0, C), mean + r0, rstd + r0, x + cells(r0, C), w, b, rows, C);
}

void ops_layernorm(struct net *net, float *out, float *mean, float *rstd, const float *x, const float *w,
                   const float *b)
{
    if (!products_only(net))
        ON_ALL_THREADS(net, share_layernorm(net, out, mean, rstd, x, w, b));
}

static void share_residual_layernorm(struct net *net, float *sum, float *out, float *mean, float *rstd, const float *x,
                                     const float *delta, const float *bias, const float *w, const float *b)
{
    int C = net->spec.C, r0, rows = ops_share(net->B * net->T, &r0);
    size_t from = cells(r0, C);
    net->k->residual_layernorm(sum + from, out + from, mean + r0, rstd + r0, x + from, delta + from, bias, w, b, rows,
                               C);
}

void ops_residual_layernorm(struct net *net, float *sum, float *out, float *mean, float *rstd, const float *x,
                            const float *delta, const float *bias, const float *w, const float *b)
{
    if (!products_only(net))
        ON_ALL_THREADS(net, share_residual_layernorm(net, sum, out, mean, rstd, x, delta, bias, w, b));
}

static void share_layernorm_again(struct net *net, float *out, const float *x, const float *mean, const float *rstd,
                                  const float *w, const float *b, int rows)
{
    int C = net->spec.C, r0, n = ops_share(rows, &r0);
    net->k->layernorm_again(out + cells(r0, C), x + cells(r0, C), mean + r0, rstd + r0, w, b, n, C);
}

void ops_layernorm_again(struct net *net, float *out, const float *x, const float *mean, const float *rstd,
                         const float *w, const float *b, int rows)
{
    if (!products_only(net))
        ON_ALL_THREADS(net, share_layernorm_again(net, out, x, mean, rstd, w, b, rows));
}

/* When each thread has filled its part of reduce: out[n] (+)= sum over threads of
 * reduce[thread][offset .. offset + n), threads dividing the columns. */
static void add_partials(struct net *net, float *out, size_t offset, int n, bool accumulate)
{
    const struct net_buffers *b = net->buffers;
    int c0, columns = ops_share(n, &c0);
    if (!out)
        return;
    float *o = out + c0;
    if (!accumulate)
        memset(o, 0, (size_t)columns * sizeof *o);
    for (int t = 0; t < omp_get_num_threads(); t++)
        net->k->add(o, b->reduce + (size_t)t * b->partial + offset + (size_t)c0, (size_t)columns);
}

static float *own_partial(struct net *net, size_t n)
{
    float *p = net->buffers->reduce + (size_t)omp_get_thread_num() * net->buffers->partial;
    memset(p, 0, n * sizeof *p);
    return p;
}

static void share_layernorm_backward(struct net *net, float *dx, bool fresh, float *dw, float *db, const float *dout,
                                     const float *x, const float *mean, const float *rstd, const float *w,
                                     bool accumulate)
{
    int C = net->spec.C, r0, rows = ops_share(net->B * net->T, &r0);
    size_t from = cells(r0, C);
    float *part = own_partial(net, 2 * (size_t)C);
    if (fresh)
        memset(dx + from, 0, cells(rows, C) * sizeof *dx);
    net->k->layernorm_backward(dx + from, part, db ? part + C : NULL, dout + from, x + from, mean + r0, rstd + r0, w,
                               rows, C);
#pragma omp barrier
    add_partials(net, dw, 0, C, accumulate);
    add_partials(net, db, (size_t)C, C, accumulate);
}

void ops_layernorm_backward(struct net *net, float *dx, bool fresh, float *dw, float *db, const float *dout,
                            const float *x, const float *mean, const float *rstd, const float *w, bool accumulate)
{
    if (!products_only(net))
        ON_ALL_THREADS(net, share_layernorm_backward(net, dx, fresh, dw, db, dout, x, mean, rstd, w, accumulate));
}

static void share_add_bias(struct net *net, float *x, const float *b, int rows, int C)
{
    int r0, n = ops_share(rows, &r0);
    net->k->add_bias(x + cells(r0, C), b, n, C);
}

void ops_add_bias(struct net *net, float *x, const float *b, int rows, int C)
{
    if (!products_only(net) && b)
        ON_ALL_THREADS(net, share_add_bias(net, x, b, rows, C));
}

static void share_bias_gelu(struct net *net, float *out, const float *x, const float *b, int rows, int C)
{
    int r0, n = ops_share(rows, &r0);
    if (net->spec.kind == MODEL_GPT)
        net->k->bias_gelu_tanh(out + cells(r0, C), x + cells(r0, C), b, n, C);
    else
        net->k->bias_gelu_erf(out + cells(r0, C), x + cells(r0, C), b, n, C);
}

void ops_bias_gelu(struct net *net, float *out, const float *x, const float *b, int rows, int C)
{
    if (!products_only(net))
        ON_ALL_THREADS(net, share_bias_gelu(net, out, x, b, rows, C));
}

static void share_bias_gelu_backward(struct net *net, float *act, float *d, float *db, const float *x, const float *b,
                                     int rows, int C, bool accumulate)
{
    int r0, n = ops_share(rows, &r0);
    size_t from = cells(r0, C);
    float *part = db ? own_partial(net, (size_t)C) : NULL;
    if (net->spec.kind == MODEL_GPT)
        net->k->bias_gelu_tanh_backward(act + from, d + from, part, x + from, b, n, C);
    else
        net->k->bias_gelu_erf_backward(act + from, d + from, part, x + from, b, n, C);
#pragma omp barrier
    add_partials(net, db, 0, C, accumulate);
}

void ops_bias_gelu_backward(struct net *net, float *act, float *d, float *db, const float *x, const float *b, int rows,
                            int C, bool accumulate)
{
    if (!products_only(net))
        ON_ALL_THREADS(net, share_bias_gelu_backward(net, act, d, db, x, b, rows, C, accumulate));
}

static void share_bias_grad(struct net *net, float *db, const float *dx, int rows, int C, bool accumulate)
{
    int r0, n = ops_share(rows, &r0);
    net->k->column_sum(own_partial(net, (size_t)C), dx + cells(r0, C), n, C);
#pragma omp barrier
    add_partials(net, db, 0, C, accumulate);
}

void ops_bias_grad(struct net *net, float *db, const float *dx, int rows, int C, bool accumulate)
{
    if (!products_only(net) && db)
        ON_ALL_THREADS(net, share_bias_grad(net, db, dx, rows, C, accumulate));
}

enum { LINE = 8 }; /* doubles a cache line, so that threads do not share one */

static void share_cross_entropy(struct net *net, float *logits, const int32_t *targets, int rows, float scale,
                                bool grad)
{
    int V = net->spec.V, r0, n = ops_share(rows, &r0);
    net->buffers->loss[omp_get_thread_num() * LINE] =
        net->k->softmax_cross_entropy(logits + cells(r0, V), targets + r0, n, V, scale, grad);
}

double ops_cross_entropy(struct net *net, float *logits, const int32_t *targets, int rows, float scale, bool grad)
{
    double sum = 0;
    if (products_only(net))
        return 0;
    memset(net->buffers->loss, 0, (size_t)net->threads * LINE * sizeof *net->buffers->loss);
    ON_ALL_THREADS(net, share_cross_entropy(net, logits, targets, rows, scale, grad));
    for (int t = 0; t < net->threads; t++)
        sum += net->buffers->loss[t * LINE];
    return sum;
}
