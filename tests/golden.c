/* tests/golden.c - see golden.h. */
#include "tests/golden.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_HEAD = 12, RECORD_HEAD = 24 };
enum { FLOAT32, INT32 };

/* Place of each value in the "shape" record. */
enum {
    KIND,
    LAYERS,
    HEADS,
    WIDTH,
    VOCABULARY,
    CONTEXT,
    BIAS,
    LINEAR,
    DIM0,
    DIM1,
    DIM2,
    BATCH,
    SEQUENCE,
    SGD,
    BATCHES,
    SHAPE_N
};

static uint32_t word(const unsigned char *p)
{
    uint32_t w;
    memcpy(&w, p, sizeof w);
    return w;
}

static const void *find(const struct golden *g, const char *name, uint32_t type, size_t *n)
{
    size_t at = FILE_HEAD;
    for (uint32_t left = word(g->bytes + 8); left > 0 && at + RECORD_HEAD <= g->size; left--) {
        size_t count = word(g->bytes + at + 20), next = at + RECORD_HEAD + 4 * count;
        if (next > g->size)
            break;
        if (strncmp((const char *)g->bytes + at, name, 16) == 0 && word(g->bytes + at + 16) == type) {
            if (n)
                *n = count;
            return g->bytes + at + RECORD_HEAD;
        }
        at = next;
    }
    ck_abort_msg("golden %s: no record \"%s\"", g->spec.name, name);
    return NULL;
}

static void read_file(struct golden *g, const char *name)
{
    const char *top = getenv("TOP_SRCDIR");
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/golden/%s.gold", top ? top : ".", name);
    FILE *f = fopen(path, "rb");
    if (!f)
        ck_abort_msg("cannot open %s (TOP_SRCDIR names the source tree)", path);
    fseek(f, 0, SEEK_END);
    g->size = (size_t)ftell(f);
    rewind(f);
    g->bytes = malloc(g->size);
    if (!g->bytes || fread(g->bytes, 1, g->size, f) != g->size || g->size < FILE_HEAD ||
        memcmp(g->bytes, "ddpgold1", 8))
        ck_abort_msg("%s is not a golden file", path);
    fclose(f);
}

void golden_open(struct golden *g, const char *name)
{
    size_t n;
    memset(g, 0, sizeof *g);
    snprintf(g->spec.name, sizeof g->spec.name, "%s", name);
    read_file(g, name);
    const int32_t *shape = find(g, "shape", INT32, &n);
    ck_assert_uint_eq(n, SHAPE_N);
    const float *o = golden_floats(g, "optimizer", &n);
    ck_assert_uint_eq(n, 6);
    struct model_spec *s = &g->spec;
    s->kind = shape[KIND] ? MODEL_MLP : MODEL_GPT;
    s->L = shape[LAYERS];
    s->NH = shape[HEADS];
    s->C = shape[WIDTH];
    s->V = shape[VOCABULARY];
    s->context = shape[CONTEXT];
    s->bias = shape[BIAS];
    s->layers = shape[LINEAR];
    memcpy(s->dim, shape + DIM0, sizeof s->dim);
    s->optimizer = (struct optimizer_spec){shape[SGD] ? OPTIMIZER_SGD : OPTIMIZER_ADAMW, o[0], o[1], o[2], o[3], o[4]};
    g->clip = o[5];
    g->B = s->batch = shape[BATCH];
    g->T = s->seq = shape[SEQUENCE];
    g->batches = shape[BATCHES];
    g->param = golden_floats(g, "param", NULL);
}

void golden_close(struct golden *g)
{
    free(g->bytes);
    memset(g, 0, sizeof *g);
}

const float *golden_floats(const struct golden *g, const char *name, size_t *n)
{
    return find(g, name, FLOAT32, n);
}

const void *golden_inputs(const struct golden *g, int i)
{
    if (g->spec.kind == MODEL_MLP)
        return golden_floats(g, "inputs", NULL) + i * g->B * g->spec.dim[0];
    return (const int32_t *)find(g, "inputs", INT32, NULL) + i * g->B * g->T;
}

const int32_t *golden_targets(const struct golden *g, int i)
{
    if (g->spec.kind == MODEL_MLP)
        return NULL;
    return (const int32_t *)find(g, "targets", INT32, NULL) + i * g->B * g->T;
}
