/* model/attention.c - see attention.h. */
#include "model/attention.h"

#include <math.h>
#include <omp.h>

#include "model/gemm.h"
#include "model/ops.h"

struct head { /* where one head of one sequence lies */
    int T, hs, ld_qkv, ld_out;
    float scale;
    size_t qkv, out, lse; /* offsets of its first row */
};

static struct head find_head(const struct net *net, int b, int h)
{
    int T = net->T, C = net->spec.C, hs = C / net->spec.NH;
    size_t row = (size_t)b * (size_t)T, column = (size_t)h * (size_t)hs;
    return (struct head){
        .T = T,
        .hs = hs,
        .ld_qkv = 3 * C,
        .ld_out = C,
        .scale = 1.0f / sqrtf((float)hs),
        .qkv = row * 3 * (size_t)C + column,
        .out = row * (size_t)C + column,
        .lse = ((size_t)b * (size_t)net->spec.NH + (size_t)h) * (size_t)T,
    };
}

static float *own_scores(const struct net *net, int which)
{
    size_t block = (size_t)QUERY_BLOCK * (size_t)net->T;
    return net->buffers->scores + ((size_t)omp_get_thread_num() * 2 + (size_t)which) * block;
}

static int block_rows(int T, int q0)
{
    return T - q0 < QUERY_BLOCK ? T - q0 : QUERY_BLOCK;
}

static void forward_block(struct net *net, const struct head *d, int q0, float *out, float *lse, const float *qkv)
{
    int n = block_rows(d->T, q0), cols = q0 + n, C = net->spec.C;
    const float *q = qkv + d->qkv + (size_t)q0 * (size_t)d->ld_qkv, *k = qkv + d->qkv + C, *v = k + C;
    float *p = own_scores(net, 0);
    gemm(false, true, n, cols, d->hs, 1, q, d->ld_qkv, k, d->ld_qkv, 0, p, d->T);
    net->k->softmax_causal(p, lse + d->lse + q0, n, cols, d->T, q0, d->scale);
    gemm(false, false, n, d->hs, cols, 1, p, d->T, v, d->ld_qkv, 0, out + d->out + (size_t)q0 * (size_t)d->ld_out,
         d->ld_out);
}

/* Tasks are taken from *next by whoever is free. Each computes the same whoever does it. */
static int take(int *next)
{
    return __atomic_fetch_add(next, 1, __ATOMIC_RELAXED);
}

static void forward_share(struct net *net, float *out, float *lse, const float *qkv, int *next)
{
    int pairs = net->B * net->spec.NH, blocks = (net->T + QUERY_BLOCK - 1) / QUERY_BLOCK;
    for (int task; (task = take(next)) < pairs * blocks;) {
        int pair = task / blocks, block = blocks - 1 - task % blocks; /* the longest first */
        struct head d = find_head(net, pair / net->spec.NH, pair % net->spec.NH);
        forward_block(net, &d, block * QUERY_BLOCK, out, lse, qkv);
    }
}

void attention_forward(struct net *net, float *out, float *lse, const float *qkv)
{
    int next = 0;
    ON_ALL_THREADS(net, forward_share(net, out, lse, qkv, &next));
}

/* The last block goes first: it reaches every key, so it sets d_k and d_v and the others add to them. */
static void backward_block(struct net *net, const struct head *d, int q0, float *d_qkv, const float *d_out,
                           const float *out, const float *lse, const float *qkv)
{
    int n = block_rows(d->T, q0), cols = q0 + n, C = net->spec.C, T = d->T, hs = d->hs, ld = d->ld_qkv;
    size_t q_row = d->qkv + (size_t)q0 * (size_t)ld, o_row = d->out + (size_t)q0 * (size_t)d->ld_out;
    const float *q = qkv + q_row, *k = qkv + d->qkv + C, *v = k + C, *d_o = d_out + o_row;
    float *d_q = d_qkv + q_row, *d_k = d_qkv + d->qkv + C, *d_v = d_k + C;
    float *p = own_scores(net, 0), *d_p = own_scores(net, 1);
    float *delta = net->buffers->delta + (size_t)omp_get_thread_num() * QUERY_BLOCK;
    float beta = cols == T ? 0 : 1;

    gemm(false, true, n, cols, hs, 1, q, ld, k, ld, 0, p, T);
    net->k->softmax_causal_again(p, lse + d->lse + q0, n, cols, T, q0, d->scale);
    gemm(true, false, cols, hs, n, 1, p, T, d_o, d->ld_out, beta, d_v, ld);
    gemm(false, true, n, cols, hs, 1, d_o, d->ld_out, v, ld, 0, d_p, T);
    net->k->row_dot(delta, d_o, d->ld_out, out + o_row, d->ld_out, n, hs);
    net->k->softmax_causal_backward(d_p, p, delta, n, cols, T, q0, d->scale);
    gemm(false, false, n, hs, cols, 1, d_p, T, k, ld, 0, d_q, ld);
    gemm(true, false, cols, hs, n, 1, d_p, T, q, ld, beta, d_k, ld);
}

static void backward_share(struct net *net, float *d_qkv, const float *d_out, const float *out, const float *lse,
                           const float *qkv, int *next)
{
    int pairs = net->B * net->spec.NH, last = (net->T - 1) / QUERY_BLOCK;
    for (int pair; (pair = take(next)) < pairs;) {
        struct head d = find_head(net, pair / net->spec.NH, pair % net->spec.NH);
        for (int block = last; block >= 0; block--)
            backward_block(net, &d, block * QUERY_BLOCK, d_qkv, d_out, out, lse, qkv);
    }
}

void attention_backward(struct net *net, float *d_qkv, const float *d_out, const float *out, const float *lse,
                        const float *qkv)
{
    int next = 0;
    ON_ALL_THREADS(net, backward_share(net, d_qkv, d_out, out, lse, qkv, &next));
}
