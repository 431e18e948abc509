/*
 * model/checkpoint.c - see checkpoint.h.
 *
 * The file is one list of spans, ours a list of tensors in another order: span_at() walks the file's order
 * and names the tensor that belongs there, for the size, for loading and for saving alike. Start there.
 */
#include "model/checkpoint.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/infile.h"
#include "model/outfile.h"

/* Floats and integers go to the file as they lie in memory. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the file is little-endian");

enum { MAGIC = 20240326, VERSION = 3, HEADER = 256, HEADER_BYTES = HEADER * 4, PADDING = 128 };
enum { AT_MAGIC, AT_VERSION, AT_CONTEXT, AT_V, AT_L, AT_NH, AT_C, AT_PADDED_V };

struct span {
    int tensor;     /* index in the layout, -1: the model has no such bias */
    uint64_t count; /* floats of the tensor */
    uint64_t extra; /* floats after it that belong to no tensor: padding of the vocabulary */
};

static int spans(const struct model_spec *s)
{
    return 2 + BLOCK_TENSORS * s->L + 2;
}

/* Span i of the file. layout NULL: counts only. */
static struct span span_at(const struct model_spec *s, const struct layout *layout, uint64_t padded_V, int i)
{
    static const struct {
        int factor, power; /* floats: factor x C^power */
    } size[BLOCK_TENSORS] = {
        [LN1_W] = {1, 1}, [LN1_B] = {1, 1}, [QKV_W] = {3, 2}, [QKV_B] = {3, 1}, [OUT_W] = {1, 2},  [OUT_B] = {1, 1},
        [LN2_W] = {1, 1}, [LN2_B] = {1, 1}, [UP_W] = {4, 2},  [UP_B] = {4, 1},  [DOWN_W] = {4, 2}, [DOWN_B] = {1, 1},
    };
    uint64_t C = (uint64_t)s->C, V = (uint64_t)s->V;
    int block = i - 2, last = spans(s) - 1;
    if (i == 0)
        return (struct span){layout ? layout->wte : -1, V * C, (padded_V - V) * C};
    if (i == 1)
        return (struct span){layout ? layout->wpe : -1, (uint64_t)s->context * C, 0};
    if (i == last - 1)
        return (struct span){layout ? layout->lnf_w : -1, C, 0};
    if (i == last)
        return (struct span){layout ? layout->lnf_b : -1, C, 0};
    int kind = block / s->L, layer = block % s->L; /* one kind of tensor, all layers */
    uint64_t count = (uint64_t)size[kind].factor * (size[kind].power == 2 ? C * C : C);
    return (struct span){layout ? layout->block[layer][kind] : -1, count, 0};
}

static uint64_t file_bytes(const struct model_spec *s, uint64_t padded_V)
{
    uint64_t floats = 0;
    for (int i = 0; i < spans(s); i++) {
        struct span span = span_at(s, NULL, padded_V, i);
        floats += span.count + span.extra;
    }
    return HEADER_BYTES + floats * sizeof(float);
}

static uint64_t pad(int V)
{
    return ((uint64_t)V + PADDING - 1) / PADDING * PADDING;
}

static int check_kind(const struct model_spec *s, struct err *e)
{
    if (s->kind == MODEL_GPT)
        return 0;
    return err_set(e, ERR_USAGE, "%s: checkpoints exist for the GPT models only, gpt2-124m and shakespeare-char",
                   s->name);
}

/* Compares what the header says with the model and the size of the file. */
static int check_header(const struct infile *in, const int32_t header[HEADER], const struct model_spec *s,
                        uint64_t *padded_V, struct err *e)
{
    const struct {
        int at;
        const char *what;
        int ours;
    } field[] = {{AT_CONTEXT, "context", s->context},
                 {AT_V, "vocabulary", s->V},
                 {AT_L, "number of layers", s->L},
                 {AT_NH, "number of heads", s->NH},
                 {AT_C, "width", s->C}};
    if (header[AT_MAGIC] != MAGIC)
        return err_set(e, ERR_DATA, "%s: not an llm.c checkpoint: its magic is %" PRId32 ", not %d", in->path,
                       header[AT_MAGIC], MAGIC);
    if (header[AT_VERSION] != VERSION)
        return err_set(e, ERR_DATA, "%s: llm.c checkpoint of version %" PRId32 ", this program reads version %d (fp32)",
                       in->path, header[AT_VERSION], VERSION);
    for (size_t i = 0; i < sizeof field / sizeof *field; i++)
        if (header[field[i].at] != field[i].ours)
            return err_set(e, ERR_DATA, "%s: its %s is %" PRId32 ", that of %s is %d", in->path, field[i].what,
                           header[field[i].at], s->name, field[i].ours);
    int32_t padded = header[AT_PADDED_V];
    if (padded < s->V || padded % PADDING)
        return err_set(e, ERR_DATA, "%s: its padded vocabulary is %" PRId32 ", not a multiple of %d from %d on",
                       in->path, padded, PADDING, s->V);
    *padded_V = (uint64_t)padded;
    uint64_t expected = file_bytes(s, *padded_V);
    if (in->bytes != expected)
        return err_set(e, ERR_DATA, "%s: has %" PRIu64 " bytes, and a checkpoint of this shape has %" PRIu64, in->path,
                       in->bytes, expected);
    return 0;
}

/* Opens, checks, and leaves the file at its first parameter. */
static int open_checked(struct infile *in, const char *path, const struct model_spec *s, uint64_t *padded_V,
                        struct err *e)
{
    int32_t header[HEADER];
    if (check_kind(s, e) || infile_open(in, path, e))
        return -1;
    int rc;
    if (in->bytes < sizeof header)
        rc = err_set(e, ERR_DATA, "%s: an llm.c checkpoint has a header of %zu bytes, this file ends after %" PRIu64,
                     path, sizeof header, in->bytes);
    else
        rc = infile_read(in, header, sizeof header, e);
    if (!rc)
        rc = check_header(in, header, s, padded_V, e);
    if (rc)
        infile_close(in);
    return rc;
}

int checkpoint_check(const char *path, const struct model_spec *spec, struct err *e)
{
    struct infile in;
    uint64_t padded_V;
    if (open_checked(&in, path, spec, &padded_V, e))
        return -1;
    infile_close(&in);
    return 0;
}

/* Reads floats that have no place in the model; false in *zero if one of them is not 0. */
static int skip(struct infile *in, uint64_t count, bool *zero, struct err *e)
{
    float part[4096];
    *zero = true;
    while (count) {
        size_t n = count < 4096 ? (size_t)count : 4096;
        if (infile_read(in, part, n * sizeof *part, e))
            return -1;
        for (size_t i = 0; i < n; i++)
            if (part[i] != 0) /* true for a NaN as well */
                *zero = false;
        count -= n;
    }
    return 0;
}

static int load_span(struct infile *in, const struct model_spec *s, const struct layout *layout, struct span span,
                     float *param, struct err *e)
{
    bool zero;
    if (span.tensor < 0) {
        if (skip(in, span.count, &zero, e))
            return -1;
        return zero ? 0 : err_set(e, ERR_DATA, "%s: has biases that are not zero, and %s has none", in->path, s->name);
    }
    const struct tensor *t = &layout->tensor[span.tensor];
    float *to = param + t->offset;
    if (infile_read(in, to, t->count * sizeof *to, e))
        return -1;
    for (size_t i = 0; i < t->count; i++)
        if (!isfinite(to[i]))
            return err_set(e, ERR_DATA, "%s: %s has a value that is not finite, at element %zu", in->path, t->name, i);
    return skip(in, span.extra, &zero, e); /* llm.c's padding holds whatever training left there */
}

int checkpoint_load(const char *path, const struct model_spec *spec, const struct layout *layout, float *param,
                    struct err *e)
{
    struct infile in;
    uint64_t padded_V;
    if (open_checked(&in, path, spec, &padded_V, e))
        return -1;
    int rc = 0;
    for (int i = 0; !rc && i < spans(spec); i++)
        rc = load_span(&in, spec, layout, span_at(spec, layout, padded_V, i), param, e);
    if (!rc)
        rc = infile_finish(&in, e);
    infile_close(&in);
    return rc;
}

static int write_zeros(struct outfile *out, uint64_t count, struct err *e)
{
    static const float zeros[4096];
    while (count) {
        size_t n = count < 4096 ? (size_t)count : 4096;
        if (outfile_write(out, zeros, n * sizeof *zeros, e))
            return -1;
        count -= n;
    }
    return 0;
}

static int write_all(struct outfile *out, const struct model_spec *s, const struct layout *layout, const float *param,
                     struct err *e)
{
    int32_t header[HEADER] = {
        [AT_MAGIC] = MAGIC, [AT_VERSION] = VERSION, [AT_CONTEXT] = s->context,         [AT_V] = s->V, [AT_L] = s->L,
        [AT_NH] = s->NH,    [AT_C] = s->C,          [AT_PADDED_V] = (int32_t)pad(s->V)};
    if (outfile_write(out, header, sizeof header, e))
        return -1;
    for (int i = 0; i < spans(s); i++) {
        struct span span = span_at(s, layout, pad(s->V), i);
        int rc = span.tensor < 0
                     ? write_zeros(out, span.count, e)
                     : outfile_write(out, param + layout->tensor[span.tensor].offset, span.count * sizeof *param, e);
        if (rc || write_zeros(out, span.extra, e))
            return -1;
    }
    return 0;
}

int checkpoint_save(const char *path, const struct model_spec *spec, const struct layout *layout, const float *param,
                    struct err *e)
{
    struct outfile out;
    if (check_kind(spec, e) || outfile_open(&out, path, e))
        return -1;
    if (write_all(&out, spec, layout, param, e)) {
        outfile_abort(&out);
        return -1;
    }
    return outfile_commit(&out, e);
}

/* A file that is there already may be replaced if it is empty or begins as a checkpoint does. */
static int check_replaced(const char *path, struct err *e)
{
    int32_t magic = 0;
    FILE *f = fopen(path, "rb");
    if (!f)
        return 0;
    size_t n = fread(&magic, 1, sizeof magic, f);
    fclose(f);
    if (n == 0 || (n == sizeof magic && magic == MAGIC))
        return 0;
    return err_set(e, ERR_CANNOT_CREATE, "%s exists and is no checkpoint; it is not replaced", path);
}

int checkpoint_save_check(const char *path, const struct model_spec *spec, struct err *e)
{
    struct outfile out;
    if (check_kind(spec, e) || outfile_open(&out, path, e))
        return -1;
    outfile_abort(&out);
    return check_replaced(path, e);
}
