/*
 * tests/golden.h - reads tests/golden/NAME.gold, what PyTorch computed; the format is described in tools/golden.py.
 *
 * A file that is missing, damaged or lacks a record fails the test that opens it. Pointers are borrowed from
 * the struct.
 */
#ifndef TESTS_GOLDEN_H
#define TESTS_GOLDEN_H

#include <stddef.h>
#include <stdint.h>

#include "model/spec.h"

struct golden {
    struct model_spec spec; /* as if it were one of the built-in models */
    int B, T, batches;
    float clip;
    const float *param;   /* initial values */
    unsigned char *bytes; /* the whole file, owned */
    size_t size;
};

void golden_open(struct golden *g, const char *name);
void golden_close(struct golden *g);

/* The record of that name; *n (may be NULL) becomes its count. */
const float *golden_floats(const struct golden *g, const char *name, size_t *n);

/* Inputs and targets of batch i, as net_step takes them; targets are NULL for an MLP. */
const void *golden_inputs(const struct golden *g, int i);
const int32_t *golden_targets(const struct golden *g, int i);

#endif
