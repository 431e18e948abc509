/*
 * probe/cpus.h - a set of CPUs by the operating system's numbers, and the kernel's way of writing one.
 *
 * Plain values, no allocation; numbers from 0 to CPUS_MAX - 1, which is the most a Linux kernel is built
 * for. Numbers past that are a malformed list.
 */
#ifndef PROBE_CPUS_H
#define PROBE_CPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CPUS_MAX = 8192 };

struct cpus {
    uint64_t word[CPUS_MAX / 64];
};

static inline bool cpus_has(const struct cpus *c, int cpu)
{
    return cpu >= 0 && cpu < CPUS_MAX && (c->word[cpu / 64] >> (cpu % 64) & 1);
}

static inline void cpus_add(struct cpus *c, int cpu)
{
    if (cpu >= 0 && cpu < CPUS_MAX)
        c->word[cpu / 64] |= (uint64_t)1 << (cpu % 64);
}

int cpus_count(const struct cpus *c);

/* Smallest member greater than cpu; -1 if there is none. for (i = cpus_next(c, -1); i >= 0; i = ...) */
int cpus_next(const struct cpus *c, int cpu);

struct cpus cpus_and(const struct cpus *a, const struct cpus *b);

/* A list as in cpu/online: "0-3,8", white space around it allowed. -1, and *c is empty, if the text is empty
 * or anything else than such a list. */
int cpus_parse(struct cpus *c, const char *text);

/* Writes the list form; "..." at the end if it does not fit. Returns text. */
char *cpus_format(const struct cpus *c, char *text, size_t size);

#endif
