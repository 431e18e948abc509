/* probe/cpus.c - see cpus.h. */
#include "probe/cpus.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

int cpus_count(const struct cpus *c)
{
    int n = 0;
    for (int i = 0; i < CPUS_MAX / 64; i++)
        n += __builtin_popcountll(c->word[i]);
    return n;
}

int cpus_next(const struct cpus *c, int cpu)
{
    for (int i = cpu + 1; i < CPUS_MAX; i++) {
        uint64_t rest = c->word[i / 64] >> (i % 64);
        if (rest)
            return i + __builtin_ctzll(rest);
        i |= 63; /* the rest of this word is empty */
    }
    return -1;
}

struct cpus cpus_and(const struct cpus *a, const struct cpus *b)
{
    struct cpus both;
    for (int i = 0; i < CPUS_MAX / 64; i++)
        both.word[i] = a->word[i] & b->word[i];
    return both;
}

/* A number below CPUS_MAX at *p, which moves past it; -1 if there is none. */
static int number(const char **p)
{
    int v = 0;
    if (!isdigit((unsigned char)**p))
        return -1;
    for (; isdigit((unsigned char)**p); (*p)++) {
        v = v * 10 + (**p - '0');
        if (v >= CPUS_MAX)
            return -1;
    }
    return v;
}

static int parse(struct cpus *c, const char *p)
{
    while (isspace((unsigned char)*p))
        p++;
    for (;;) {
        int from = number(&p), to = from;
        if (*p == '-') {
            p++;
            to = number(&p);
        }
        if (from < 0 || to < from)
            return -1;
        for (int cpu = from; cpu <= to; cpu++)
            cpus_add(c, cpu);
        if (*p != ',')
            break;
        p++;
    }
    while (isspace((unsigned char)*p))
        p++;
    return *p ? -1 : 0;
}

int cpus_parse(struct cpus *c, const char *text)
{
    memset(c, 0, sizeof *c);
    if (parse(c, text) == 0)
        return 0;
    memset(c, 0, sizeof *c);
    return -1;
}

char *cpus_format(const struct cpus *c, char *text, size_t size)
{
    size_t n = 0;
    text[0] = '\0';
    for (int from = cpus_next(c, -1), to; from >= 0; from = cpus_next(c, to)) {
        for (to = from; cpus_has(c, to + 1);)
            to++;
        char part[32];
        int m = from == to ? snprintf(part, sizeof part, "%s%d", n ? "," : "", from)
                           : snprintf(part, sizeof part, "%s%d-%d", n ? "," : "", from, to);
        if (n + (size_t)m + 4 > size) {
            snprintf(text + n, size - n, "...");
            break;
        }
        memcpy(text + n, part, (size_t)m + 1);
        n += (size_t)m;
    }
    return text;
}
