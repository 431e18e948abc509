/*
 * tests/check_net.c - whole updates against PyTorch.
 *
 * PyTorch's numbers come from tests/golden (tools/golden.py): four small networks, every kernel set, one and two
 * threads. Tolerances are 1e-4 relative for a loss and 1e-4 of the tensor's largest element for gradients and
 * parameters; rounding of the goldens themselves is below 3e-6. Gradients against finite differences: check_gradients;
 * what net.h promises beyond the numbers: check_step.
 */
#include <check.h>
#include <math.h>

#include "tests/rig.h"

START_TEST(ten_updates_as_pytorch)
{
    rig_golden(_i);
    const float *loss = golden_floats(&g, "plain.loss", NULL);
    for (int u = 0; u < g.batches; u++) {
        rig_close_loss("plain", u, net_step(&net, golden_inputs(&g, u), golden_targets(&g, u), 1, false), loss[u]);
        if (u == 0)
            rig_close("gradient", net.grad, golden_floats(&g, "plain.grad", NULL), rig_tolerance, false);
        net_update(&net, &g.spec.optimizer, u + 1);
    }
    rig_close("ten updates", net.param, golden_floats(&g, "plain.param", NULL), rig_tolerance, true);
    rig_stop();
}
END_TEST

/* The goldens' norms lie on both sides of the limit, or all above it. */
START_TEST(ten_clipped_updates_as_pytorch)
{
    rig_golden(_i);
    const float *loss = golden_floats(&g, "clip.loss", NULL), *norm = golden_floats(&g, "clip.norm", NULL);
    for (int u = 0; u < g.batches; u++) {
        rig_close_loss("clipped", u, net_step(&net, golden_inputs(&g, u), golden_targets(&g, u), 1, false), loss[u]);
        ck_assert_double_eq_tol(net_clip(&net, g.clip), (double)norm[u], rig_tolerance * (double)norm[u]);
        /* after clipping the norm is the limit, or what it was */
        ck_assert_double_eq_tol(net_clip(&net, 0), fmin((double)norm[u], (double)g.clip), rig_tolerance);
        net_update(&net, &g.spec.optimizer, u + 1);
    }
    rig_close("ten clipped updates", net.param, golden_floats(&g, "clip.param", NULL), rig_tolerance, true);
    rig_stop();
}
END_TEST

START_TEST(accumulation_as_pytorch)
{
    rig_golden(_i);
    const float *want = golden_floats(&g, "accum.loss", NULL);
    for (int u = 0; u < g.batches / 2; u++) {
        float loss = 0;
        for (int k = 0; k < 2; k++)
            loss += net_step(&net, golden_inputs(&g, 2 * u + k), golden_targets(&g, 2 * u + k), 0.5f, k > 0) / 2;
        rig_close_loss("accumulated", u, loss, want[u]);
        if (u == 0)
            rig_close("accumulated gradient", net.grad, golden_floats(&g, "accum.grad", NULL), rig_tolerance, false);
        net_update(&net, &g.spec.optimizer, u + 1);
    }
    rig_stop();
}
END_TEST

/* The parameters as PyTorch counts them, and a loss without backward that is the same number. */
START_TEST(shapes_and_forward_alone)
{
    size_t n;
    rig_golden(_i);
    golden_floats(&g, "param", &n);
    ck_assert_uint_eq(net.layout.params, n);
    float alone = net_loss(&net, golden_inputs(&g, 0), golden_targets(&g, 0));
    rig_close_loss("forward", 0, alone, *golden_floats(&g, "plain.loss", NULL));
    kit_all_zero("gradient after a forward", net.grad, n);
    ck_assert_float_eq(net_step(&net, golden_inputs(&g, 0), golden_targets(&g, 0), 1, false), alone);
    rig_stop();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("net");
    TCase *tc = tcase_create("pytorch");
    const TTest *tests[] = {ten_updates_as_pytorch, ten_clipped_updates_as_pytorch, accumulation_as_pytorch,
                            shapes_and_forward_alone};
    int sets = rig_sets();
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_loop_test(tc, tests[i], 0, sets * THREADS * GOLDENS);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(suite, tc);
    return kit_main(suite);
}
