/* model/ops.c - see ops.h. Every function is one parallel region over contiguous shares of the rows. */
#include "model/ops.h"

#include <omp.h>
#include <string.h>

int ops_share(int n, int *first)
{
    int64_t t = omp_get_thread_num(), of = omp_get_num_threads();
    *first = (int)(n * t / of);
    return (int)(n * (t + 1) / of) - *first;
}

static bool products_only(const struct net *net)
{
    return net->k == &kernels_null;
}

static size_t cells(int rows, int C)
{
    return (size_t)rows * (size_t)C;
}

void ops_embed(struct net *net, float *x, const int32_t *tokens)
{
    if (products_only(net))
        return;
    const float *wte = net->param + net->layout.tensor[net->layout.wte].offset;
    const float *wpe = net->param + net->layout.tensor[net->layout.wpe].offset;
    int C = net->spec.C, r0, rows;
#pragma omp parallel private(r0, rows)
    {
        rows = ops_share(net->B * net->T, &r0);
        net->k->embed(x + cells(r0, C), wte, wpe, tokens + r0, rows, r0, net->T, C);
    }
}

/* Threads divide the columns, not the rows: tokens repeat, and two threads must not add to one row. */
void ops_embed_backward(struct net *net, float *d_wte, float *d_wpe, const float *dx, const int32_t *tokens,
                        bool accumulate)
{
    if (products_only(net))
        return;
    int C = net->spec.C, c0, columns;
#pragma omp parallel private(c0, columns)
    {
        columns = ops_share(C, &c0);
        if (!accumulate)
            for (int t = 0; t < net->spec.context; t++)
                memset(d_wpe + cells(t, C) + c0, 0, (size_t)columns * sizeof *d_wpe);
        for (int i = 0; i < net->B * net->T; i++) {
            const float *d = dx + cells(i, C) + c0;
            net->k->add(d_wte + cells(tokens[i], C) + c0, d, (size_t)columns);
            net->k->add(d_wpe + cells(i % net->T, C) + c0, d, (size_t)columns);
        }
    }
}

void ops_layernorm(struct net *net, float *out, float *mean, float *rstd, const float *x, const float *w, const float *b)
{
    if (products_only(net))
        return;
    int C = net->spec.C, r0, rows;
#pragma omp parallel private(r0, rows)
    {
        rows = ops_share(net->B * net->T, &r0);
        net->k->layernorm(out + cells(r0, C), mean + r0, rstd + r0, x + cells(r0, C), w, b, rows, C);
    }
}

void ops_residual_layernorm(struct net *net, float *sum, float *out, float *mean, float *rstd, const float *x,
                            const float *delta, const float *bias, const float *w, const float *b)
{
    if (products_only(net))
        return;
    int C = net->spec.C, r0, rows;
#pragma omp parallel private(r0, rows)
    {
        rows = ops_share(net->B * net->T, &r0);
        net->k->residual_layernorm(sum + cells(r0, C), out + cells(r0, C), mean + r0, rstd + r0, x + cells(r0, C),
                                   delta + cells(r0, C), bias, w, b, rows, C);
    }
}

void ops_layernorm_again(struct net *net, float *out, const float *x, const float *mean, const float *rstd,
                         const float *w, const float *b, int rows)
{
    if (products_only(net))
        return;
    int C = net->spec.C, r0, n;
#pragma omp parallel private(r0, n)
    {
        n = ops_share(rows, &r0);
        net->k->layernorm_again(out + cells(r0, C), x + cells(r0, C), mean + r0, rstd + r0, w, b, n, C);
    }
}

/* Inside a parallel region, after each thread filled its part of reduce: out[n] (+)= sum over threads of
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

void ops_layernorm_backward(struct net *net, float *dx, bool fresh, float *dw, float *db, const float *dout,
                            const float *x, const float *mean, const float *rstd, const float *w, bool accumulate)
{
    if (products_only(net))
        return;
    int C = net->spec.C, r0, rows;
#pragma omp parallel private(r0, rows)
    {
        rows = ops_share(net->B * net->T, &r0);
        float *part = own_partial(net, 2 * (size_t)C);
        if (fresh)
            memset(dx + cells(r0, C), 0, cells(rows, C) * sizeof *dx);
        net->k->layernorm_backward(dx + cells(r0, C), part, db ? part + C : NULL, dout + cells(r0, C), x + cells(r0, C),
                                   mean + r0, rstd + r0, w, rows, C);
#pragma omp barrier
        add_partials(net, dw, 0, C, accumulate);
        add_partials(net, db, (size_t)C, C, accumulate);
    }
}

void ops_add_bias(struct net *net, float *x, const float *b, int rows, int C)
{
    if (products_only(net) || !b)
        return;
    int r0, n;
#pragma omp parallel private(r0, n)
    {
        n = ops_share(rows, &r0);
        net->k->add_bias(x + cells(r0, C), b, n, C);
    }
}

void ops_bias_gelu(struct net *net, float *out, const float *x, const float *b, int rows, int C)
{
    if (products_only(net))
        return;
    int r0, n;
#pragma omp parallel private(r0, n)
    {
        n = ops_share(rows, &r0);
        if (net->spec.kind == MODEL_GPT)
            net->k->bias_gelu_tanh(out + cells(r0, C), x + cells(r0, C), b, n, C);
        else
            net->k->bias_gelu_erf(out + cells(r0, C), x + cells(r0, C), b, n, C);
    }
}

void ops_bias_gelu_backward(struct net *net, float *act, float *d, float *db, const float *x, const float *b, int rows,
                            int C, bool accumulate)
{
    if (products_only(net))
        return;
    int r0, n;
#pragma omp parallel private(r0, n)
    {
        n = ops_share(rows, &r0);
        size_t from = cells(r0, C);
        float *part = db ? own_partial(net, (size_t)C) : NULL;
        if (net->spec.kind == MODEL_GPT)
            net->k->bias_gelu_tanh_backward(act + from, d + from, part, x + from, b, n, C);
        else
            net->k->bias_gelu_erf_backward(act + from, d + from, part, x + from, b, n, C);
#pragma omp barrier
        add_partials(net, db, 0, C, accumulate);
    }
}

void ops_bias_grad(struct net *net, float *db, const float *dx, int rows, int C, bool accumulate)
{
    if (products_only(net) || !db)
        return;
    int r0, n;
#pragma omp parallel private(r0, n)
    {
        n = ops_share(rows, &r0);
        net->k->column_sum(own_partial(net, (size_t)C), dx + cells(r0, C), n, C);
#pragma omp barrier
        add_partials(net, db, 0, C, accumulate);
    }
}

double ops_cross_entropy(struct net *net, float *logits, const int32_t *targets, int rows, float scale, bool grad)
{
    enum { LINE = 8 }; /* doubles a cache line, so that threads do not share one */
    if (products_only(net))
        return 0;
    int V = net->spec.V, r0, n, threads = 1;
    double *loss = net->buffers->loss, sum = 0;
#pragma omp parallel private(r0, n)
    {
        n = ops_share(rows, &r0);
        loss[omp_get_thread_num() * LINE] =
            net->k->softmax_cross_entropy(logits + cells(r0, V), targets + r0, n, V, scale, grad);
#pragma omp single
        threads = omp_get_num_threads();
    }
    for (int t = 0; t < threads; t++)
        sum += loss[t * LINE];
    return sum;
}
