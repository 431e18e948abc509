/* base/arena.c - see arena.h. */
#include "base/arena.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum { LINE = 64, HUGE = 2 << 20 };

static size_t round_up(size_t x, size_t to)
{
    return (x + to - 1) / to * to;
}

size_t arena_plan(struct arena *a, const char *name, size_t bytes)
{
    assert(!a->base && a->n < ARENA_ITEMS_MAX);
    size_t offset = round_up(a->bytes, bytes >= HUGE ? HUGE : LINE);
    a->item[a->n].name = name;
    a->item[a->n].offset = offset;
    a->item[a->n].bytes = bytes;
    a->n++;
    a->bytes = offset + bytes;
    return offset;
}

int arena_take(struct arena *a, struct err *e)
{
    size_t bytes = round_up(a->bytes ? a->bytes : 1, HUGE);
    /* one huge page more than needed, so that the base can be aligned to one */
    char *raw = mmap(NULL, bytes + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (raw == MAP_FAILED)
        return err_set(e, ERR_MEMORY, "cannot map %zu bytes: %s", bytes, strerror(errno));
    size_t skip = round_up((size_t)raw, HUGE) - (size_t)raw;
    if (skip)
        munmap(raw, skip);
    if (HUGE - skip)
        munmap(raw + skip + bytes, HUGE - skip);
    a->base = raw + skip;
    madvise(a->base, bytes, MADV_HUGEPAGE); /* a wish: without it the run is only slower */
    return 0;
}

void arena_fini(struct arena *a)
{
    if (a->base)
        munmap(a->base, round_up(a->bytes ? a->bytes : 1, HUGE));
    *a = (struct arena){0};
}
