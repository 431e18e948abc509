/* model/data.c - opening a source, and windows out of it; see data.h. The order of windows is in sampler.c. */
#include "model/data.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "model/data_source.h"

/* Models with more ids than this are taken to speak in tokens, not characters: GPT-2's 50,257 are pieces of words. */
enum { CHARACTERS_MAX = 1024, IDS_MAX = 65536 };

/* A hundred times what language models are trained on: what is more is no count. */
#define TOKENS_MAX (UINT64_C(1) << 50)

int data_check_room(const struct data *data, const char *path, uint64_t bytes, struct err *e)
{
    if (data->room_bytes > 0 && (double)bytes > data->room_bytes)
        return err_set(e, ERR_MEMORY,
                       "%s: reading it takes %" PRIu64 " bytes of memory, and %.0f are there for this rank", path,
                       bytes, data->room_bytes);
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page_bytes <= 0 || bytes / (uint64_t)page_bytes < (uint64_t)pages)
        return 0;
    return err_set(e, ERR_MEMORY, "%s: reading it takes %" PRIu64 " bytes of memory, this machine has %" PRIu64, path,
                   bytes, (uint64_t)pages * (uint64_t)page_bytes);
}

void *data_alloc(const char *path, uint64_t bytes, struct err *e)
{
    void *p = malloc(bytes ? bytes : 1);
    if (!p)
        err_set(e, ERR_MEMORY, "%s: no memory for %" PRIu64 " bytes", path, bytes);
    return p;
}

static int read_file(struct data *data, const struct model_spec *spec, const char *path, struct err *e)
{
    struct infile in;
    if (infile_open(&in, path, e))
        return -1;
    int rc = data_detect(&in, &data->format, e);
    if (!rc) {
        if (data->format != DATA_TEXT)
            rc = data_read_tokens(data, &in, spec, e);
        else if (spec->V > CHARACTERS_MAX)
            rc = err_set(e, ERR_DATA,
                         "%s: is text, and %s takes tokens: an llm.c token file or a nanoGPT .bin file (uint16)", path,
                         spec->name);
        else
            rc = data_read_text(data, &in, e);
    }
    infile_close(&in);
    return rc;
}

/* Does this part hold one window of T inputs and T targets? */
static int check_part(const struct data *data, const char *part, uint64_t n, int T, struct err *e)
{
    if (n > (uint64_t)T)
        return 0;
    return err_set(e, ERR_DATA, "%s: the %s part has %" PRIu64 " of its %" PRIu64 " %s, and one window of %d needs %d",
                   data->path[0] ? data->path : "built-in text", part, n, data->n,
                   data->symbol ? "characters" : "tokens", T, T + 1);
}

int data_open(struct data *data, const char *path, const struct model_spec *spec, int T, double split, bool need_val,
              uint64_t seed, double room_bytes, struct err *e)
{
    *data = (struct data){.room_bytes = room_bytes};
    if (spec->kind != MODEL_GPT)
        return err_set(e, ERR_USAGE, "%s trains on random numbers and takes no data", spec->name);
    if (!(split > 0 && split <= 1))
        return err_set(e, ERR_USAGE, "the share of the data that trains must be above 0 and at most 1");
    if (path)
        snprintf(data->path, sizeof data->path, "%s", path);
    int rc = path ? read_file(data, spec, path, e) : data_make_builtin(data, spec->V, seed, e);
    if (!rc) {
        data->train_n = split < 1 ? (uint64_t)(split * (double)data->n) : data->n;
        rc = check_part(data, "train", data->train_n, T, e);
    }
    if (!rc && need_val)
        rc = check_part(data, "val", data->n - data->train_n, T, e);
    if (rc)
        data_fini(data);
    return rc;
}

int data_describe(struct data *data, const struct model_spec *spec, uint64_t n, int V, int T, double split,
                  struct err *e)
{
    *data = (struct data){.n = n, .V = V, .train_n = split < 1 ? (uint64_t)(split * (double)n) : n};
    if (spec->kind != MODEL_GPT)
        return err_set(e, ERR_USAGE, "%s trains on random numbers and takes no data", spec->name);
    if (n > TOKENS_MAX || V < 1 || V > IDS_MAX || (spec->V > CHARACTERS_MAX && V != spec->V))
        return err_set(e, ERR_DATA, "%s cannot have %" PRIu64 " tokens of %d ids", spec->name, n, V);
    snprintf(data->path, sizeof data->path, "rank 0's data");
    return check_part(data, "train", data->train_n, T, e);
}

void data_fini(struct data *data)
{
    free(data->token);
    free(data->symbol);
    *data = (struct data){0};
}

static void copy_window(const struct data *data, uint64_t start, int T, int32_t *inputs, int32_t *targets)
{
    const uint16_t *token = data->token + start;
    for (int t = 0; t < T; t++) {
        inputs[t] = token[t];
        targets[t] = token[t + 1];
    }
}

void data_next_batch(const struct data *data, struct sampler *s, int B, int T, int32_t *inputs, int32_t *targets)
{
    assert(s->positions + (uint64_t)T <= data->train_n);
    for (int b = 0; b < B; b++) {
        size_t at = (size_t)b * (size_t)T;
        copy_window(data, sampler_next(s), T, inputs + at, targets + at);
    }
}

void data_val_batch(const struct data *data, uint64_t i, int B, int T, int32_t *inputs, int32_t *targets)
{
    uint64_t n = data->n - data->train_n;
    assert(n > (uint64_t)T);
    uint64_t windows = (n - 1) / (uint64_t)T;
    for (int b = 0; b < B; b++) {
        uint64_t window = (i * (uint64_t)B + (uint64_t)b) % windows;
        size_t at = (size_t)b * (size_t)T;
        copy_window(data, data->train_n + window * (uint64_t)T, T, inputs + at, targets + at);
    }
}
