/*
 * model/gpt.c - a step of a pre-LayerNorm GPT with tied head, read top down: gpt_step calls forward layer by layer,
 * then the head (forward and backward together, a chunk of rows at a time, so that B*T x V logits never exist),
 * then backward layer by layer.
 *
 * Invariant: `norm` holds the output of the norm in front of what runs next; d_residual holds the
 * gradient of the residual stream behind the layer that backward visits next. Shapes: R rows of B*T.
 */
#include "base/clock.h"

#include "model/attention.h"
#include "model/gemm.h"
#include "model/ops.h"

enum { MLP_BYTES = 8 << 20, HEAD_BYTES = 112 << 20 };

struct weights { /* addresses of one layer's tensors in a flat array; NULL where there is none */
    float *p[BLOCK_TENSORS];
};

static float *find(float *flat, const struct layout *l, int index)
{
    return index < 0 ? NULL : flat + l->tensor[index].offset;
}

static struct weights layer_weights(const struct net *net, float *flat, int layer)
{
    struct weights w;
    for (int i = 0; i < BLOCK_TENSORS; i++)
        w.p[i] = find(flat, &net->layout, net->layout.block[layer][i]);
    return w;
}

static size_t rows_of(const struct net *net)
{
    return (size_t)net->B * (size_t)net->T;
}

/* Equal chunks of at most limit rows, a multiple of 16 unless the batch is smaller. */
static int chunk_rows(size_t rows, size_t limit)
{
    if (limit < 16)
        limit = 16;
    size_t chunks = (rows + limit - 1) / limit, size = (rows + chunks - 1) / chunks;
    size = (size + 15) / 16 * 16;
    return (int)(size < rows ? size : rows);
}

void gpt_plan(struct net *net)
{
    const struct model_spec *s = &net->spec;
    struct net_buffers *b = net->buffers;
    size_t BT = rows_of(net), C = (size_t)s->C, L = (size_t)s->L, f = sizeof(float), threads = (size_t)net->threads;
    b->mlp_rows = chunk_rows(BT, MLP_BYTES / (4 * C * f));
    b->head_rows = chunk_rows(BT, (s->logits_bytes ? s->logits_bytes : HEAD_BYTES) / ((size_t)s->V * f));
    b->partial = 4 * C + 16;
    buffers_plan(net, &b->residual, "residual stream", (2 * L + 1) * BT * C * f);
    buffers_plan(net, &b->mean, "norm means", (2 * L + 1) * BT * f);
    buffers_plan(net, &b->rstd, "norm deviations", (2 * L + 1) * BT * f);
    buffers_plan(net, &b->qkv, "qkv", L * BT * 3 * C * f);
    buffers_plan(net, &b->attention, "attention output", L * BT * C * f);
    buffers_plan(net, &b->pre_gelu, "pre-GELU", L * BT * 4 * C * f);
    buffers_plan(net, &b->lse, "attention log-sums", L * BT * (size_t)s->NH * f);
    buffers_plan(net, &b->norm, "norm output", BT * C * f);
    buffers_plan(net, &b->branch, "branch output", BT * C * f);
    buffers_plan(net, &b->act, "GELU chunk", (size_t)b->mlp_rows * 4 * C * f);
    buffers_plan(net, &b->d_act, "GELU gradient chunk", (size_t)b->mlp_rows * 4 * C * f);
    buffers_plan(net, &b->logits, "logits chunk", (size_t)b->head_rows * (size_t)s->V * f);
    buffers_plan(net, &b->d_residual, "residual gradient", BT * C * f);
    buffers_plan(net, &b->d_qkv, "qkv gradient", BT * 3 * C * f);
    buffers_plan(net, &b->scores, "attention scores", threads * 2 * QUERY_BLOCK * (size_t)net->T * f);
    buffers_plan(net, &b->delta, "attention row sums", threads * QUERY_BLOCK * f);
    buffers_plan(net, &b->reduce, "partial sums", threads * b->partial * f);
    buffers_plan(net, &b->loss, "partial losses", threads * 64);
}

/* The place of norm number i (0: ln1 of layer 0, 1: ln2 of layer 0, ... 2L: lnf). */
struct norm_place {
    float *x, *mean, *rstd; /* input [BT][C] and moments [BT] */
    const float *w, *b;     /* parameters [C] */
    float *dw, *db;
    int dw_index, db_index;
};

static struct norm_place norm_place(const struct net *net, int i)
{
    const struct layout *l = &net->layout;
    const struct net_buffers *b = net->buffers;
    int w = i == 2 * net->spec.L ? l->lnf_w : l->block[i / 2][i % 2 ? LN2_W : LN1_W];
    int bias = i == 2 * net->spec.L ? l->lnf_b : l->block[i / 2][i % 2 ? LN2_B : LN1_B];
    size_t BT = rows_of(net);
    return (struct norm_place){
        .x = b->residual + (size_t)i * BT * (size_t)net->spec.C,
        .mean = b->mean + (size_t)i * BT,
        .rstd = b->rstd + (size_t)i * BT,
        .w = find(net->param, l, w),
        .b = find(net->param, l, bias),
        .dw = find(net->grad, l, w),
        .db = find(net->grad, l, bias),
        .dw_index = w,
        .db_index = bias,
    };
}

struct layer_buffers {
    float *qkv, *attention, *pre_gelu, *lse;
};

static struct layer_buffers layer_buffers(const struct net *net, int layer)
{
    const struct net_buffers *b = net->buffers;
    size_t BT = rows_of(net), C = (size_t)net->spec.C, l = (size_t)layer;
    return (struct layer_buffers){b->qkv + l * BT * 3 * C, b->attention + l * BT * C, b->pre_gelu + l * BT * 4 * C,
                                  b->lse + l * BT * (size_t)net->spec.NH};
}

/* norm number i + 1 of (residual i + branch), the residual kept. */
static void next_norm(struct net *net, int i, const float *bias)
{
    struct norm_place from = norm_place(net, i), to = norm_place(net, i + 1);
    ops_residual_layernorm(net, to.x, net->buffers->norm, to.mean, to.rstd, from.x, net->buffers->branch, bias, to.w,
                           to.b);
}

static void forward_layer(struct net *net, int layer)
{
    struct net_buffers *b = net->buffers;
    struct layer_buffers a = layer_buffers(net, layer);
    struct weights w = layer_weights(net, net->param, layer);
    int BT = (int)rows_of(net), C = net->spec.C;

    gemm(false, true, BT, 3 * C, C, 1, b->norm, C, w.p[QKV_W], C, 0, a.qkv, 3 * C); /* [BT][3C] = norm . qkv^T */
    ops_add_bias(net, a.qkv, w.p[QKV_B], BT, 3 * C);
    attention_forward(net, a.attention, a.lse, a.qkv);
    gemm(false, true, BT, C, C, 1, a.attention, C, w.p[OUT_W], C, 0, b->branch, C);
    next_norm(net, 2 * layer, w.p[OUT_B]);
    for (int r = 0; r < BT; r += b->mlp_rows) {
        int R = BT - r < b->mlp_rows ? BT - r : b->mlp_rows;
        size_t row = (size_t)r * (size_t)C;
        gemm(false, true, R, 4 * C, C, 1, b->norm + row, C, w.p[UP_W], C, 0, a.pre_gelu + 4 * row, 4 * C);
        ops_bias_gelu(net, b->act, a.pre_gelu + 4 * row, w.p[UP_B], R, 4 * C);
        gemm(false, true, R, C, 4 * C, 1, b->act, 4 * C, w.p[DOWN_W], 4 * C, 0, b->branch + row, C);
    }
    next_norm(net, 2 * layer + 1, w.p[DOWN_B]);
}

static double head_forward(struct net *net, int r, int R, const int32_t *targets, float scale, bool grad)
{
    struct net_buffers *b = net->buffers;
    int C = net->spec.C, V = net->spec.V;
    const float *wte = find(net->param, &net->layout, net->layout.wte);
    gemm(false, true, R, V, C, 1, b->norm + (size_t)r * (size_t)C, C, wte, C, 0, b->logits, V); /* [R][V] */
    return ops_cross_entropy(net, b->logits, targets + r, R, scale, grad);
}

/* logits hold d_logits [R][V]; branch receives the gradient of lnf's output. With the last rows the weight's gradient is
 * complete, part by part if somebody wants to know. */
static void head_backward(struct net *net, int r, int R, bool accumulate)
{
    struct net_buffers *b = net->buffers;
    int C = net->spec.C, V = net->spec.V;
    const float *wte = find(net->param, &net->layout, net->layout.wte);
    float *d_wte = find(net->grad, &net->layout, net->layout.wte);
    size_t row = (size_t)r * (size_t)C;
    bool reports = net->head_part && r + R == (int)rows_of(net);
    int parts = reports ? net->head_parts : 1;
    for (int p = 0; p < parts; p++) {
        int v = net_head_row(V, parts, p), n = net_head_row(V, parts, p + 1) - v;
        if (n > 0)
            gemm(true, false, n, C, R, 1, b->logits + v, V, b->norm + row, C, accumulate, d_wte + (size_t)v * (size_t)C,
                 C);
        if (reports)
            net->head_part(net->ready_ctx, p, clock_now_ns());
    }
    gemm(false, false, R, C, V, 1, b->logits, V, wte, C, 0, b->branch + row, C);
}

/* branch holds the gradient of norm i's output: through the norm into d_residual. */
static void norm_backward(struct net *net, int i, bool fresh, bool accumulate)
{
    struct norm_place n = norm_place(net, i);
    ops_layernorm_backward(net, net->buffers->d_residual, fresh, n.dw, n.db, net->buffers->branch, n.x, n.mean, n.rstd,
                           n.w, accumulate);
    net_tell_ready(net, n.db_index);
    net_tell_ready(net, n.dw_index);
}

static void mlp_backward(struct net *net, int layer, bool accumulate)
{
    struct net_buffers *b = net->buffers;
    struct layer_buffers a = layer_buffers(net, layer);
    struct weights w = layer_weights(net, net->param, layer), d = layer_weights(net, net->grad, layer);
    struct norm_place n = norm_place(net, 2 * layer + 1);
    const int *index = net->layout.block[layer];
    int BT = (int)rows_of(net), C = net->spec.C;

    ops_bias_grad(net, d.p[DOWN_B], b->d_residual, BT, C, accumulate);
    for (int r = 0; r < BT; r += b->mlp_rows) {
        int R = BT - r < b->mlp_rows ? BT - r : b->mlp_rows;
        bool add = accumulate || r > 0;
        size_t row = (size_t)r * (size_t)C;
        const float *dy = b->d_residual + row;
        gemm(false, false, R, 4 * C, C, 1, dy, C, w.p[DOWN_W], 4 * C, 0, b->d_act, 4 * C);
        ops_bias_gelu_backward(net, b->act, b->d_act, d.p[UP_B], a.pre_gelu + 4 * row, w.p[UP_B], R, 4 * C, add);
        gemm(true, false, C, 4 * C, R, 1, dy, C, b->act, 4 * C, add, d.p[DOWN_W], 4 * C);
        ops_layernorm_again(net, b->norm + row, n.x + row, n.mean + r, n.rstd + r, n.w, n.b, R);
        gemm(true, false, 4 * C, C, R, 1, b->d_act, 4 * C, b->norm + row, C, add, d.p[UP_W], C);
        gemm(false, false, R, C, 4 * C, 1, b->d_act, 4 * C, w.p[UP_W], C, 0, b->branch + row, C);
    }
    net_tell_ready(net, index[DOWN_B]);
    net_tell_ready(net, index[DOWN_W]);
    net_tell_ready(net, index[UP_B]);
    net_tell_ready(net, index[UP_W]);
    norm_backward(net, 2 * layer + 1, false, accumulate);
}

static void attention_part_backward(struct net *net, int layer, bool accumulate)
{
    struct net_buffers *b = net->buffers;
    struct layer_buffers a = layer_buffers(net, layer);
    struct weights w = layer_weights(net, net->param, layer), d = layer_weights(net, net->grad, layer);
    struct norm_place n = norm_place(net, 2 * layer);
    const int *index = net->layout.block[layer];
    int BT = (int)rows_of(net), C = net->spec.C;

    ops_bias_grad(net, d.p[OUT_B], b->d_residual, BT, C, accumulate);
    net_tell_ready(net, index[OUT_B]);
    gemm(true, false, C, C, BT, 1, b->d_residual, C, a.attention, C, accumulate, d.p[OUT_W], C);
    net_tell_ready(net, index[OUT_W]);
    gemm(false, false, BT, C, C, 1, b->d_residual, C, w.p[OUT_W], C, 0, b->branch, C);
    attention_backward(net, b->d_qkv, b->branch, a.attention, a.lse, a.qkv);
    ops_bias_grad(net, d.p[QKV_B], b->d_qkv, BT, 3 * C, accumulate);
    net_tell_ready(net, index[QKV_B]);
    ops_layernorm_again(net, b->norm, n.x, n.mean, n.rstd, n.w, n.b, BT);
    gemm(true, false, 3 * C, C, BT, 1, b->d_qkv, 3 * C, b->norm, C, accumulate, d.p[QKV_W], C);
    net_tell_ready(net, index[QKV_W]);
    gemm(false, false, BT, C, 3 * C, 1, b->d_qkv, 3 * C, w.p[QKV_W], C, 0, b->branch, C);
    norm_backward(net, 2 * layer, false, accumulate);
}

float gpt_step(struct net *net, const int32_t *tokens, const int32_t *targets, float scale, bool accumulate, bool grad)
{
    struct net_buffers *b = net->buffers;
    int BT = (int)rows_of(net), L = net->spec.L;
    struct norm_place first = norm_place(net, 0);
    double loss = 0;

    uint64_t t = clock_now_ns();
    ops_embed(net, first.x, tokens);
    ops_layernorm(net, b->norm, first.mean, first.rstd, first.x, first.w, first.b);
    t = net_trace_phase(net, PHASE_FORWARD, -1, t);
    for (int layer = 0; layer < L && !net_abandoned(net); layer++) {
        forward_layer(net, layer);
        t = net_trace_phase(net, PHASE_FORWARD, layer, t);
    }
    for (int r = 0; r < BT && !net_abandoned(net); r += b->head_rows) {
        int R = BT - r < b->head_rows ? BT - r : b->head_rows;
        loss += head_forward(net, r, R, targets, scale / (float)BT, grad);
        t = net_trace_phase(net, PHASE_FORWARD, L, t);
        if (grad) {
            head_backward(net, r, R, accumulate || r > 0);
            t = net_trace_phase(net, PHASE_BACKWARD, L, t);
        }
    }
    if (!grad || net_abandoned(net))
        return (float)(loss / BT);
    norm_backward(net, 2 * L, true, accumulate);
    t = net_trace_phase(net, PHASE_BACKWARD, L, t);
    for (int layer = L - 1; layer >= 0; layer--) {
        mlp_backward(net, layer, accumulate);
        attention_part_backward(net, layer, accumulate);
        t = net_trace_phase(net, PHASE_BACKWARD, layer, t);
        if (net_abandoned(net))
            return (float)(loss / BT);
    }
    ops_embed_backward(net, find(net->grad, &net->layout, net->layout.wte),
                       find(net->grad, &net->layout, net->layout.wpe), b->d_residual, tokens, accumulate);
    net_tell_ready(net, net->layout.wpe);
    net_tell_ready(net, net->layout.wte);
    net_trace_phase(net, PHASE_BACKWARD, -1, t);
    return (float)(loss / BT);
}
