/* base/suggest.c - Levenshtein distance over one row; words longer than the row are cut. */
#include "base/suggest.h"

#include <stddef.h>
#include <string.h>

enum { WORD_MAX = 63 };

static int distance(const char *a, const char *b)
{
    size_t n = strnlen(a, WORD_MAX), m = strnlen(b, WORD_MAX);
    int row[WORD_MAX + 1];
    for (size_t j = 0; j <= m; j++)
        row[j] = (int)j;
    for (size_t i = 1; i <= n; i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= m; j++) {
            int best = diagonal + (a[i - 1] != b[j - 1]);
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[m];
}

const char *suggest_nearest(const char *word, const char *const *words)
{
    const char *best = NULL, *prefixed = NULL;
    int best_distance = 4, prefixes = 0;
    for (; *words; words++) {
        int d = distance(word, *words);
        if (d < best_distance && d < (int)strlen(word)) {
            best_distance = d;
            best = *words;
        }
        if (*word && strncmp(word, *words, strlen(word)) == 0) {
            prefixed = *words;
            prefixes++;
        }
    }
    return prefixes == 1 ? prefixed : best;
}
