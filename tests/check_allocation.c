/*
 * tests/check_allocation.c - a training step takes no memory.
 *
 * This program replaces malloc and its kin, and mmap, by functions that count and hand on to glibc. The engine is
 * linked statically, so a caller between the program's first and last instruction is the engine (or the test itself):
 * after two steps to warm up it must not call any of them. The libraries below it do: OpenBLAS 0.3.21 takes 512 KiB
 * for each product that it divides among threads, libgomp 1.5 KiB for each region of one thread. What they take
 * they must give back, so that the number of blocks in use settles. Sanitizers have their own malloc, so under them
 * there is nothing to test here.
 */
#include <check.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "model/net.h"
#include "tests/kit.h"

#if KIT_SANITIZED || !defined __GLIBC__

int main(void)
{
    puts("a sanitizer has its own malloc");
    return 77; /* skipped */
}

#else

static atomic_int own_calls; /* from this program's code */
static atomic_int in_use;    /* blocks taken and not given back, by anyone */

extern const char __executable_start, etext; /* from the linker */

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t alignment, size_t n);
void __libc_free(void *p);

static void count(const void *caller)
{
    in_use++;
    own_calls += (uintptr_t)caller >= (uintptr_t)&__executable_start && (uintptr_t)caller < (uintptr_t)&etext;
}

#define COUNT() count(__builtin_return_address(0))

void *malloc(size_t n)
{
    COUNT();
    return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    COUNT();
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    COUNT();
    in_use -= p != NULL;
    return __libc_realloc(p, n);
}

void *aligned_alloc(size_t alignment, size_t n)
{
    COUNT();
    return __libc_memalign(alignment, n);
}

void *memalign(size_t alignment, size_t n);
void *memalign(size_t alignment, size_t n)
{
    COUNT();
    return __libc_memalign(alignment, n);
}

int posix_memalign(void **p, size_t alignment, size_t n)
{
    COUNT();
    *p = __libc_memalign(alignment, n);
    return *p ? 0 : ENOMEM;
}

void free(void *p)
{
    in_use -= p != NULL;
    __libc_free(p);
}

void *mmap(void *address, size_t n, int protection, int flags, int fd, off_t offset)
{
    COUNT();
    return (void *)syscall(SYS_mmap, address, n, protection, flags, fd, offset);
}

int munmap(void *address, size_t n)
{
    in_use--;
    return (int)syscall(SYS_munmap, address, n);
}

static struct net net; /* too large for a stack */

static void update(const struct model_spec *spec, const void *inputs, const int32_t *targets)
{
    net_trace_reset(&net);
    net_step(&net, inputs, targets, 1, false);
    net_step(&net, inputs, targets, 1, true);
    net_clip(&net, 1);
    net_update(&net, &spec->optimizer, 1);
    net_loss(&net, inputs, targets);
}

/* Two updates to warm up, then up to ROUNDS of one each until one leaves the number of blocks as it was. A second round
 * is needed only when OpenBLAS meets two of its callers at the same time for the first time after the warm-up, which a
 * busy machine may put off: it then maps one more buffer and keeps it. A leak would show in every round. */
static void updates_take_nothing(const char *model, int B, int T, int threads)
{
    enum { ROUNDS = 6 };
    struct model_spec spec;
    struct err e;
    ck_assert_int_eq(model_spec_find(&spec, model, &e), 0);
    if (spec.kind == MODEL_GPT)
        spec.L = 2;
    ck_assert_msg(net_plan(&net, &spec, B, T, threads, &e) == 0 && net_take(&net, &e) == 0, "%s", e.text);
    net_init_params(&net, 1);
    int32_t *tokens = spec.kind == MODEL_GPT ? kit_tokens((size_t)(B * T), spec.V, 1) : NULL;
    const void *inputs = tokens ? (void *)tokens : kit_normal((size_t)(B * spec.dim[0]), 1, 1);
    update(&spec, inputs, tokens);
    update(&spec, inputs, tokens);
    int calls = own_calls, blocks = 1;
    for (int round = 0; round < ROUNDS && blocks != 0; round++) {
        int before = in_use;
        update(&spec, inputs, tokens);
        blocks = in_use - before;
    }
    calls = own_calls - calls; /* before Check allocates */
    ck_assert_msg(calls == 0, "%s on %d threads: %d calls by the engine", model, threads, calls);
    ck_assert_msg(blocks == 0, "%s on %d threads: every update leaves %d more blocks in use", model, threads, blocks);
    net_fini(&net);
    kit_release();
}

START_TEST(the_counters_count)
{
    int calls = own_calls, blocks = in_use;
    void *volatile p = malloc(100);
    void *volatile q = aligned_alloc(64, 128);
    void *volatile larger = realloc(p, 200);
    void *volatile map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int calls_made = own_calls - calls, blocks_taken = in_use - blocks;
    free(larger);
    free(q);
    munmap(map, 4096);
    int blocks_left = in_use - blocks;
    ck_assert_int_eq(calls_made, 4);
    ck_assert_int_eq(blocks_taken, 3);
    ck_assert_int_eq(blocks_left, 0);
}
END_TEST

/* One and two threads; sizes at which OpenBLAS divides its products among threads. */
START_TEST(an_update_takes_nothing)
{
    updates_take_nothing("shakespeare-char", 2, 65, 1 + _i);
    updates_take_nothing("mlp-768", 33, 1, 1 + _i);
    updates_take_nothing("linear-10x2", 5, 1, 1 + _i);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("allocation");
    TCase *tc = tcase_create("updates");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, the_counters_count);
    tcase_add_loop_test(tc, an_update_takes_nothing, 0, 2);
    suite_add_tcase(suite, tc);
    return kit_main(suite);
}

#endif
