/*
 * tests/check_kernels.c - every vector kernel against the plain C reference.
 *
 * The reference adds in double, so it is the right value up to the rounding of its result; that it computes
 * the right thing is shown by check_operations. Sizes leave every remainder of 8 and 16 lanes; arrays are
 * unaligned and guarded (tests/kit.h). Tolerances are relative to the largest element of the output: 2e-6
 * (about 16 units in the last place) for element-wise work, 1e-5 where a row is summed in float.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "tests/kit.h"

enum { ROWS = 5, WIDTHS = 12 };

static const int width[WIDTHS] = {1, 3, 7, 15, 16, 17, 31, 33, 65, 100, 384, 768};
static const double element = 2e-6, row_sum = 1e-5;

static const struct kernels *set[KIT_SETS_MAX]; /* set[0] is the reference */

static const struct kernels *subject(int i)
{
    kit_subject = set[i]->name;
    return set[i];
}

/* Two arrays with the same values: one for the reference, one for the set under test. */
struct twin {
    float *want, *got;
    size_t n;
};

static struct twin twin(size_t n, double deviation, uint64_t seed)
{
    float *x = kit_normal(n, deviation, seed);
    return (struct twin){x, kit_copy(x, n), n};
}

static void same(const char *what, struct twin t, double tolerance)
{
    kit_close(what, t.got, t.want, t.n, tolerance);
}

START_TEST(layernorm_forward_and_again)
{
    const struct kernels *k = subject(_i);
    for (int i = 0; i < WIDTHS; i++) {
        int C = width[i];
        size_t n = (size_t)ROWS * (size_t)C;
        float *x = kit_normal(n, 3, 1), *w = kit_normal((size_t)C, 1, 2), *b = kit_normal((size_t)C, 1, 3);
        for (int biased = 0; biased < 2; biased++) {
            struct twin out = twin(n, 1, 4), mean = twin(ROWS, 1, 5), rstd = twin(ROWS, 1, 6), again = twin(n, 1, 7);
            set[0]->layernorm(out.want, mean.want, rstd.want, x, w, biased ? b : NULL, ROWS, C);
            k->layernorm(out.got, mean.got, rstd.got, x, w, biased ? b : NULL, ROWS, C);
            same("layernorm out", out, row_sum);
            same("layernorm mean", mean, row_sum);
            same("layernorm rstd", rstd, row_sum);
            k->layernorm_again(again.got, x, mean.got, rstd.got, w, biased ? b : NULL, ROWS, C);
            kit_close("layernorm_again", again.got, out.want, n, row_sum);
        }
        kit_release();
    }
}
END_TEST

/* sum may be a new array, x or delta. */
START_TEST(residual_layernorm_in_each_place)
{
    const struct kernels *k = subject(_i);
    for (int i = 0; i < WIDTHS; i++)
        for (int place = 0; place < 6; place++) {
            int C = width[i];
            size_t n = (size_t)ROWS * (size_t)C;
            struct twin x = twin(n, 2, 1), delta = twin(n, 1, 2), out = twin(n, 1, 3), fresh = twin(n, 1, 4);
            struct twin mean = twin(ROWS, 1, 5), rstd = twin(ROWS, 1, 6);
            float *w = kit_normal((size_t)C, 1, 7), *b = kit_normal((size_t)C, 1, 8),
                  *bias = kit_normal((size_t)C, 1, 9);
            struct twin sum = place % 3 == 0 ? fresh : place % 3 == 1 ? x : delta;
            if (place >= 3)
                b = bias = NULL;
            set[0]->residual_layernorm(sum.want, out.want, mean.want, rstd.want, x.want, delta.want, bias, w, b, ROWS,
                                       C);
            k->residual_layernorm(sum.got, out.got, mean.got, rstd.got, x.got, delta.got, bias, w, b, ROWS, C);
            same("residual", sum, element);
            same("layernorm of residual", out, row_sum);
            same("mean of residual", mean, row_sum);
            same("rstd of residual", rstd, row_sum);
            kit_release();
        }
}
END_TEST

START_TEST(layernorm_backward_adds)
{
    const struct kernels *k = subject(_i);
    for (int i = 0; i < WIDTHS; i++)
        for (int biased = 0; biased < 2; biased++) {
            int C = width[i];
            size_t n = (size_t)ROWS * (size_t)C;
            float *x = kit_normal(n, 1, 1), *w = kit_normal((size_t)C, 1, 2), *dout = kit_normal(n, 1, 3);
            float *out = kit_floats(n), *mean = kit_floats(ROWS), *rstd = kit_floats(ROWS);
            struct twin dx = twin(n, 1, 4), dw = twin((size_t)C, 1, 5), db = twin((size_t)C, 1, 6);
            set[0]->layernorm(out, mean, rstd, x, w, NULL, ROWS, C);
            set[0]->layernorm_backward(dx.want, dw.want, biased ? db.want : NULL, dout, x, mean, rstd, w, ROWS, C);
            k->layernorm_backward(dx.got, dw.got, biased ? db.got : NULL, dout, x, mean, rstd, w, ROWS, C);
            same("layernorm_backward dx", dx, row_sum);
            same("layernorm_backward dw", dw, row_sum);
            same("layernorm_backward db", db, row_sum);
            kit_release();
        }
}
END_TEST

/* 1, 5, 8, 9 and 19 rows: fewer than, as many as and more than a pass of several rows takes. */
START_TEST(bias_and_column_sum)
{
    static const int rows[] = {1, 5, 8, 9, 19};
    const struct kernels *k = subject(_i);
    for (int i = 0; i < WIDTHS; i++)
        for (int r = 0; r < 5; r++) {
            size_t C = (size_t)width[i], n = (size_t)rows[r] * C;
            struct twin x = twin(n, 1, 1), sum = twin(C, 1, 2);
            float *b = kit_normal(C, 1, 3);
            set[0]->add_bias(x.want, b, rows[r], width[i]);
            k->add_bias(x.got, b, rows[r], width[i]);
            same("add_bias", x, element);
            set[0]->column_sum(sum.want, x.want, rows[r], width[i]);
            k->column_sum(sum.got, x.want, rows[r], width[i]);
            same("column_sum", sum, row_sum);
            kit_release();
        }
}
END_TEST

static void compare_gelu(const struct kernels *k, int erf, float *x, float *b, int rows, int C, double scale)
{
    size_t n = (size_t)rows * (size_t)C;
    struct twin out = twin(n, 1, 2), act = twin(n, 1, 3), d = twin(n, scale, 4), db = twin((size_t)C, 1, 5);
    (erf ? set[0]->bias_gelu_erf : set[0]->bias_gelu_tanh)(out.want, x, b, rows, C);
    (erf ? k->bias_gelu_erf : k->bias_gelu_tanh)(out.got, x, b, rows, C);
    same("gelu", out, element);
    (erf ? set[0]->bias_gelu_erf_backward : set[0]->bias_gelu_tanh_backward)(act.want, d.want, db.want, x, b, rows, C);
    (erf ? k->bias_gelu_erf_backward : k->bias_gelu_tanh_backward)(act.got, d.got, db.got, x, b, rows, C);
    same("gelu again", act, element);
    kit_close("gelu again", act.got, out.want, n, element);
    same("gelu d", d, element);
    same("gelu db", db, row_sum);
}

START_TEST(gelu_both_forms)
{
    for (int i = 0; i < WIDTHS; i++)
        for (int variant = 0; variant < 4; variant++) {
            int C = width[i];
            float *x = kit_normal((size_t)ROWS * (size_t)C, 2, 1), *b = kit_normal((size_t)C, 1, 9);
            compare_gelu(subject(_i), variant & 1, x, variant & 2 ? b : NULL, ROWS, C, 1);
            kit_release();
        }
}
END_TEST

/* The same at the ends of the range: gelu is x far to the right and 0 far to the left, and nothing is NaN on
 * the way; each value is alone in its array, so the tolerance is relative to itself, or 1e-30 near 0. */
START_TEST(gelu_limits)
{
    static const struct {
        float x, value, slope;
    } limit[] = {{0, 0, 0.5f}, {-0.0f, 0, 0.5f}, {1e-40f, 0.5e-40f, 0.5f}, {-1e-40f, -0.5e-40f, 0.5f},
                 {20, 20, 1},  {80, 80, 1},      {1e4f, 1e4f, 1},          {-20, 0, 0},
                 {-80, 0, 0},  {-1e4f, 0, 0}};
    const struct kernels *k = subject(_i);
    for (size_t i = 0; i < sizeof limit / sizeof *limit; i++)
        for (int erf = 0; erf < 2; erf++) {
            float *x = kit_floats(17), *out = kit_floats(17), *act = kit_floats(17), *d = kit_floats(17);
            for (int j = 0; j < 17; j++) {
                x[j] = limit[i].x;
                d[j] = 1;
            }
            (erf ? k->bias_gelu_erf : k->bias_gelu_tanh)(out, x, NULL, 1, 17);
            (erf ? k->bias_gelu_erf_backward : k->bias_gelu_tanh_backward)(act, d, NULL, x, NULL, 1, 17);
            for (int j = 0; j < 17; j++) {
                double value = (double)limit[i].value, slope = (double)limit[i].slope;
                ck_assert_double_le(fabs((double)out[j] - value), 1e-30 + 1e-6 * fabs(value));
                ck_assert_double_le(fabs((double)act[j] - value), 1e-30 + 1e-6 * fabs(value));
                ck_assert_double_le(fabs((double)d[j] - slope), 1e-24 + 1e-6 * slope);
            }
            kit_release();
        }
}
END_TEST

/* Blocks above, on and left of the diagonal, with a stride wider than the block; the columns between the block and
 * the stride must stay as they are (twins start equal and are compared whole). */
START_TEST(causal_softmax)
{
    const struct kernels *k = subject(_i);
    for (int i = 0; i < WIDTHS; i++)
        for (int variant = 0; variant < 4; variant++) {
            int cols = width[i], ld = cols + (variant & 1 ? 3 : 0), rows = ROWS + 3;
            int first = variant & 2 ? cols : cols > rows ? cols - rows : 0;
            size_t n = (size_t)rows * (size_t)ld;
            float *raw = kit_normal(n, 4, 1), *delta = kit_normal((size_t)rows, 1, 2);
            struct twin p = {kit_copy(raw, n), kit_copy(raw, n), n}, lse = twin((size_t)rows, 1, 3);
            struct twin again = {kit_copy(raw, n), kit_copy(raw, n), n}, dp = twin(n, 1, 4);
            set[0]->softmax_causal(p.want, lse.want, rows, cols, ld, first, 0.25f);
            k->softmax_causal(p.got, lse.got, rows, cols, ld, first, 0.25f);
            same("softmax_causal", p, element);
            same("lse", lse, element);
            set[0]->softmax_causal_again(again.want, lse.want, rows, cols, ld, first, 0.25f);
            k->softmax_causal_again(again.got, lse.want, rows, cols, ld, first, 0.25f);
            same("softmax_causal_again", again, element);
            set[0]->softmax_causal_backward(dp.want, p.want, delta, rows, cols, ld, first, 0.25f);
            k->softmax_causal_backward(dp.got, p.want, delta, rows, cols, ld, first, 0.25f);
            same("softmax_causal_backward", dp, element);
            kit_release();
        }
}
END_TEST

/* Scores of +-80, as a saturated network has them: rows still add up to 1 and stay finite. The sum of up to 768
 * rounded probabilities is within 768 x 6e-8 of 1. */
START_TEST(causal_softmax_of_large_scores)
{
    const struct kernels *k = subject(_i);
    for (int i = 0; i < WIDTHS; i++) {
        int cols = width[i], rows = cols < 9 ? cols : 9, first = cols - rows;
        size_t n = (size_t)rows * (size_t)cols;
        struct twin p = twin(n, 1, 1), lse = twin((size_t)rows, 1, 2);
        for (size_t j = 0; j < n; j++)
            p.want[j] = p.got[j] = p.want[j] > 0.5f ? 640 : p.want[j] < -0.5f ? -640 : 0;
        set[0]->softmax_causal(p.want, lse.want, rows, cols, cols, first, 0.125f);
        k->softmax_causal(p.got, lse.got, rows, cols, cols, first, 0.125f);
        same("saturated softmax_causal", p, element);
        same("saturated lse", lse, element);
        for (int r = 0; r < rows; r++) {
            double total = 0;
            for (int j = 0; j < cols; j++)
                total += (double)p.got[(size_t)r * (size_t)cols + (size_t)j];
            ck_assert_double_eq_tol(total, 1, 5e-5);
        }
        kit_release();
    }
}
END_TEST

START_TEST(row_dots)
{
    const struct kernels *k = subject(_i);
    for (int i = 0; i < WIDTHS; i++) {
        int n = width[i], lda = n + 5, ldb = n;
        float *a = kit_normal((size_t)ROWS * (size_t)lda, 1, 1), *b = kit_normal((size_t)ROWS * (size_t)ldb, 1, 2);
        struct twin out = twin(ROWS, 1, 3);
        set[0]->row_dot(out.want, a, lda, b, ldb, ROWS, n);
        k->row_dot(out.got, a, lda, b, ldb, ROWS, n);
        /* relative to the sum of |a b|, about 0.6 n, as cancellation may leave a result near 0 */
        for (int r = 0; r < ROWS; r++)
            ck_assert_double_le(fabs((double)out.got[r] - (double)out.want[r]), 2e-7 * (n + 8));
        kit_release();
    }
}
END_TEST

/* The last V is GPT-2's. Deviation 30 puts logits at about +-80, where most probabilities underflow. */
START_TEST(cross_entropy)
{
    const struct kernels *k = subject(_i);
    for (int i = 0; i <= WIDTHS; i++)
        for (int variant = 0; variant < 4; variant++) {
            int V = i < WIDTHS ? width[i] : 50257, rows = 3;
            size_t n = (size_t)rows * (size_t)V;
            int32_t targets[3] = {0, V / 2, V - 1};
            struct twin x = twin(n, variant & 1 ? 30 : 1, 1), scored = {kit_copy(x.want, n), kit_copy(x.want, n), n};
            double want = set[0]->softmax_cross_entropy(x.want, targets, rows, V, 0.5f, variant & 2);
            double got = k->softmax_cross_entropy(x.got, targets, rows, V, 0.5f, variant & 2);
            ck_assert_double_le(fabs(got - want), 3e-6 * (1 + fabs(want)));
            if (variant & 2)
                same("cross-entropy gradient", x, element);
            /* a loss without gradient is the same number */
            ck_assert_double_eq(k->softmax_cross_entropy(scored.got, targets, rows, V, 0, false), got);
            kit_release();
        }
}
END_TEST

/* A token that was ruled out has a logit of -infinity: probability 0, no NaN, as the reference and PyTorch have it. */
START_TEST(cross_entropy_of_masked_logits)
{
    for (int at = 0; at < 33; at++) {
        if (at == 20)
            continue; /* the target */
        int32_t target = 20;
        float *x = kit_normal(33, 1, 1), *y = kit_copy(x, 33);
        x[at] = y[at] = -INFINITY;
        double want = set[0]->softmax_cross_entropy(x, &target, 1, 33, 1, true);
        double got = subject(_i)->softmax_cross_entropy(y, &target, 1, 33, 1, true);
        ck_assert_double_le(fabs(got - want), 3e-6 * (1 + fabs(want)));
        kit_close("gradient beside a masked logit", y, x, 33, element);
        ck_assert_double_le(fabs((double)y[at]), 1e-37);
        kit_release();
    }
}
END_TEST

START_TEST(embedding_rows)
{
    const struct kernels *k = subject(_i);
    static const int32_t tokens[9] = {0, 10, 3, 3, 7, 10, 1, 2, 9};
    for (int i = 0; i < WIDTHS; i++) {
        size_t C = (size_t)width[i];
        float *wte = kit_normal(11 * C, 1, 1), *wpe = kit_normal(4 * C, 1, 2);
        struct twin x = twin(9 * C, 1, 3);
        set[0]->embed(x.want, wte, wpe, tokens, 9, 6, 4, width[i]);
        k->embed(x.got, wte, wpe, tokens, 9, 6, 4, width[i]);
        same("embed", x, 0); /* one addition: the same bits */
        kit_release();
    }
}
END_TEST

/* Long arrays: every width, a long one with a tail, and GPT-2's vocabulary. */
static size_t array_size(int i)
{
    return i < WIDTHS ? (size_t)width[i] : i == WIDTHS ? 4096 + 17 : 50257;
}

START_TEST(plain_arrays)
{
    const struct kernels *k = subject(_i);
    for (int i = 0; i < WIDTHS + 2; i++) {
        size_t n = array_size(i);
        struct twin y = twin(n, 1, 1);
        float *x = kit_normal(n, 1, 2);
        set[0]->add(y.want, x, n);
        k->add(y.got, x, n);
        same("add", y, 0);
        set[0]->scale(y.want, n, 0.3f);
        k->scale(y.got, n, 0.3f);
        same("scale", y, 0);
        ck_assert_double_eq(k->sum_squares(x, n), set[0]->sum_squares(x, n)); /* the same bits */
        kit_release();
    }
    ck_assert_double_eq(k->sum_squares(kit_floats(1), 0), 0);
}
END_TEST

START_TEST(optimizers)
{
    const struct kernels *k = subject(_i);
    for (int i = 0; i < WIDTHS + 2; i++) {
        size_t n = array_size(i);
        struct twin p = twin(n, 1, 1), m = twin(n, 1e-3, 2), v = twin(n, 1e-6, 3);
        float *g = kit_normal(n, 1e-2, 4);
        for (size_t j = 0; j < n; j++) {
            v.want[j] = v.got[j] = fabsf(v.want[j]);
            if (j % 5 == 0)
                g[j] = 0;
            if (j % 7 == 0) /* a parameter that never had a gradient */
                g[j] = m.want[j] = m.got[j] = v.want[j] = v.got[j] = 0;
            if (j % 11 == 0) /* its square underflows */
                g[j] = 1e-30f;
        }
        for (int t = 1; t <= 3; t++) {
            struct adamw h = {.lr = 1e-3f, .beta1 = 0.9f, .beta2 = 0.95f, .eps = 1e-8f, .shrink = 1 - 1e-4f};
            h.step = (float)(1e-3 / (1 - pow(0.9, t)));
            h.inv_sqrt_correction2 = (float)(1 / sqrt(1 - pow(0.95, t)));
            set[0]->adamw(p.want, g, m.want, v.want, n, &h);
            k->adamw(p.got, g, m.got, v.got, n, &h);
            same("adamw p", p, 0); /* ranks with different sets stay together */
            same("adamw m", m, 0);
            same("adamw v", v, 0);
        }
        set[0]->sgd(p.want, g, n, 0.5f, 0.99f);
        k->sgd(p.got, g, n, 0.5f, 0.99f);
        same("sgd", p, 0);
        kit_release();
    }
}
END_TEST

/* One NaN, at each place of a row in turn, must reach the loss: no kernel may lose it in a maximum, a clamp or a
 * tail. What lies past the diagonal of a causal softmax is no input and must not leak. */
START_TEST(nan_is_never_hidden)
{
    const struct kernels *k = subject(_i);
    enum { N = 33 };
    for (int at = 0; at < N; at++) {
        float *x = kit_normal(N, 1, 1), *w = kit_normal(N, 1, 2), *out = kit_floats(N), *d = kit_normal(N, 1, 3);
        float *scores = kit_normal(2 * N, 1, 4), *p = kit_normal(N, 1, 5), *m = kit_floats(N), *v = kit_floats(N);
        float mean, rstd, lse[2];
        int32_t target = 4;
        struct adamw h = {
            .lr = 1, .beta1 = 0.9f, .beta2 = 0.95f, .eps = 1e-8f, .shrink = 1, .step = 1, .inv_sqrt_correction2 = 1};
        x[at] = scores[at] = NAN;
        k->layernorm(out, &mean, &rstd, x, w, w, 1, N);
        for (int j = 0; j < N; j++)
            ck_assert_msg(isnan(out[j]), "%s: layernorm loses a NaN at %d in element %d", k->name, at, j);
        k->bias_gelu_tanh(out, x, w, 1, N);
        ck_assert_msg(isnan(out[at]), "%s: tanh gelu loses a NaN at %d", k->name, at);
        k->bias_gelu_erf(out, x, w, 1, N);
        ck_assert_msg(isnan(out[at]), "%s: erf gelu loses a NaN at %d", k->name, at);
        k->bias_gelu_tanh_backward(out, d, NULL, x, w, 1, N);
        ck_assert_msg(isnan(d[at]), "%s: tanh gelu's gradient loses a NaN at %d", k->name, at);
        k->adamw(p, x, m, v, N, &h);
        ck_assert_msg(isnan(p[at]) && isnan(m[at]) && isnan(v[at]), "%s: AdamW loses a NaN at %d", k->name, at);
        ck_assert_msg(isnan(k->sum_squares(x, N)), "%s: the norm loses a NaN at %d", k->name, at);
        /* two rows that see 20 and 21 columns; only the first holds the NaN */
        k->softmax_causal(scores, lse, 2, N, N, 19, 0.5f);
        ck_assert_msg((at < 20) == !!isnan(lse[0]) && !isnan(lse[1]), "%s: causal softmax, NaN at %d of 20", k->name,
                      at);
        for (int j = 0; j < 20; j++)
            ck_assert_msg((at < 20) == !!isnan(scores[j]), "%s: causal softmax, NaN at %d of 20", k->name, at);
        kit_all_zero("past the diagonal", scores + 20, N - 20);
        ck_assert_msg(isnan(k->softmax_cross_entropy(x, &target, 1, N, 1, true)), "%s: cross-entropy loses a NaN at %d",
                      k->name, at);
        for (int j = 0; j < N; j++)
            ck_assert_msg(isnan(x[j]), "%s: cross-entropy's gradient loses a NaN at %d in element %d", k->name, at, j);
        kit_release();
    }
}
END_TEST

static Suite *kernels_suite(void)
{
    const TTest *tests[] = {
        layernorm_forward_and_again,
        residual_layernorm_in_each_place,
        layernorm_backward_adds,
        bias_and_column_sum,
        gelu_both_forms,
        gelu_limits,
        causal_softmax,
        causal_softmax_of_large_scores,
        row_dots,
        cross_entropy,
        cross_entropy_of_masked_logits,
        embedding_rows,
        plain_arrays,
        optimizers,
        nan_is_never_hidden,
    };
    Suite *suite = suite_create("kernels");
    TCase *tc = tcase_create("each set");
    tcase_set_timeout(tc, 60);
    /* the reference too: its limits, guards and row sums are not comparisons with itself */
    int sets = kit_sets(set);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_loop_test(tc, tests[i], 0, sets);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return kit_main(kernels_suite());
}
