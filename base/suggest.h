/*
 * base/suggest.h - "did you mean": the nearest word of a list.
 */
#ifndef BASE_SUGGEST_H
#define BASE_SUGGEST_H

/* The entry of words (NULL-terminated) nearest to word by edit distance, if the distance is at most 3
 * and less than the word's length; else NULL. A word that is a prefix of exactly one entry finds it. */
const char *suggest_nearest(const char *word, const char *const *words);

#endif
