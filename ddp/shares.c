/* ddp/shares.c - see shares.h. */
#include "ddp/shares.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int shares_parse(const char *text, int world, int *weight, struct err *e)
{
    const char *at = text;
    for (int r = 0; r < world; r++) {
        if (!text) {
            weight[r] = 1;
            continue;
        }
        size_t digits = strspn(at, "0123456789");
        long value = digits > 0 && digits < 8 ? strtol(at, NULL, 10) : 0;
        char after = r + 1 < world ? ':' : '\0';
        if (value < 1 || value > SHARE_MAX || at[digits] != after)
            return err_set(e, ERR_USAGE,
                           "takes one whole number from 1 to %d for each of the %d ranks, as in 5:3, not '%.80s'",
                           SHARE_MAX, world, text);
        weight[r] = (int)value;
        at += digits + 1;
    }
    return 0;
}

/* The rank that gets one more: the largest remainder of total x weight / all, the lowest rank among equals. */
static int next_in_line(int total, const int *weight, int world, int64_t all, const int *part)
{
    int best = 0;
    int64_t most = INT64_MIN;
    for (int r = 0; r < world; r++) {
        int64_t lost = (int64_t)total * weight[r] - (int64_t)part[r] * all;
        if (lost > most) {
            most = lost;
            best = r;
        }
    }
    return best;
}

int shares_divide(int total, const int *weight, int world, int *part, struct err *e)
{
    int64_t all = 0;
    int left = total;
    for (int r = 0; r < world; r++)
        all += weight[r];
    for (int r = 0; r < world; r++) {
        part[r] = (int)((int64_t)total * weight[r] / all);
        left -= part[r];
    }
    for (; left > 0; left--)
        part[next_in_line(total, weight, world, all, part)]++;
    for (int r = 0; r < world; r++)
        if (part[r] < 1)
            return err_set(e, ERR_USAGE, "%d sequence%s divided among %d ranks leave%s rank %d without any", total,
                           total == 1 ? "" : "s", world, total == 1 ? "s" : "", r);
    return 0;
}
