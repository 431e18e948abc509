/*
 * tests/check_sampler.c - the order of windows and each rank's share of it.
 *
 * Counts and shares are those of torch.utils.data.DistributedSampler (2.15); only which permutation an epoch
 * uses is ours, so of that the tests ask that it is one, that it is fair, and that it does not depend on
 * anything but (positions, seed, epoch).
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "model/data.h"

/* DistributedSampler(range(n), num_replicas=w, rank=r, drop_last=d): len() of every rank. */
static const struct {
    uint64_t positions;
    int world;
    bool drop_last;
    uint64_t per_rank;
} torch[] = {
    {1, 1, false, 1},
    {1, 1, true, 1},
    {10, 1, false, 10},
    {10, 2, false, 5},
    {10, 2, true, 5},
    {10, 3, false, 4},
    {10, 3, true, 3},
    {10, 4, false, 3},
    {10, 4, true, 2},
    {11, 4, false, 3},
    {11, 4, true, 2},
    {7, 7, false, 1},
    {7, 7, true, 1},
    {3, 4, false, 1},
    {1, 3, false, 1},
    {2, 7, false, 1},
    {1003790, 2, false, 501895},
    {1003790, 2, true, 501895},
    {1003790, 3, false, 334597},
    {1003790, 3, true, 334596},
};
enum { TORCH = sizeof torch / sizeof *torch };

START_TEST(counts_are_torchs)
{
    struct sampler s;
    struct err e;
    for (int r = 0; r < torch[_i].world; r++) {
        ck_assert_int_eq(sampler_init(&s, torch[_i].positions, r, torch[_i].world, torch[_i].drop_last, 1, &e), 0);
        ck_assert_uint_eq(s.per_rank, torch[_i].per_rank);
        uint64_t total = s.per_rank * (uint64_t)torch[_i].world;
        ck_assert_uint_eq(s.padded, total > s.positions ? total - s.positions : 0);
        ck_assert_uint_eq(s.dropped, total < s.positions ? s.positions - total : 0);
    }
}
END_TEST

/* torch: indices += indices[:padding], or are cut; rank r takes indices[r::world]. Two epochs of each rank. */
START_TEST(shares_are_torchs)
{
    if (torch[_i].positions > 1000)
        return;
    uint64_t w = (uint64_t)torch[_i].world;
    for (uint64_t r = 0; r < w; r++) {
        struct sampler s;
        struct err e;
        ck_assert_int_eq(sampler_init(&s, torch[_i].positions, (int)r, (int)w, torch[_i].drop_last, 7, &e), 0);
        for (uint64_t epoch = 0; epoch < 2; epoch++)
            for (uint64_t i = 0; i < s.per_rank; i++) {
                uint64_t entry = (r + i * w) % torch[_i].positions;
                ck_assert_uint_eq(s.epoch, epoch);
                ck_assert_uint_eq(s.next, i);
                ck_assert_uint_eq(sampler_next(&s), sampler_permute(torch[_i].positions, 7, epoch, entry));
            }
        ck_assert_uint_eq(s.epoch, 2);
        ck_assert_uint_eq(s.next, 0);
    }
}
END_TEST

/* 10 positions on 4 ranks: padded, 12 entries cover all ten and repeat the first two of the permutation;
 * dropped, 8 entries are all different. */
START_TEST(ranks_partition_an_epoch)
{
    for (int drop = 0; drop < 2; drop++) {
        int seen[10] = {0}, total = 0;
        for (int r = 0; r < 4; r++) {
            struct sampler s;
            struct err e;
            ck_assert_int_eq(sampler_init(&s, 10, r, 4, drop, 3, &e), 0);
            for (uint64_t i = 0; i < s.per_rank; i++, total++)
                seen[sampler_next(&s)]++;
        }
        ck_assert_int_eq(total, drop ? 8 : 12);
        for (uint64_t i = 0; i < 10; i++) {
            int want = drop ? i < 8 : i < 2 ? 2 : 1;
            ck_assert_int_eq(seen[sampler_permute(10, 3, 0, i)], want);
        }
    }
}
END_TEST

START_TEST(impossible_shares)
{
    struct sampler s;
    struct err e;
    ck_assert_int_eq(sampler_init(&s, 3, 0, 4, true, 1, &e), -1); /* torch's len() is 0 */
    ck_assert_int_eq(e.code, ERR_DATA);
    ck_assert_int_eq(sampler_init(&s, 0, 0, 1, false, 1, &e), -1);
    ck_assert_int_eq(e.code, ERR_DATA);
    static const int bad[][2] = {{1, 1}, {-1, 1}, {0, 0}, {0, -1}};
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(sampler_init(&s, 10, bad[i][0], bad[i][1], false, 1, &e), -1);
        ck_assert_int_eq(e.code, ERR_USAGE);
    }
}
END_TEST

START_TEST(every_length_is_permuted)
{
    static const uint64_t large[] = {1000, 4096, 4097, 65535, 65537, 100003};
    for (uint64_t k = 1; k <= 300 + 6; k++) {
        uint64_t n = k <= 300 ? k : large[k - 301];
        unsigned char *seen = calloc(n, 1);
        for (uint64_t i = 0; i < n; i++) {
            uint64_t at = sampler_permute(n, 5, k, i);
            ck_assert_uint_lt(at, n);
            ck_assert_int_eq(seen[at], 0);
            seen[at] = 1;
        }
        free(seen);
    }
}
END_TEST

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* More positions than a table could hold, up to the whole range of 64 bits. */
START_TEST(huge_lengths)
{
    static const uint64_t lengths[] = {UINT64_C(1) << 32, (UINT64_C(1) << 40) + 1, (UINT64_C(1) << 62) + 1, UINT64_MAX};
    enum { N = 10000 };
    static uint64_t at[N];
    for (int k = 0; k < 4; k++) {
        uint64_t n = lengths[k];
        for (uint64_t i = 0; i < N; i++) {
            at[i] = sampler_permute(n, 1, 0, i % 2 ? i : n - 1 - i);
            ck_assert_uint_lt(at[i], n);
        }
        qsort(at, N, sizeof *at, ascending);
        for (int i = 1; i < N; i++)
            ck_assert_uint_lt(at[i - 1], at[i]);
    }
}
END_TEST

/* 5 positions have 120 orders. Over 12,000 epochs each is expected 100 times; chi-square with 119 degrees of
 * freedom has mean 119 and deviation sqrt(238) = 15.4, and a fair shuffle stays below mean + 4 deviations. */
START_TEST(every_order_is_as_likely)
{
    static int count[3125];
    memset(count, 0, sizeof count);
    for (uint64_t epoch = 0; epoch < 12000; epoch++) {
        int code = 0;
        for (uint64_t i = 0; i < 5; i++)
            code = code * 5 + (int)sampler_permute(5, 1, epoch, i);
        count[code]++;
    }
    double chi2 = 0;
    int orders = 0;
    for (int code = 0; code < 3125; code++)
        if (count[code]) {
            orders++;
            chi2 += (count[code] - 100.0) * (count[code] - 100.0) / 100;
        }
    ck_assert_int_eq(orders, 120);
    ck_assert_double_lt(chi2, 119 + 4 * 15.43);
    ck_assert_double_gt(chi2, 119 - 4 * 15.43);
}
END_TEST

/* 1000 positions: an entry has the same place in two independent orders once on average (Poisson, so 10 or
 * more has probability 1e-7), and neighbours in an order are neighbours in the text twice in a thousand. */
START_TEST(epochs_and_seeds_differ)
{
    int same_epoch = 0, same_seed = 0, steps = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        uint64_t at = sampler_permute(1000, 1, 0, i);
        same_epoch += at == sampler_permute(1000, 1, 1, i);
        same_seed += at == sampler_permute(1000, 2, 0, i);
        if (i)
            steps += at == sampler_permute(1000, 1, 0, i - 1) + 1;
    }
    ck_assert_int_lt(same_epoch, 10);
    ck_assert_int_lt(same_seed, 10);
    ck_assert_int_lt(steps, 10);
}
END_TEST

/* Passing over windows is drawing and forgetting them, across epochs too. */
START_TEST(skipping_is_drawing)
{
    struct sampler drawn, skipped;
    struct err e;
    ck_assert_int_eq(sampler_init(&drawn, 10, 1, 3, false, 4, &e), 0);
    skipped = drawn;
    for (uint64_t n = 0; n < 12; n++) {
        for (uint64_t i = 0; i < n; i++)
            sampler_next(&drawn);
        sampler_skip(&skipped, n);
        ck_assert_uint_eq(skipped.epoch, drawn.epoch);
        ck_assert_uint_eq(sampler_next(&skipped), sampler_next(&drawn));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sampler");
    TCase *c = tcase_create("sampler");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, counts_are_torchs, 0, TORCH);
    tcase_add_loop_test(c, shares_are_torchs, 0, TORCH);
    tcase_add_test(c, ranks_partition_an_epoch);
    tcase_add_test(c, impossible_shares);
    tcase_add_test(c, every_length_is_permuted);
    tcase_add_test(c, huge_lengths);
    tcase_add_test(c, every_order_is_as_likely);
    tcase_add_test(c, epochs_and_seeds_differ);
    tcase_add_test(c, skipping_is_drawing);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
