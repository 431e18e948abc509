/* comm/sum.c - see sum.h. Two vectors a round keep both load ports busy; tails are plain C. */
#include "comm/sum.h"

static void add_plain(float *restrict sum, const float *restrict add, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sum[i] += add[i];
}

#ifdef __x86_64__
#include <immintrin.h>

__attribute__((target("avx2"))) static void add_avx2(float *restrict sum, const float *restrict add, size_t n)
{
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        __m256 a = _mm256_add_ps(_mm256_loadu_ps(sum + i), _mm256_loadu_ps(add + i));
        __m256 b = _mm256_add_ps(_mm256_loadu_ps(sum + i + 8), _mm256_loadu_ps(add + i + 8));
        _mm256_storeu_ps(sum + i, a);
        _mm256_storeu_ps(sum + i + 8, b);
    }
    for (; i < n; i++)
        sum[i] += add[i];
}

__attribute__((target("avx512f"))) static void add_avx512(float *restrict sum, const float *restrict add, size_t n)
{
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        __m512 a = _mm512_add_ps(_mm512_loadu_ps(sum + i), _mm512_loadu_ps(add + i));
        __m512 b = _mm512_add_ps(_mm512_loadu_ps(sum + i + 16), _mm512_loadu_ps(add + i + 16));
        _mm512_storeu_ps(sum + i, a);
        _mm512_storeu_ps(sum + i + 16, b);
    }
    for (; i < n; i++)
        sum[i] += add[i];
}
#endif

void sum_add(float *sum, const float *add, size_t n)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f")) {
        add_avx512(sum, add, n);
        return;
    }
    if (__builtin_cpu_supports("avx2")) {
        add_avx2(sum, add, n);
        return;
    }
#endif
    add_plain(sum, add, n);
}

int sum_variants(struct sum_variant out[static SUM_VARIANTS_MAX])
{
    int n = 0;
    out[n++] = (struct sum_variant){"plain", add_plain};
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2"))
        out[n++] = (struct sum_variant){"avx2", add_avx2};
    if (__builtin_cpu_supports("avx512f"))
        out[n++] = (struct sum_variant){"avx512", add_avx512};
#endif
    return n;
}
