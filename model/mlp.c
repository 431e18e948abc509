/*
 * model/mlp.c - a step of one linear layer, or of two with an exact (erf) GELU between them; the loss is
 * the mean of the squared outputs. Linear y = x W^T + b, W [out][in], as torch.nn.Linear.
 */
#include "base/clock.h"
#include "model/gemm.h"
#include "model/ops.h"

static size_t max_dim(const struct model_spec *s)
{
    int max = 0;
    for (int i = 0; i <= s->layers; i++)
        max = s->dim[i] > max ? s->dim[i] : max;
    return (size_t)max;
}

void mlp_plan(struct net *net)
{
    const struct model_spec *s = &net->spec;
    struct net_buffers *b = net->buffers;
    size_t B = (size_t)net->B, f = sizeof(float), out = (size_t)s->dim[s->layers];
    b->partial = max_dim(s) + 16;
    if (s->layers == 2) {
        size_t hidden = B * (size_t)s->dim[1] * f;
        buffers_plan(net, &b->hidden, "hidden", hidden);
        buffers_plan(net, &b->act, "GELU output", hidden);
        buffers_plan(net, &b->d_act, "GELU gradient", hidden);
    }
    buffers_plan(net, &b->output, "output", B * out * f);
    buffers_plan(net, &b->reduce, "partial sums", (size_t)net->threads * b->partial * f);
    buffers_plan(net, &b->loss, "partial losses", (size_t)net->threads * 64);
}

static float *parameter(const struct net *net, float *flat, int layer, int bias)
{
    return flat + net->layout.tensor[2 * layer + bias].offset;
}

static void linear(struct net *net, int layer, float *y, const float *x)
{
    int in = net->spec.dim[layer], out = net->spec.dim[layer + 1];
    gemm(false, true, net->B, out, in, 1, x, in, parameter(net, net->param, layer, 0), in, 0, y, out);
}

/* Gradients of one layer from dy [B][out] and its input x [B][in]. */
static void linear_backward(struct net *net, int layer, const float *dy, const float *x, bool accumulate)
{
    int in = net->spec.dim[layer], out = net->spec.dim[layer + 1];
    gemm(true, false, out, in, net->B, 1, dy, out, x, in, accumulate, parameter(net, net->grad, layer, 0), in);
    net_tell_ready(net, 2 * layer);
}

/* Turns y into the gradient of scale x mean(y^2) and returns mean(y^2). A few thousand values: one thread. */
static float mean_square(const struct net *net, float *y, size_t n, float scale, bool grad)
{
    float loss = (float)(net->k->sum_squares(y, n) / (double)n);
    if (grad)
        net->k->scale(y, n, 2 * scale / (float)n);
    return loss;
}

float mlp_step(struct net *net, const float *inputs, float scale, bool accumulate, bool grad)
{
    struct net_buffers *b = net->buffers;
    const struct model_spec *s = &net->spec;
    int last = s->layers - 1, B = net->B, out = s->dim[s->layers];
    const float *x = inputs;

    uint64_t t = clock_now_ns();
    if (last == 1) {
        linear(net, 0, b->hidden, inputs);
        ops_bias_gelu(net, b->act, b->hidden, parameter(net, net->param, 0, 1), B, s->dim[1]);
        t = net_trace_phase(net, PHASE_FORWARD, 0, t);
        x = b->act;
    }
    linear(net, last, b->output, x);
    ops_add_bias(net, b->output, parameter(net, net->param, last, 1), B, out);
    float loss = mean_square(net, b->output, (size_t)B * (size_t)out, scale, grad);
    t = net_trace_phase(net, PHASE_FORWARD, last, t);
    if (!grad)
        return loss;

    ops_bias_grad(net, parameter(net, net->grad, last, 1), b->output, B, out, accumulate);
    net_tell_ready(net, 2 * last + 1);
    linear_backward(net, last, b->output, x, accumulate);
    if (last == 1) {
        gemm(false, false, B, s->dim[1], out, 1, b->output, out, parameter(net, net->param, 1, 0), s->dim[1], 0,
             b->d_act, s->dim[1]);
        t = net_trace_phase(net, PHASE_BACKWARD, 1, t);
        ops_bias_gelu_backward(net, b->act, b->d_act, parameter(net, net->grad, 0, 1), b->hidden,
                               parameter(net, net->param, 0, 1), B, s->dim[1], accumulate);
        net_tell_ready(net, 1);
        linear_backward(net, 0, b->d_act, inputs, accumulate);
    }
    net_trace_phase(net, PHASE_BACKWARD, 0, t);
    return loss;
}
