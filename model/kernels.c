/* model/kernels.c - which set runs here, and the null set. */
#include "model/kernels.h"

#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"

static void layernorm(float *out, float *mean, float *rstd, const float *x, const float *w, const float *b, int rows,
                      int C)
{
}
static void residual_layernorm(float *sum, float *out, float *mean, float *rstd, const float *x, const float *delta,
                               const float *bias, const float *w, const float *b, int rows, int C)
{
}
static void layernorm_again(float *out, const float *x, const float *mean, const float *rstd, const float *w,
                            const float *b, int rows, int C)
{
}
static void layernorm_backward(float *dx, float *dw, float *db, const float *dout, const float *x, const float *mean,
                               const float *rstd, const float *w, int rows, int C)
{
}
static void add_bias(float *x, const float *b, int rows, int C)
{
}
static void column_sum(float *sum, const float *x, int rows, int C)
{
}
static void bias_gelu(float *out, const float *x, const float *b, int rows, int C)
{
}
static void bias_gelu_backward(float *act, float *d, float *db, const float *x, const float *b, int rows, int C)
{
}
static void softmax_causal(float *s, float *lse, int rows, int cols, int ld, int first, float scale_by)
{
}
static void softmax_causal_again(float *s, const float *lse, int rows, int cols, int ld, int first, float scale_by)
{
}
static void softmax_causal_backward(float *dp, const float *p, const float *delta, int rows, int cols, int ld,
                                    int first, float scale_by)
{
}
static void row_dot(float *out, const float *a, int lda, const float *b, int ldb, int rows, int n)
{
}
static double softmax_cross_entropy(float *logits, const int32_t *targets, int rows, int V, float grad_scale, bool grad)
{
    return 0;
}
static void embed(float *x, const float *wte, const float *wpe, const int32_t *tokens, int rows, int row0, int T, int C)
{
}
static void add(float *y, const float *x, size_t n)
{
}
static void adamw(float *p, const float *g, float *m, float *v, size_t n, const struct adamw *h)
{
}
static void sgd(float *p, const float *g, size_t n, float lr, float shrink)
{
}
static double sum_squares(const float *x, size_t n)
{
    return 0;
}
static void scale(float *x, size_t n, float factor)
{
}

#pragma GCC diagnostic pop

const struct kernels kernels_null = {
    .name = "null",
    .layernorm = layernorm,
    .residual_layernorm = residual_layernorm,
    .layernorm_again = layernorm_again,
    .layernorm_backward = layernorm_backward,
    .add_bias = add_bias,
    .column_sum = column_sum,
    .bias_gelu_tanh = bias_gelu,
    .bias_gelu_tanh_backward = bias_gelu_backward,
    .bias_gelu_erf = bias_gelu,
    .bias_gelu_erf_backward = bias_gelu_backward,
    .softmax_causal = softmax_causal,
    .softmax_causal_again = softmax_causal_again,
    .softmax_causal_backward = softmax_causal_backward,
    .row_dot = row_dot,
    .softmax_cross_entropy = softmax_cross_entropy,
    .embed = embed,
    .add = add,
    .adamw = adamw,
    .sgd = sgd,
    .sum_squares = sum_squares,
    .scale = scale,
};

static bool runnable(const struct kernels *k)
{
#ifdef __x86_64__
    if (k == &kernels_avx2)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (k == &kernels_avx512)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#endif
    return k == &kernels_reference || k == &kernels_null;
}

static const struct kernels *const sets[] = {
/* widest first */
#ifdef __x86_64__
    &kernels_avx512,
    &kernels_avx2,
#endif
    &kernels_reference,
    &kernels_null,
};

const struct kernels *kernels_best(void)
{
    int i = 0;
    while (!runnable(sets[i]))
        i++;
    return sets[i];
}

const struct kernels *kernels_find(const char *name)
{
    for (unsigned i = 0; i < sizeof sets / sizeof *sets; i++)
        if (strcmp(sets[i]->name, name) == 0)
            return runnable(sets[i]) ? sets[i] : NULL;
    return NULL;
}

void kernels_flush_subnormals(void)
{
#ifdef __x86_64__
    _mm_setcsr(_mm_getcsr() | 0x8040); /* FTZ and DAZ */
#endif
}
