/* model/spec.c - see spec.h. The presets, then one walk that lists a model's tensors. */
#include "model/spec.h"

#include <stdio.h>
#include <string.h>

#include "base/suggest.h"

#define GPT_ADAMW                                        \
    {                                                    \
        OPTIMIZER_ADAMW, 3e-4f, 0.9f, 0.95f, 1e-8f, 0.1f \
    }

static const struct model_spec presets[] = {
    {.name = "gpt2-124m",
     .kind = MODEL_GPT,
     .L = 12,
     .NH = 12,
     .C = 768,
     .V = 50257,
     .context = 1024,
     .bias = true,
     .optimizer = GPT_ADAMW,
     .batch = 4,
     .seq = 256},
    {.name = "shakespeare-char",
     .kind = MODEL_GPT,
     .L = 6,
     .NH = 6,
     .C = 384,
     .V = 65,
     .context = 256,
     .bias = false,
     .optimizer = GPT_ADAMW,
     .batch = 16,
     .seq = 256},
    {.name = "mlp-768",
     .kind = MODEL_MLP,
     .bias = true,
     .layers = 2,
     .dim = {768, 3072, 768},
     .optimizer = {OPTIMIZER_ADAMW, 3e-4f, 0.9f, 0.999f, 1e-8f, 0.01f},
     .batch = 32,
     .seq = 1},
    {.name = "linear-10x2",
     .kind = MODEL_MLP,
     .bias = true,
     .layers = 1,
     .dim = {10, 2},
     .optimizer = {OPTIMIZER_SGD, 0.01f, 0, 0, 0, 0},
     .batch = 20,
     .seq = 1},
};

enum { PRESETS = sizeof presets / sizeof *presets };

const char *const model_names[] = {"gpt2-124m", "shakespeare-char", "mlp-768", "linear-10x2", NULL};

int model_spec_find(struct model_spec *spec, const char *name, struct err *e)
{
    for (int i = 0; i < PRESETS; i++)
        if (strcmp(name, presets[i].name) == 0) {
            *spec = presets[i];
            return 0;
        }
    const char *near = suggest_nearest(name, model_names);
    if (near)
        return err_set(e, ERR_USAGE, "unknown model \"%.60s\"; did you mean %s?", name, near);
    return err_set(e, ERR_USAGE,
                   "unknown model \"%.60s\"; the models are gpt2-124m, shakespeare-char, mlp-768 and linear-10x2",
                   name);
}

/* Appends a tensor and returns its index. */
static int append(struct layout *l, const char *name, int rows, int cols, int layer, bool decay)
{
    struct tensor *t = &l->tensor[l->n];
    snprintf(t->name, sizeof t->name, "%s", name);
    t->offset = l->params;
    t->count = (size_t)rows * (size_t)cols;
    t->rows = rows;
    t->cols = cols;
    t->layer = layer;
    t->decay = decay;
    l->params += t->count;
    return l->n++;
}

static void append_block(struct layout *l, const struct model_spec *s, int layer)
{
    static const struct {
        const char *name;
        int rows, cols; /* in units of C */
    } part[BLOCK_TENSORS / 2] = {{"ln1", 1, 0}, {"qkv", 3, 1}, {"out", 1, 1},
                                 {"ln2", 1, 0}, {"up", 4, 1},  {"down", 1, 4}};
    for (int i = 0; i < BLOCK_TENSORS / 2; i++) {
        char name[40];
        int cols = part[i].cols ? part[i].cols * s->C : 1;
        snprintf(name, sizeof name, "blocks.%d.%s.weight", layer, part[i].name);
        l->block[layer][2 * i] = append(l, name, part[i].rows * s->C, cols, layer, part[i].cols > 0);
        snprintf(name, sizeof name, "blocks.%d.%s.bias", layer, part[i].name);
        l->block[layer][2 * i + 1] = s->bias ? append(l, name, part[i].rows * s->C, 1, layer, false) : -1;
    }
}

static int gpt_layout(struct layout *l, const struct model_spec *s, struct err *e)
{
    if (s->L < 1 || s->L > 48 || s->NH < 1 || s->C < 1 || s->C > 16384 || s->C % s->NH || s->V < 1 || s->context < 1)
        return err_set(e, ERR_USAGE,
                       "model %s: %d layers, %d heads, width %d, vocabulary %d is not a shape this program can run",
                       s->name, s->L, s->NH, s->C, s->V);
    l->wte = append(l, "wte.weight", s->V, s->C, -1, true);
    l->wpe = append(l, "wpe.weight", s->context, s->C, -1, true);
    for (int layer = 0; layer < s->L; layer++)
        append_block(l, s, layer);
    l->lnf_w = append(l, "lnf.weight", s->C, 1, s->L, false);
    if (s->bias)
        l->lnf_b = append(l, "lnf.bias", s->C, 1, s->L, false);
    return 0;
}

static int mlp_layout(struct layout *l, const struct model_spec *s, struct err *e)
{
    if (s->layers < 1 || s->layers > 2)
        return err_set(e, ERR_USAGE, "model %s: an MLP has 1 or 2 linear layers, not %d", s->name, s->layers);
    for (int i = 0; i < s->layers; i++) {
        char name[40];
        const char *prefix = s->layers == 1 ? "" : i == 0 ? "up." : "down.";
        snprintf(name, sizeof name, "%sweight", prefix);
        append(l, name, s->dim[i + 1], s->dim[i], i, true);
        snprintf(name, sizeof name, "%sbias", prefix);
        append(l, name, s->dim[i + 1], 1, i, true);
    }
    return 0;
}

int layout_init(struct layout *l, const struct model_spec *spec, struct err *e)
{
    memset(l, 0, sizeof *l);
    l->wte = l->wpe = l->lnf_w = l->lnf_b = -1;
    memset(l->block, -1, sizeof l->block);
    return spec->kind == MODEL_GPT ? gpt_layout(l, spec, e) : mlp_layout(l, spec, e);
}

double model_flops_per_token(const struct layout *l)
{
    double weights = 0;
    for (int i = 0; i < l->n; i++)
        if (l->tensor[i].cols > 1 && i != l->wpe)
            weights += (double)l->tensor[i].count;
    return 6 * weights;
}
