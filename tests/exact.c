/* tests/exact.c - see exact.h. Start reading at gpt_sequence, which is Radford et al. 2019 line by line. */
#include "tests/exact.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct gpt {
    const struct model_spec *spec;
    const struct layout *layout;
    const double *param;
    int T;
};

static double *rows(int n, int width)
{
    double *x = calloc((size_t)n * (size_t)width, sizeof *x);
    if (!x)
        ck_abort_msg("no memory for %d x %d doubles", n, width);
    return x;
}

/* NULL where the model has no such tensor. */
static const double *tensor(const struct gpt *g, int index)
{
    return index < 0 ? NULL : g->param + g->layout->tensor[index].offset;
}

/* y[out] = W x + b */
static void linear(double *y, const double *x, const double *w, const double *b, int out, int in)
{
    for (int i = 0; i < out; i++) {
        y[i] = b ? b[i] : 0;
        for (int j = 0; j < in; j++)
            y[i] += w[(size_t)i * (size_t)in + (size_t)j] * x[j];
    }
}

static void layer_norm(double *y, const double *x, const double *w, const double *b, int C)
{
    double mean = 0, variance = 0;
    for (int j = 0; j < C; j++)
        mean += x[j] / C;
    for (int j = 0; j < C; j++)
        variance += (x[j] - mean) * (x[j] - mean) / C;
    for (int j = 0; j < C; j++)
        y[j] = (x[j] - mean) / sqrt(variance + 1e-5) * w[j] + (b ? b[j] : 0);
}

/* What position t of one head gets from positions 0 .. t; qkv[T][3C]. */
static void attend(double *y, const double *qkv, int t, int head, int hs, int C)
{
    double score[4096], sum = 0;
    const double *q = qkv + t * 3 * C + head * hs;
    for (int s = 0; s <= t; s++) {
        const double *k = qkv + s * 3 * C + C + head * hs;
        double dot = 0;
        for (int j = 0; j < hs; j++)
            dot += q[j] * k[j];
        score[s] = exp(dot / sqrt(hs));
        sum += score[s];
    }
    memset(y, 0, (size_t)hs * sizeof *y);
    for (int s = 0; s <= t; s++)
        for (int j = 0; j < hs; j++)
            y[j] += score[s] / sum * qkv[s * 3 * C + 2 * C + head * hs + j];
}

static void block(const struct gpt *g, int layer, double *x)
{
    int C = g->spec->C, T = g->T, hs = C / g->spec->NH;
    const double *p[BLOCK_TENSORS];
    double *norm = rows(1, C), *qkv = rows(T, 3 * C), *y = rows(1, C), *up = rows(1, 4 * C), *branch = rows(1, C);
    for (int i = 0; i < BLOCK_TENSORS; i++)
        p[i] = tensor(g, g->layout->block[layer][i]);
    for (int t = 0; t < T; t++) {
        layer_norm(norm, x + t * C, p[LN1_W], p[LN1_B], C);
        linear(qkv + t * 3 * C, norm, p[QKV_W], p[QKV_B], 3 * C, C);
    }
    for (int t = 0; t < T; t++) {
        for (int head = 0; head < g->spec->NH; head++)
            attend(y + head * hs, qkv, t, head, hs, C);
        linear(branch, y, p[OUT_W], p[OUT_B], C, C);
        for (int j = 0; j < C; j++)
            x[t * C + j] += branch[j];
        layer_norm(norm, x + t * C, p[LN2_W], p[LN2_B], C);
        linear(up, norm, p[UP_W], p[UP_B], 4 * C, C);
        for (int j = 0; j < 4 * C; j++)
            up[j] = 0.5 * up[j] * (1 + tanh(sqrt(2 / M_PI) * (up[j] + 0.044715 * up[j] * up[j] * up[j])));
        linear(branch, up, p[DOWN_W], p[DOWN_B], C, 4 * C);
        for (int j = 0; j < C; j++)
            x[t * C + j] += branch[j];
    }
    free(norm);
    free(qkv);
    free(y);
    free(up);
    free(branch);
}

/* Summed loss of one sequence. */
static double gpt_sequence(const struct gpt *g, const int32_t *inputs, const int32_t *targets)
{
    int C = g->spec->C, V = g->spec->V;
    const double *wte = tensor(g, g->layout->wte), *wpe = tensor(g, g->layout->wpe);
    double *x = rows(g->T, C), *norm = rows(1, C), *logits = rows(1, V), loss = 0;
    for (int t = 0; t < g->T; t++)
        for (int j = 0; j < C; j++)
            x[t * C + j] = wte[inputs[t] * C + j] + wpe[t * C + j];
    for (int layer = 0; layer < g->spec->L; layer++)
        block(g, layer, x);
    for (int t = 0; t < g->T; t++) {
        double sum = 0;
        layer_norm(norm, x + t * C, tensor(g, g->layout->lnf_w), tensor(g, g->layout->lnf_b), C);
        linear(logits, norm, wte, NULL, V, C);
        for (int v = 0; v < V; v++)
            sum += exp(logits[v]);
        loss += log(sum) - logits[targets[t]];
    }
    free(x);
    free(norm);
    free(logits);
    return loss;
}

/* Summed squares of the outputs for one row of inputs; v Phi(v) between the layers. */
static double mlp_row(const struct model_spec *s, const double *param, const float *inputs)
{
    int widest = 0;
    for (int i = 0; i <= s->layers; i++)
        widest = s->dim[i] > widest ? s->dim[i] : widest;
    double *x = rows(1, widest), *y = rows(1, widest), loss = 0;
    for (int j = 0; j < s->dim[0]; j++)
        x[j] = (double)inputs[j];
    for (int i = 0; i < s->layers; i++) {
        int in = s->dim[i], out = s->dim[i + 1];
        linear(y, x, param, param + in * out, out, in);
        param += in * out + out;
        for (int j = 0; j < out; j++)
            x[j] = i + 1 < s->layers ? 0.5 * y[j] * erfc(-y[j] / sqrt(2)) : y[j];
    }
    for (int j = 0; j < s->dim[s->layers]; j++)
        loss += x[j] * x[j];
    free(x);
    free(y);
    return loss;
}

double exact_loss(const struct model_spec *spec, const struct layout *layout, const double *param, int B, int T,
                  const void *inputs, const int32_t *targets)
{
    double loss = 0;
    if (spec->kind == MODEL_MLP) {
        for (int b = 0; b < B; b++)
            loss += mlp_row(spec, param, (const float *)inputs + b * spec->dim[0]);
        return loss / (B * spec->dim[spec->layers]);
    }
    struct gpt g = {spec, layout, param, T};
    for (int b = 0; b < B; b++)
        loss += gpt_sequence(&g, (const int32_t *)inputs + b * T, targets + b * T);
    return loss / (B * T);
}
