/* tests/rig.c - see rig.h. */
#include "tests/rig.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const golden_name[GOLDENS] = {"gpt", "char", "mlp", "linear"};

const struct kernels *set[KIT_SETS_MAX];
struct net net, other;
struct golden g;
const double rig_tolerance = 1e-4;

int rig_sets(void)
{
    return kit_sets(set);
}

void rig_start(struct net *n, const struct model_spec *spec, int B, int T, int threads, const struct kernels *k)
{
    static char subject[100];
    struct err e;
    snprintf(subject, sizeof subject, "%s, %s kernels, %d threads", spec->name, k->name, threads);
    kit_subject = subject;
    ck_assert_msg(net_plan(n, spec, B, T, threads, &e) == 0 && net_take(n, &e) == 0, "%s: %s", subject, e.text);
    net_use_kernels(n, k);
}

void rig_golden(int i)
{
    golden_open(&g, golden_name[i % GOLDENS]);
    rig_start(&net, &g.spec, g.B, g.T, 1 + i / GOLDENS % THREADS, set[i / GOLDENS / THREADS]);
    memcpy(net.param, g.param, net.layout.params * sizeof(float));
}

void rig_stop(void)
{
    net_fini(&net);
    net_fini(&other);
    golden_close(&g);
    kit_release();
}

void rig_close(const char *what, const float *got, const float *want, double limit, bool skip_key_bias)
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

void rig_close_loss(const char *variant, int update, float got, float want)
{
    ck_assert_msg(fabs((double)got - (double)want) <= rig_tolerance * fabs((double)want),
                  "%s: %s loss of update %d is %.8g, PyTorch has %.8g", kit_subject, variant, update + 1, (double)got,
                  (double)want);
}
