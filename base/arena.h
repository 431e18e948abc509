/*
 * base/arena.h - memory planned by name, then taken at once.
 *
 * Usage: arena_plan() for every buffer (returns an offset), then arena_take() maps the sum in one piece,
 * then arena_at(). What a run needs is therefore known before anything is allocated, and the timed region
 * cannot allocate from here. Buffers start on 64-byte lines, those of 2 MiB or more on a huge page. The
 * mapping is zeroed by the kernel and asks for transparent huge pages. One owner thread.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

#include "base/err.h"

enum { ARENA_ITEMS_MAX = 48 };

struct arena {
    int n;
    struct {
        const char *name;
        size_t offset, bytes;
    } item[ARENA_ITEMS_MAX];
    size_t bytes; /* sum of what was planned, with alignment */
    void *base;   /* NULL until arena_take */
};

/* Adds a buffer to the plan; returns its offset. name is borrowed (a literal). */
size_t arena_plan(struct arena *a, const char *name, size_t bytes);

/* Maps the planned sum; ERR_MEMORY with the size on failure. */
int arena_take(struct arena *a, struct err *e);

static inline void *arena_at(const struct arena *a, size_t offset)
{
    return (char *)a->base + offset;
}

void arena_fini(struct arena *a); /* accepts a zeroed or finished arena */

#endif
