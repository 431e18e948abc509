/*
 * ddp/plan.h - sizes that the plan and the experiment share; private to ddp/.
 */
#ifndef DDP_PLAN_H
#define DDP_PLAN_H

#include "ddp/run.h"

/* Inputs and targets of all micro-batches of one update. */
size_t plan_batch_bytes(const struct run *run);

/* Rows of run->layer_s per sample: the layers, the embedding before them, for a GPT the head after them. */
size_t plan_layers(const struct model_spec *spec);

#endif
