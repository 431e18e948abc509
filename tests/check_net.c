/*
 * tests/check_net.c - whole training steps against PyTorch, and what net.h promises about them.
 *
 * PyTorch's numbers come from tests/golden (tools/golden.py): four small networks, every kernel set, one and two
 * threads. Tolerances are 1e-4 relative for a loss and 1e-4 of the tensor's largest element for gradients and
 * parameters; rounding of the goldens themselves is below 3e-6. Gradients against finite differences: check_gradients.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "model/buffers.h"
#include "model/net.h"
#include "tests/golden.h"
#include "tests/kit.h"

enum { GOLDENS = 4, THREADS = 2 };

static const char *const golden_name[GOLDENS] = {"gpt", "char", "mlp", "linear"};
static const double tolerance = 1e-4;

static const struct kernels *set[KIT_SETS_MAX];
static struct net net, other; /* too large for a stack */
static struct golden g;
static struct err e;
static char subject[100];

static void start(struct net *n, const struct model_spec *spec, int B, int T, int threads, const struct kernels *k)
{
    snprintf(subject, sizeof subject, "%s, %s kernels, %d threads", spec->name, k->name, threads);
    kit_subject = subject;
    ck_assert_msg(net_plan(n, spec, B, T, threads, &e) == 0 && net_take(n, &e) == 0, "%s: %s", subject, e.text);
    net_use_kernels(n, k);
}

/* Loop index i: golden, kernel set and thread count. */
static void start_golden(int i)
{
    golden_open(&g, golden_name[i % GOLDENS]);
    start(&net, &g.spec, g.B, g.T, 1 + i / GOLDENS % THREADS, set[i / GOLDENS / THREADS]);
    memcpy(net.param, g.param, net.layout.params * sizeof(float));
}

static void stop(void)
{
    net_fini(&net);
    net_fini(&other);
    golden_close(&g);
    kit_release();
}

/* Tensor by tensor; names the tensor. A key bias moves all scores of a query alike, so its true gradient is 0, and
 * Adam turns the rounding that is left into steps of lr: with skip_key_bias it is compared with nothing. */
static void close_by_tensor(const char *what, const float *got, const float *want, double limit, bool skip_key_bias)
{
    for (int i = 0; i < net.layout.n; i++) {
        const struct tensor *t = &net.layout.tensor[i];
        const float *x = got + t->offset, *y = want + t->offset;
        char name[80];
        snprintf(name, sizeof name, "%s of %s", what, t->name);
        if (skip_key_bias && t->layer >= 0 && t->layer < net.spec.L && net.layout.block[t->layer][QKV_B] == i) {
            size_t C = (size_t)net.spec.C;
            float *copy = kit_copy(x, t->count);
            memcpy(copy + C, y + C, C * sizeof *copy);
            x = copy;
        }
        kit_close(name, x, y, t->count, limit);
    }
}

static void close_loss(const char *variant, int update, float got, float want)
{
    ck_assert_msg(fabs((double)got - (double)want) <= tolerance * fabs((double)want),
                  "%s: %s loss of update %d is %.8g, PyTorch has %.8g", subject, variant, update + 1, (double)got,
                  (double)want);
}

/* ---- PyTorch ---- */

START_TEST(ten_updates_as_pytorch)
{
    start_golden(_i);
    const float *loss = golden_floats(&g, "plain.loss", NULL);
    for (int u = 0; u < g.batches; u++) {
        close_loss("plain", u, net_step(&net, golden_inputs(&g, u), golden_targets(&g, u), 1, false), loss[u]);
        if (u == 0)
            close_by_tensor("gradient", net.grad, golden_floats(&g, "plain.grad", NULL), tolerance, false);
        net_update(&net, &g.spec.optimizer, u + 1);
    }
    close_by_tensor("ten updates", net.param, golden_floats(&g, "plain.param", NULL), tolerance, true);
    stop();
}
END_TEST

/* The goldens' norms lie on both sides of the limit, or all above it. */
START_TEST(ten_clipped_updates_as_pytorch)
{
    start_golden(_i);
    const float *loss = golden_floats(&g, "clip.loss", NULL), *norm = golden_floats(&g, "clip.norm", NULL);
    for (int u = 0; u < g.batches; u++) {
        close_loss("clipped", u, net_step(&net, golden_inputs(&g, u), golden_targets(&g, u), 1, false), loss[u]);
        ck_assert_double_eq_tol(net_clip(&net, g.clip), (double)norm[u], tolerance * (double)norm[u]);
        /* after clipping the norm is the limit, or what it was */
        ck_assert_double_eq_tol(net_clip(&net, 0), fmin((double)norm[u], (double)g.clip), tolerance);
        net_update(&net, &g.spec.optimizer, u + 1);
    }
    close_by_tensor("ten clipped updates", net.param, golden_floats(&g, "clip.param", NULL), tolerance, true);
    stop();
}
END_TEST

START_TEST(accumulation_as_pytorch)
{
    start_golden(_i);
    const float *want = golden_floats(&g, "accum.loss", NULL);
    for (int u = 0; u < g.batches / 2; u++) {
        float loss = 0;
        for (int k = 0; k < 2; k++)
            loss += net_step(&net, golden_inputs(&g, 2 * u + k), golden_targets(&g, 2 * u + k), 0.5f, k > 0) / 2;
        close_loss("accumulated", u, loss, want[u]);
        if (u == 0)
            close_by_tensor("accumulated gradient", net.grad, golden_floats(&g, "accum.grad", NULL), tolerance, false);
        net_update(&net, &g.spec.optimizer, u + 1);
    }
    stop();
}
END_TEST

/* The parameters as PyTorch counts them, and a loss without backward that is the same number. */
START_TEST(shapes_and_forward_alone)
{
    size_t n;
    start_golden(_i);
    golden_floats(&g, "param", &n);
    ck_assert_uint_eq(net.layout.params, n);
    float alone = net_loss(&net, golden_inputs(&g, 0), golden_targets(&g, 0));
    close_loss("forward", 0, alone, *golden_floats(&g, "plain.loss", NULL));
    kit_all_zero("gradient after a forward", net.grad, n);
    ck_assert_float_eq(net_step(&net, golden_inputs(&g, 0), golden_targets(&g, 0), 1, false), alone);
    stop();
}
END_TEST

/* ---- promises of net.h ---- */

/* The large batch has more rows than the MLP and the head take at once, a micro-batch has not (asserted: larger chunks
 * in the engine need a larger batch here), so this shows that chunks add up as well as micro-batches. */
START_TEST(seven_micro_batches_are_one_batch)
{
    static const struct model_spec spec = {.name = "wide batch",
                                           .kind = MODEL_GPT,
                                           .L = 1,
                                           .NH = 2,
                                           .C = 64,
                                           .V = 3600,
                                           .context = 64,
                                           .bias = true,
                                           .optimizer = {.kind = OPTIMIZER_SGD}};
    enum { K = 7, B = 19, T = 63 };
    int32_t *inputs = kit_tokens(K * B * T, spec.V, 1), *targets = kit_tokens(K * B * T, spec.V, 2);
    start(&other, &spec, K * B, T, 2, kernels_best());
    net_init_params(&other, 3);
    ck_assert_int_lt(other.buffers->mlp_rows, K * B * T);
    ck_assert_int_lt(other.buffers->head_rows, K * B * T);
    start(&net, &spec, B, T, 2, kernels_best());
    ck_assert_int_eq(net.buffers->mlp_rows, B * T);
    ck_assert_int_eq(net.buffers->head_rows, B * T);
    memcpy(net.param, other.param, net.layout.params * sizeof(float));
    double whole = (double)net_step(&other, inputs, targets, 1, false), sum = 0;
    for (int k = 0; k < K; k++)
        sum += (double)net_step(&net, inputs + k * B * T, targets + k * B * T, 1.0f / K, k > 0);
    ck_assert_double_eq_tol(sum / K, whole, 1e-6 * whole);
    close_by_tensor("accumulated gradient", net.grad, other.grad, 1e-5, true);
    stop();
}
END_TEST

/* The mean is over B x T positions, so a batch of one row twice has the gradient of the row. */
START_TEST(scale_multiplies_the_gradient_only)
{
    start_golden(_i);
    const void *inputs = golden_inputs(&g, 3);
    const int32_t *targets = golden_targets(&g, 3);
    float loss = net_step(&net, inputs, targets, 1, false);
    float *grad = kit_copy(net.grad, net.layout.params);
    /* powers of two: the same bits but for the exponent */
    ck_assert_float_eq(net_step(&net, inputs, targets, 0.25f, false), loss);
    net.k->scale(net.grad, net.layout.params, 4);
    kit_close("a quarter of a gradient, times 4", net.grad, grad, net.layout.params, 0);
    net_step(&net, inputs, targets, -0.5f, true);
    net.k->scale(net.grad, net.layout.params, 2);
    kit_close("twice 1 - 0.5 of a gradient", net.grad, grad, net.layout.params, 1e-5);
    stop();
}
END_TEST

/* The same step twice on the same threads gives the same bits: ranks that start equal must stay equal. */
START_TEST(a_step_repeats_bit_for_bit)
{
    struct model_spec spec;
    ck_assert_int_eq(model_spec_find(&spec, "shakespeare-char", &e), 0);
    spec.L = 2;
    int32_t *inputs = kit_tokens(3 * 200, spec.V, 1), *targets = kit_tokens(3 * 200, spec.V, 2);
    start(&net, &spec, 3, 200, 2, kernels_best());
    net_init_params(&net, 1);
    net_step(&net, inputs, targets, 1, false);
    float *grad = kit_copy(net.grad, net.layout.params);
    double norm = net_clip(&net, 0);
    for (int again = 0; again < 5; again++) {
        net_step(&net, inputs, targets, 1, false);
        ck_assert_int_eq(memcmp(net.grad, grad, net.layout.params * sizeof *grad), 0);
        ck_assert_double_eq(net_clip(&net, 0), norm);
    }
    stop();
}
END_TEST

/* Real widths: heads of 64, four blocks of queries, one unfinished; every set and thread count against the plain C
 * kernels on one thread. */
START_TEST(real_widths_agree_across_sets_and_threads)
{
    struct model_spec spec;
    ck_assert_int_eq(model_spec_find(&spec, "shakespeare-char", &e), 0);
    spec.L = 2;
    int32_t *inputs = kit_tokens(2 * 201, spec.V, 1), *targets = kit_tokens(2 * 201, spec.V, 2);
    start(&other, &spec, 2, 201, 1, set[0]);
    net_init_params(&other, 1);
    float loss = net_step(&other, inputs, targets, 1, false);
    start(&net, &spec, 2, 201, 1 + _i % THREADS, set[_i / THREADS]);
    memcpy(net.param, other.param, net.layout.params * sizeof(float));
    ck_assert_float_eq_tol(net_step(&net, inputs, targets, 1, false), loss, 1e-6f * loss);
    close_by_tensor("gradient", net.grad, other.grad, 2e-5, true);
    stop();
}
END_TEST

/* What a callback saw: order, instants, and the gradient as it was at that moment. */
struct seen {
    int n, index[TENSORS_MAX];
    uint64_t now_ns[TENSORS_MAX];
    float *grad;
};

static void see(void *ctx, const struct tensor *tensor, uint64_t now_ns)
{
    struct seen *seen = ctx;
    ck_assert_int_lt(seen->n, net.layout.n);
    seen->index[seen->n] = (int)(tensor - net.layout.tensor);
    seen->now_ns[seen->n++] = now_ns;
    memcpy(seen->grad + tensor->offset, net.grad + tensor->offset, tensor->count * sizeof(float));
}

/* Every tensor once, in the order of time, none touched after it was reported; the tied embedding last, because the
 * embedding adds to it when the head's part is long done. */
START_TEST(gradients_are_reported_when_complete)
{
    start_golden(_i);
    struct seen seen = {.grad = kit_normal(net.layout.params, 1, 1)};
    bool reported[TENSORS_MAX] = {false};
    net_trace_reset(&net);
    for (int k = 0; k < 2; k++) { /* one update of two micro-batches; the instants are those of the last */
        net.ready = k ? see : NULL;
        net.ready_ctx = &seen;
        uint64_t before = clock_now_ns();
        net_step(&net, golden_inputs(&g, k), golden_targets(&g, k), 0.5f, k > 0);
        uint64_t last = before, after = clock_now_ns();
        ck_assert_int_eq(net.trace.ready_n, net.layout.n);
        for (int i = 0; i < net.layout.n; i++) {
            uint64_t now = net.trace.ready_ns[net.trace.ready_order[i]];
            ck_assert_msg(now >= last && now <= after, "%s: report %d is out of order", subject, i);
            last = now;
        }
    }
    ck_assert_int_eq(seen.n, net.layout.n);
    for (int i = 0; i < seen.n; i++) {
        ck_assert_msg(!reported[seen.index[i]], "%s: %s reported twice", subject,
                      net.layout.tensor[seen.index[i]].name);
        reported[seen.index[i]] = true;
        ck_assert_int_eq(seen.index[i], net.trace.ready_order[i]);
        ck_assert_uint_eq(seen.now_ns[i], net.trace.ready_ns[seen.index[i]]);
    }
    if (net.spec.kind == MODEL_GPT)
        ck_assert_int_eq(seen.index[seen.n - 1], net.layout.wte);
    ck_assert_msg(!memcmp(seen.grad, net.grad, net.layout.params * sizeof(float)),
                  "%s: a gradient changed after its report", subject);
    stop();
}
END_TEST

/* Phases of a step: in the order of time, no gaps in the layers, forward and backward once each per layer. */
START_TEST(phases_cover_the_step)
{
    start_golden(_i);
    net_trace_reset(&net);
    uint64_t before = clock_now_ns();
    net_step(&net, golden_inputs(&g, 0), golden_targets(&g, 0), 1, false);
    net_update(&net, &g.spec.optimizer, 1);
    uint64_t last = before, after = clock_now_ns();
    int layers = net.spec.kind == MODEL_GPT ? net.spec.L + 2 : net.spec.layers;
    int first = net.spec.kind == MODEL_GPT ? -1 : 0;
    bool found[3][64] = {{false}};
    ck_assert_int_eq(net.trace.dropped, 0);
    for (int i = 0; i < net.trace.n; i++) {
        const struct phase *p = &net.trace.phase[i];
        ck_assert_msg(p->start_ns >= last && p->end_ns >= p->start_ns && p->end_ns <= after, "%s: phase %d overlaps",
                      subject, i);
        ck_assert_int_ge(p->layer, first);
        ck_assert_int_lt(p->layer, first + layers);
        found[p->kind][p->layer - first] = true;
        last = p->end_ns;
    }
    for (int kind = 0; kind < 3; kind++)
        for (int i = 0; i < layers; i++)
            ck_assert_msg(found[kind][i], "%s: no phase of kind %d for layer %d", subject, kind, first + i);
    stop();
}
END_TEST

/* One NaN, first or last element of any tensor: the loss is NaN, not some number. wpe's last rows lie past T and are
 * not used. */
START_TEST(nan_in_a_parameter_shows_in_the_loss)
{
    start_golden(_i);
    for (int i = 0; i < net.layout.n; i++)
        for (int end = 0; end < 2; end++) {
            const struct tensor *t = &net.layout.tensor[i];
            float *p = net.param + t->offset + (end && i != net.layout.wpe ? t->count - 1 : 0), keep = *p;
            *p = NAN;
            ck_assert_msg(isnan(net_step(&net, golden_inputs(&g, 0), golden_targets(&g, 0), 1, false)),
                          "%s: NaN in %s is hidden", subject, t->name);
            *p = keep;
        }
    close_loss("restored", 0, net_step(&net, golden_inputs(&g, 0), golden_targets(&g, 0), 1, false),
               *golden_floats(&g, "plain.loss", NULL));
    stop();
}
END_TEST

/* ---- built-in models ---- */

/* Counted by hand from the published shapes; without positions and with another vocabulary or biases as well, so that
 * a formula that is right by luck shows. */
START_TEST(parameter_counts)
{
    static const struct {
        const char *name;
        int V, bias; /* 0, -1: the model's own */
        size_t params, without_wpe;
    } want[] = {
        {"gpt2-124m", 0, -1, 124439808, 123653376},         {"gpt2-124m", 50304, -1, 124475904, 124475904 - 1024 * 768},
        {"shakespeare-char", 0, -1, 10745088, 10646784},    {"shakespeare-char", 0, 1, 10770816, 10770816 - 256 * 384},
        {"mlp-768", 0, -1, 2 * 768 * 3072 + 3072 + 768, 0}, {"linear-10x2", 0, -1, 22, 0},
    };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        static struct layout layout;
        struct model_spec spec;
        size_t sum = 0;
        ck_assert_int_eq(model_spec_find(&spec, want[i].name, &e), 0);
        spec.V = want[i].V ? want[i].V : spec.V;
        spec.bias = want[i].bias < 0 ? spec.bias : want[i].bias;
        ck_assert_int_eq(layout_init(&layout, &spec, &e), 0);
        ck_assert_uint_eq(layout.params, want[i].params);
        if (layout.wpe >= 0)
            ck_assert_uint_eq(layout.params - layout.tensor[layout.wpe].count, want[i].without_wpe);
        for (int t = 0; t < layout.n; t++) { /* tensors lie end to end */
            ck_assert_uint_eq(layout.tensor[t].offset, sum);
            sum += layout.tensor[t].count;
        }
        ck_assert_uint_eq(sum, layout.params);
        if (i == 0) { /* 2 + 12 x 12 + 2 tensors; an untied head would be one more matrix like wte */
            ck_assert_int_eq(layout.n, 148);
            ck_assert_uint_eq(layout.params + layout.tensor[layout.wte].count, 163037184);
            ck_assert_uint_eq(4 * layout.tensor[layout.wte].count, 154389504);
        }
    }
}
END_TEST

/* ln V is the loss of a uniform guess; weights of deviation 0.02 move it by a few hundredths. */
START_TEST(first_loss_of_characters)
{
    struct model_spec spec;
    ck_assert_int_eq(model_spec_find(&spec, "shakespeare-char", &e), 0);
    int32_t *inputs = kit_tokens(4 * 64, spec.V, 1), *targets = kit_tokens(4 * 64, spec.V, 2);
    for (uint64_t seed = 1; seed <= 3; seed++) {
        start(&net, &spec, 4, 64, 2, kernels_best());
        net_init_params(&net, seed);
        float loss = net_step(&net, inputs, targets, 1, false);
        ck_assert_float_ge(loss, 4.1f);
        ck_assert_float_le(loss, 4.4f);
        net_fini(&net);
    }
    stop();
}
END_TEST

START_TEST(first_loss_of_gpt2)
{
    struct model_spec spec;
    ck_assert_int_eq(model_spec_find(&spec, "gpt2-124m", &e), 0);
    int32_t *inputs = kit_tokens(32, spec.V, 1), *targets = kit_tokens(32, spec.V, 2);
    start(&net, &spec, 1, 32, 2, kernels_best());
    net_init_params(&net, 1);
    float loss = net_step(&net, inputs, targets, 1, false);
    ck_assert_float_ge(loss, 10.8f);
    ck_assert_float_le(loss, 11.1f);
    stop();
}
END_TEST

/* GPT: matrices of deviation 0.02 (here within 4 standard errors), norms 1, biases 0. MLP: weights and biases
 * uniform in +-1/sqrt(inputs), deviation bound / sqrt(3), as torch.nn.Linear draws them. */
START_TEST(initial_values)
{
    const char *const models[] = {"shakespeare-char", "mlp-768"};
    for (int i = 0; i < 2; i++) {
        struct model_spec spec;
        ck_assert_int_eq(model_spec_find(&spec, models[i], &e), 0);
        spec.bias = true;
        start(&net, &spec, 2, 1, 1 + i, kernels_best());
        net_init_params(&net, 7);
        for (int t = 0; t < net.layout.n; t++) {
            const struct tensor *tensor = &net.layout.tensor[t];
            double sum = 0, square = 0, largest = 0, n = (double)tensor->count;
            for (size_t j = 0; j < tensor->count; j++) {
                double x = (double)net.param[tensor->offset + j];
                sum += x;
                square += x * x;
                largest = fmax(largest, fabs(x));
            }
            double deviation = 0.02;
            if (spec.kind == MODEL_MLP) {
                double bound = 1 / sqrt(spec.dim[t / 2]);
                ck_assert_double_le(largest, bound * (1 + 1e-6));
                deviation = bound / sqrt(3);
            } else if (tensor->cols == 1) {
                bool weight = strstr(tensor->name, "weight") != NULL;
                ck_assert_double_eq(sum, weight ? n : 0);
                ck_assert_double_eq(square, weight ? n : 0);
                continue;
            }
            ck_assert_msg(fabs(sum / n) < 4 * deviation / sqrt(n), "%s: mean %g", tensor->name, sum / n);
            ck_assert_msg(fabs(sqrt(square / n) / deviation - 1) < 4 / sqrt(2 * n), "%s: deviation %g, should be %g",
                          tensor->name, sqrt(square / n), deviation);
        }
        net_fini(&net);
    }
    stop();
}
END_TEST

/* Ranks draw their own parameters: the seed alone decides, not the batch or the threads. */
START_TEST(initial_values_depend_on_the_seed_only)
{
    struct model_spec spec;
    ck_assert_int_eq(model_spec_find(&spec, "shakespeare-char", &e), 0);
    spec.L = 1;
    size_t n;
    start(&net, &spec, 1, 8, 1, kernels_best());
    net_init_params(&net, 5);
    start(&other, &spec, 3, 16, 2, kernels_best());
    net_init_params(&other, 5);
    n = net.layout.params * sizeof(float);
    ck_assert_int_eq(memcmp(net.param, other.param, n), 0);
    net_init_params(&other, 6);
    ck_assert_int_ne(memcmp(net.param, other.param, n), 0);
    stop();
}
END_TEST

/* Parameters, gradients and, with AdamW, two moments: 4 x 497,759,232 B for GPT-2; the plan takes nothing. */
START_TEST(plans_and_refusals)
{
    struct model_spec spec;
    ck_assert_int_eq(model_spec_find(&spec, "gpt2-124m", &e), 0);
    ck_assert_int_eq(net_plan(&net, &spec, 4, 64, 2, &e), 0);
    ck_assert_uint_ge(net.memory.bytes, 1991036928u);
    ck_assert_ptr_null(net.memory.base);
    net_fini(&net);
    ck_assert_int_eq(net_plan(&net, &spec, 1, 1024, 2, &e), 0);
    net_fini(&net);
    ck_assert_int_eq(net_plan(&net, &spec, 1, 1025, 2, &e), -1);
    ck_assert_int_eq(e.code, ERR_USAGE);
    ck_assert_ptr_nonnull(strstr(e.text, "1024"));
    net_fini(&net);
    spec.NH = 5; /* 768 is no multiple of it */
    ck_assert_int_eq(net_plan(&net, &spec, 1, 64, 2, &e), -1);
    ck_assert_int_eq(e.code, ERR_USAGE);
    net_fini(&net);
    ck_assert_int_eq(model_spec_find(&spec, "gpt2-125m", &e), -1);
    ck_assert_int_eq(e.code, ERR_USAGE);
    ck_assert_ptr_nonnull(strstr(e.text, "gpt2-124m"));
}
END_TEST

static bool roomy(void)
{
    return !KIT_SANITIZED && (double)sysconf(_SC_AVPHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) >= 4.0 * (1u << 30);
}

int main(void)
{
    Suite *suite = suite_create("net");
    TCase *torch = tcase_create("pytorch"), *promises = tcase_create("promises"), *models = tcase_create("models");
    int sets = kit_sets(set), best = (sets - 1) * THREADS * GOLDENS, all = sets * THREADS * GOLDENS;
    const TTest *each_set[] = {ten_updates_as_pytorch, ten_clipped_updates_as_pytorch, accumulation_as_pytorch,
                               shapes_and_forward_alone, nan_in_a_parameter_shows_in_the_loss};
    const TTest *each_golden[] = {scale_multiplies_the_gradient_only, gradients_are_reported_when_complete,
                                  phases_cover_the_step};
    const TTest *once[] = {parameter_counts, first_loss_of_characters, initial_values,
                           initial_values_depend_on_the_seed_only, plans_and_refusals};
    for (size_t i = 0; i < sizeof each_set / sizeof *each_set; i++)
        tcase_add_loop_test(torch, each_set[i], 0, all);
    for (size_t i = 0; i < sizeof each_golden / sizeof *each_golden; i++)
        tcase_add_loop_test(promises, each_golden[i], best, all); /* the widest set, one and two threads */
    tcase_add_test(promises, seven_micro_batches_are_one_batch);
    tcase_add_test(promises, a_step_repeats_bit_for_bit);
    tcase_add_loop_test(promises, real_widths_agree_across_sets_and_threads, 0, sets * THREADS);
    for (size_t i = 0; i < sizeof once / sizeof *once; i++)
        tcase_add_test(models, once[i]);
    if (roomy())
        tcase_add_test(models, first_loss_of_gpt2);
    tcase_set_timeout(promises, 60);
    tcase_set_timeout(models, 60);
    suite_add_tcase(suite, torch);
    suite_add_tcase(suite, promises);
    suite_add_tcase(suite, models);
    return kit_main(suite);
}
