/*
 * tests/blas_machine.h - machines that are not at hand, for the tests of the kernel choice.
 *
 * A machine is a struct of facts; what its kernels would be measured to do is written into machine_record.
 * Failures are reported through Check.
 */
#ifndef TESTS_BLAS_MACHINE_H
#define TESTS_BLAS_MACHINE_H

#include "model/blas_choice.h"

#define AVX2_CPU (BLAS_AVX | BLAS_AVX2 | BLAS_FMA)
#define AVX512_CPU (AVX2_CPU | BLAS_AVX512F | BLAS_AVX512DQ | BLAS_AVX512CD | BLAS_AVX512BW | BLAS_AVX512VL)
#define BF16_CPU (AVX512_CPU | BLAS_AVX512_BF16)

extern struct blas_record machine_record;

/* OpenBLAS 0.3.21 with that kernel loaded on a CPU with those features. */
struct blas_facts machine(const char *active, unsigned features);

/* Empties machine_record for that machine. */
void machine_prepare(const struct blas_facts *f);

/* The candidate asked for as core ("" is the default) ran as active. */
void machine_measured(const char *core, const char *active, double gflops, double relative_error);
void machine_died(const char *core, int signal_number);

/* A Xeon newer than OpenBLAS 0.3.21, with rates as measured on one, in machine_record too. */
struct blas_facts machine_fallen_back(void);

#endif
