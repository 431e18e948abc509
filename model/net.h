/*
 * model/net.h - one network in one process: memory, forward, backward, update.
 *
 * Use: net_plan() says how many bytes a shape needs and takes nothing; net_take() maps them;
 * net_init_params() or checkpoint_load() fill the parameters; then per update
 *
 *     for k in 0..K-1:  loss += net_step(net, inputs_k, targets_k, 1.0f / K, k > 0)   (gradients)
 *     net_update(net, ...)                                                            (parameters)
 *
 * net_step() runs forward and backward; the gradient is that of scale x mean loss over the B x T
 * positions, overwriting (accumulate false) or added to (true) net->grad. It allocates nothing and calls
 * OpenBLAS and OpenMP from the calling thread, which owns the net. It cannot fail.
 *
 * Backward reports each finished gradient tensor through the ready callback, on the calling thread, in
 * the order in which they are complete (during the last micro-batch only, if the caller sets it only then).
 */
#ifndef MODEL_NET_H
#define MODEL_NET_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/arena.h"
#include "model/spec.h"

struct kernels; /* model/kernels.h */

enum phase_kind { PHASE_FORWARD, PHASE_BACKWARD, PHASE_OPTIMIZER };

struct phase {
    enum phase_kind kind;
    int layer; /* 0..L-1, -1 embedding, L head and final norm */
    uint64_t start_ns, end_ns;
};

enum { PHASES_MAX = 1024, NET_NORM_PARTS = 256 };

/* What one update left behind: filled by net_step and net_update, reset by net_trace_reset. */
struct net_trace {
    int n;
    int dropped; /* phases past the capacity */
    struct phase phase[PHASES_MAX];
    uint64_t ready_ns[TENSORS_MAX]; /* instant at which each gradient tensor was complete; 0: not yet */
    int ready_order[TENSORS_MAX];
    int ready_n;
};

struct net;

/* What is called in place of the network when that is to take its time without computing (ddp/replay.h). It leaves phases and
 * instants in the trace, and calls ready and what else backward calls, as the network does. */
struct net_stand_in {
    float (*step)(void *ctx, struct net *net);
    /* count elements from there on, or scattered rows of so many elements if from is NET_STAND_IN_ROWS */
    void (*update)(void *ctx, struct net *net, size_t from, size_t count);
    void *ctx;
};
#define NET_STAND_IN_ROWS SIZE_MAX

struct net {
    struct model_spec spec;
    struct layout layout;
    int B, T;
    const struct kernels *k;
    struct arena memory;
    float *param, *grad, *m, *v; /* [layout.params] each; m and v only with AdamW */
    struct net_trace trace;
    void (*ready)(void *ctx, const struct tensor *tensor, uint64_t now_ns); /* may be NULL */
    void *ready_ctx;
    /* The tied embedding in two parts, for callers that want its dense part early. With apart set, backward leaves in
     * grad only what the head gives to wte, and puts the lookup's gradients into apart[apart_row[i]][C] (+=) for position
     * i of [B][T]; the caller has cleared it and adds it to grad later. What the head gives is finished in head_parts
     * groups of rows, as net_head_row() cuts them, and head_part is called for each in order; the gradient that goes on
     * to the layers below is computed after that. */
    void (*head_part)(void *ctx, int part, uint64_t now_ns);
    int head_parts;
    float *apart;
    const int32_t *apart_row;
    const atomic_bool *abandon; /* once it is true net_step returns within a layer and leaves garbage; may be NULL */
    const struct net_stand_in *stand_in; /* NULL: the network itself */
    struct net_buffers *buffers;         /* activations, private to model/ */
    double norm_part[NET_NORM_PARTS];    /* private to net_clip */
    int threads;
};

/* Plans every buffer for B x T on that many threads. net is the caller's storage and may hold anything.
 * ERR_USAGE if T exceeds the context. net->memory.bytes is then the need. */
int net_plan(struct net *net, const struct model_spec *spec, int B, int T, int threads, struct err *e);
int net_take(struct net *net, struct err *e);
void net_fini(struct net *net);

/* GPT: normal(0, 0.02) for matrices, 1 and 0 for norms and biases; MLP: uniform(+-1/sqrt(inputs)) as
 * torch.nn.Linear. Each tensor has its own stream of (seed, index), so any rank draws the same. */
void net_init_params(struct net *net, uint64_t seed);

/* GPT: inputs and targets are int32 [B][T], every id < V (the caller has checked). Returns the mean loss.
 * MLP: inputs is float [B][dim[0]], targets unused; loss is the mean of squared outputs. */
float net_step(struct net *net, const void *inputs, const int32_t *targets, float scale, bool accumulate);

/* Another thread has asked for the end of the step: loss and gradient mean nothing. */
static inline bool net_abandoned(const struct net *net)
{
    return net->abandon && atomic_load_explicit(net->abandon, memory_order_relaxed);
}

/* A GPT's head goes through its positions in so many slices, forward and backward of each in turn; 1 for an MLP. */
int net_head_slices(const struct net *net);

/* Forward only, for validation. */
float net_loss(struct net *net, const void *inputs, const int32_t *targets);

/* 2-norm of the whole gradient. If clip > 0 and the norm is larger, scales the gradient by
 * clip / (norm + 1e-6), as torch.nn.utils.clip_grad_norm_ does. The same bits with any number of threads and any kernels. */
double net_clip(struct net *net, float clip);

/* One optimizer update with bias correction for update number t = 1, 2, ... */
void net_update(struct net *net, const struct optimizer_spec *optimizer, int64_t t);

/* The same for the elements [from, from + count) of the flat arrays, and for some rows of one tensor. Parts that cover
 * everything once are one update, bit for bit, in any order. */
struct net_rows {
    int first, end;      /* of these rows */
    const int32_t *mark; /* [rows of the tensor] */
    bool marked;         /* true: those with mark >= 0, false: those with mark < 0 */
};
void net_update_span(struct net *net, const struct optimizer_spec *optimizer, int64_t t, size_t from, size_t count);
void net_update_rows(struct net *net, const struct optimizer_spec *optimizer, int64_t t, int tensor,
                     const struct net_rows *rows);

/* First row of a part when V rows are finished in that many parts; part == parts gives V. Cuts fall on multiples of 4,
 * the width of a kernel of OpenBLAS, and a part may be empty. */
static inline int net_head_row(int V, int parts, int part)
{
    return part >= parts ? V : (int)((int64_t)V * part / parts / 4 * 4);
}

void net_trace_reset(struct net *net);

/* For the network and for what stands in for it: a phase that started at start_ns ends now, and the gradient of tensor
 * index is complete (-1 is ignored). Both write the trace; the first returns now, the second calls ready. */
uint64_t net_trace_phase(struct net *net, enum phase_kind kind, int layer, uint64_t start_ns);
void net_tell_ready(struct net *net, int index);

/* Replaces the kernels (model/kernels.h); the null set leaves only the matrix products. */
void net_use_kernels(struct net *net, const struct kernels *k);

#endif
