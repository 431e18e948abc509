/*
 * model/kernels_reference.c - the definition of every kernel in plain C: what the vector sets are tested
 * against, and what runs on CPUs that have neither AVX2 nor AVX-512. Sums of a row are kept in double.
 */
#include <math.h>

#include "model/kernels.h"

static size_t cell(int row, int stride, int column)
{
    return (size_t)row * (size_t)stride + (size_t)column;
}

static void layernorm_again(float *out, const float *x, const float *mean, const float *rstd, const float *w,
                            const float *b, int rows, int C)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < C; j++)
            out[cell(i, C, j)] = (x[cell(i, C, j)] - mean[i]) * rstd[i] * w[j] + (b ? b[j] : 0);
}

static void layernorm(float *out, float *mean, float *rstd, const float *x, const float *w, const float *b, int rows,
                      int C)
{
    for (int i = 0; i < rows; i++) {
        double sum = 0, square = 0;
        for (int j = 0; j < C; j++)
            sum += x[cell(i, C, j)];
        double m = sum / C;
        for (int j = 0; j < C; j++)
            square += (x[cell(i, C, j)] - m) * (x[cell(i, C, j)] - m);
        mean[i] = (float)m;
        rstd[i] = (float)(1 / sqrt(square / C + 1e-5));
    }
    layernorm_again(out, x, mean, rstd, w, b, rows, C);
}

static void residual_layernorm(float *sum, float *out, float *mean, float *rstd, const float *x, const float *delta,
                               const float *bias, const float *w, const float *b, int rows, int C)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < C; j++)
            sum[cell(i, C, j)] = x[cell(i, C, j)] + (delta[cell(i, C, j)] + (bias ? bias[j] : 0));
    layernorm(out, mean, rstd, sum, w, b, rows, C);
}

static void layernorm_backward(float *dx, float *dw, float *db, const float *dout, const float *x, const float *mean,
                               const float *rstd, const float *w, int rows, int C)
{
    for (int i = 0; i < rows; i++) {
        double sum = 0, dot = 0;
        for (int j = 0; j < C; j++) {
            float d = dout[cell(i, C, j)], xhat = (x[cell(i, C, j)] - mean[i]) * rstd[i];
            sum += (double)d * w[j];
            dot += (double)d * w[j] * xhat;
            dw[j] += d * xhat;
            if (db)
                db[j] += d;
        }
        for (int j = 0; j < C; j++) {
            double xhat = (x[cell(i, C, j)] - mean[i]) * rstd[i];
            dx[cell(i, C, j)] += (float)(rstd[i] * ((double)dout[cell(i, C, j)] * w[j] - sum / C - xhat * dot / C));
        }
    }
}

static void add_bias(float *x, const float *b, int rows, int C)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < C; j++)
            x[cell(i, C, j)] += b[j];
}

static void column_sum(float *sum, const float *x, int rows, int C)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < C; j++)
            sum[j] += x[cell(i, C, j)];
}

static float gelu_tanh(float v, float *slope)
{
    const float k = 0.7978845608f;
    float t = tanhf(k * (v + 0.044715f * v * v * v));
    *slope = 0.5f * (1 + t) + 0.5f * v * (1 - t * t) * k * (1 + 3 * 0.044715f * v * v);
    return 0.5f * v * (1 + t);
}

static float gelu_erf(float v, float *slope)
{
    float phi = 0.5f * (1 + erff(v * 0.70710678f));
    *slope = phi + v * 0.39894228f * expf(-0.5f * v * v);
    return v * phi;
}

static void bias_gelu(float (*form)(float, float *), float *out, const float *x, const float *b, int rows, int C)
{
    float unused;
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < C; j++)
            out[cell(i, C, j)] = form(x[cell(i, C, j)] + (b ? b[j] : 0), &unused);
}

static void bias_gelu_backward(float (*form)(float, float *), float *act, float *d, float *db, const float *x,
                               const float *b, int rows, int C)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < C; j++) {
            float slope;
            act[cell(i, C, j)] = form(x[cell(i, C, j)] + (b ? b[j] : 0), &slope);
            d[cell(i, C, j)] *= slope;
            if (db)
                db[j] += d[cell(i, C, j)];
        }
}

static void bias_gelu_tanh(float *out, const float *x, const float *b, int rows, int C)
{
    bias_gelu(gelu_tanh, out, x, b, rows, C);
}

static void bias_gelu_erf(float *out, const float *x, const float *b, int rows, int C)
{
    bias_gelu(gelu_erf, out, x, b, rows, C);
}

static void bias_gelu_tanh_backward(float *act, float *d, float *db, const float *x, const float *b, int rows, int C)
{
    bias_gelu_backward(gelu_tanh, act, d, db, x, b, rows, C);
}

static void bias_gelu_erf_backward(float *act, float *d, float *db, const float *x, const float *b, int rows, int C)
{
    bias_gelu_backward(gelu_erf, act, d, db, x, b, rows, C);
}

static void softmax_causal(float *s, float *lse, int rows, int cols, int ld, int first, float scale)
{
    for (int i = 0; i < rows; i++) {
        float *row = s + cell(i, ld, 0), top = -INFINITY;
        int n = first + i + 1 < cols ? first + i + 1 : cols;
        for (int j = 0; j < n; j++)
            top = fmaxf(top, row[j] * scale);
        double sum = 0;
        for (int j = 0; j < n; j++)
            sum += row[j] = expf(row[j] * scale - top);
        for (int j = 0; j < cols; j++)
            row[j] = j < n ? (float)(row[j] / sum) : 0;
        lse[i] = top + logf((float)sum);
    }
}

static void softmax_causal_again(float *s, const float *lse, int rows, int cols, int ld, int first, float scale)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++)
            s[cell(i, ld, j)] = j <= first + i ? expf(s[cell(i, ld, j)] * scale - lse[i]) : 0;
}

static void softmax_causal_backward(float *dp, const float *p, const float *delta, int rows, int cols, int ld,
                                    int first, float scale)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++)
            dp[cell(i, ld, j)] = j <= first + i ? scale * p[cell(i, ld, j)] * (dp[cell(i, ld, j)] - delta[i]) : 0;
}

static void row_dot(float *out, const float *a, int lda, const float *b, int ldb, int rows, int n)
{
    for (int i = 0; i < rows; i++) {
        double sum = 0;
        for (int j = 0; j < n; j++)
            sum += (double)a[cell(i, lda, j)] * b[cell(i, ldb, j)];
        out[i] = (float)sum;
    }
}

static double softmax_cross_entropy(float *logits, const int32_t *targets, int rows, int V, float grad_scale, bool grad)
{
    double loss = 0;
    for (int i = 0; i < rows; i++) {
        float *row = logits + cell(i, V, 0), top = -INFINITY;
        for (int j = 0; j < V; j++)
            top = fmaxf(top, row[j]);
        double sum = 0;
        for (int j = 0; j < V; j++)
            sum += exp((double)row[j] - top);
        loss += top - row[targets[i]] + log(sum);
        for (int j = 0; grad && j < V; j++)
            row[j] = (float)(grad_scale * (exp((double)row[j] - top) / sum - (j == targets[i])));
    }
    return loss;
}

static void embed(float *x, const float *wte, const float *wpe, const int32_t *tokens, int rows, int row0, int T, int C)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < C; j++)
            x[cell(i, C, j)] = wte[cell(tokens[i], C, j)] + wpe[cell((row0 + i) % T, C, j)];
}

static void add(float *y, const float *x, size_t n)
{
    for (size_t j = 0; j < n; j++)
        y[j] += x[j];
}

static void adamw(float *p, const float *g, float *m, float *v, size_t n, const struct adamw *h)
{
    for (size_t j = 0; j < n; j++) {
        m[j] = h->beta1 * m[j] + (1 - h->beta1) * g[j];
        v[j] = h->beta2 * v[j] + (1 - h->beta2) * g[j] * g[j];
        p[j] = p[j] * h->shrink - h->step * m[j] / (sqrtf(v[j]) * h->inv_sqrt_correction2 + h->eps);
    }
}

static void sgd(float *p, const float *g, size_t n, float lr, float shrink)
{
    for (size_t j = 0; j < n; j++)
        p[j] = p[j] * shrink - lr * g[j];
}

static double sum_squares(const float *x, size_t n)
{
    double lane[SQUARE_LANES] = {0}, total = 0;
    for (size_t j = 0; j < n; j++)
        lane[j % SQUARE_LANES] += (double)x[j] * x[j];
    for (int k = 0; k < SQUARE_LANES; k++)
        total += lane[k];
    return total;
}

static void scale(float *x, size_t n, float factor)
{
    for (size_t j = 0; j < n; j++)
        x[j] *= factor;
}

const struct kernels kernels_reference = {
    .name = "reference",
    .layernorm = layernorm,
    .residual_layernorm = residual_layernorm,
    .layernorm_again = layernorm_again,
    .layernorm_backward = layernorm_backward,
    .add_bias = add_bias,
    .column_sum = column_sum,
    .bias_gelu_tanh = bias_gelu_tanh,
    .bias_gelu_tanh_backward = bias_gelu_tanh_backward,
    .bias_gelu_erf = bias_gelu_erf,
    .bias_gelu_erf_backward = bias_gelu_erf_backward,
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
