/*
 * probe/membw.c - see membw.h.
 *
 * The loops are compiled for three vector widths and chosen at run time: with 16-byte loads one core reaches
 * half of what it reaches with 64-byte loads (measured on Zen 5), which is what training kernels use.
 */
#include "probe/membw.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/clock.h"

enum { ARRAYS = 3 };
static const size_t array_least_bytes = (size_t)32 << 20, array_most_bytes = (size_t)1 << 30;

/* Integer sums: an addition per cycle keeps up with the loads, which a chain of float additions would not. */
static inline __attribute__((always_inline)) uint64_t sum(const uint64_t *a, size_t n)
{
    uint64_t total = 0;
#pragma omp simd reduction(+ : total)
    for (size_t i = 0; i < n; i++)
        total += a[i];
    return total;
}

static inline __attribute__((always_inline)) void triad(double *restrict a, const double *restrict b,
                                                        const double *restrict c, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        a[i] = b[i] + 3.0 * c[i];
}

struct loops {
    uint64_t (*sum)(const uint64_t *a, size_t n);
    void (*triad)(double *restrict a, const double *restrict b, const double *restrict c, size_t n);
};

#define LOOPS(name, attribute)                                                                                 \
    attribute static uint64_t sum_##name(const uint64_t *a, size_t n)                                          \
    {                                                                                                          \
        return sum(a, n);                                                                                      \
    }                                                                                                          \
    attribute static void triad_##name(double *restrict a, const double *restrict b, const double *restrict c, \
                                       size_t n)                                                               \
    {                                                                                                          \
        triad(a, b, c, n);                                                                                     \
    }

LOOPS(plain, )
#ifdef __x86_64__
LOOPS(avx2, __attribute__((target("avx2"))))
LOOPS(avx512, __attribute__((target("avx512f"))))
#endif

static struct loops choose_loops(void)
{
#ifdef __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f"))
        return (struct loops){sum_avx512, triad_avx512};
    if (__builtin_cpu_supports("avx2"))
        return (struct loops){sum_avx2, triad_avx2};
#endif
    return (struct loops){sum_plain, triad_plain};
}

/* The calling thread's part of n elements: pages were touched by the thread that later reads them. */
static size_t part(size_t n, size_t *from)
{
    size_t threads = (size_t)omp_get_num_threads(), me = (size_t)omp_get_thread_num();
    *from = n * me / threads;
    return n * (me + 1) / threads - *from;
}

static uint64_t read_pass(const struct loops *loops, const double *a, size_t n, int threads)
{
    uint64_t total = 0;
#pragma omp parallel num_threads(threads) reduction(+ : total)
    {
        size_t from, count = part(n, &from);
        total += loops->sum((const uint64_t *)(const void *)(a + from), count);
    }
    return total;
}

static void triad_pass(const struct loops *loops, double *a, const double *b, const double *c, size_t n, int threads)
{
#pragma omp parallel num_threads(threads)
    {
        size_t from, count = part(n, &from);
        loops->triad(a + from, b + from, c + from, count);
    }
}

static void fill(double *p, size_t n, int threads)
{
#pragma omp parallel num_threads(threads)
    {
        size_t from, count = part(n, &from);
        for (size_t i = from; i < from + count; i++)
            p[i] = 1.0;
    }
}

static size_t choose_bytes(uint64_t cache_bytes, double limit_bytes)
{
    size_t bytes = 2 * (size_t)cache_bytes; /* three arrays: six times the cache */
    if (bytes < array_least_bytes)
        bytes = array_least_bytes;
    if (bytes > array_most_bytes)
        bytes = array_most_bytes;
    if (bytes * ARRAYS > limit_bytes / 4) /* false if the limit is NaN */
        bytes = limit_bytes > 0 ? (size_t)(limit_bytes / 4 / ARRAYS) : 0;
    return bytes / 4096 * 4096;
}

struct membw membw_measure(int threads, double seconds, uint64_t cache_bytes, double limit_bytes)
{
    struct membw result = {NAN, NAN, choose_bytes(cache_bytes, limit_bytes), 0, ""};
    struct loops loops = choose_loops();
    volatile uint64_t sink = 0;
    if (result.array_bytes * ARRAYS < cache_bytes + cache_bytes / 2 || result.array_bytes < (1 << 20)) {
        snprintf(result.why, sizeof result.why, "no room in memory for arrays well beyond the caches");
        return result;
    }
    size_t n = result.array_bytes / sizeof(double);
    double *a = mmap(NULL, result.array_bytes * ARRAYS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (a == MAP_FAILED) {
        snprintf(result.why, sizeof result.why, "no memory for three arrays of %zu bytes", result.array_bytes);
        return result;
    }
    double *b = a + n, *c = b + n, read_s = INFINITY, triad_s = INFINITY;
    uint64_t start = clock_now_ns(), stop = start;
    madvise(a, result.array_bytes * ARRAYS, MADV_HUGEPAGE); /* page walks are not what is measured */
    fill(a, n, threads);
    fill(b, n, threads);
    fill(c, n, threads);
    for (; result.passes < 2 || clock_seconds(start, stop) < seconds; result.passes++) {
        uint64_t t0 = clock_now_ns(), t1 = t0;
        for (int k = 0; k < ARRAYS; k++, t0 = t1) { /* in turn, so that none stays in a cache */
            sink += read_pass(&loops, a + (size_t)k * n, n, threads);
            t1 = clock_now_ns();
            read_s = fmin(read_s, clock_seconds(t0, t1));
        }
        triad_pass(&loops, a, b, c, n, threads);
        stop = clock_now_ns();
        triad_s = fmin(triad_s, clock_seconds(t1, stop));
    }
    (void)sink;
    munmap(a, result.array_bytes * ARRAYS);
    result.read_bytes_per_s = (double)result.array_bytes / read_s;
    result.triad_bytes_per_s = (double)(result.array_bytes * ARRAYS) / triad_s;
    return result;
}

double *membw_arrays(int arrays, size_t n, int threads)
{
    size_t bytes = n * sizeof(double);
    double *first = mmap(NULL, bytes * (size_t)arrays, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (first == MAP_FAILED)
        return NULL;
    madvise(first, bytes * (size_t)arrays, MADV_HUGEPAGE);
    for (int i = 0; i < arrays; i++)
        fill(first + (size_t)i * n, n, threads);
    return first;
}

void membw_arrays_free(double *first, int arrays, size_t n)
{
    if (first)
        munmap(first, n * sizeof(double) * (size_t)arrays);
}

void membw_triad(double *a, const double *b, const double *c, size_t n, int threads)
{
    struct loops loops = choose_loops();
    triad_pass(&loops, a, b, c, n, threads);
}
