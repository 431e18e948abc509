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
#endif

static void make_tables(void)
{
    make_slices();
#ifdef __x86_64__
    make_shift(shift_long, LONG_BYTES);
    make_shift(shift_short, SHORT_BYTES);
#endif
}

uint32_t crc32c_portable(uint32_t crc, const void *data, size_t bytes)
{
    pthread_once(&once, make_tables);
    return ~run_tables(~crc, data, bytes);
}

uint32_t crc32c(uint32_t crc, const void *data, size_t bytes)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("sse4.2")) {
        pthread_once(&once, make_tables);
        return ~run_instruction(~crc, data, bytes);
    }
#endif
    return crc32c_portable(crc, data, bytes);
}
