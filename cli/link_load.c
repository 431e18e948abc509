/* cli/link_load.c - see link_load.h. */
#include "cli/link_load.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "model/gemm.h"
#include "probe/membw.h"

/* 256 tokens by the widths of the small GPT: some milliseconds on one core. The triad's pieces take about as long. */
enum { M = 256, N = 768, K = 768, MATRICES = M * K + K * N + M * N, PIECES = 16, ARRAYS = 3 };
static const size_t array_bytes = (size_t)32 << 20;

static int settle(struct link_load *l, int threads, struct err *e)
{
    static struct notes unheard;
    gemm_set_threads(threads);
    return probe_bind_part(l->probe, 0, threads, l->notes ? l->notes : &unheard, e);
}

static int begin_gemm(void *ctx, int threads, struct err *e)
{
    struct link_load *l = ctx;
    if (!l->matrices)
        l->matrices = aligned_alloc(64, MATRICES * sizeof *l->matrices);
    if (!l->matrices)
        return err_set(e, ERR_MEMORY, "no memory for matrices to multiply");
    for (int i = 0; i < MATRICES; i++)
        l->matrices[i] = (float)(i % 7) * 0.125f;
    return settle(l, threads, e);
}

static void unit_gemm(void *ctx, int threads)
{
    const struct link_load *l = ctx;
    float *a = l->matrices, *b = a + M * K, *c = b + K * N;
    (void)threads;
    gemm(false, false, M, N, K, 1, a, K, b, N, 0, c, N);
}

static int begin_memory(void *ctx, int threads, struct err *e)
{
    struct link_load *l = ctx;
    if (settle(l, threads, e))
        return -1;
    if (l->arrays)
        return 0;
    l->array_n = array_bytes / sizeof *l->arrays;
    l->arrays = membw_arrays(ARRAYS, l->array_n, threads);
    return l->arrays ? 0 : err_set(e, ERR_MEMORY, "no memory for arrays of %zu bytes", ARRAYS * array_bytes);
}

/* A piece after another, so that none of them is in a cache when its turn comes. */
static void unit_memory(void *ctx, int threads)
{
    static size_t piece; /* one computing thread at a time */
    struct link_load *l = ctx;
    size_t n = l->array_n / PIECES, from = piece++ % PIECES * n;
    double *a = l->arrays;
    membw_triad(a + from, a + l->array_n + from, a + 2 * l->array_n + from, n, threads);
}

void link_load_init(struct link_load *l, struct probe *probe, struct notes *notes)
{
    *l = (struct link_load){.probe = probe, .notes = notes};
    l->works[0] = (struct link_work){.name = "gemm", .begin = begin_gemm, .unit = unit_gemm, .ctx = l};
    l->works[1] = (struct link_work){.name = "memory", .begin = begin_memory, .unit = unit_memory, .ctx = l};
}

void link_load_fini(struct link_load *l)
{
    free(l->matrices);
    membw_arrays_free(l->arrays, ARRAYS, l->array_n);
    *l = (struct link_load){.probe = NULL};
}
