/*
 * tests/check_gradients.c - the engine's gradients against finite differences of a loss written in double.
 *
 * tests/exact.c computes the loss; its central differences with h = 1e-4 are right to about 1e-8. The engine works
 * in float, so its gradient must agree to 2e-5 of the tensor's largest element where every element is compared.
 * Longer sequences compare one random direction per tensor, to 2e-5 of |gradient| x |direction|. The loss itself
 * must agree to 2e-6 relative.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "model/net.h"
#include "tests/exact.h"
#include "tests/kit.h"

static const double h = 1e-4, tolerance = 2e-5;

/* Shapes small enough to move every parameter, odd in every direction: one head and several, with and without
 * biases, one position, one linear layer and two. */
static const struct {
    struct model_spec spec;
    int B, T;
} tiny[] = {
    {{.name = "two layers", .kind = MODEL_GPT, .L = 2, .NH = 2, .C = 6, .V = 7, .context = 9, .bias = true}, 2, 5},
    {{.name = "no biases", .kind = MODEL_GPT, .L = 1, .NH = 3, .C = 9, .V = 17, .context = 8}, 3, 8},
    {{.name = "one head", .kind = MODEL_GPT, .L = 1, .NH = 1, .C = 5, .V = 3, .context = 4, .bias = true}, 1, 4},
    {{.name = "one position", .kind = MODEL_GPT, .L = 1, .NH = 2, .C = 8, .V = 5, .context = 3, .bias = true}, 3, 1},
    {{.name = "linear", .kind = MODEL_MLP, .bias = true, .layers = 1, .dim = {10, 2}}, 20, 1},
    {{.name = "mlp", .kind = MODEL_MLP, .bias = true, .layers = 2, .dim = {7, 19, 5}}, 6, 1},
};

enum { TINY = sizeof tiny / sizeof *tiny };

/* Around the attention's blocks of 64 queries: just one, one and a single row, two, two and three rows. */
static const int long_T[] = {64, 65, 128, 131};
static const struct model_spec long_spec = {
    .name = "long", .kind = MODEL_GPT, .L = 1, .NH = 3, .C = 12, .V = 11, .context = 140, .bias = true};

enum { LONG = sizeof long_T / sizeof *long_T };

static const struct kernels *set[KIT_SETS_MAX];
static struct net net; /* too large for a stack */

/* What is differentiated: one batch and the parameters in double. */
struct problem {
    double *param;
    const void *inputs;
    const int32_t *targets;
};

/* Large initial values, so that attention and norms are far from trivial. */
static struct problem start(const struct model_spec *spec, int B, int T, int threads, const struct kernels *k)
{
    static char subject[100];
    struct err e;
    struct rng rng;
    struct problem p = {0};
    snprintf(subject, sizeof subject, "%s, T %d, %s kernels, %d threads", spec->name, T, k->name, threads);
    kit_subject = subject;
    ck_assert_msg(net_plan(&net, spec, B, T, threads, &e) == 0 && net_take(&net, &e) == 0, "%s", e.text);
    net_use_kernels(&net, k);
    rng_init(&rng, 1, 0);
    for (int i = 0; i < net.layout.n; i++) {
        const struct tensor *t = &net.layout.tensor[i];
        for (size_t j = 0; j < t->count; j++)
            net.param[t->offset + j] = (float)(0.4 * rng_normal(&rng)) + (strstr(t->name, "ln") ? 0.7f : 0);
    }
    if (spec->kind == MODEL_GPT) {
        p.inputs = kit_tokens((size_t)(B * T), spec->V, 2);
        p.targets = kit_tokens((size_t)(B * T), spec->V, 3);
    } else {
        p.inputs = kit_normal((size_t)(B * spec->dim[0]), 1, 2);
    }
    p.param = kit_doubles(net.param, net.layout.params);
    return p;
}

static double loss(const struct problem *p)
{
    return exact_loss(&net.spec, &net.layout, p->param, net.B, net.T, p->inputs, p->targets);
}

static void step(const struct problem *p)
{
    double want = loss(p), got = (double)net_step(&net, p->inputs, p->targets, 1, false);
    ck_assert_msg(fabs(got - want) <= 2e-6 * want, "%s: loss is %.9g, should be %.9g", kit_subject, got, want);
}

static void stop(void)
{
    net_fini(&net);
    kit_release();
}

/* Central difference of the loss as tensor t moves along direction (of its count). */
static double slope(const struct problem *p, const struct tensor *t, const double *direction, double by)
{
    double value[2], *x = p->param + t->offset;
    for (int side = 0; side < 2; side++) {
        for (size_t j = 0; j < t->count; j++)
            x[j] += (side ? -2 : 1) * by * direction[j];
        value[side] = loss(p);
    }
    for (size_t j = 0; j < t->count; j++)
        x[j] += by * direction[j];
    return (value[0] - value[1]) / (2 * by);
}

START_TEST(every_element)
{
    int which = _i % TINY, threads = 1 + _i / TINY % 2;
    struct problem p = start(&tiny[which].spec, tiny[which].B, tiny[which].T, threads, set[_i / TINY / 2]);
    step(&p);
    for (int i = 0; i < net.layout.n; i++) {
        const struct tensor *t = &net.layout.tensor[i];
        double *want = kit_doubles(NULL, t->count), *unit = kit_doubles(NULL, t->count);
        for (size_t j = 0; j < t->count; j++) {
            unit[j] = 1;
            want[j] = slope(&p, t, unit, h);
            unit[j] = 0;
        }
        /* with one position attention has nothing to choose: queries and keys have no gradient at all */
        kit_close_double(t->name, net.grad + t->offset, want, t->count, tolerance);
    }
    stop();
}
END_TEST

START_TEST(random_directions_of_long_sequences)
{
    struct problem p = start(&long_spec, 2, long_T[_i % LONG], 1 + _i / LONG % 2, set[_i / LONG / 2]);
    step(&p);
    for (int i = 0; i < net.layout.n; i++) {
        const struct tensor *t = &net.layout.tensor[i];
        const float *grad = net.grad + t->offset;
        for (uint64_t seed = 0; seed < 2; seed++) {
            double *direction = kit_doubles(kit_normal(t->count, 1, seed), t->count);
            double along = 0, length = 0, norm = 0;
            for (size_t j = 0; j < t->count; j++) {
                along += direction[j] * (double)grad[j];
                length += direction[j] * direction[j];
                norm += (double)grad[j] * (double)grad[j];
            }
            double want = slope(&p, t, direction, h / sqrt(length));
            if (!(fabs(along - want) <= tolerance * sqrt(norm * length)))
                ck_abort_msg("%s: %s along direction %d is %.9g, should be %.9g; lengths %.3g x %.3g", kit_subject,
                             t->name, (int)seed, along, want, sqrt(norm), sqrt(length));
        }
    }
    stop();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gradients");
    TCase *tc = tcase_create("finite differences");
    int sets = kit_sets(set);
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, every_element, 0, TINY * 2 * sets);
    tcase_add_loop_test(tc, random_directions_of_long_sequences, 0, LONG * 2 * sets);
    suite_add_tcase(suite, tc);
    return kit_main(suite);
}
