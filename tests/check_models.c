/*
 * tests/check_models.c - the built-in models: parameter counts, initial values, first losses, and what is refused.
 */
#include <check.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "tests/rig.h"

static struct err e;

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
        rig_start(&net, &spec, 4, 64, 2, kernels_best());
        net_init_params(&net, seed);
        float loss = net_step(&net, inputs, targets, 1, false);
        ck_assert_float_ge(loss, 4.1f);
        ck_assert_float_le(loss, 4.4f);
        net_fini(&net);
    }
    rig_stop();
}
END_TEST

START_TEST(first_loss_of_gpt2)
{
    struct model_spec spec;
    ck_assert_int_eq(model_spec_find(&spec, "gpt2-124m", &e), 0);
    int32_t *inputs = kit_tokens(32, spec.V, 1), *targets = kit_tokens(32, spec.V, 2);
    rig_start(&net, &spec, 1, 32, 2, kernels_best());
    net_init_params(&net, 1);
    float loss = net_step(&net, inputs, targets, 1, false);
    ck_assert_float_ge(loss, 10.8f);
    ck_assert_float_le(loss, 11.1f);
    rig_stop();
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
        rig_start(&net, &spec, 2, 1, 1 + i, kernels_best());
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
    rig_stop();
}
END_TEST

/* Ranks draw their own parameters: the seed alone decides, not the batch or the threads. */
START_TEST(initial_values_depend_on_the_seed_only)
{
    struct model_spec spec;
    ck_assert_int_eq(model_spec_find(&spec, "shakespeare-char", &e), 0);
    spec.L = 1;
    size_t n;
    rig_start(&net, &spec, 1, 8, 1, kernels_best());
    net_init_params(&net, 5);
    rig_start(&other, &spec, 3, 16, 2, kernels_best());
    net_init_params(&other, 5);
    n = net.layout.params * sizeof(float);
    ck_assert_int_eq(memcmp(net.param, other.param, n), 0);
    net_init_params(&other, 6);
    ck_assert_int_ne(memcmp(net.param, other.param, n), 0);
    rig_stop();
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
    Suite *suite = suite_create("models");
    TCase *tc = tcase_create("models");
    const TTest *tests[] = {parameter_counts, first_loss_of_characters, initial_values,
                            initial_values_depend_on_the_seed_only, plans_and_refusals};
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(tc, tests[i]);
    if (roomy())
        tcase_add_test(tc, first_loss_of_gpt2);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(suite, tc);
    return kit_main(suite);
}
