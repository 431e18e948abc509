/*
 * tests/check_bucket.c - PyTorch's buckets. GPT-2's tensors are spelled by formula here: comm does not know the model.
 *
 * The numbers of buckets and bytes are those PyTorch makes of GPT-2 124M with the caps named.
 */
#include <check.h>

#include "comm/bucket.h"

enum { L = 12, C = 768, V = 50257, T = 1024, TENSORS = 4 + 12 * L };

/* fp32 bytes in reverse order of registration: wte, wpe, the blocks, the final norm. Returns their number. */
static int gpt2_reversed(size_t *bytes)
{
    static const size_t block[] = {C, C, 3 * C * C, 3 * C, C * C, C, C, C, 4 * C * C, 4 * C, 4 * C * C, C};
    size_t forward[TENSORS];
    int n = 0;
    forward[n++] = (size_t)V * C;
    forward[n++] = (size_t)T * C;
    for (int layer = 0; layer < L; layer++)
        for (int k = 0; k < 12; k++)
            forward[n++] = block[k];
    forward[n++] = C;
    forward[n++] = C;
    for (int i = 0; i < n; i++)
        bytes[i] = 4 * forward[n - 1 - i];
    return n;
}

static const struct {
    double cap_mib; /* 0: unset */
    int buckets;
    size_t first, second, last; /* second 0: not stated */
} known[] = {
    {0, 13, 9446400, 28351488, 176446464},
    {25, 13, 28351488, 0, 157541376},
    {1, 50, 9446400, 0, 154389504},
};

START_TEST(gpt2_has_pytorch_s_buckets)
{
    size_t bytes[TENSORS], sum = 0;
    struct bucket out[TENSORS];
    int n = gpt2_reversed(bytes), next = 0;
    ck_assert_int_eq(n, 148);
    int buckets = bucket_split(bytes, n, bucket_caps_for(known[_i].cap_mib), out);
    ck_assert_int_eq(buckets, known[_i].buckets);
    ck_assert_uint_eq(out[0].bytes, known[_i].first);
    if (known[_i].second)
        ck_assert_uint_eq(out[1].bytes, known[_i].second);
    ck_assert_uint_eq(out[buckets - 1].bytes, known[_i].last);
    for (int b = 0; b < buckets; b++) {
        size_t own = 0;
        ck_assert_int_eq(out[b].first, next);
        for (int i = 0; i < out[b].n; i++)
            own += bytes[next++];
        ck_assert_uint_eq(out[b].bytes, own);
        sum += own;
    }
    ck_assert_int_eq(next, n);
    ck_assert_uint_eq(sum, 497759232);
}
END_TEST

START_TEST(caps_are_pytorch_s)
{
    struct bucket_caps unset = bucket_caps_for(0), half = bucket_caps_for(0.5), tiny = bucket_caps_for(1e-9);
    ck_assert_uint_eq(unset.first_bytes, 1048576);
    ck_assert_uint_eq(unset.other_bytes, 26214400);
    ck_assert_uint_eq(half.first_bytes, 524288);
    ck_assert_uint_eq(half.other_bytes, 524288);
    ck_assert_uint_eq(tiny.first_bytes, 1);
    ck_assert_uint_ge(bucket_caps_for(1e300).other_bytes, (size_t)1 << 62);
}
END_TEST

/* A bucket closes at its cap, not above it; what is left over is a bucket of its own; nothing gives nothing. */
START_TEST(buckets_close_at_their_cap)
{
    static const size_t bytes[] = {6, 4, 10, 9, 30, 1};
    struct bucket out[6];
    ck_assert_int_eq(bucket_split(bytes, 6, (struct bucket_caps){10, 20}, out), 3);
    ck_assert_int_eq(out[0].n, 2);
    ck_assert_uint_eq(out[0].bytes, 10);
    ck_assert_int_eq(out[1].n, 3);
    ck_assert_uint_eq(out[1].bytes, 49);
    ck_assert_int_eq(out[2].first, 5);
    ck_assert_uint_eq(out[2].bytes, 1);
    ck_assert_int_eq(bucket_split(bytes, 5, (struct bucket_caps){10, 20}, out), 2);
    ck_assert_int_eq(bucket_split(bytes, 6, (struct bucket_caps){1000, 20}, out), 1);
    ck_assert_int_eq(out[0].n, 6);
    ck_assert_int_eq(bucket_split(bytes, 0, (struct bucket_caps){10, 20}, out), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bucket");
    TCase *all = tcase_create("bucket");
    tcase_add_loop_test(all, gpt2_has_pytorch_s_buckets, 0, (int)(sizeof known / sizeof *known));
    tcase_add_test(all, caps_are_pytorch_s);
    tcase_add_test(all, buckets_close_at_their_cap);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
