/*
 * tests/check_operations.c - every operation against its formula in double, every gradient against finite differences.
 *
 * Each operation is written here once more, as the literature has it, in double and without care for speed. Outputs
 * must agree to 1e-5 of the largest element. For gradients, a random weight per output element makes a scalar
 * (the sum of weight x output); its central differences with h = 1e-5 are right to about 1e-9, and the kernel's
 * gradient must agree with them to 1e-5 of the largest as well.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kit.h"

enum { ROWS = 3, WIDTHS = 4 };

static const int width[WIDTHS] = {2, 9, 16, 37};
static const double tolerance = 1e-5, h = 1e-5;

static const struct kernels *set[KIT_SETS_MAX];

static const struct kernels *subject(int i)
{
    kit_subject = set[i]->name;
    return set[i];
}

/* A scalar function of everything an operation reads. */
typedef double scalar(const void *operation);

/* d f / d x[i] for each element; x is part of the operation. */
static double *differences(scalar *f, const void *operation, double *x, size_t n)
{
    double *slope = kit_doubles(NULL, n);
    for (size_t i = 0; i < n; i++) {
        double keep = x[i];
        x[i] = keep + h;
        double up = f(operation);
        x[i] = keep - h;
        slope[i] = (up - f(operation)) / (2 * h);
        x[i] = keep;
    }
    return slope;
}

/* Ba, Kiros, Hinton 2016: (x - mean) / sqrt(variance + 1e-5) w + b. */
struct norm {
    int C;
    double *x, *w, *b, *out, *weight;
};

static double norm_loss(const void *operation)
{
    const struct norm *o = operation;
    double loss = 0;
    for (int i = 0; i < ROWS; i++) {
        const double *x = o->x + i * o->C;
        double mean = 0, variance = 0;
        for (int j = 0; j < o->C; j++)
            mean += x[j] / o->C;
        for (int j = 0; j < o->C; j++)
            variance += (x[j] - mean) * (x[j] - mean) / o->C;
        for (int j = 0; j < o->C; j++) {
            o->out[i * o->C + j] = (x[j] - mean) / sqrt(variance + 1e-5) * o->w[j] + o->b[j];
            loss += o->out[i * o->C + j] * o->weight[i * o->C + j];
        }
    }
    return loss;
}

START_TEST(layer_norm)
{
    const struct kernels *k = subject(_i);
    for (int i = 0; i < WIDTHS; i++) {
        size_t C = (size_t)width[i], n = ROWS * C;
        float *x = kit_normal(n, 2, 1), *w = kit_normal(C, 1, 2), *b = kit_normal(C, 1, 3),
              *weight = kit_normal(n, 1, 4);
        float *out = kit_floats(n), *mean = kit_floats(ROWS), *rstd = kit_floats(ROWS);
        float *dx = kit_floats(n), *dw = kit_floats(C), *db = kit_floats(C);
        struct norm o = {width[i],          kit_doubles(x, n),    kit_doubles(w, C),
                         kit_doubles(b, C), kit_doubles(NULL, n), kit_doubles(weight, n)};
        k->layernorm(out, mean, rstd, x, w, b, ROWS, width[i]);
        norm_loss(&o);
        kit_close_double("layer norm", out, o.out, n, tolerance);
        k->layernorm_backward(dx, dw, db, weight, x, mean, rstd, w, ROWS, width[i]);
        kit_close_double("its dw", dw, differences(norm_loss, &o, o.w, C), C, tolerance);
        kit_close_double("its db", db, differences(norm_loss, &o, o.b, C), C, tolerance);
        /* of two values the norm keeps only the sign: dx is 0 but for the 1e-5 under the root */
        if (C > 2)
            kit_close_double("its dx", dx, differences(norm_loss, &o, o.x, n), n, tolerance);
        kit_release();
    }
}
END_TEST

/* Hendrycks, Gimpel 2016: x Phi(x), and the tanh form that GPT-2 uses. */
struct gelu {
    int C;
    bool erf;
    double *x, *b, *out, *weight;
};

static double gelu_loss(const void *operation)
{
    const struct gelu *o = operation;
    double loss = 0;
    for (int i = 0; i < ROWS * o->C; i++) {
        double v = o->x[i] + o->b[i % o->C];
        o->out[i] =
            o->erf ? 0.5 * v * erfc(-v / sqrt(2)) : 0.5 * v * (1 + tanh(sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
        loss += o->out[i] * o->weight[i];
    }
    return loss;
}

START_TEST(gelu)
{
    const struct kernels *k = subject(_i);
    for (int i = 0; i < 2 * WIDTHS; i++) {
        int cols = width[i / 2];
        size_t C = (size_t)cols, n = ROWS * C;
        float *x = kit_normal(n, 2, 1), *b = kit_normal(C, 1, 2), *weight = kit_normal(n, 1, 3), *out = kit_floats(n);
        float *act = kit_floats(n), *d = kit_copy(weight, n), *db = kit_floats(C);
        struct gelu o = {
            cols, i % 2, kit_doubles(x, n), kit_doubles(b, C), kit_doubles(NULL, n), kit_doubles(weight, n)};
        gelu_loss(&o);
        (o.erf ? k->bias_gelu_erf : k->bias_gelu_tanh)(out, x, b, ROWS, cols);
        kit_close_double("gelu", out, o.out, n, tolerance);
        (o.erf ? k->bias_gelu_erf_backward : k->bias_gelu_tanh_backward)(act, d, db, x, b, ROWS, cols);
        kit_close_double("gelu again", act, o.out, n, tolerance);
        kit_close_double("its dx", d, differences(gelu_loss, &o, o.x, n), n, tolerance);
        kit_close_double("its db", db, differences(gelu_loss, &o, o.b, C), C, tolerance);
        kit_release();
    }
}
END_TEST

/* Vaswani et al. 2017: softmax of scaled scores; a query sees itself and what came before. */
struct attention {
    int cols, first;
    double scale, *s, *p, *lse, *weight;
};

static double attention_loss(const void *operation)
{
    const struct attention *o = operation;
    double loss = 0;
    for (int i = 0; i < ROWS; i++) {
        double sum = 0;
        for (int j = 0; j < o->cols; j++)
            sum += j <= o->first + i ? exp(o->scale * o->s[i * o->cols + j]) : 0;
        o->lse[i] = log(sum);
        for (int j = 0; j < o->cols; j++) {
            double p = j <= o->first + i ? exp(o->scale * o->s[i * o->cols + j]) / sum : 0;
            o->p[i * o->cols + j] = p;
            loss += p * o->weight[i * o->cols + j];
        }
    }
    return loss;
}

START_TEST(causal_attention_softmax)
{
    const struct kernels *k = subject(_i);
    for (int i = 0; i < 2 * WIDTHS; i++) {
        int cols = width[i / 2], first = i % 2 ? cols / 2 : 0;
        size_t n = ROWS * (size_t)cols;
        float *s = kit_normal(n, 3, 1), *p = kit_copy(s, n), *again = kit_copy(s, n), *dp = kit_normal(n, 1, 2);
        float *lse = kit_floats(ROWS), *delta = kit_floats(ROWS);
        struct attention o = {
            cols, first, 0.5, kit_doubles(s, n), kit_doubles(NULL, n), kit_doubles(NULL, ROWS), kit_doubles(dp, n)};
        attention_loss(&o);
        k->softmax_causal(p, lse, ROWS, cols, cols, first, 0.5f);
        kit_close_double("probabilities", p, o.p, n, tolerance);
        kit_close_double("log-sum-exp", lse, o.lse, ROWS, tolerance);
        k->softmax_causal_again(again, lse, ROWS, cols, cols, first, 0.5f);
        kit_close_double("probabilities again", again, o.p, n, tolerance);
        /* delta = sum_j p dp is what row_dot is for (Dao et al. 2022, where it is taken from the output instead) */
        k->row_dot(delta, p, cols, dp, cols, ROWS, cols);
        k->softmax_causal_backward(dp, p, delta, ROWS, cols, cols, first, 0.5f);
        kit_close_double("gradient of the scores", dp, differences(attention_loss, &o, o.s, n), n, tolerance);
        kit_release();
    }
}
END_TEST

struct head {
    int V;
    const int32_t *target;
    double *logits;
};

static double head_loss(const void *operation)
{
    const struct head *o = operation;
    double loss = 0;
    for (int i = 0; i < ROWS; i++) {
        double sum = 0;
        for (int j = 0; j < o->V; j++)
            sum += exp(o->logits[i * o->V + j]);
        loss += log(sum) - o->logits[i * o->V + o->target[i]];
    }
    return loss;
}

START_TEST(cross_entropy)
{
    const struct kernels *k = subject(_i);
    for (int i = 0; i < WIDTHS; i++) {
        int V = width[i];
        size_t n = ROWS * (size_t)V;
        int32_t target[ROWS] = {V - 1, 0, V / 2};
        float *logits = kit_normal(n, 2, 1);
        struct head o = {V, target, kit_doubles(logits, n)};
        double loss = k->softmax_cross_entropy(logits, target, ROWS, V, 1, true);
        ck_assert_double_eq_tol(loss, head_loss(&o), tolerance);
        kit_close_double("gradient of the logits", logits, differences(head_loss, &o, o.logits, n), n, tolerance);
        kit_release();
    }
}
END_TEST

/* Kingma, Ba 2015 with the decoupled decay of Loshchilov, Hutter 2019, over five updates; the last element never
 * has a gradient and only decays. */
START_TEST(adamw)
{
    const struct kernels *k = subject(_i);
    enum { N = 19 };
    const double lr = 0.01, beta1 = 0.9, beta2 = 0.95, eps = 1e-8, decay = 0.1;
    float *p = kit_normal(N, 1, 1), *m = kit_floats(N), *v = kit_floats(N);
    double *q = kit_doubles(p, N), *qm = kit_doubles(NULL, N), *qv = kit_doubles(NULL, N), still = (double)p[N - 1];
    for (int t = 1; t <= 5; t++) {
        float *g = kit_normal(N, 0.1, (uint64_t)(10 + t));
        g[N - 1] = 0;
        struct adamw a = {.lr = (float)lr, .beta1 = (float)beta1, .beta2 = (float)beta2, .eps = (float)eps};
        a.shrink = (float)(1 - lr * decay);
        a.step = (float)(lr / (1 - pow(beta1, t)));
        a.inv_sqrt_correction2 = (float)(1 / sqrt(1 - pow(beta2, t)));
        k->adamw(p, g, m, v, N, &a);
        for (int i = 0; i < N; i++) {
            qm[i] = beta1 * qm[i] + (1 - beta1) * (double)g[i];
            qv[i] = beta2 * qv[i] + (1 - beta2) * (double)g[i] * (double)g[i];
            double mhat = qm[i] / (1 - pow(beta1, t)), vhat = qv[i] / (1 - pow(beta2, t));
            q[i] -= lr * decay * q[i];
            q[i] -= lr * mhat / (sqrt(vhat) + eps);
        }
        kit_close_double("parameters", p, q, N, 1e-6);
        kit_close_double("first moment", m, qm, N, 1e-6);
        kit_close_double("second moment", v, qv, N, 1e-6);
        ck_assert_double_eq_tol((double)p[N - 1], still * pow(1 - lr * decay, t), 1e-6 * fabs(still));
    }
    kit_release();
}
END_TEST

/* Values that floats hold exactly, so the sums are exact in any order. */
START_TEST(exact_sums)
{
    const struct kernels *k = subject(_i);
    enum { N = 37 };
    float *x = kit_floats(2 * N), *sum = kit_floats(N), *b = kit_floats(N), dot[2];
    for (int j = 0; j < 2 * N; j++)
        x[j] = (float)(j + 1);
    for (int j = 0; j < N; j++)
        b[j] = (float)(1000 * j);
    /* 1 + 4 + ... + 74^2 = 74 x 75 x 149 / 6 */
    ck_assert_double_eq(k->sum_squares(x, 2 * N), 137825);
    k->column_sum(sum, x, 2, N);
    for (int j = 0; j < N; j++)
        ck_assert_float_eq(sum[j], (float)(2 * (j + 1) + N));
    /* the same rows as a and b: row 0 gives 37 x 38 x 75 / 6, row 1 the rest of the sum of squares */
    k->row_dot(dot, x, N, x, N, 2, N);
    ck_assert_float_eq(dot[0], 17575);
    ck_assert_float_eq(dot[1], 137825 - 17575);
    k->add_bias(x, b, 2, N);
    for (int j = 0; j < 2 * N; j++)
        ck_assert_float_eq(x[j], (float)(j + 1 + 1000 * (j % N)));
    k->sgd(b, x, N, 0.5f, 1);
    for (int j = 0; j < N; j++)
        ck_assert_float_eq(b[j], (float)(1000 * j) - 0.5f * (float)(j + 1 + 1000 * j));
    kit_release();
}
END_TEST

int main(void)
{
    const TTest *tests[] = {layer_norm, gelu, causal_attention_softmax, cross_entropy, adamw, exact_sums};
    Suite *suite = suite_create("operations");
    TCase *tc = tcase_create("each set");
    int sets = kit_sets(set);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_loop_test(tc, tests[i], 0, sets);
    suite_add_tcase(suite, tc);
    return kit_main(suite);
}
