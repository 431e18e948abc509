/* tests/kit.c - see kit.h. */
#include "tests/kit.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

enum { GUARD = 64, ARRAYS_MAX = 4096 };

/* Check writes a file at every ck_assert, so loops over elements test with if and only report through Check. */

static const uint32_t guard_bits = 0x7fc0beef; /* a quiet NaN that arithmetic does not produce */

const char *kit_subject = "";

static struct {
    void *raw;
    float *x; /* NULL: plain memory without guards */
    size_t n;
} array[ARRAYS_MAX];
static int arrays;

static void *keep(void *raw, float *x, size_t n)
{
    if (!raw || arrays == ARRAYS_MAX)
        ck_abort_msg("no memory for a test array of %zu elements", n);
    array[arrays].raw = raw;
    array[arrays].x = x;
    array[arrays].n = n;
    arrays++;
    return raw;
}

static void guard(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        memcpy(&x[i], &guard_bits, sizeof x[i]);
}

float *kit_floats(size_t n)
{
    size_t bytes = ((n + 2 * GUARD + 1) * sizeof(float) + 63) / 64 * 64;
    float *raw = aligned_alloc(64, bytes);
    keep(raw, raw + GUARD + 1, n);
    guard(raw, n + 2 * GUARD + 1);
    memset(raw + GUARD + 1, 0, n * sizeof(float));
    return raw + GUARD + 1;
}

static void check_guards(const float *x, size_t n)
{
    for (size_t j = 0; j < GUARD; j++) {
        if (memcmp(x - 1 - j, &guard_bits, sizeof *x))
            ck_abort_msg("%s: written %zu elements before an array of %zu", kit_subject, j + 1, n);
        if (memcmp(x + n + j, &guard_bits, sizeof *x))
            ck_abort_msg("%s: written %zu elements past an array of %zu", kit_subject, j + 1, n);
    }
}

void kit_release(void)
{
    for (int i = 0; i < arrays; i++) {
        if (array[i].x)
            check_guards(array[i].x, array[i].n);
        free(array[i].raw);
    }
    arrays = 0;
}

float *kit_normal(size_t n, double deviation, uint64_t seed)
{
    float *x = kit_floats(n);
    struct rng rng;
    rng_init(&rng, seed, n);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(deviation * rng_normal(&rng));
    return x;
}

float *kit_copy(const float *x, size_t n)
{
    return memcpy(kit_floats(n), x, n * sizeof *x);
}

double *kit_doubles(const float *x, size_t n)
{
    double *wide = keep(malloc((n + 1) * sizeof *wide), NULL, n);
    for (size_t i = 0; i < n; i++)
        wide[i] = x ? (double)x[i] : 0;
    return wide;
}

int32_t *kit_tokens(size_t n, int V, uint64_t seed)
{
    int32_t *token = keep(malloc((n + 1) * sizeof *token), NULL, n);
    struct rng rng;
    rng_init(&rng, seed, n);
    for (size_t i = 0; i < n; i++)
        token[i] = (int32_t)rng_below(&rng, (uint64_t)V);
    return token;
}

void kit_close_double(const char *what, const float *got, const double *want, size_t n, double tolerance)
{
    double largest = 0;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(want[i]));
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - want[i]) <= tolerance * largest))
            ck_abort_msg("%s: %s[%zu of %zu] is %.9g, should be %.9g; largest %.3g, tolerance %.1g of it", kit_subject,
                         what, i, n, (double)got[i], want[i], largest, tolerance);
}

void kit_close(const char *what, const float *got, const float *want, size_t n, double tolerance)
{
    double largest = 0;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs((double)want[i]));
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - (double)want[i]) <= tolerance * largest))
            ck_abort_msg("%s: %s[%zu of %zu] is %.9g, should be %.9g; largest %.3g, tolerance %.1g of it", kit_subject,
                         what, i, n, (double)got[i], (double)want[i], largest, tolerance);
}

void kit_all_zero(const char *what, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (x[i] != 0)
            ck_abort_msg("%s: %s[%zu of %zu] is %.9g, should be 0", kit_subject, what, i, n, (double)x[i]);
}

int kit_sets(const struct kernels *set[KIT_SETS_MAX])
{
    static const char *const name[KIT_SETS_MAX] = {"reference", "avx2", "avx512"};
    int n = 0;
    for (int i = 0; i < KIT_SETS_MAX; i++) {
        set[n] = kernels_find(name[i]);
        n += set[n] != NULL;
    }
    return n;
}

int kit_main(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
#if KIT_SANITIZED && defined __clang__
    srunner_set_fork_status(runner, CK_NOFORK);
#endif
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
