/*
 * model/gemm.h - the only door to OpenBLAS: matrix products, their thread pool, the kernel's name.
 *
 * Row-major fp32. Called from outside a parallel region a product uses the whole pool; from inside one
 * it runs on the calling thread alone (OpenBLAS's OpenMP build checks omp_in_parallel).
 */
#ifndef MODEL_GEMM_H
#define MODEL_GEMM_H

#include <stdbool.h>

/* C[m][n] = alpha A B + beta C. A is [m][k] with row stride lda, or [k][m] if ta; B is [k][n], or [n][k] if tb. */
void gemm(bool ta, bool tb, int m, int n, int k, float alpha, const float *a, int lda, const float *b, int ldb,
          float beta, float *c, int ldc);

void gemm_set_threads(int n);   /* OpenBLAS and OpenMP alike: one pool */
int gemm_threads(void);         /* what OpenBLAS made of it: it has a largest number since it was built */
const char *gemm_core(void);    /* kernel OpenBLAS runs, e.g. "SkylakeX" */
const char *gemm_version(void); /* "0.3.21" */
bool gemm_is_openmp(void);      /* the OpenMP build is the one loaded */

struct gemm_rate {
    double flops_per_s;    /* best of several products of 768 x 3072 x 768 on the given threads */
    double relative_error; /* largest |c - exact| / sum |a b| over sampled elements against doubles */
};

/* Takes about seconds of time; threads as given. NaN rate if memory is short. */
struct gemm_rate gemm_measure(int threads, double seconds);

#endif
