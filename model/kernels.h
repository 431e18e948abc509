/*
 * model/kernels.h - everything of a step that is not a matrix product, as one table of functions.
 *
 * Sets: reference (plain C, sums in double), avx2, avx512, and null. Which one runs is decided at run
 * time by what the CPU has. The null set does nothing: a step with it is the same step with only its
 * matrix products, which is how the floor is measured.
 *
 * All functions work on the rows they are given, on the calling thread, without allocation; callers
 * divide rows among threads. Pointers need no alignment. "+=" marks accumulation into the output.
 * Arrays are row-major; x[rows][C] has stride C unless a stride is given. A bias b may be NULL.
 */
#ifndef MODEL_KERNELS_H
#define MODEL_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct adamw {
    float lr, beta1, beta2, eps;
    float shrink;               /* 1 - lr * weight_decay, or 1 */
    float step;                 /* lr / (1 - beta1^t) */
    float inv_sqrt_correction2; /* 1 / sqrt(1 - beta2^t) */
};

enum { SQUARE_LANES = 16 };

struct kernels {
    const char *name;

    /* out = (x - mean) rstd w + b per row; mean[rows] and rstd[rows] are kept. Variance over C with eps 1e-5. */
    void (*layernorm)(float *out, float *mean, float *rstd, const float *x, const float *w, const float *b, int rows,
                      int C);
    /* sum = x + delta + bias, then layernorm of sum; sum may be x or delta. */
    void (*residual_layernorm)(float *sum, float *out, float *mean, float *rstd, const float *x, const float *delta,
                               const float *bias, const float *w, const float *b, int rows, int C);
    /* out from the kept mean and rstd. */
    void (*layernorm_again)(float *out, const float *x, const float *mean, const float *rstd, const float *w,
                            const float *b, int rows, int C);
    /* dx += gradient through the norm; dw[C] +=, db[C] += (db may be NULL). */
    void (*layernorm_backward)(float *dx, float *dw, float *db, const float *dout, const float *x, const float *mean,
                               const float *rstd, const float *w, int rows, int C);

    void (*add_bias)(float *x, const float *b, int rows, int C);
    void (*column_sum)(float *sum, const float *x, int rows, int C); /* sum[C] += */

    /* out = gelu(x + b): tanh form 0.5 v (1 + tanh(sqrt(2/pi) (v + 0.044715 v^3))) (GPT-2). */
    void (*bias_gelu_tanh)(float *out, const float *x, const float *b, int rows, int C);
    /* act = gelu(x + b) again, d *= gelu'(x + b), db[C] += column sums of the new d (db may be NULL). */
    void (*bias_gelu_tanh_backward)(float *act, float *d, float *db, const float *x, const float *b, int rows, int C);
    /* The same with v Phi(v), torch.nn.GELU's default. */
    void (*bias_gelu_erf)(float *out, const float *x, const float *b, int rows, int C);
    void (*bias_gelu_erf_backward)(float *act, float *d, float *db, const float *x, const float *b, int rows, int C);

    /* Causal softmax of a block of query rows: row i sees columns 0 .. first + i; s[rows][cols] with stride ld
     * holds raw products and becomes probabilities of scale * s, zero past the diagonal.
     * lse[rows] = log sum exp(scale * s). */
    void (*softmax_causal)(float *s, float *lse, int rows, int cols, int ld, int first, float scale);
    /* s becomes exp(scale * s - lse), zero past the diagonal. */
    void (*softmax_causal_again)(float *s, const float *lse, int rows, int cols, int ld, int first, float scale);
    /* dp = scale * p * (dp - delta[row]): the gradient of the raw products; zero past the diagonal. */
    void (*softmax_causal_backward)(float *dp, const float *p, const float *delta, int rows, int cols, int ld,
                                    int first, float scale);
    /* out[row] = sum_j a[row][j] b[row][j]. */
    void (*row_dot)(float *out, const float *a, int lda, const float *b, int ldb, int rows, int n);

    /* logits[rows][V] with targets; returns the summed loss -log softmax[target]. With grad the logits become
     * grad_scale * (softmax - onehot). */
    double (*softmax_cross_entropy)(float *logits, const int32_t *targets, int rows, int V, float grad_scale,
                                    bool grad);

    /* x[rows][C] = wte[token] + wpe[(row0 + row) % T]; rows are numbered from row0 in the [B][T] batch. */
    void (*embed)(float *x, const float *wte, const float *wpe, const int32_t *tokens, int rows, int row0, int T,
                  int C);
    void (*add)(float *y, const float *x, size_t n); /* y += x */

    /* Of these, and of add, every set gives the same bits: ranks on different processors make the same update of the same
     * gradient. No operation is fused. */
    void (*adamw)(float *p, const float *g, float *m, float *v, size_t n, const struct adamw *h);
    void (*sgd)(float *p, const float *g, size_t n, float lr, float shrink);
    /* Squares, which are exact in double, go to SQUARE_LANES sums in turn; those are added in order. */
    double (*sum_squares)(const float *x, size_t n);
    void (*scale)(float *x, size_t n, float factor);
};

extern const struct kernels kernels_reference, kernels_null;
#ifdef __x86_64__
extern const struct kernels kernels_avx2, kernels_avx512;
#endif

/* The widest set this CPU (and the kernel's saved state) can run. */
const struct kernels *kernels_best(void);

/* By name ("reference", "avx2", "avx512", "null"); NULL if unknown or not runnable on this CPU. */
const struct kernels *kernels_find(const char *name);

/* Flush-to-zero and denormals-are-zero on the calling thread, where the CPU has them. */
void kernels_flush_subnormals(void);

#endif
