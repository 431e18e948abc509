/*
 * tests/check_data.c - what data_open() makes of files: windows, vocabularies, and each way to be wrong.
 *
 * Window counts follow from the definition (n tokens, n - T start positions), ids from the formats.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "model/data.h"
#include "tests/scratch.h"

static struct data data;
static struct err e;
static double room_bytes;

static int open_as(const char *path, const char *model, int T, double split, bool need_val)
{
    struct model_spec spec;
    ck_assert_int_eq(model_spec_find(&spec, model, &e), 0);
    e = (struct err){0};
    return data_open(&data, path, &spec, T, split, need_val, 1, room_bytes, &e);
}

/* Fails with that code, a sentence that has both words, and nothing left to free. */
static void refuses(enum err_code code, const char *path, const char *model, int T, const char *word)
{
    ck_assert_int_eq(open_as(path, model, T, 1, false), -1);
    ck_assert_msg(e.code == code, "%s: code %d: %s", path, e.code, e.text);
    ck_assert_msg(strstr(e.text, path) && strstr(e.text, word), "%s", e.text);
    ck_assert_ptr_null(data.token);
    ck_assert_ptr_null(data.symbol);
}

static const char *text(int characters)
{
    char s[200] = "";
    for (int i = 0; i < characters; i++)
        s[i] = (char)('a' + i % 7);
    return scratch_write("text", s, (size_t)characters);
}

/* T = 64, no split: N characters have N - 64 start positions, and fewer than one is an error. */
START_TEST(text_windows)
{
    refuses(ERR_DATA, text(0), "shakespeare-char", 64, "0");
    refuses(ERR_DATA, text(64), "shakespeare-char", 64, "train");
    for (int n = 65; n <= 66; n++) {
        ck_assert_int_eq(open_as(text(n), "shakespeare-char", 64, 1, false), 0);
        ck_assert_uint_eq(data.train_n - 64, (uint64_t)n - 64); /* 1 and 2 positions */
        struct sampler s;
        ck_assert_int_eq(sampler_init(&s, data.train_n - 64, 0, 1, false, 1, &e), 0);
        ck_assert_uint_eq(s.per_rank, (uint64_t)n - 64);
        data_fini(&data);
    }
}
END_TEST

/* int(0.9 * 72) = 64, one too few for a window; int(0.9 * 73) = 65, which leaves 8 to validate on. */
START_TEST(split_windows)
{
    ck_assert_int_eq(open_as(text(72), "shakespeare-char", 64, 0.9, false), -1);
    ck_assert_int_eq(e.code, ERR_DATA);
    ck_assert_ptr_nonnull(strstr(e.text, "train part has 64"));
    ck_assert_int_eq(open_as(text(73), "shakespeare-char", 64, 0.9, true), -1);
    ck_assert_int_eq(e.code, ERR_DATA);
    ck_assert_ptr_nonnull(strstr(e.text, "val part has 8"));
    ck_assert_int_eq(open_as(text(73), "shakespeare-char", 64, 0.9, false), 0);
    ck_assert_uint_eq(data.train_n, 65);
    ck_assert_uint_eq(data.n, 73);
    data_fini(&data);
    /* without a split nothing is left to validate on */
    ck_assert_int_eq(open_as(text(73), "shakespeare-char", 64, 1, true), -1);
    ck_assert_ptr_nonnull(strstr(e.text, "val part has 0"));
    static const double bad[] = {0, -0.5, 1.5};
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(open_as(text(73), "shakespeare-char", 64, i < 3 ? bad[i] : (double)NAN, false), -1);
        ck_assert_int_eq(e.code, ERR_USAGE);
    }
}
END_TEST

/* None of these may be waited for: the test's time limit is part of what it says. */
START_TEST(not_regular_files)
{
    refuses(ERR_NO_INPUT, scratch_path("missing"), "shakespeare-char", 64, "No such file");
    scratch_write("file", "x", 1);
    refuses(ERR_NO_INPUT, scratch_path("file/below"), "shakespeare-char", 64, "Not a directory");
    ck_assert_int_eq(mkdir(scratch_path("folder"), 0700), 0);
    refuses(ERR_DATA, scratch_path("folder"), "shakespeare-char", 64, "directory");
    ck_assert_int_eq(mkfifo(scratch_path("fifo"), 0600), 0);
    refuses(ERR_DATA, scratch_path("fifo"), "shakespeare-char", 64, "regular");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, scratch_path("socket"), sizeof address.sun_path - 1);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    refuses(ERR_DATA, scratch_path("socket"), "shakespeare-char", 64, "regular");
    close(fd);
    refuses(ERR_DATA, "/dev/zero", "gpt2-124m", 64, "regular");
    refuses(ERR_DATA, "/dev/null", "shakespeare-char", 64, "regular");
}
END_TEST

/* a = 61, b = 62, euro = 20ac, grinning face = 1f600: ids in that order. One, one, three and four bytes. */
START_TEST(characters_are_sorted_code_points)
{
    const char *path = scratch_write("text",
                                     "ba\xe2\x82\xac"
                                     "b\xf0\x9f\x98\x80",
                                     10);
    ck_assert_int_eq(open_as(path, "shakespeare-char", 2, 1, false), 0);
    static const uint16_t id[] = {1, 0, 2, 1, 3};
    static const uint32_t symbol[] = {0x61, 0x62, 0x20ac, 0x1f600};
    ck_assert_int_eq(data.format, DATA_TEXT);
    ck_assert_int_eq(data.V, 4);
    ck_assert_uint_eq(data.n, 5);
    ck_assert_mem_eq(data.token, id, sizeof id);
    ck_assert_mem_eq(data.symbol, symbol, sizeof symbol);
    ck_assert_str_eq(data.path, path);
    data_fini(&data);
}
END_TEST

/* The ends of each length in UTF-8, and the two sides of the surrogates. */
START_TEST(characters_at_the_edges)
{
    const char *path = scratch_write("text",
                                     "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf"
                                     "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf",
                                     25);
    static const uint32_t symbol[] = {0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xe000, 0xffff, 0x10000, 0x10ffff};
    ck_assert_int_eq(open_as(path, "shakespeare-char", 2, 1, false), 0);
    ck_assert_int_eq(data.V, 9);
    ck_assert_uint_eq(data.n, 9);
    ck_assert_mem_eq(data.symbol, symbol, sizeof symbol);
    data_fini(&data);
}
END_TEST

static const struct {
    const char *bytes, *why;
} invalid[] = {
    {"\x80", "continuation first"},      {"\xff", "no such byte"},
    {"\xc0\x80", "overlong 0"},          {"\xc1\xbf", "overlong 7f"},
    {"\xe0\x9f\xbf", "overlong 7ff"},    {"\xf0\x8f\xbf\xbf", "overlong ffff"},
    {"\xed\xa0\x80", "surrogate d800"},  {"\xed\xbf\xbf", "surrogate dfff"},
    {"\xf4\x90\x80\x80", "past 10ffff"}, {"\xf8\x88\x80\x80\x80", "5 bytes"},
    {"\xe2\x82", "cut after 2 of 3"},    {"\xf0\x9f\x98", "cut after 3 of 4"},
    {"\xc3", "cut after 1 of 2"},        {"\xe2\x28\xac", "no continuation"},
};
enum { INVALID = sizeof invalid / sizeof *invalid };

/* "abc" and a two-byte character come before, so the place is byte 5. */
START_TEST(invalid_utf8_names_its_offset)
{
    char s[32] = "abc\xc3\xa9";
    strcat(s, invalid[_i].bytes);
    refuses(ERR_DATA, scratch_write("text", s, strlen(s)), "shakespeare-char", 2, "byte offset 5 ");
}
END_TEST

/* Tokens are 16 bits wide: 65,536 different characters are the most that have ids. Three bytes each from
 * U+0800 on, without the surrogates, then four bytes each from U+10000 on. */
START_TEST(alphabet_of_65536)
{
    static char s[4 * 65537];
    size_t n = 0, at_65536 = 0;
    uint32_t c = 0x800;
    for (int i = 0; i < 65537; i++, c++) {
        if (c == 0xd800)
            c = 0xe000;
        if (i == 65536)
            at_65536 = n;
        if (c >= 0x10000)
            s[n++] = (char)(0xf0 | c >> 18);
        s[n++] = c >= 0x10000 ? (char)(0x80 | (c >> 12 & 0x3f)) : (char)(0xe0 | c >> 12);
        s[n++] = (char)(0x80 | (c >> 6 & 0x3f));
        s[n++] = (char)(0x80 | (c & 0x3f));
    }
    refuses(ERR_DATA, scratch_write("text", s, n), "shakespeare-char", 2, "65537 different");
    ck_assert_int_eq(open_as(scratch_write("text", s, at_65536), "shakespeare-char", 2, 1, false), 0);
    ck_assert_int_eq(data.V, 65536);
    for (int i = 0; i < 65536; i++)
        ck_assert_uint_eq(data.token[i], (unsigned)i);
    data_fini(&data);
}
END_TEST

START_TEST(text_is_not_for_token_models)
{
    const char *path = text(70);
    refuses(ERR_DATA, path, "gpt2-124m", 64, "llm.c");
    ck_assert_ptr_nonnull(strstr(e.text, "nanoGPT"));
    ck_assert_ptr_nonnull(strstr(e.text, "gpt2-124m"));
}
END_TEST

START_TEST(an_mlp_takes_no_data)
{
    ck_assert_int_eq(open_as(text(70), "mlp-768", 1, 1, false), -1);
    ck_assert_int_eq(e.code, ERR_USAGE);
    ck_assert_int_eq(open_as(NULL, "linear-10x2", 1, 1, false), -1);
    ck_assert_int_eq(e.code, ERR_USAGE);
}
END_TEST

/* Little-endian: 50 c4 is 0xc450 = 50256, the last id of GPT-2; 01 02 is 513. */
START_TEST(nanogpt_tokens)
{
    static const unsigned char bytes[] = {0x00, 0x00, 0x50, 0xc4, 0x01, 0x02};
    static const uint16_t id[] = {0, 50256, 513};
    const char *path = scratch_write("train.bin", bytes, sizeof bytes);
    ck_assert_int_eq(open_as(path, "gpt2-124m", 2, 1, false), 0);
    ck_assert_int_eq(data.format, DATA_NANOGPT);
    ck_assert_int_eq(data.V, 50257);
    ck_assert_uint_eq(data.n, 3);
    ck_assert_mem_eq(data.token, id, sizeof id);
    ck_assert_ptr_null(data.symbol);
    data_fini(&data);
    refuses(ERR_DATA, path, "gpt2-124m", 3, "train");
    refuses(ERR_DATA, path, "shakespeare-char", 2, "token 1 is 50256");
    refuses(ERR_DATA, scratch_write("train.bin", bytes, 5), "gpt2-124m", 1, "5 bytes");
    refuses(ERR_DATA, scratch_write("train.bin", bytes, 0), "gpt2-124m", 1, "0");
    refuses(ERR_DATA, scratch_write("train.bin", "\x00\x00\x51\xc4", 4), "gpt2-124m", 1, "token 1 is 50257");
}
END_TEST

/* nanoGPT's own character data set has ids below 65. */
START_TEST(nanogpt_characters)
{
    static const unsigned char good[] = {64, 0, 0, 0, 1, 0}, bad[] = {64, 0, 0, 0, 65, 0};
    ck_assert_int_eq(open_as(scratch_write("val.bin", good, 6), "shakespeare-char", 2, 1, false), 0);
    ck_assert_int_eq(data.V, 65);
    data_fini(&data);
    refuses(ERR_DATA, scratch_write("val.bin", bad, 6), "shakespeare-char", 2, "token 2 is 65");
}
END_TEST

enum { LLMC_TOKENS = 40, LLMC_BYTES = 1024 + 2 * LLMC_TOKENS };

static void put32(unsigned char *at, uint32_t x)
{
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(x >> (8 * i));
}

/* magic 20240520, version 1, count; token i is 1000 + i. */
static void make_llmc(unsigned char bytes[LLMC_BYTES + 2])
{
    memset(bytes, 0, LLMC_BYTES + 2);
    put32(bytes, 20240520);
    put32(bytes + 4, 1);
    put32(bytes + 8, LLMC_TOKENS);
    for (int i = 0; i < LLMC_TOKENS; i++) {
        bytes[1024 + 2 * i] = (unsigned char)((1000 + i) & 255);
        bytes[1024 + 2 * i + 1] = (unsigned char)((1000 + i) >> 8);
    }
}

START_TEST(llmc_tokens)
{
    unsigned char bytes[LLMC_BYTES + 2];
    make_llmc(bytes);
    static const char *const names[] = {"tiny.bin", "tiny"}; /* the magic decides, not the name */
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(open_as(scratch_write(names[i], bytes, LLMC_BYTES), "gpt2-124m", 39, 1, false), 0);
        ck_assert_int_eq(data.format, DATA_LLMC);
        ck_assert_uint_eq(data.n, LLMC_TOKENS);
        for (int k = 0; k < LLMC_TOKENS; k++)
            ck_assert_uint_eq(data.token[k], 1000u + (unsigned)k);
        data_fini(&data);
    }
    refuses(ERR_DATA, scratch_write("tiny.bin", bytes, LLMC_BYTES + 2), "gpt2-124m", 4, "1106");
    put32(bytes + 4, 2);
    refuses(ERR_DATA, scratch_write("tiny.bin", bytes, LLMC_BYTES), "gpt2-124m", 4, "version 2");
}
END_TEST

/* Every shorter file is refused, whatever its name. */
START_TEST(llmc_truncated)
{
    unsigned char bytes[LLMC_BYTES + 2];
    make_llmc(bytes);
    for (size_t n = 0; n < LLMC_BYTES; n++) {
        refuses(ERR_DATA, scratch_write("tiny.bin", bytes, n), "gpt2-124m", 4, "");
        refuses(ERR_DATA, scratch_write("tiny", bytes, n), "shakespeare-char", 4, "");
    }
}
END_TEST

/* A count that does not fit the file takes no memory, however large it is. */
START_TEST(llmc_counts)
{
    static const uint32_t counts[] = {0, LLMC_TOKENS - 1, LLMC_TOKENS + 1, 0x7fffffff, 0x80000000, 0xffffffff};
    unsigned char bytes[LLMC_BYTES + 2];
    make_llmc(bytes);
    for (int i = 0; i < 6; i++) {
        put32(bytes + 8, counts[i]);
        refuses(ERR_DATA, scratch_write("tiny.bin", bytes, LLMC_BYTES), "gpt2-124m", 4, "1104");
    }
}
END_TEST

/* Larger than the machine: refused before memory is taken, not by the kernel afterwards. */
START_TEST(larger_than_memory)
{
    long long memory = (long long)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    const char *path = scratch_sparse("text", memory / 2); /* as text it needs three times its size */
    if (path)
        refuses(ERR_MEMORY, path, "shakespeare-char", 64, "memory");
    path = scratch_sparse("tokens.bin", memory * 2);
    if (path)
        refuses(ERR_MEMORY, path, "gpt2-124m", 64, "memory");
    room_bytes = 1e6; /* of a control group, shared by ranks */
    path = scratch_sparse("small.bin", 1000002);
    if (path)
        refuses(ERR_MEMORY, path, "gpt2-124m", 64, "1000000 are there");
    room_bytes = 0;
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("data");
    TCase *c = tcase_create("data");
    tcase_add_checked_fixture(c, scratch_open, scratch_close);
    tcase_set_timeout(c, 60);
    tcase_add_test(c, text_windows);
    tcase_add_test(c, split_windows);
    tcase_add_test(c, not_regular_files);
    tcase_add_test(c, characters_are_sorted_code_points);
    tcase_add_test(c, characters_at_the_edges);
    tcase_add_loop_test(c, invalid_utf8_names_its_offset, 0, INVALID);
    tcase_add_test(c, alphabet_of_65536);
    tcase_add_test(c, text_is_not_for_token_models);
    tcase_add_test(c, an_mlp_takes_no_data);
    tcase_add_test(c, nanogpt_tokens);
    tcase_add_test(c, nanogpt_characters);
    tcase_add_test(c, llmc_tokens);
    tcase_add_test(c, llmc_truncated);
    tcase_add_test(c, llmc_counts);
    tcase_add_test(c, larger_than_memory);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
