/*
 * model/buffers.h - the activations and scratch of one network, private to model/.
 *
 * Kept from forward to backward, per layer: residual before each norm, qkv, attention output, pre-GELU
 * values, the norms' mean and 1/deviation, attention's log-sum-exp. Outputs of norms and GELU are computed
 * again. Everything here lies in net->memory; sizes are decided once, in net_plan.
 */
#ifndef MODEL_BUFFERS_H
#define MODEL_BUFFERS_H

#include <stdint.h>

#include "model/kernels.h"
#include "model/net.h"

enum { QUERY_BLOCK = 64 };

enum { SLOTS_MAX = 32 };

struct net_buffers {
    int slots; /* where net_take puts the address of each planned buffer */
    struct {
        void **pointer;
        size_t offset;
    } slot[SLOTS_MAX];

    int mlp_rows;   /* rows of [B*T] that go through the MLP at once, so that 4C values a row stay in cache */
    int head_rows;  /* rows whose logits exist at the same time */
    size_t partial; /* floats per thread in reduce */

    float *residual;    /* [2L + 1][BT][C]: before ln1, before ln2 of each layer, before lnf */
    float *mean, *rstd; /* [2L + 1][BT] */
    float *qkv;         /* [L][BT][3C] */
    float *attention;   /* [L][BT][C] */
    float *pre_gelu;    /* [L][BT][4C], without the bias */
    float *lse;         /* [L][B][NH][T] */

    float *norm;       /* [BT][C] output of the current norm */
    float *branch;     /* [BT][C] what is added to the residual; in backward the gradient of norm */
    float *act;        /* [mlp_rows][4C] */
    float *d_act;      /* [mlp_rows][4C] */
    float *logits;     /* [head_rows][V] */
    float *d_residual; /* [BT][C] */
    float *d_qkv;      /* [BT][3C] */
    float *scores;     /* [threads][2][QUERY_BLOCK][T] */
    float *delta;      /* [threads][QUERY_BLOCK] */
    float *reduce;     /* [threads][partial]: column sums of each thread before they are added */
    double *loss;      /* [threads] sums of doubles, one cache line each */

    float *hidden; /* MLP: [B][dim[1]] before GELU */
    float *output; /* MLP: [B][dim[layers]] */
};

/* Plans bytes under name; *pointer is set by net_take. */
void buffers_plan(struct net *net, void *pointer, const char *name, size_t bytes);

/* model/gpt.c and model/mlp.c: forward, and (if grad) backward; returns the mean loss. */
void gpt_plan(struct net *net);
float gpt_step(struct net *net, const int32_t *tokens, const int32_t *targets, float scale, bool accumulate, bool grad);
void mlp_plan(struct net *net);
float mlp_step(struct net *net, const float *inputs, float scale, bool accumulate, bool grad);

#endif
