/*
 * model/attention.h - causal self-attention of one layer, all heads, blocked over query rows.
 *
 * qkv[BT][3C] holds q, k, v side by side, head h in columns h*hs .. h*hs + hs of each part. A block of
 * QUERY_BLOCK query rows sees the keys up to its last row; its scores live in per-thread scratch of
 * QUERY_BLOCK x T, so nothing of size T x T is stored and products past the diagonal block are not made.
 * Called from outside parallel regions; (sequence, head) pairs are divided among threads, each product runs
 * on its thread alone.
 */
#ifndef MODEL_ATTENTION_H
#define MODEL_ATTENTION_H

#include "model/buffers.h"

/* out[BT][C], lse[B][NH][T]. */
void attention_forward(struct net *net, float *out, float *lse, const float *qkv);

/* d_qkv[BT][3C] from d_out[BT][C]; scores are computed again from qkv and lse. */
void attention_backward(struct net *net, float *d_qkv, const float *d_out, const float *out, const float *lse,
                        const float *qkv);

#endif
