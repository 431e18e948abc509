/*
 * model/spec.h - which network: the shapes of the built-in models and the list of their parameters.
 *
 * Letters as in the literature: B batch, T sequence, C width, V vocabulary, L layers, NH heads.
 * Parameters live in one flat fp32 array in PyTorch's registration order (wte, wpe, then per block
 * ln1, qkv, out, ln2, up, down, then lnf); gradients and optimizer moments have the same layout, so a
 * tensor is a span of it. The GPT head is tied to wte and is no tensor of its own.
 * Matrices are [rows = outputs][cols = inputs], as torch.nn.Linear stores them.
 */
#ifndef MODEL_SPEC_H
#define MODEL_SPEC_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum model_kind { MODEL_GPT, MODEL_MLP };
enum optimizer_kind { OPTIMIZER_ADAMW, OPTIMIZER_SGD };

struct optimizer_spec {
    enum optimizer_kind kind;
    float lr;
    float beta1, beta2, eps; /* AdamW */
    float weight_decay;      /* on tensors with decay set only */
};

struct model_spec {
    char name[32];
    enum model_kind kind;
    int L, NH, C, V, context; /* GPT: L layers of NH heads, width C, vocabulary V, positions */
    bool bias;
    int layers; /* MLP: number of linear layers, 1 or 2, GELU between them */
    int dim[3]; /* MLP: widths, dim[0] inputs .. dim[layers] outputs */
    struct optimizer_spec optimizer;
    size_t logits_bytes; /* GPT: that may exist at a time; 0: as measured fastest on one node */
    int batch, seq;      /* what a run uses unless told otherwise; seq is 1 for an MLP */
};

struct tensor {
    char name[40];  /* PyTorch's name in a state_dict, e.g. "blocks.0.qkv.weight" */
    size_t offset;  /* first element in the flat array */
    size_t count;   /* elements */
    int rows, cols; /* vectors have cols = 1 */
    int layer;      /* 0..L-1; -1 embedding, L final norm */
    bool decay;     /* weight decay applies: matrices of a GPT, everything in an MLP (PyTorch's default) */
};

enum { TENSORS_MAX = 640 };

/* Places of a GPT block's tensors relative to its first; without biases the others close up. */
enum block_tensor { LN1_W, LN1_B, QKV_W, QKV_B, OUT_W, OUT_B, LN2_W, LN2_B, UP_W, UP_B, DOWN_W, DOWN_B, BLOCK_TENSORS };

struct layout {
    int n;         /* tensors */
    size_t params; /* unique parameters: the sum of counts */
    struct tensor tensor[TENSORS_MAX];
    int wte, wpe, lnf_w, lnf_b;   /* indices; -1 where the model has none */
    int block[64][BLOCK_TENSORS]; /* indices by layer; -1 where the model has none */
};

/* NULL-terminated names of the built-in models. */
extern const char *const model_names[];

/* Fills spec by name; ERR_USAGE naming the nearest match if there is no such model. */
int model_spec_find(struct model_spec *spec, const char *name, struct err *e);

/* The list of parameters; ERR_USAGE if a shape is out of range (C not divisible by NH, too many layers). */
int layout_init(struct layout *layout, const struct model_spec *spec, struct err *e);

/* Floating-point operations of the weight products of one token, forward + backward: 6 x parameters that
 * take part in a product (PaLM, Chowdhery et al. 2022, appendix B, without the attention term). */
double model_flops_per_token(const struct layout *layout);

#endif
