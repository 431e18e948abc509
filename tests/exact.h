/*
 * tests/exact.h - the loss of a network in double, written as the papers have it and nothing like the engine:
 * one position at a time, plain loops, T x T attention. What finite differences are taken of.
 */
#ifndef TESTS_EXACT_H
#define TESTS_EXACT_H

#include <stdint.h>

#include "model/spec.h"

/* Mean loss over the batch; inputs and targets as net_step takes them, param in the layout's order. */
double exact_loss(const struct model_spec *spec, const struct layout *layout, const double *param, int B, int T,
                  const void *inputs, const int32_t *targets);

#endif
