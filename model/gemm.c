/* model/gemm.c - see gemm.h. Nothing else includes cblas.h. */
#include "model/gemm.h"

#include <cblas.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

void gemm(bool ta, bool tb, int m, int n, int k, float alpha, const float *a, int lda, const float *b, int ldb,
          float beta, float *c, int ldc)
{
    cblas_sgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans, m, n, k, alpha, a, lda,
                b, ldb, beta, c, ldc);
}

void gemm_set_threads(int n)
{
    omp_set_dynamic(0);
    omp_set_num_threads(n);
    openblas_set_num_threads(n);
}

int gemm_threads(void)
{
    return openblas_get_num_threads();
}

const char *gemm_core(void)
{
    return openblas_get_corename();
}

const char *gemm_version(void)
{
    /* openblas_get_config() is "OpenBLAS 0.3.21 NO_AFFINITY USE_OPENMP ...": the second word */
    static char version[32];
    if (!*version && sscanf(openblas_get_config(), "OpenBLAS %31s", version) != 1)
        snprintf(version, sizeof version, "unknown");
    return version;
}

bool gemm_is_openmp(void)
{
    return openblas_get_parallel() == OPENBLAS_OPENMP;
}

enum { RATE_M = 768, RATE_N = 3072, RATE_K = 768 };

static double sampled_error(const float *a, const float *b, const float *c)
{
    double worst = 0;
    for (int s = 0; s < 256; s++) {
        int i = (s * 7919) % RATE_M, j = (s * 104729) % RATE_N;
        double exact = 0, size = 0;
        for (int l = 0; l < RATE_K; l++) {
            double term = (double)a[i * RATE_K + l] * b[j * RATE_K + l];
            exact += term;
            size += fabs(term);
        }
        double relative = fabs(c[(size_t)i * RATE_N + j] - exact) / size;
        if (isnan(relative))
            return NAN;
        worst = fmax(worst, relative);
    }
    return worst;
}

struct gemm_rate gemm_measure(int threads, double seconds)
{
    struct gemm_rate rate = {NAN, NAN};
    size_t na = RATE_M * RATE_K, nb = RATE_N * RATE_K, nc = (size_t)RATE_M * RATE_N;
    float *a = malloc((na + nb + nc) * sizeof *a);
    if (!a)
        return rate;
    float *b = a + na, *c = b + nb;
    for (size_t i = 0; i < na + nb; i++)
        a[i] = (float)((i * 7919u) % 1009u) / 1009.0f - 0.5f;
    gemm_set_threads(threads);
    double best = INFINITY;
    uint64_t start = clock_now_ns(), stop = start;
    for (int round = 0; round < 3 || clock_seconds(start, stop) < seconds; round++) {
        uint64_t t0 = clock_now_ns();
        gemm(false, true, RATE_M, RATE_N, RATE_K, 1, a, RATE_K, b, RATE_K, 0, c, RATE_N);
        stop = clock_now_ns();
        if (clock_seconds(t0, stop) < best)
            best = clock_seconds(t0, stop);
    }
    rate.flops_per_s = 2.0 * RATE_M * RATE_N * RATE_K / best;
    rate.relative_error = sampled_error(a, b, c);
    free(a);
    return rate;
}
