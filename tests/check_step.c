/*
 * tests/check_step.c - what net.h promises about a step beyond its numbers: micro-batches, reports of finished
 * gradients, phases, repeatability, NaN.
 */
#include <check.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "model/buffers.h"
#include "tests/rig.h"

/* The large batch has more rows than the MLP and the head take at once, a micro-batch has not (asserted: larger chunks
 * in the engine need a larger batch here), so this shows that chunks add up as well as micro-batches. */
START_TEST(seven_micro_batches_are_one_batch)
{
    static const struct model_spec spec = {.name = "wide batch",
                                           .kind = MODEL_GPT,
                                           .L = 1,
                                           .NH = 2,
                                           .C = 64,
                                           .V = 7200,
                                           .context = 64,
                                           .bias = true,
                                           .optimizer = {.kind = OPTIMIZER_SGD}};
    enum { K = 7, B = 19, T = 63 };
    int32_t *inputs = kit_tokens(K * B * T, spec.V, 1), *targets = kit_tokens(K * B * T, spec.V, 2);
    rig_start(&other, &spec, K * B, T, 2, kernels_best());
    net_init_params(&other, 3);
    ck_assert_int_lt(other.buffers->mlp_rows, K * B * T);
    ck_assert_int_lt(other.buffers->head_rows, K * B * T);
    rig_start(&net, &spec, B, T, 2, kernels_best());
    ck_assert_int_eq(net.buffers->mlp_rows, B * T);
    ck_assert_int_eq(net.buffers->head_rows, B * T);
    memcpy(net.param, other.param, net.layout.params * sizeof(float));
    double whole = (double)net_step(&other, inputs, targets, 1, false), sum = 0;
    for (int k = 0; k < K; k++)
        sum += (double)net_step(&net, inputs + k * B * T, targets + k * B * T, 1.0f / K, k > 0);
    ck_assert_double_eq_tol(sum / K, whole, 1e-6 * whole);
    rig_close("accumulated gradient", net.grad, other.grad, 1e-5, true);
    rig_stop();
}
END_TEST

/* The mean is over B x T positions, so a batch of one row twice has the gradient of the row. */
START_TEST(scale_multiplies_the_gradient_only)
{
    rig_golden(_i);
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
    rig_stop();
}
END_TEST

/* The same step twice on the same threads gives the same bits: ranks that start equal must stay equal. */
START_TEST(a_step_repeats_bit_for_bit)
{
    struct model_spec spec;
    ck_assert_int_eq(model_spec_find(&spec, "shakespeare-char", NULL), 0);
    spec.L = 2;
    int32_t *inputs = kit_tokens(3 * 200, spec.V, 1), *targets = kit_tokens(3 * 200, spec.V, 2);
    rig_start(&net, &spec, 3, 200, 2, kernels_best());
    net_init_params(&net, 1);
    net_step(&net, inputs, targets, 1, false);
    float *grad = kit_copy(net.grad, net.layout.params);
    double norm = net_clip(&net, 0);
    for (int again = 0; again < 5; again++) {
        net_step(&net, inputs, targets, 1, false);
        ck_assert_int_eq(memcmp(net.grad, grad, net.layout.params * sizeof *grad), 0);
        ck_assert_double_eq(net_clip(&net, 0), norm);
    }
    rig_stop();
}
END_TEST

/* Real widths: heads of 64, four blocks of queries, one unfinished; every set and thread count against the plain C
 * kernels on one thread. */
START_TEST(real_widths_agree_across_sets_and_threads)
{
    struct model_spec spec;
    ck_assert_int_eq(model_spec_find(&spec, "shakespeare-char", NULL), 0);
    spec.L = 2;
    int32_t *inputs = kit_tokens(2 * 201, spec.V, 1), *targets = kit_tokens(2 * 201, spec.V, 2);
    rig_start(&other, &spec, 2, 201, 1, set[0]);
    net_init_params(&other, 1);
    float loss = net_step(&other, inputs, targets, 1, false);
    rig_start(&net, &spec, 2, 201, 1 + _i % THREADS, set[_i / THREADS]);
    memcpy(net.param, other.param, net.layout.params * sizeof(float));
    ck_assert_float_eq_tol(net_step(&net, inputs, targets, 1, false), loss, 1e-6f * loss);
    rig_close("gradient", net.grad, other.grad, 2e-5, true);
    rig_stop();
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
    rig_golden(_i);
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
            ck_assert_msg(now >= last && now <= after, "%s: report %d is out of order", kit_subject, i);
            last = now;
        }
    }
    ck_assert_int_eq(seen.n, net.layout.n);
    for (int i = 0; i < seen.n; i++) {
        ck_assert_msg(!reported[seen.index[i]], "%s: %s reported twice", kit_subject,
                      net.layout.tensor[seen.index[i]].name);
        reported[seen.index[i]] = true;
        ck_assert_int_eq(seen.index[i], net.trace.ready_order[i]);
        ck_assert_uint_eq(seen.now_ns[i], net.trace.ready_ns[seen.index[i]]);
    }
    if (net.spec.kind == MODEL_GPT)
        ck_assert_int_eq(seen.index[seen.n - 1], net.layout.wte);
    ck_assert_msg(!memcmp(seen.grad, net.grad, net.layout.params * sizeof(float)),
                  "%s: a gradient changed after its report", kit_subject);
    rig_stop();
}
END_TEST

/* Phases of a step: in the order of time, no gaps in the layers, forward and backward once each per layer. */
START_TEST(phases_cover_the_step)
{
    rig_golden(_i);
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
                      kit_subject, i);
        ck_assert_int_ge(p->layer, first);
        ck_assert_int_lt(p->layer, first + layers);
        found[p->kind][p->layer - first] = true;
        last = p->end_ns;
    }
    for (int kind = 0; kind < 3; kind++)
        for (int i = 0; i < layers; i++)
            ck_assert_msg(found[kind][i], "%s: no phase of kind %d for layer %d", kit_subject, kind, first + i);
    rig_stop();
}
END_TEST

/* One NaN, first or last element of any tensor: the loss is NaN, not some number. wpe's last rows lie past T and are
 * not used. */
START_TEST(nan_in_a_parameter_shows_in_the_loss)
{
    rig_golden(_i);
    for (int i = 0; i < net.layout.n; i++)
        for (int end = 0; end < 2; end++) {
            const struct tensor *t = &net.layout.tensor[i];
            float *p = net.param + t->offset + (end && i != net.layout.wpe ? t->count - 1 : 0), keep = *p;
            *p = NAN;
            ck_assert_msg(isnan(net_step(&net, golden_inputs(&g, 0), golden_targets(&g, 0), 1, false)),
                          "%s: NaN in %s is hidden", kit_subject, t->name);
            *p = keep;
        }
    rig_close_loss("restored", 0, net_step(&net, golden_inputs(&g, 0), golden_targets(&g, 0), 1, false),
                   *golden_floats(&g, "plain.loss", NULL));
    rig_stop();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("step");
    TCase *tc = tcase_create("promises");
    const TTest *each_golden[] = {scale_multiplies_the_gradient_only, gradients_are_reported_when_complete,
                                  phases_cover_the_step};
    int sets = rig_sets(), best = (sets - 1) * THREADS * GOLDENS, all = sets * THREADS * GOLDENS;
    for (size_t i = 0; i < sizeof each_golden / sizeof *each_golden; i++)
        tcase_add_loop_test(tc, each_golden[i], best, all); /* the widest set, one and two threads */
    tcase_add_loop_test(tc, nan_in_a_parameter_shows_in_the_loss, 0, all);
    tcase_add_loop_test(tc, real_widths_agree_across_sets_and_threads, 0, sets * THREADS);
    tcase_add_test(tc, seven_micro_batches_are_one_batch);
    tcase_add_test(tc, a_step_repeats_bit_for_bit);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(suite, tc);
    return kit_main(suite);
}
