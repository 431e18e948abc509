/*
 * tests/check_checkpoint.c - llm.c's checkpoint layout, read and written.
 *
 * Files are built here float by float in the order that llm.c's writer uses (train_gpt2.py, write_model):
 * wte, wpe, then each kind of tensor for all layers. The value of a float is its place in the file, so a
 * tensor that lands in the wrong place shows. GPT-2's size is that of the published gpt2_124M.bin.
 */
#define _GNU_SOURCE /* unshare */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/checkpoint.h"
#include "tests/scratch.h"

static struct err e;
static struct layout layout;

/* 2 layers, width 6, 5 ids in 128 rows, 4 positions: (128 + 4) 6 + 2 (12 x 36 + 13 x 6) + 2 x 6 floats. */
enum { C = 6, V = 5, L = 2, CONTEXT = 4, HEADER = 1024, FLOATS = 1824, BYTES = HEADER + 4 * FLOATS };

static struct model_spec small(bool bias)
{
    struct model_spec s = {
        .name = "small", .kind = MODEL_GPT, .L = L, .NH = 2, .C = C, .V = V, .context = CONTEXT, .bias = bias};
    ck_assert_int_eq(layout_init(&layout, &s, &e), 0);
    return s;
}

/* The header, then floats 1, 2, 3, ...; biases 0 unless wanted. */
static void make(unsigned char bytes[BYTES + 4], bool bias)
{
    static const int32_t header[8] = {20240326, 3, CONTEXT, V, L, 2, C, 128};
    /* per layer: ln1w, ln1b, qkvw, qkvb, attprojw, attprojb, ln2w, ln2b, fcw, fcb, fcprojw, fcprojb; then lnfw, lnfb */
    static const int length[14] = {6, 6, 108, 18, 36, 6, 6, 6, 144, 24, 144, 6, 3, 3};
    float x[FLOATS];
    int n = 0;
    for (; n < 132 * C; n++)
        x[n] = (float)(n + 1);
    for (int kind = 0; kind < 14; kind++)
        for (int i = 0; i < L * length[kind]; i++, n++)
            x[n] = kind % 2 && !bias ? 0 : (float)(n + 1);
    ck_assert_int_eq(n, FLOATS);
    memset(bytes, 0, BYTES + 4);
    memcpy(bytes, header, sizeof header);
    memcpy(bytes + HEADER, x, sizeof x);
}

static float first(const float *param, int tensor)
{
    return param[layout.tensor[tensor].offset];
}

static void refuses(enum err_code code, const char *path, const struct model_spec *s, const char *word)
{
    static float param[FLOATS];
    for (int load = 0; load < 2; load++) {
        e = (struct err){0};
        ck_assert_int_eq(load ? checkpoint_load(path, s, &layout, param, &e) : checkpoint_check(path, s, &e), -1);
        ck_assert_msg(e.code == code, "code %d: %s", e.code, e.text);
        ck_assert_msg(strstr(e.text, path) && strstr(e.text, word), "%s", e.text);
    }
}

/* First floats by hand: wpe after 128 x 6 = 768, blocks after 24 more = 792, kinds in order from there. */
START_TEST(each_tensor_from_its_place)
{
    static const struct {
        int kind, layer, place;
    } want[] = {
        {LN1_W, 0, 792},  {LN1_W, 1, 798},  {LN1_B, 0, 804},   {LN1_B, 1, 810},   {QKV_W, 0, 816},   {QKV_W, 1, 924},
        {QKV_B, 0, 1032}, {QKV_B, 1, 1050}, {OUT_W, 0, 1068},  {OUT_W, 1, 1104},  {OUT_B, 0, 1140},  {OUT_B, 1, 1146},
        {LN2_W, 0, 1152}, {LN2_W, 1, 1158}, {LN2_B, 0, 1164},  {LN2_B, 1, 1170},  {UP_W, 0, 1176},   {UP_W, 1, 1320},
        {UP_B, 0, 1464},  {UP_B, 1, 1488},  {DOWN_W, 0, 1512}, {DOWN_W, 1, 1656}, {DOWN_B, 0, 1800}, {DOWN_B, 1, 1806},
    };
    unsigned char bytes[BYTES + 4];
    float param[FLOATS];
    for (int bias = 0; bias < 2; bias++) {
        struct model_spec s = small(bias);
        make(bytes, bias);
        const char *path = scratch_write("c.bin", bytes, BYTES);
        ck_assert_int_eq(checkpoint_check(path, &s, &e), 0);
        for (int i = 0; i < FLOATS; i++)
            param[i] = -1;
        ck_assert_msg(checkpoint_load(path, &s, &layout, param, &e) == 0, "%s", e.text);
        for (int i = 0; i < V * C; i++) /* rows past V are dropped */
            ck_assert_float_eq(param[layout.tensor[layout.wte].offset + (size_t)i], (float)(i + 1));
        ck_assert_float_eq(first(param, layout.wpe), 769);
        for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
            int tensor = layout.block[want[i].layer][want[i].kind];
            if (tensor >= 0)
                ck_assert_float_eq(first(param, tensor), (float)(want[i].place + 1));
        }
        ck_assert_float_eq(first(param, layout.lnf_w), 1813);
        if (bias)
            ck_assert_float_eq(first(param, layout.lnf_b), 1819);
        for (size_t i = 0; i < layout.params; i++) /* every parameter was filled, and none beyond */
            ck_assert_float_ge(param[i], 1);
        for (size_t i = layout.params; i < FLOATS; i++)
            ck_assert_float_eq(param[i], -1);
    }
}
END_TEST

/* Saving gives the file that was loaded, with zeros in the rows past V. */
START_TEST(saved_as_it_was_loaded)
{
    unsigned char bytes[BYTES + 4];
    float param[FLOATS];
    for (int bias = 0; bias < 2; bias++) {
        struct model_spec s = small(bias);
        make(bytes, bias);
        memset(bytes + HEADER + 4 * V * C, 0, 4 * (128 - V) * C);
        const char *path = scratch_write("c.bin", bytes, BYTES);
        ck_assert_int_eq(checkpoint_load(path, &s, &layout, param, &e), 0);
        path = scratch_path("saved.bin");
        ck_assert_int_eq(checkpoint_save_check(path, &s, &e), 0);
        ck_assert_int_eq(access(path, F_OK), -1 + bias); /* checking leaves nothing; the second time it is there */
        ck_assert_msg(checkpoint_save(path, &s, &layout, param, &e) == 0, "%s", e.text);
        size_t n;
        unsigned char *saved = scratch_read(path, &n);
        ck_assert_uint_eq(n, BYTES);
        ck_assert_mem_eq(saved, bytes, BYTES);
        free(saved);
        ck_assert_int_eq(scratch_count(), 2); /* no temporary file stays */
    }
}
END_TEST

/* 1024 + 4 x 124,475,904 B; the published file has 497,904,640. Without memory: the file is all hole. */
START_TEST(gpt2_has_the_published_size)
{
    static const int32_t header[8] = {20240326, 3, 1024, 50257, 12, 12, 768, 50304};
    struct model_spec s;
    ck_assert_int_eq(model_spec_find(&s, "gpt2-124m", &e), 0);
    for (long long off = -1; off <= 1; off++) {
        const char *path = scratch_write("gpt2.bin", header, sizeof header);
        if (truncate(path, 497904640 + off))
            return;
        ck_assert_int_eq(checkpoint_check(path, &s, &e), off ? -1 : 0);
        if (off) {
            ck_assert_int_eq(e.code, ERR_DATA);
            ck_assert_ptr_nonnull(strstr(e.text, "497904640"));
        }
    }
    ck_assert_int_eq(model_spec_find(&s, "shakespeare-char", &e), 0);
    refuses(ERR_DATA, scratch_write("gpt2.bin", header, HEADER / 32), &s, "1024"); /* too short for a header */
}
END_TEST

/* {place in the header, value, what the sentence must name}: every value but the right one is refused. */
static const struct {
    int at;
    int32_t value;
    const char *word;
} wrong[] = {
    {0, 20240325, "20240325"}, {0, 0, "magic"},
    {1, 1, "version 1"},       {1, 5, "version 5"},
    {2, 5, "context is 5"},    {2, -1, "context is -1"},
    {3, 6, "vocabulary is 6"}, {3, 0, "vocabulary is 0"},
    {4, 3, "layers is 3"},     {4, 0x7fffffff, "layers"},
    {5, 3, "heads is 3"},      {6, 12, "width is 12"},
    {6, -6, "width is -6"},    {7, 0, "padded"},
    {7, 129, "padded"},        {7, -128, "padded"},
    {7, 256, "8320 bytes"},    {7, 0x7fffff80, "8320 bytes"},
    {6, 0x7fffffff, "width"},  {2, 0x7fffffff, "context"},
};
enum { WRONG = sizeof wrong / sizeof *wrong };

START_TEST(headers_that_disagree)
{
    unsigned char bytes[BYTES + 4];
    struct model_spec s = small(true);
    make(bytes, true);
    memcpy(bytes + 4 * wrong[_i].at, &wrong[_i].value, 4);
    refuses(ERR_DATA, scratch_write("c.bin", bytes, BYTES), &s, wrong[_i].word);
}
END_TEST

START_TEST(truncated_or_longer)
{
    unsigned char bytes[BYTES + 4];
    struct model_spec s = small(true);
    make(bytes, true);
    for (size_t n = 0; n <= BYTES + 4; n++)
        if (n != BYTES)
            refuses(ERR_DATA, scratch_write("c.bin", bytes, n), &s, "");
}
END_TEST

static void refuses_to_load(const unsigned char *bytes, const struct model_spec *s, const char *word)
{
    float param[FLOATS];
    const char *path = scratch_write("c.bin", bytes, BYTES);
    ck_assert_int_eq(checkpoint_load(path, s, &layout, param, &e), -1);
    ck_assert_int_eq(e.code, ERR_DATA);
    ck_assert_msg(strstr(e.text, path) && strstr(e.text, word), "%s", e.text);
}

/* Place 924 + 50 is in the second layer's qkv weights; 1032 is the first layer's qkv bias; 100 is padding. */
START_TEST(values_that_cannot_be)
{
    static const float value[] = {NAN, INFINITY, -INFINITY};
    unsigned char bytes[BYTES + 4];
    struct model_spec s = small(true);
    for (int i = 0; i < 3; i++) {
        make(bytes, true);
        memcpy(bytes + HEADER + 4 * (924 + 50), &value[i], 4);
        refuses_to_load(bytes, &s, "blocks.1.qkv.weight");
    }
    float param[FLOATS];
    make(bytes, true);
    memcpy(bytes + HEADER + 4 * 100, &value[0], 4);
    ck_assert_int_eq(checkpoint_load(scratch_write("c.bin", bytes, BYTES), &s, &layout, param, &e), 0);
    s = small(false);
    for (int i = 0; i < 2; i++) {
        make(bytes, false);
        memcpy(bytes + HEADER + 4 * 1032, i ? &value[0] : &(float){1e-30f}, 4);
        refuses_to_load(bytes, &s, "bias");
    }
}
END_TEST

START_TEST(an_mlp_has_no_checkpoint)
{
    struct model_spec s;
    float param[1] = {0};
    ck_assert_int_eq(model_spec_find(&s, "mlp-768", &e), 0);
    const char *path = scratch_path("none");
    for (int i = 0; i < 4; i++) {
        e = (struct err){0};
        int rc = i == 0   ? checkpoint_check(path, &s, &e)
                 : i == 1 ? checkpoint_load(path, &s, &layout, param, &e)
                 : i == 2 ? checkpoint_save(path, &s, &layout, param, &e)
                          : checkpoint_save_check(path, &s, &e);
        ck_assert_int_eq(rc, -1);
        ck_assert_int_eq(e.code, ERR_USAGE);
        ck_assert_ptr_nonnull(strstr(e.text, "mlp-768"));
    }
    ck_assert_int_eq(scratch_count(), 0);
}
END_TEST

START_TEST(not_a_file_to_load)
{
    struct model_spec s = small(true);
    refuses(ERR_NO_INPUT, scratch_path("missing"), &s, "No such file");
    ck_assert_int_eq(mkdir(scratch_path("folder"), 0700), 0);
    refuses(ERR_DATA, scratch_path("folder"), &s, "directory");
    ck_assert_int_eq(mkfifo(scratch_path("fifo"), 0600), 0);
    refuses(ERR_DATA, scratch_path("fifo"), &s, "regular");
    refuses(ERR_DATA, "/dev/zero", &s, "regular");
}
END_TEST

static void cannot_save(const char *path, const char *word)
{
    static float param[FLOATS];
    struct model_spec s = small(true);
    int files = scratch_count();
    for (int check = 0; check < 2; check++) {
        e = (struct err){0};
        ck_assert_int_eq(check ? checkpoint_save_check(path, &s, &e) : checkpoint_save(path, &s, &layout, param, &e),
                         -1);
        ck_assert_msg(e.code == ERR_CANNOT_CREATE, "code %d: %s", e.code, e.text);
        ck_assert_msg(strstr(e.text, path) && strstr(e.text, word), "%s", e.text);
        ck_assert_int_eq(scratch_count(), files);
    }
}

START_TEST(places_that_take_no_file)
{
    scratch_write("file", "x", 1);
    cannot_save(scratch_path("nowhere/c.bin"), "No such file");
    cannot_save(scratch_path("file/c.bin"), "Not a directory");
    ck_assert_int_eq(mkdir(scratch_path("folder"), 0700), 0);
    cannot_save(scratch_path("folder"), "not a regular file");
    ck_assert_int_eq(mkfifo(scratch_path("fifo"), 0600), 0);
    cannot_save(scratch_path("fifo"), "not a regular file");
    ck_assert_int_eq(symlink("nowhere", scratch_path("link")), 0);
    cannot_save(scratch_path("link"), "leads nowhere");
    cannot_save("/dev/null", "not a regular file"); /* root could replace it */
    struct stat st;
    ck_assert_int_eq(stat("/dev/null", &st), 0);
    ck_assert(S_ISCHR(st.st_mode));
}
END_TEST

/* The link stays a link; the file it leads to is replaced and keeps its permissions. What an earlier process
 * of the same number left behind is no obstacle. */
START_TEST(through_a_link)
{
    static float param[FLOATS];
    struct model_spec s = small(true);
    char real[600], link[600], left[20 + 600];
    snprintf(real, sizeof real, "%s", scratch_write("real.bin", "old", 3));
    snprintf(link, sizeof link, "%s", scratch_path("link.bin"));
    snprintf(left, sizeof left, "%s.tmp-%ld", real, (long)getpid());
    ck_assert_int_eq(chmod(real, 0664), 0); /* more than the umask leaves */
    mode_t mask = umask(022);
    ck_assert_int_eq(symlink("real.bin", link), 0);
    ck_assert_int_eq(symlink("/dev/full", left), 0);
    ck_assert_msg(checkpoint_save(link, &s, &layout, param, &e) == 0, "%s", e.text);
    umask(mask);
    struct stat st;
    ck_assert_int_eq(lstat(link, &st), 0);
    ck_assert(S_ISLNK(st.st_mode));
    ck_assert_int_eq(lstat(real, &st), 0);
    ck_assert(S_ISREG(st.st_mode));
    ck_assert_int_eq(st.st_mode & 0777, 0664);
    ck_assert_int_eq(st.st_size, BYTES);
    ck_assert_int_eq(scratch_count(), 2);
}
END_TEST

/* A 64 KiB file system holds the small checkpoint and not that of width 64 (over 230,000 B): the old one stays as
 * it is, byte for byte, and the attempt leaves nothing. In a mount namespace of this test's own process. */
START_TEST(full_disk)
{
    if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mkdir(scratch_path("disk"), 0700) || mount("none", scratch_path("disk"), "tmpfs", 0, "size=64k")) {
        fprintf(stderr, "# full_disk is skipped, it needs root: %s\n", strerror(errno));
        return;
    }
    static float param[300000];
    struct model_spec s = small(true);
    const char *path = scratch_path("disk/c.bin");
    for (size_t i = 0; i < layout.params; i++)
        param[i] = (float)i;
    ck_assert_msg(checkpoint_save(path, &s, &layout, param, &e) == 0, "%s", e.text);
    size_t before_n, after_n;
    unsigned char *before = scratch_read(path, &before_n);
    s.C = 64;
    ck_assert_int_eq(layout_init(&layout, &s, &e), 0);
    ck_assert_int_eq(checkpoint_save(path, &s, &layout, param, &e), -1);
    ck_assert_int_eq(e.code, ERR_IO);
    ck_assert_ptr_nonnull(strstr(e.text, "No space left"));
    unsigned char *after = scratch_read(path, &after_n);
    ck_assert_uint_eq(after_n, before_n);
    ck_assert_mem_eq(after, before, before_n);
    free(before);
    free(after);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(umount(scratch_path("disk")), 0); /* busy if the failed attempt had kept a file open */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("checkpoint");
    TCase *c = tcase_create("checkpoint");
    tcase_add_checked_fixture(c, scratch_open, scratch_close);
    tcase_set_timeout(c, 60);
    tcase_add_test(c, each_tensor_from_its_place);
    tcase_add_test(c, saved_as_it_was_loaded);
    tcase_add_test(c, gpt2_has_the_published_size);
    tcase_add_loop_test(c, headers_that_disagree, 0, WRONG);
    tcase_add_test(c, truncated_or_longer);
    tcase_add_test(c, values_that_cannot_be);
    tcase_add_test(c, an_mlp_has_no_checkpoint);
    tcase_add_test(c, not_a_file_to_load);
    tcase_add_test(c, places_that_take_no_file);
    tcase_add_test(c, through_a_link);
    tcase_add_test(c, full_disk);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
