/*
 * model/ops.h - kernels over all threads: each function divides its rows among the pool.
 *
 * Called from outside parallel regions by the thread that owns the net. Gradients of biases and norm
 * weights are summed per thread and then added in thread order, so a result depends on the number of threads but not
 * on timing. With the null kernels every function returns at once: only products are left.
 * grad pointers may be NULL (no such tensor); accumulate adds to what they hold instead of replacing it.
 */
#ifndef MODEL_OPS_H
#define MODEL_OPS_H

#include "model/buffers.h"

/* Runs a call on every thread of the net's pool, or just here if that is one thread: for a team of one libgomp
 * would allocate memory each time, and the timed region allocates nothing. */
#define ON_ALL_THREADS(net, call)                                                                             \
    do {                                                                                                      \
        int team_size = (net)->threads; /* scratch is planned for so many, whatever the pool's size is now */ \
        if (team_size == 1) {                                                                                 \
            call;                                                                                             \
        } else {                                                                                              \
            _Pragma("omp parallel num_threads(team_size)") call;                                              \
        }                                                                                                     \
    } while (0)

/* The calling thread's part [*first, *first + count) of n things; returns count. */
int ops_share(int n, int *first);
/* Its part [*from, *to) of the floats [first, end), cut on cache lines counted from first. */
void ops_share_span(size_t first, size_t end, size_t *from, size_t *to);

void ops_embed(struct net *net, float *x, const int32_t *tokens);
/* Adds the embedding's part to d_wte (whole rows touched by tokens) and sets or adds d_wpe. */
void ops_embed_backward(struct net *net, float *d_wte, float *d_wpe, const float *dx, const int32_t *tokens,
                        bool accumulate);

void ops_layernorm(struct net *net, float *out, float *mean, float *rstd, const float *x, const float *w,
                   const float *b);
void ops_residual_layernorm(struct net *net, float *sum, float *out, float *mean, float *rstd, const float *x,
                            const float *delta, const float *bias, const float *w, const float *b);
void ops_layernorm_again(struct net *net, float *out, const float *x, const float *mean, const float *rstd,
                         const float *w, const float *b, int rows);
/* dx += (or =, if fresh); over all B*T rows. */
void ops_layernorm_backward(struct net *net, float *dx, bool fresh, float *dw, float *db, const float *dout,
                            const float *x, const float *mean, const float *rstd, const float *w, bool accumulate);

void ops_add_bias(struct net *net, float *x, const float *b, int rows, int C);
void ops_bias_gelu(struct net *net, float *out, const float *x, const float *b, int rows, int C);
void ops_bias_gelu_backward(struct net *net, float *act, float *d, float *db, const float *x, const float *b, int rows,
                            int C, bool accumulate);
void ops_bias_grad(struct net *net, float *db, const float *dx, int rows, int C, bool accumulate);

/* Summed loss; with grad the logits become the gradient of scale x sum. */
double ops_cross_entropy(struct net *net, float *logits, const int32_t *targets, int rows, float scale, bool grad);

#endif
