/*
 * model/simd.h - the few vector operations the kernels need, for 8 (AVX2 + FMA) or 16 (AVX-512) floats.
 *
 * Included by exactly the files that are compiled with the matching flags, after SIMD_WIDTH is defined.
 * Tails: vload_n and vstore_n touch only the first n < SIMD_WIDTH elements, the others read as zero.
 */
#ifndef MODEL_SIMD_H
#define MODEL_SIMD_H

#include <immintrin.h>
#include <stddef.h>

/* A table, one operation a line. */
/* clang-format off */
#if SIMD_WIDTH == 16

typedef __m512 vf;

static inline vf vload(const float *p) { return _mm512_loadu_ps(p); }
static inline void vstore(float *p, vf x) { _mm512_storeu_ps(p, x); }
static inline vf vset(float x) { return _mm512_set1_ps(x); }
static inline vf vload_n(const float *p, int n) { return _mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), p); }
static inline void vstore_n(float *p, vf x, int n) { _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), x); }
static inline vf vfma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
static inline vf vfnma(vf a, vf b, vf c) { return _mm512_fnmadd_ps(a, b, c); }
/* If either is NaN the second operand is returned, as the instruction does. */
static inline vf vmax(vf a, vf b) { return _mm512_max_ps(a, b); }
static inline vf vmin(vf a, vf b) { return _mm512_min_ps(a, b); }
static inline vf vsqrt(vf a) { return _mm512_sqrt_ps(a); }
static inline float vsum(vf a) { return _mm512_reduce_add_ps(a); }
static inline float vmax_across(vf a) { return _mm512_reduce_max_ps(a); }
static inline vf vround(vf a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
static inline vf vabs(vf a) { return _mm512_abs_ps(a); }
/* x with its sign flipped where s is negative */
static inline vf vsign(vf x, vf s)
{
    __m512i sign = _mm512_and_si512(_mm512_castps_si512(s), _mm512_set1_epi32((int)0x80000000u));
    return _mm512_castsi512_ps(_mm512_xor_si512(_mm512_castps_si512(x), sign));
}
/* x * 2^n for integral n in [-126, 127] */
static inline vf vscale2(vf x, vf n) { return _mm512_scalef_ps(x, n); }
/* lanes from keep up are replaced by zero */
static inline vf vkeep(vf x, int keep) { return _mm512_maskz_mov_ps((__mmask16)((1u << keep) - 1), x); }
/* half as many doubles */
typedef __m512d vd;
static inline vd vdzero(void) { return _mm512_setzero_pd(); }
static inline vd vdload(const float *p) { return _mm512_cvtps_pd(_mm256_loadu_ps(p)); }
static inline void vdstore(double *p, vd x) { _mm512_storeu_pd(p, x); }

#else

typedef __m256 vf;

static inline __m256i lanes_below(int n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
static inline vf vload(const float *p) { return _mm256_loadu_ps(p); }
static inline void vstore(float *p, vf x) { _mm256_storeu_ps(p, x); }
static inline vf vset(float x) { return _mm256_set1_ps(x); }
static inline vf vload_n(const float *p, int n) { return _mm256_maskload_ps(p, lanes_below(n)); }
static inline void vstore_n(float *p, vf x, int n) { _mm256_maskstore_ps(p, lanes_below(n), x); }
static inline vf vfma(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }
static inline vf vfnma(vf a, vf b, vf c) { return _mm256_fnmadd_ps(a, b, c); }
/* If either is NaN the second operand is returned, as the instruction does. */
static inline vf vmax(vf a, vf b) { return _mm256_max_ps(a, b); }
static inline vf vmin(vf a, vf b) { return _mm256_min_ps(a, b); }
static inline vf vsqrt(vf a) { return _mm256_sqrt_ps(a); }
static inline float vsum(vf a)
{
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}
static inline float vmax_across(vf a)
{
    __m128 s = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    s = _mm_max_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}
static inline vf vround(vf a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
static inline vf vabs(vf a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
/* x with its sign flipped where s is negative */
static inline vf vsign(vf x, vf s) { return _mm256_xor_ps(x, _mm256_and_ps(s, _mm256_set1_ps(-0.0f))); }
/* x * 2^n for integral n in [-126, 127] */
static inline vf vscale2(vf x, vf n)
{
    __m256i exponent = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);
    return _mm256_mul_ps(x, _mm256_castsi256_ps(exponent));
}
/* lanes from keep up are replaced by zero */
static inline vf vkeep(vf x, int keep) { return _mm256_and_ps(x, _mm256_castsi256_ps(lanes_below(keep))); }
/* half as many doubles */
typedef __m256d vd;
static inline vd vdzero(void) { return _mm256_setzero_pd(); }
static inline vd vdload(const float *p) { return _mm256_cvtps_pd(_mm_loadu_ps(p)); }
static inline void vdstore(double *p, vd x) { _mm256_storeu_pd(p, x); }

#endif
/* clang-format on */

/*
 * e^x to about 1 ulp for x in [-87.3, 88.3]; smaller x give 1.2e-38 or less, larger 2.2e38 (so a sum of
 * them may overflow to infinity, which the loss check then sees); NaN stays NaN. Cody-Waite reduction by
 * ln 2 in two parts, then the degree 6 polynomial of e^r on |r| <= ln 2 / 2, Taylor coefficients.
 */
static inline vf vexp(vf x)
{
    x = vmin(vset(88.3f), vmax(vset(-87.3f), x));
    vf n = vround(x * vset(1.44269504f));
    vf r = vfnma(n, vset(0.693359375f), x);
    r = vfma(n, vset(2.12194440e-4f), r);
    vf p = vset(1.0f / 720);
    p = vfma(p, r, vset(1.0f / 120));
    p = vfma(p, r, vset(1.0f / 24));
    p = vfma(p, r, vset(1.0f / 6));
    p = vfma(p, r, vset(0.5f));
    p = vfma(p, r, vset(1.0f));
    p = vfma(p, r, vset(1.0f));
    return vscale2(p, n);
}

#endif
