/*
 * tests/check_batch.c - windows cut out of tokens, the built-in data, and files that change while they are read.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/data.h"
#include "model/infile.h"
#include "tests/scratch.h"

static struct data data;
static struct err e;

/* A nanoGPT file of n tokens, token i = i, so that a window's first input is its start position. */
static void open_counting(int n, int T, double split)
{
    uint16_t token[100];
    struct model_spec spec;
    for (int i = 0; i < n; i++)
        token[i] = (uint16_t)i;
    ck_assert_int_eq(model_spec_find(&spec, "gpt2-124m", &e), 0);
    const char *path = scratch_write("count.bin", token, (size_t)n * 2);
    ck_assert_int_eq(data_open(&data, path, &spec, T, split, split < 1, 1, 0, &e), 0);
}

/* 10 tokens, T = 4: the windows start at 0 .. 5; the last one's last target is token 9. */
START_TEST(an_epoch_has_every_window_once)
{
    enum { B = 6, T = 4 };
    int32_t inputs[B][T], targets[B][T];
    struct sampler s;
    open_counting(10, T, 1);
    ck_assert_int_eq(sampler_init(&s, data.train_n - T, 0, 1, false, 1, &e), 0);
    for (int epoch = 0; epoch < 3; epoch++) {
        int seen[6] = {0};
        data_next_batch(&data, &s, B, T, inputs[0], targets[0]);
        for (int b = 0; b < B; b++) {
            ck_assert_int_le(inputs[b][0], 5);
            seen[inputs[b][0]]++;
            for (int t = 0; t < T; t++) {
                ck_assert_int_eq(inputs[b][t], inputs[b][0] + t);
                ck_assert_int_eq(targets[b][t], inputs[b][t] + 1);
            }
        }
        for (int i = 0; i < 6; i++)
            ck_assert_int_eq(seen[i], 1);
    }
    data_fini(&data);
}
END_TEST

/* 5 positions in batches of 3: the second batch ends epoch 0 and begins epoch 1. */
START_TEST(a_batch_spans_two_epochs)
{
    int32_t inputs[3], targets[3];
    struct sampler s;
    open_counting(6, 1, 1);
    ck_assert_int_eq(sampler_init(&s, data.train_n - 1, 0, 1, false, 9, &e), 0);
    for (uint64_t i = 0; i < 15; i++) {
        if (i % 3 == 0)
            data_next_batch(&data, &s, 3, 1, inputs, targets);
        ck_assert_int_eq(inputs[i % 3], (int)sampler_permute(5, 9, i / 5, i % 5));
        ck_assert_int_eq(targets[i % 3], inputs[i % 3] + 1);
    }
    ck_assert_uint_eq(s.epoch, 3);
    data_fini(&data);
}
END_TEST

/* Training stays in its part: 20 tokens, half of them train, T = 4, 6 positions 0 .. 5, last target 9. */
START_TEST(training_never_sees_validation)
{
    int32_t inputs[6][4], targets[6][4];
    struct sampler s;
    open_counting(20, 4, 0.5);
    ck_assert_int_eq(sampler_init(&s, data.train_n - 4, 0, 1, false, 1, &e), 0);
    data_next_batch(&data, &s, 6, 4, inputs[0], targets[0]);
    int last = 0;
    for (int b = 0; b < 6; b++)
        last = targets[b][3] > last ? targets[b][3] : last;
    ck_assert_int_eq(last, 9);
    data_fini(&data);
}
END_TEST

/* 20 tokens of which 10 validate, T = 4: windows start at 10 and 14 (14's last target is 18; 18 has none). */
START_TEST(validation_walks_in_strides)
{
    static const int want[] = {10, 14, 10, 14, 10, 14};
    int32_t inputs[3][4], targets[3][4];
    open_counting(20, 4, 0.5);
    for (uint64_t i = 0; i < 2; i++) {
        data_val_batch(&data, i, 3, 4, inputs[0], targets[0]);
        for (uint64_t b = 0; b < 3; b++)
            for (int t = 0; t < 4; t++) {
                ck_assert_int_eq(inputs[b][t], want[i * 3 + b] + t);
                ck_assert_int_eq(targets[b][t], want[i * 3 + b] + t + 1);
            }
    }
    data_fini(&data);
}
END_TEST

static void open_builtin(int V, uint64_t seed)
{
    struct model_spec spec = {.name = "test", .kind = MODEL_GPT, .V = V};
    ck_assert_int_eq(data_open(&data, NULL, &spec, 64, 1, false, seed, 0, &e), 0);
    ck_assert_int_eq(data.format, DATA_BUILTIN);
    ck_assert_str_eq(data.path, "");
    ck_assert_int_eq(data.V, V);
    for (uint64_t i = 0; i < data.n; i++)
        ck_assert(data.token[i] < V);
}

/* FNV-1a over the tokens, low byte first. */
static uint64_t digest(void)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (uint64_t i = 0; i < 2 * data.n; i++)
        h = (h ^ (data.token[i / 2] >> (8 * (i % 2)) & 0xffu)) * UINT64_C(0x100000001b3);
    return h;
}

/* The digests were taken here once. If one changes, losses recorded on built-in data are not comparable any
 * more with those before; on another machine or compiler it must not change at all. */
START_TEST(builtin_is_the_same_everywhere)
{
    open_builtin(65, 1);
    ck_assert_uint_eq(data.n, 1100000);
    ck_assert_uint_eq(digest(), UINT64_C(0x15d05cd66bffbb65));
    data_fini(&data);
    open_builtin(50257, 1);
    ck_assert_uint_eq(data.n, 1000000);
    ck_assert_ptr_null(data.symbol);
    ck_assert_uint_eq(digest(), UINT64_C(0x88aa60bb75b34a9e));
    data_fini(&data);
    open_builtin(50257, 2);
    ck_assert_uint_ne(digest(), UINT64_C(0x88aa60bb75b34a9e));
    data_fini(&data);
}
END_TEST

/* Entropy in nats of a token, and of a token after a known one. */
static void entropy(int V, double *single, double *after)
{
    uint32_t *pair = calloc((size_t)V * (size_t)V, sizeof *pair), *one = calloc((size_t)V, sizeof *one);
    ck_assert(pair && one);
    for (uint64_t i = 0; i + 1 < data.n; i++) {
        one[data.token[i]]++;
        pair[(size_t)data.token[i] * (size_t)V + data.token[i + 1]]++;
    }
    double n = (double)(data.n - 1);
    *single = *after = 0;
    for (int a = 0; a < V; a++) {
        *single -= one[a] ? one[a] / n * log(one[a] / n) : 0;
        for (int b = 0; b < V; b++) {
            double c = pair[(size_t)a * (size_t)V + (size_t)b];
            *after -= c > 0 ? c / n * log(c / one[a]) : 0;
        }
    }
    free(pair);
    free(one);
}

/* All 65 characters occur whatever the seed, and there is something to learn: ln 65 = 4.17 nats is what a model
 * starts with, knowing how often characters occur brings it under 3.4 (English: 3.3), the previous one under 2.3. */
START_TEST(builtin_play_can_be_learnt)
{
    static const char sorted[] = "\n !$&',-.3:;?ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    for (uint64_t seed = 0; seed < 5; seed++) {
        int count[65] = {0};
        double single, after;
        open_builtin(65, seed);
        for (uint64_t i = 0; i < data.n; i++)
            count[data.token[i]]++;
        for (int i = 0; i < 65; i++) {
            ck_assert_uint_eq(data.symbol[i], (unsigned char)sorted[i]);
            ck_assert_int_gt(count[i], 0);
        }
        entropy(65, &single, &after);
        ck_assert_double_lt(single, 3.4);
        ck_assert_double_lt(after, 2.3);
        ck_assert_double_gt(after, 1.5);
        data_fini(&data);
    }
}
END_TEST

/* Ids other than characters, few enough to count pairs. One rank in two follows from the previous one, so a
 * pair says clearly more than two single ids. */
START_TEST(builtin_tokens_have_structure)
{
    double single, after;
    open_builtin(500, 1);
    entropy(500, &single, &after);
    ck_assert_double_lt(single, log(500) - 0.5);
    ck_assert_double_lt(after, single - 0.5);
    data_fini(&data);
    open_builtin(1, 1);
    data_fini(&data);
    open_builtin(65536, 1);
    data_fini(&data);
    struct model_spec spec = {.name = "test", .kind = MODEL_GPT, .V = 65537};
    ck_assert_int_eq(data_open(&data, NULL, &spec, 64, 1, false, 1, 0, &e), -1);
    ck_assert_int_eq(e.code, ERR_USAGE);
}
END_TEST

START_TEST(a_file_that_changes)
{
    struct infile in;
    char bytes[100] = {0};
    const char *path = scratch_write("file", bytes, 100);
    ck_assert_int_eq(infile_open(&in, path, &e), 0);
    ck_assert_uint_eq(in.bytes, 100);
    ck_assert_int_eq(infile_read(&in, bytes, 10, &e), 0);
    ck_assert_int_eq(truncate(path, 40), 0);
    ck_assert_int_eq(infile_read(&in, bytes, 90, &e), -1);
    ck_assert_int_eq(e.code, ERR_IO);
    ck_assert_ptr_nonnull(strstr(e.text, "byte 40 of 100"));
    infile_close(&in);

    path = scratch_write("file", bytes, 100);
    ck_assert_int_eq(infile_open(&in, path, &e), 0);
    ck_assert_int_eq(infile_read(&in, bytes, 100, &e), 0);
    ck_assert_int_eq(infile_finish(&in, &e), 0);
    ck_assert_int_eq(truncate(path, 101), 0);
    ck_assert_int_eq(infile_finish(&in, &e), -1);
    ck_assert_int_eq(e.code, ERR_IO);
    infile_close(&in);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("batch");
    TCase *c = tcase_create("batch");
    tcase_add_checked_fixture(c, scratch_open, scratch_close);
    tcase_set_timeout(c, 60);
    tcase_add_test(c, an_epoch_has_every_window_once);
    tcase_add_test(c, a_batch_spans_two_epochs);
    tcase_add_test(c, training_never_sees_validation);
    tcase_add_test(c, validation_walks_in_strides);
    tcase_add_test(c, builtin_is_the_same_everywhere);
    tcase_add_test(c, builtin_play_can_be_learnt);
    tcase_add_test(c, builtin_tokens_have_structure);
    tcase_add_test(c, a_file_that_changes);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
