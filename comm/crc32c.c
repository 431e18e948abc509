/*
 * comm/crc32c.c - see crc32c.h.
 *
 * The crc32 instruction takes 8 bytes, starts one per cycle and needs three cycles to answer, so three neighbouring
 * blocks are run side by side. The register after block A followed by block B is shift(A's register) ^ B's, where
 * shift appends as many zero bytes as B is long. That is linear over bits: four tables of 256 entries hold it for one
 * length. Long blocks first, then short ones, then single words.
 */
#include "comm/crc32c.h"

#include <pthread.h>
#include <string.h>

#define POLYNOMIAL 0x82F63B78u

enum { LONG_BYTES = 8192, SHORT_BYTES = 256 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint32_t slice[8][256]; /* slice[k][b]: the register after byte b and then k zero bytes */

static void make_slices(void)
{
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t c = b;
        for (int bit = 0; bit < 8; bit++)
            c = c & 1 ? c >> 1 ^ POLYNOMIAL : c >> 1;
        slice[0][b] = c;
    }
    for (int k = 1; k < 8; k++)
        for (uint32_t b = 0; b < 256; b++)
            slice[k][b] = slice[k - 1][b] >> 8 ^ slice[0][slice[k - 1][b] & 0xFF];
}

static uint32_t run_tables(uint32_t c, const unsigned char *p, size_t n)
{
    for (; n >= 8; n -= 8, p += 8) {
        /* byte by byte, so that the order of bytes in a word does not matter */
        uint32_t low = c ^ ((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24);
        c = slice[7][low & 0xFF] ^ slice[6][low >> 8 & 0xFF] ^ slice[5][low >> 16 & 0xFF] ^ slice[4][low >> 24] ^
            slice[3][p[4]] ^ slice[2][p[5]] ^ slice[1][p[6]] ^ slice[0][p[7]];
    }
    for (; n > 0; n--)
        c = c >> 8 ^ slice[0][(c ^ *p++) & 0xFF];
    return c;
}

#ifdef __x86_64__
#include <immintrin.h>

enum { FOLD_BYTES = 256 };

static uint64_t fold_low, fold_high; /* what carries the halves of 16 bytes forward by FOLD_BYTES */

/* x^n modulo the polynomial, with its bits reversed and one place up, as products of reversed operands need it. */
static uint64_t power_of_x(int n)
{
    uint32_t c = 0x80000000u;
    while (n-- > 0)
        c = c & 1 ? c >> 1 ^ POLYNOMIAL : c >> 1;
    return (uint64_t)c << 1;
}

static uint32_t shift_long[4][256], shift_short[4][256];

/* One bit at a time through the zeros; every other value is a sum (exclusive or) of those 32. */
static void make_shift(uint32_t table[4][256], size_t zero_bytes)
{
    static const unsigned char zeros[LONG_BYTES];
    for (int byte = 0; byte < 4; byte++) {
        table[byte][0] = 0;
        for (uint32_t b = 1; b < 256; b++) {
            uint32_t low = b & -b;
            table[byte][b] =
                b == low ? run_tables(b << 8 * byte, zeros, zero_bytes) : table[byte][low] ^ table[byte][b - low];
        }
    }
}

static uint32_t shift(uint32_t table[4][256], uint64_t c)
{
    return table[0][c & 0xFF] ^ table[1][c >> 8 & 0xFF] ^ table[2][c >> 16 & 0xFF] ^ table[3][c >> 24 & 0xFF];
}

static uint64_t word(const unsigned char *p)
{
    uint64_t w;
    memcpy(&w, p, sizeof w);
    return w;
}

/* Three blocks at a time for as long as there are that many. */
__attribute__((target("sse4.2"))) static uint64_t run_threes(uint64_t c, const unsigned char **data, size_t *left,
                                                             size_t block, uint32_t table[4][256])
{
    const unsigned char *p = *data;
    for (; *left >= 3 * block; *left -= 3 * block, p += 3 * block) {
        uint64_t second = 0, third = 0;
        for (size_t i = 0; i < block; i += 8) {
            c = _mm_crc32_u64(c, word(p + i));
            second = _mm_crc32_u64(second, word(p + block + i));
            third = _mm_crc32_u64(third, word(p + 2 * block + i));
        }
        c = shift(table, shift(table, c) ^ second) ^ third;
    }
    *data = p;
    return c;
}

__attribute__((target("sse4.2"))) static uint32_t run_instruction(uint32_t start, const unsigned char *p, size_t n)
{
    uint64_t c = run_threes(start, &p, &n, LONG_BYTES, shift_long);
    c = run_threes(c, &p, &n, SHORT_BYTES, shift_short);
    for (; n >= 8; n -= 8, p += 8)
        c = _mm_crc32_u64(c, word(p));
    for (; n > 0; n--)
        c = _mm_crc32_u8((uint32_t)c, *p++);
    return (uint32_t)c;
}

#define FOLDING "sse4.2,avx512f,vpclmulqdq"

__attribute__((target(FOLDING))) static __m512i fold(__m512i sum, __m512i by, const unsigned char *next)
{
    __m512i low = _mm512_clmulepi64_epi128(sum, by, 0x00), high = _mm512_clmulepi64_epi128(sum, by, 0x11);
    return _mm512_ternarylogic_epi64(low, high, _mm512_loadu_si512(next), 0x96); /* exclusive or of all three */
}

__attribute__((target(FOLDING))) static uint32_t run_folds(uint32_t start, const unsigned char *p, size_t n)
{
    if (n < 2 * FOLD_BYTES)
        return run_instruction(start, p, n);
    __m512i by = _mm512_broadcast_i32x4(_mm_set_epi64x((long long)fold_high, (long long)fold_low));
    __m512i a = _mm512_loadu_si512(p), b = _mm512_loadu_si512(p + 64), c = _mm512_loadu_si512(p + 128);
    __m512i d = _mm512_loadu_si512(p + 192);
    a = _mm512_xor_si512(a, _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)start)));
    for (p += FOLD_BYTES, n -= FOLD_BYTES; n >= FOLD_BYTES; p += FOLD_BYTES, n -= FOLD_BYTES) {
        a = fold(a, by, p);
        b = fold(b, by, p + 64);
        c = fold(c, by, p + 128);
        d = fold(d, by, p + 192);
    }
    unsigned char folded[FOLD_BYTES];
    _mm512_storeu_si512(folded, a);
    _mm512_storeu_si512(folded + 64, b);
    _mm512_storeu_si512(folded + 128, c);
    _mm512_storeu_si512(folded + 192, d);
    return run_instruction(run_instruction(0, folded, FOLD_BYTES), p, n);
}
#endif

static void make_tables(void)
{
    make_slices();
#ifdef __x86_64__
    fold_low = power_of_x(8 * FOLD_BYTES + 32);
    fold_high = power_of_x(8 * FOLD_BYTES - 32);
    make_shift(shift_long, LONG_BYTES);
    make_shift(shift_short, SHORT_BYTES);
#endif
}

int crc32c_variants(struct crc32c_variant out[static CRC32C_VARIANTS_MAX])
{
    int n = 0;
    pthread_once(&once, make_tables);
    out[n++] = (struct crc32c_variant){"tables", run_tables};
#ifdef __x86_64__
    if (__builtin_cpu_supports("sse4.2"))
        out[n++] = (struct crc32c_variant){"crc32", run_instruction};
    if (n == 2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq"))
        out[n++] = (struct crc32c_variant){"vpclmulqdq", run_folds};
#endif
    return n;
}

static uint32_t (*best)(uint32_t, const unsigned char *, size_t);

static void choose(void)
{
    struct crc32c_variant variants[CRC32C_VARIANTS_MAX];
    best = variants[crc32c_variants(variants) - 1].run;
}

uint32_t crc32c(uint32_t crc, const void *data, size_t bytes)
{
    static pthread_once_t chosen = PTHREAD_ONCE_INIT;
    pthread_once(&chosen, choose);
    return ~best(~crc, data, bytes);
}
