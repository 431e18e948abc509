/*
 * comm/sum.h - sum[i] += add[i] for single precision.
 *
 * The same bits from every variant: each element is one IEEE addition. Pure, any thread; sum and add do not overlap and
 * need no alignment.
 */
#ifndef COMM_SUM_H
#define COMM_SUM_H

#include <stddef.h>

/* Uses AVX-512 or AVX2 where the CPU has it. */
void sum_add(float *sum, const float *add, size_t n);

struct sum_variant {
    const char *name;
    void (*add)(float *sum, const float *add, size_t n);
};

enum { SUM_VARIANTS_MAX = 3 };

/* Those that this CPU can run, slowest first; returns how many. For tests, and to tell which one is in use. */
int sum_variants(struct sum_variant out[static SUM_VARIANTS_MAX]);

#endif
