/*
 * tests/fuzz/files.c - fuzzer for the files a user may name: text, token files, checkpoints.
 *
 * The first byte of an input says how the rest is read: bits 0-1 text for a character model, tokens for
 * GPT-2 under a plain name, tokens under a name in .bin, a checkpoint; bit 2 asks for a validation part.
 * Whatever the bytes are, a reader either refuses with ERR_DATA and a sentence or delivers what its header
 * promises. Files are in memory, opened by their names under /proc, so the readers are run as they are.
 *
 *     clang -std=gnu11 -g -O1 -fsanitize=fuzzer,address,undefined -I. tests/fuzz/files.c model/data*.c \
 *         model/sampler.c model/infile.c model/outfile.c model/checkpoint.c model/spec.c base/err.c base/rng.c \
 *         base/suggest.c -lm -o fuzz-files
 *     mkdir -p found && ./fuzz-files -max_len=12000 found tests/fuzz/corpus-files
 *
 * `make check` replays the corpus and near misses of it through tests/fuzz/replay.c.
 */
#define _GNU_SOURCE /* memfd_create */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "model/checkpoint.h"
#include "model/data.h"
#include "tests/fuzz/fuzz.h"

enum { T = 4, B = 3 };

static int memory_file = -1;
static char plain[64], folder[] = "/tmp/ddpbench-fuzz.XXXXXX", binary[sizeof folder + 8];
static struct model_spec characters, tokens, tiny;
static struct layout layout;
static float *param;

/* A promise that was not kept: what a fuzzer reports. */
static void require(int kept, const char *what)
{
    if (!kept) {
        fprintf(stderr, "fuzz: not so: %s\n", what);
        abort();
    }
}

static void clean(void)
{
    unlink(binary);
    rmdir(folder);
}

static void prepare(void)
{
    struct err e;
    memory_file = memfd_create("fuzz", MFD_CLOEXEC);
    require(memory_file >= 0 && mkdtemp(folder) != NULL, "there is a place for files");
    snprintf(plain, sizeof plain, "/proc/self/fd/%d", memory_file);
    snprintf(binary, sizeof binary, "%s/f.bin", folder);
    require(symlink(plain, binary) == 0, "there is a name in .bin");
    atexit(clean);
    tiny = (struct model_spec){.name = "tiny", .kind = MODEL_GPT, .L = 1, .NH = 1, .C = 2, .V = 3, .context = 4};
    require(!model_spec_find(&characters, "shakespeare-char", &e) && !model_spec_find(&tokens, "gpt2-124m", &e) &&
                !layout_init(&layout, &tiny, &e),
            "the models exist");
    param = malloc(layout.params * sizeof *param);
    require(param != NULL, "there is memory");
}

static void check_refusal(const struct err *e)
{
    require(e->code == ERR_DATA, "bad bytes are ERR_DATA");
    require(strlen(e->text) > 10 && strlen(e->text) < sizeof e->text, "the reason is a sentence");
}

static void check_data(const char *path, const struct model_spec *spec, int need_val)
{
    struct data data;
    struct sampler s;
    struct err e = {0};
    int32_t inputs[B][T], targets[B][T];
    if (data_open(&data, path, spec, T, need_val ? 0.5 : 1, need_val, 1, 0, &e)) {
        check_refusal(&e);
        require(!data.token && !data.symbol, "nothing is left after a failure");
        return;
    }
    require(data.V > 0 && data.train_n > T && data.train_n <= data.n, "there is a window");
    for (uint64_t i = 0; i < data.n; i++)
        require(data.token[i] < data.V, "every id is in the vocabulary");
    for (int i = 1; data.symbol && i < data.V; i++)
        require(data.symbol[i - 1] < data.symbol[i], "the vocabulary is sorted");
    require(!sampler_init(&s, data.train_n - T, 0, 1, false, 1, &e), "it can be sampled");
    data_next_batch(&data, &s, B, T, inputs[0], targets[0]);
    if (need_val)
        data_val_batch(&data, 1, B, T, inputs[0], targets[0]);
    data_fini(&data);
}

static void check_checkpoint(void)
{
    struct err e = {0};
    int checked = checkpoint_check(plain, &tiny, &e);
    if (checked)
        check_refusal(&e);
    int loaded = checkpoint_load(plain, &tiny, &layout, param, &e);
    if (loaded)
        check_refusal(&e);
    require(!checked || loaded, "what the check refuses is not loaded");
    for (size_t i = 0; !loaded && i < layout.params; i++)
        require(isfinite(param[i]), "loaded parameters are finite");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (memory_file < 0)
        prepare();
    if (n == 0)
        return 0;
    require(!ftruncate(memory_file, 0) && pwrite(memory_file, bytes + 1, n - 1, 0) == (ssize_t)(n - 1),
            "the file can be written");
    switch (bytes[0] & 3) {
    case 0:
        check_data(plain, &characters, bytes[0] & 4);
        break;
    case 1:
        check_data(plain, &tokens, bytes[0] & 4);
        break;
    case 2:
        check_data(binary, &tokens, bytes[0] & 4);
        break;
    default:
        check_checkpoint();
    }
    return 0;
}
