/*
 * model/kernels_simd.h - the vector kernels, written once for both widths.
 *
 * kernels_avx2.c and kernels_avx512.c define SIMD_WIDTH and KERNELS and include this file; each is
 * compiled with its own flags. Same contracts as kernels.h. Start with FOR_ROW: a row is whole vectors,
 * then one masked vector for the tail, so there is no scalar remainder loop anywhere.
 * Sums of a row run in one or more float vectors: for the widths in use (<= 50257) that is at least as
 * accurate as a scalar float sum by a factor of the vector width.
 */
#include <math.h>

#include "model/kernels.h"
#include "model/simd.h"

enum { W = SIMD_WIDTH };

#define LOAD(p, j, n) ((n) - (j) >= W ? vload((p) + (j)) : vload_n((p) + (j), (n) - (j)))
#define STORE(p, j, n, x) ((n) - (j) >= W ? vstore((p) + (j), (x)) : vstore_n((p) + (j), (x), (n) - (j)))
#define FOR_ROW(j, n) for (int j = 0; j < (n); j += W)

static inline float *at(float *x, int row, int stride)
{
    return x + (size_t)row * (size_t)stride;
}

static inline const float *cat(const float *x, int row, int stride)
{
    return x + (size_t)row * (size_t)stride;
}

/* ---- layer norm ---- */

/* Mean and 1/deviation in two passes over a row that is in the first-level cache. */
static inline void row_moments(const float *x, int C, float *mean, float *rstd)
{
    vf sum = vset(0);
    FOR_ROW (j, C)
        sum += LOAD(x, j, C);
    float m = vsum(sum) / (float)C;
    vf square = vset(0);
    FOR_ROW (j, C) {
        vf d = LOAD(x, j, C) - vset(m);
        if (C - j < W)
            d = vkeep(d, C - j);
        square = vfma(d, d, square);
    }
    *mean = m;
    *rstd = 1.0f / sqrtf(vsum(square) / (float)C + 1e-5f);
}

static inline void row_normalise(float *out, const float *x, float mean, float rstd, const float *w, const float *b,
                                 int C)
{
    vf m = vset(mean), r = vset(rstd);
    if (b)
        FOR_ROW (j, C)
            STORE(out, j, C, vfma((LOAD(x, j, C) - m) * r, LOAD(w, j, C), LOAD(b, j, C)));
    else
        FOR_ROW (j, C)
            STORE(out, j, C, (LOAD(x, j, C) - m) * r * LOAD(w, j, C));
}

static void layernorm(float *out, float *mean, float *rstd, const float *x, const float *w, const float *b, int rows,
                      int C)
{
    for (int i = 0; i < rows; i++) {
        row_moments(cat(x, i, C), C, &mean[i], &rstd[i]);
        row_normalise(at(out, i, C), cat(x, i, C), mean[i], rstd[i], w, b, C);
    }
}

static void residual_layernorm(float *sum, float *out, float *mean, float *rstd, const float *x, const float *delta,
                               const float *bias, const float *w, const float *b, int rows, int C)
{
    for (int i = 0; i < rows; i++) {
        float *s = at(sum, i, C);
        const float *xi = cat(x, i, C), *di = cat(delta, i, C);
        if (bias)
            FOR_ROW (j, C)
                STORE(s, j, C, LOAD(xi, j, C) + (LOAD(di, j, C) + LOAD(bias, j, C)));
        else
            FOR_ROW (j, C)
                STORE(s, j, C, LOAD(xi, j, C) + LOAD(di, j, C));
        row_moments(s, C, &mean[i], &rstd[i]);
        row_normalise(at(out, i, C), s, mean[i], rstd[i], w, b, C);
    }
}

static void layernorm_again(float *out, const float *x, const float *mean, const float *rstd, const float *w,
                            const float *b, int rows, int C)
{
    for (int i = 0; i < rows; i++)
        row_normalise(at(out, i, C), cat(x, i, C), mean[i], rstd[i], w, b, C);
}

/* With xhat = (x - mean) rstd and g = dout w:  dx += rstd (g - mean(g) - xhat mean(g xhat)). */
static void layernorm_backward(float *dx, float *dw, float *db, const float *dout, const float *x, const float *mean,
                               const float *rstd, const float *w, int rows, int C)
{
    for (int i = 0; i < rows; i++) {
        const float *d = cat(dout, i, C), *xi = cat(x, i, C);
        float *dxi = at(dx, i, C);
        vf m = vset(mean[i]), r = vset(rstd[i]), sum = vset(0), dot = vset(0);
        FOR_ROW (j, C) {
            vf dj = LOAD(d, j, C), xhat = (LOAD(xi, j, C) - m) * r, g = dj * LOAD(w, j, C);
            sum += g;
            dot = vfma(g, xhat, dot);
            STORE(dw, j, C, vfma(dj, xhat, LOAD(dw, j, C)));
            if (db)
                STORE(db, j, C, LOAD(db, j, C) + dj);
        }
        vf mean_g = vset(vsum(sum) / (float)C), mean_gx = vset(vsum(dot) / (float)C);
        FOR_ROW (j, C) {
            vf xhat = (LOAD(xi, j, C) - m) * r, g = LOAD(d, j, C) * LOAD(w, j, C);
            STORE(dxi, j, C, vfma(r, g - mean_g - xhat * mean_gx, LOAD(dxi, j, C)));
        }
    }
}

/* ---- bias and GELU ---- */

static void add_bias(float *x, const float *b, int rows, int C)
{
    for (int i = 0; i < rows; i++) {
        float *xi = at(x, i, C);
        FOR_ROW (j, C)
            STORE(xi, j, C, LOAD(xi, j, C) + LOAD(b, j, C));
    }
}

/* Eight rows a pass, so that sum is read and written once for eight rows. */
static void column_sum(float *sum, const float *x, int rows, int C)
{
    int i = 0;
    for (; i + 8 <= rows; i += 8) {
        const float *p = cat(x, i, C);
        FOR_ROW (j, C) {
            vf s = LOAD(sum, j, C);
            for (int r = 0; r < 8; r++) {
                const float *q = p + (size_t)r * (size_t)C;
                s += LOAD(q, j, C);
            }
            STORE(sum, j, C, s);
        }
    }
    for (; i < rows; i++) {
        const float *p = cat(x, i, C);
        FOR_ROW (j, C)
            STORE(sum, j, C, LOAD(sum, j, C) + LOAD(p, j, C));
    }
}

/* 0.5 (1 + tanh u) = 1 / (1 + e^-2u), so gelu is v s with s that sigmoid: one exp, one division. */
static inline vf gelu_tanh(vf v, vf *derivative)
{
    const vf two_k = vset(2 * 0.7978845608f), cubic = vset(0.044715f), one = vset(1);
    vf vv = v * v;
    vf u2 = two_k * v * vfma(cubic, vv, one);
    vf s = one / (one + vexp(vset(0) - u2));
    *derivative = vfma(v * s * (one - s), two_k * vfma(vset(3 * 0.044715f), vv, one), s);
    return v * s;
}

/* v Phi(v) with erf from Abramowitz and Stegun 7.1.26, |error| <= 1.5e-7. */
static inline vf gelu_erf(vf v, vf *derivative)
{
    const vf one = vset(1);
    vf z = vabs(v) * vset(0.70710678f);
    vf t = one / vfma(vset(0.3275911f), z, one);
    vf p = vset(1.061405429f);
    p = vfma(p, t, vset(-1.453152027f));
    p = vfma(p, t, vset(1.421413741f));
    p = vfma(p, t, vset(-0.284496736f));
    p = vfma(p, t, vset(0.254829592f));
    vf gauss = vexp(vset(0) - z * z);
    vf erf = vsign(vfnma(p * t, gauss, one), v);
    vf phi = vset(0.5f) * (one + erf);
    *derivative = vfma(v * vset(0.39894228f), gauss, phi);
    return v * phi;
}

#define GELU_PAIR(form)                                                                                           \
    static void bias_##form(float *out, const float *x, const float *b, int rows, int C)                          \
    {                                                                                                             \
        for (int i = 0; i < rows; i++) {                                                                          \
            const float *xi = cat(x, i, C);                                                                       \
            float *o = at(out, i, C);                                                                             \
            FOR_ROW (j, C) {                                                                                      \
                vf unused, v = LOAD(xi, j, C);                                                                    \
                if (b)                                                                                            \
                    v += LOAD(b, j, C);                                                                           \
                STORE(o, j, C, form(v, &unused));                                                                 \
            }                                                                                                     \
        }                                                                                                         \
    }                                                                                                             \
    static void bias_##form##_backward(float *act, float *d, float *db, const float *x, const float *b, int rows, \
                                       int C)                                                                     \
    {                                                                                                             \
        for (int i = 0; i < rows; i++) {                                                                          \
            const float *xi = cat(x, i, C);                                                                       \
            float *a = at(act, i, C), *di = at(d, i, C);                                                          \
            FOR_ROW (j, C) {                                                                                      \
                vf slope, v = LOAD(xi, j, C);                                                                     \
                if (b)                                                                                            \
                    v += LOAD(b, j, C);                                                                           \
                STORE(a, j, C, form(v, &slope));                                                                  \
                vf g = LOAD(di, j, C) * slope;                                                                    \
                STORE(di, j, C, g);                                                                               \
                if (db)                                                                                           \
                    STORE(db, j, C, LOAD(db, j, C) + g);                                                          \
            }                                                                                                     \
        }                                                                                                         \
    }

GELU_PAIR(gelu_tanh)
GELU_PAIR(gelu_erf)

/* ---- attention ---- */

static inline int visible(int first, int row, int cols)
{
    int n = first + row + 1;
    return n < cols ? n : cols;
}

static inline void zero_from(float *row, int n, int cols)
{
    for (int j = n; j < cols; j++)
        row[j] = 0;
}

static inline float row_max(const float *x, int n)
{
    vf m = vset(-INFINITY);
    int j = 0;
    for (; j + W <= n; j += W)
        m = vmax(m, vload(x + j));
    float best = vmax_across(m);
    for (; j < n; j++)
        best = x[j] > best ? x[j] : best;
    return best;
}

static void softmax_causal(float *s, float *lse, int rows, int cols, int ld, int first, float scale)
{
    for (int i = 0; i < rows; i++) {
        float *row = at(s, i, ld);
        int n = visible(first, i, cols);
        float top = row_max(row, n) * scale;
        vf k = vset(scale), m = vset(top), sum = vset(0);
        FOR_ROW (j, n) {
            vf p = vexp(vfma(LOAD(row, j, n), k, vset(0) - m));
            if (n - j < W)
                p = vkeep(p, n - j);
            sum += p;
            STORE(row, j, n, p);
        }
        float total = vsum(sum);
        vf inverse = vset(1 / total);
        FOR_ROW (j, n)
            STORE(row, j, n, LOAD(row, j, n) * inverse);
        zero_from(row, n, cols);
        lse[i] = top + logf(total);
    }
}

static void softmax_causal_again(float *s, const float *lse, int rows, int cols, int ld, int first, float scale)
{
    for (int i = 0; i < rows; i++) {
        float *row = at(s, i, ld);
        int n = visible(first, i, cols);
        vf k = vset(scale), l = vset(-lse[i]);
        FOR_ROW (j, n)
            STORE(row, j, n, vexp(vfma(LOAD(row, j, n), k, l)));
        zero_from(row, n, cols);
    }
}

static void softmax_causal_backward(float *dp, const float *p, const float *delta, int rows, int cols, int ld,
                                    int first, float scale)
{
    for (int i = 0; i < rows; i++) {
        float *row = at(dp, i, ld);
        const float *pi = cat(p, i, ld);
        int n = visible(first, i, cols);
        vf k = vset(scale), d = vset(delta[i]);
        FOR_ROW (j, n)
            STORE(row, j, n, k * LOAD(pi, j, n) * (LOAD(row, j, n) - d));
        zero_from(row, n, cols);
    }
}

static void row_dot(float *out, const float *a, int lda, const float *b, int ldb, int rows, int n)
{
    for (int i = 0; i < rows; i++) {
        const float *x = cat(a, i, lda), *y = cat(b, i, ldb);
        vf sum = vset(0);
        FOR_ROW (j, n)
            sum = vfma(LOAD(x, j, n), LOAD(y, j, n), sum);
        out[i] = vsum(sum);
    }
}

/* ---- head ---- */

static double softmax_cross_entropy(float *logits, const int32_t *targets, int rows, int V, float grad_scale, bool grad)
{
    double loss = 0;
    for (int i = 0; i < rows; i++) {
        float *row = at(logits, i, V);
        float top = row_max(row, V), at_target = row[targets[i]];
        vf m = vset(top), sum = vset(0);
        FOR_ROW (j, V) {
            vf p = vexp(LOAD(row, j, V) - m);
            if (V - j < W)
                p = vkeep(p, V - j);
            sum += p;
            if (grad)
                STORE(row, j, V, p);
        }
        float total = vsum(sum);
        loss += (double)top - (double)at_target + (double)logf(total);
        if (!grad)
            continue;
        vf f = vset(grad_scale / total);
        FOR_ROW (j, V)
            STORE(row, j, V, LOAD(row, j, V) * f);
        row[targets[i]] -= grad_scale;
    }
    return loss;
}

/* ---- embedding, optimizer ---- */

static void embed(float *x, const float *wte, const float *wpe, const int32_t *tokens, int rows, int row0, int T, int C)
{
    for (int i = 0; i < rows; i++) {
        const float *t = cat(wte, tokens[i], C), *p = cat(wpe, (row0 + i) % T, C);
        float *o = at(x, i, C);
        FOR_ROW (j, C)
            STORE(o, j, C, LOAD(t, j, C) + LOAD(p, j, C));
    }
}

/* Long arrays: whole vectors, then the tail, with size_t indices. */
#define FOR_ARRAY(j, n) for (size_t j = 0; j < (n); j += W)
#define LOADZ(p, j, n) ((n) - (j) >= W ? vload((p) + (j)) : vload_n((p) + (j), (int)((n) - (j))))
#define STOREZ(p, j, n, x) ((n) - (j) >= W ? vstore((p) + (j), (x)) : vstore_n((p) + (j), (x), (int)((n) - (j))))

static void add(float *y, const float *x, size_t n)
{
    FOR_ARRAY(j, n)
    STOREZ(y, j, n, LOADZ(y, j, n) + LOADZ(x, j, n));
}

static void adamw(float *p, const float *g, float *m, float *v, size_t n, const struct adamw *h)
{
    vf b1 = vset(h->beta1), c1 = vset(1 - h->beta1), b2 = vset(h->beta2), c2 = vset(1 - h->beta2);
    vf shrink = vset(h->shrink), step = vset(h->step), correct = vset(h->inv_sqrt_correction2), eps = vset(h->eps);
    FOR_ARRAY(j, n)
    {
        vf gj = LOADZ(g, j, n);
        vf mj = b1 * LOADZ(m, j, n) + c1 * gj;
        vf vj = b2 * LOADZ(v, j, n) + c2 * gj * gj;
        STOREZ(m, j, n, mj);
        STOREZ(v, j, n, vj);
        STOREZ(p, j, n, LOADZ(p, j, n) * shrink - step * mj / (vsqrt(vj) * correct + eps));
    }
}

static void sgd(float *p, const float *g, size_t n, float lr, float shrink)
{
    vf s = vset(shrink), l = vset(lr);
    FOR_ARRAY(j, n)
    STOREZ(p, j, n, LOADZ(p, j, n) * s - l * LOADZ(g, j, n));
}

static double sum_squares(const float *x, size_t n)
{
    enum { DOUBLES = W / 2, VECTORS = SQUARE_LANES / DOUBLES };
    vd sum[VECTORS];
    double lane[SQUARE_LANES], total = 0;
    size_t j = 0;
    for (int k = 0; k < VECTORS; k++)
        sum[k] = vdzero();
    for (; n - j >= SQUARE_LANES; j += SQUARE_LANES)
        for (int k = 0; k < VECTORS; k++) {
            vd a = vdload(x + j + k * DOUBLES);
            sum[k] += a * a;
        }
    for (int k = 0; k < VECTORS; k++)
        vdstore(lane + k * DOUBLES, sum[k]);
    for (; j < n; j++)
        lane[j % SQUARE_LANES] += (double)x[j] * x[j];
    for (int k = 0; k < SQUARE_LANES; k++)
        total += lane[k];
    return total;
}

static void scale(float *x, size_t n, float factor)
{
    vf f = vset(factor);
    FOR_ARRAY(j, n)
    STOREZ(x, j, n, LOADZ(x, j, n) * f);
}

#define KERNELS_TABLE(set_name)                                                                             \
    {                                                                                                       \
        .name = set_name, .layernorm = layernorm, .residual_layernorm = residual_layernorm,                 \
        .layernorm_again = layernorm_again, .layernorm_backward = layernorm_backward, .add_bias = add_bias, \
        .column_sum = column_sum, .bias_gelu_tanh = bias_gelu_tanh,                                         \
        .bias_gelu_tanh_backward = bias_gelu_tanh_backward, .bias_gelu_erf = bias_gelu_erf,                 \
        .bias_gelu_erf_backward = bias_gelu_erf_backward, .softmax_causal = softmax_causal,                 \
        .softmax_causal_again = softmax_causal_again, .softmax_causal_backward = softmax_causal_backward,   \
        .row_dot = row_dot, .softmax_cross_entropy = softmax_cross_entropy, .embed = embed, .add = add,     \
        .adamw = adamw, .sgd = sgd, .sum_squares = sum_squares, .scale = scale,                             \
    }
