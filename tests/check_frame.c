/*
 * tests/check_frame.c - what guards and names a piece of data on the wire: CRC32C, the frame header, and the sum.
 */
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "comm/crc32c.h"
#include "comm/frame.h"
#include "comm/sum.h"

/* RFC 3720, B.4, and the check value of the Rocksoft catalogue (CRC-32/ISCSI). */
START_TEST(crc_has_the_published_values)
{
    unsigned char zeros[32] = {0}, ones[32], up[32], down[32];
    memset(ones, 0xFF, sizeof ones);
    for (int i = 0; i < 32; i++) {
        up[i] = (unsigned char)i;
        down[i] = (unsigned char)(31 - i);
    }
    ck_assert_uint_eq(crc32c(0, "123456789", 9), 0xE3069283u);
    ck_assert_uint_eq(crc32c(0, zeros, 32), 0x8A9136AAu);
    ck_assert_uint_eq(crc32c(0, ones, 32), 0x62A8AB43u);
    ck_assert_uint_eq(crc32c(0, up, 32), 0x46DD794Eu);
    ck_assert_uint_eq(crc32c(0, down, 32), 0x113FDB5Cu);
    ck_assert_uint_eq(crc32c(0, "", 0), 0u);
}
END_TEST

/* The definition, one bit at a time. */
static uint32_t crc_by_bits(const unsigned char *p, size_t n)
{
    uint32_t c = 0xFFFFFFFFu;
    for (size_t i = 0; i < n; i++) {
        c ^= p[i];
        for (int bit = 0; bit < 8; bit++)
            c = c & 1 ? c >> 1 ^ 0x82F63B78u : c >> 1;
    }
    return ~c;
}

/* Lengths around the blocks of 256 and 8192 bytes, taken one or three at a time, at every alignment, in one piece and in
 * two, by every variant. */
START_TEST(crc_agrees_with_its_definition)
{
    static const size_t lengths[] = {0,   1,   7,    8,    9,    255,  256,   257,   511,   512,   513,   767,  768,
                                     769, 775, 1023, 1024, 1025, 8192, 24575, 24576, 24577, 25344, 26000, 70001};
    struct crc32c_variant variants[CRC32C_VARIANTS_MAX];
    int n_variants = crc32c_variants(variants);
    ck_assert_int_ge(n_variants, 1);
    unsigned char *data = malloc(70001 + 8);
    struct rng rng;
    rng_init(&rng, 1, 2);
    for (size_t i = 0; i < 70001 + 8; i++)
        data[i] = (unsigned char)rng_next(&rng);
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
        for (size_t at = 0; at < 8; at++) {
            size_t n = lengths[l], half = n / 3;
            uint32_t right = crc_by_bits(data + at, n);
            ck_assert_uint_eq(crc32c(0, data + at, n), right);
            for (int v = 0; v < n_variants; v++)
                ck_assert_msg(~variants[v].run(0xFFFFFFFFu, data + at, n) == right, "%s, %zu at %zu", variants[v].name,
                              n, at);
            ck_assert_uint_eq(crc32c(crc32c(0, data + at, half), data + at + half, n - half), right);
        }
    free(data);
}
END_TEST

static const struct frame sample = {
    .sequence = 0x01020304,
    .step = 12,
    .bucket = 3,
    .kind = FRAME_RING,
    .hop = 0x0506,
    .segment = 7,
    .bytes = 262144,
    .waited_us = 0x00020001,
    .crc = 0xE3069283,
};

/* The layout is a promise to the other end, whatever machine that is. */
START_TEST(frame_has_a_fixed_layout)
{
    static const unsigned char right[FRAME_BYTES] = {'D', 'D', 'P', 'F', 4, 3, 2, 1, 12,   0,    0,    0,
                                                     3,   0,   0,   0,   1, 0, 6, 5, 7,    0,    0,    0,
                                                     0,   0,   4,   0,   1, 0, 2, 0, 0x83, 0x92, 0x06, 0xE3};
    unsigned char wire[FRAME_BYTES];
    struct frame back;
    struct err e = {0};
    frame_encode(wire, &sample);
    ck_assert_mem_eq(wire, right, FRAME_BYTES);
    ck_assert_int_eq(frame_decode(wire, &back, "laptopB", &e), 0);
    ck_assert_int_eq(frame_match(&back, &sample, "laptopB", &e), 0);
    ck_assert_uint_eq(back.crc, sample.crc);
}
END_TEST

/* Any single flipped bit of the header but in the CRC, and in the time that it guards, is seen from the header alone. */
START_TEST(frame_with_a_flipped_bit_is_refused)
{
    for (int bit = 0; bit < (FRAME_BYTES - 8) * 8; bit++) {
        unsigned char wire[FRAME_BYTES];
        struct frame back;
        struct err e = {0};
        frame_encode(wire, &sample);
        wire[bit / 8] ^= (unsigned char)(1 << bit % 8);
        int refused = frame_decode(wire, &back, "laptopB", &e) || frame_match(&back, &sample, "laptopB", &e);
        ck_assert_msg(refused, "bit %d", bit);
        ck_assert_int_eq(e.code, ERR_PROTOCOL);
        ck_assert_ptr_nonnull(strstr(e.text, "laptopB"));
    }
}
END_TEST

/* The CRC goes over the time, as it is on the wire, and then the payload. */
START_TEST(frame_crc_guards_the_time_too)
{
    ck_assert_uint_eq(frame_crc(0x34333231, "56789", 5), 0xE3069283u);
    ck_assert_uint_eq(frame_crc(0x34333230, "56789", 5), crc32c(0, "023456789", 9));
    ck_assert_uint_ne(frame_crc(0x34333230, "56789", 5), 0xE3069283u);
}
END_TEST

START_TEST(frame_from_elsewhere_names_both_positions)
{
    struct frame got = sample;
    struct err e = {0};
    got.step = 13;
    got.bucket = 5;
    got.kind = FRAME_BROADCAST;
    ck_assert_int_eq(frame_match(&got, &sample, "laptopB", &e), -1);
    ck_assert_int_eq(e.code, ERR_PROTOCOL);
    ck_assert_ptr_nonnull(strstr(e.text, "laptopB"));
    ck_assert_ptr_nonnull(strstr(e.text, "step 13, bucket 5, broadcast"));
    ck_assert_ptr_nonnull(strstr(e.text, "step 12, bucket 3, all-reduce"));
    ck_assert_str_eq(frame_kind_name(0), "unknown operation");
    ck_assert_str_eq(frame_kind_name(999), "unknown operation");
}
END_TEST

/* One IEEE addition an element: every variant gives the same bits, on odd lengths and places, NaN and infinity too. */
START_TEST(sum_variants_agree_bit_for_bit)
{
    enum { N = 131 };
    struct sum_variant variants[SUM_VARIANTS_MAX];
    int n = sum_variants(variants);
    struct rng rng;
    rng_init(&rng, 3, 4);
    float a[N + 3], b[N + 3];
    for (int i = 0; i < N + 3; i++) {
        a[i] = (float)rng_normal(&rng);
        b[i] = (float)rng_normal(&rng) * 1e-3f;
    }
    a[5] = INFINITY;
    b[9] = -INFINITY;
    a[10] = FLT_MAX;
    b[10] = FLT_MAX;
    ck_assert_int_ge(n, 1);
    for (size_t length = 0; length <= N; length++)
        for (size_t at = 0; at < 3; at++) {
            float right[N + 3], got[N + 3];
            memcpy(right, a, sizeof a);
            for (size_t i = 0; i < length; i++)
                right[at + i] = a[at + i] + b[at + i];
            for (int v = 0; v < n; v++) {
                memcpy(got, a, sizeof a);
                variants[v].add(got + at, b + at, length);
                ck_assert_msg(memcmp(got, right, sizeof right) == 0, "%s, %zu at %zu", variants[v].name, length, at);
            }
            memcpy(got, a, sizeof a);
            sum_add(got + at, b + at, length);
            ck_assert_mem_eq(got, right, sizeof right);
        }
    float number = 1, nan = NAN;
    sum_add(&number, &nan, 1);
    ck_assert(isnan(number));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("frame");
    TCase *all = tcase_create("frame");
    tcase_add_test(all, crc_has_the_published_values);
    tcase_add_test(all, crc_agrees_with_its_definition);
    tcase_add_test(all, frame_has_a_fixed_layout);
    tcase_add_test(all, frame_with_a_flipped_bit_is_refused);
    tcase_add_test(all, frame_crc_guards_the_time_too);
    tcase_add_test(all, frame_from_elsewhere_names_both_positions);
    tcase_add_test(all, sum_variants_agree_bit_for_bit);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
