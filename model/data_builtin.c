/*
 * model/data_builtin.c - text and tokens made on the spot, the same bytes on every machine.
 *
 * One chain of ranks drives both. Rank k of a vocabulary has weight 1 / (k + 1) (Zipf), and the next rank
 * is with probability 1/2 one of four followers that the previous rank has for good, else drawn afresh.
 * So there is something to learn on two scales: how common a word is, and what it is followed by.
 * For V = 65 the ranks are words of a lexicon built from syllables and set as a play, in the 65 characters
 * of tiny Shakespeare. For any other V the ranks are the ids themselves, low ids common, as the order of
 * merges makes them in GPT-2's vocabulary. Integers only: no rounding differs anywhere.
 * Read from data_make_builtin() upwards.
 */
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "model/data_source.h"

enum { V_MAX = 65536, PLAY_CHARACTERS = 1100000, TOKENS = 1000000, WORDS = 2000, SPEAKERS = 26, FOLLOWERS = 4 };
enum { LINE_CHARACTERS = 40, WORD_MAX = 20 };

/* Sorted, as every character vocabulary is: the id is the place. */
static const char alphabet[] = "\n !$&',-.3:;?ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
enum { ALPHABET = sizeof alphabet - 1 };

/* Common first, since they are drawn by Zipf weights too. */
static const char *const onsets[] = {"th", "w", "h", "s", "m",  "b",  "f",  "l",  "",  "d", "t",  "n", "r",
                                     "c",  "p", "g", "y", "st", "sh", "br", "fr", "k", "v", "qu", "j", "z"};
static const char *const vowels[] = {"e", "o", "a", "i", "u", "ea", "ou", "ee", "oo", "ai"};
static const char *const codas[] = {"", "r", "n", "t", "s", "d", "l", "nd", "m", "st", "ck", "ng", "x"};
#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))

struct chain {
    struct rng rng;
    uint64_t seed;
    int n, previous;
    uint64_t *sum; /* sum[k]: weights of the ranks 0..k */
};

/* The rank among the first n on which u falls. */
static int pick(const struct chain *c, int n, uint64_t u)
{
    uint64_t at = u % c->sum[n - 1];
    int low = 0, high = n - 1; /* smallest rank whose sum is above at */
    while (low < high) {
        int middle = (low + high) / 2;
        if (c->sum[middle] > at)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static int chain_next(struct chain *c)
{
    uint64_t u = rng_next(&c->rng);
    if (u >> 63) { /* follower number f of the previous rank: a hash of both, so it needs no table */
        uint64_t f = (u >> 60) % FOLLOWERS;
        u = rng_mix(c->seed ^ rng_mix((uint64_t)c->previous * FOLLOWERS + f));
    } else {
        u = rng_next(&c->rng);
    }
    return c->previous = pick(c, c->n, u);
}

/* True once in n calls. */
static bool one_in(struct chain *c, uint64_t n)
{
    return rng_below(&c->rng, n) == 0;
}

static const char *draw(struct chain *c, const char *const *list, int n)
{
    return list[pick(c, n, rng_next(&c->rng))];
}

struct play {
    uint16_t *token;
    uint64_t n;
    uint64_t column;
    unsigned char id[128];
    char word[WORDS][WORD_MAX];
    char speaker[SPEAKERS][WORD_MAX];
};

static void make_lexicon(struct play *p, struct chain *c)
{
    for (int w = 0; w < WORDS; w++) {
        int syllables = w < 60 ? 1 : w < 700 ? 1 + !one_in(c, 3) : 2 + one_in(c, 3); /* common words are short */
        p->word[w][0] = '\0';
        for (int s = 0; s < syllables; s++) {
            strcat(p->word[w], draw(c, onsets, COUNT(onsets)));
            strcat(p->word[w], draw(c, vowels, COUNT(vowels)));
            strcat(p->word[w], draw(c, codas, s + 1 < syllables ? 3 : COUNT(codas)));
        }
    }
    for (int s = 0; s < SPEAKERS; s++) { /* one for each capital letter */
        char *name = p->speaker[s];
        *name++ = (char)('A' + s);
        *name = '\0';
        strcat(name, draw(c, vowels, COUNT(vowels)));
        strcat(name, draw(c, onsets, 8));
        strcat(name, draw(c, vowels, 4));
        strcat(name, draw(c, codas, COUNT(codas)));
        for (; *name; name++)
            *name = (char)(*name - 'a' + 'A');
    }
}

static void put(struct play *p, const char *s)
{
    for (; *s && p->n < PLAY_CHARACTERS; s++) {
        p->token[p->n++] = p->id[(unsigned char)*s];
        p->column = *s == '\n' ? 0 : p->column + 1;
    }
}

static void put_word(struct play *p, const char *word, bool capital)
{
    char copy[WORD_MAX];
    memcpy(copy, word, sizeof copy);
    if (capital)
        copy[0] = (char)(copy[0] - 'a' + 'A');
    put(p, copy);
}

static void put_sentence(struct play *p, struct chain *c)
{
    uint64_t words = 3 + rng_below(&c->rng, 10);
    for (uint64_t w = 0; w < words; w++) {
        put_word(p, p->word[chain_next(c)], w == 0 || p->column == 0);
        if (one_in(c, 40))
            put(p, "'s");
        if (w + 1 == words)
            break;
        if (one_in(c, 60)) {
            put(p, "-");
            continue;
        }
        if (one_in(c, 9))
            put(p, one_in(c, 8) ? ";" : one_in(c, 12) ? ":" : ",");
        else if (one_in(c, 1500))
            put(p, one_in(c, 2) ? " &" : " $3");
        put(p, p->column >= LINE_CHARACTERS ? "\n" : " ");
    }
    put(p, one_in(c, 5) ? "?" : one_in(c, 7) ? "!" : ".");
}

static void write_play(struct play *p, struct chain *c)
{
    for (int i = 0; i < ALPHABET; i++)
        p->id[(unsigned char)alphabet[i]] = (unsigned char)i;
    make_lexicon(p, c);
    while (p->n < PLAY_CHARACTERS) {
        put(p, p->speaker[pick(c, SPEAKERS, rng_next(&c->rng))]);
        put(p, ":\n");
        for (uint64_t left = 1 + rng_below(&c->rng, 5); left; left--) {
            put_sentence(p, c);
            put(p, left == 1 ? "\n\n" : p->column >= LINE_CHARACTERS ? "\n" : " ");
        }
    }
}

static int fill_play(struct data *data, struct chain *c, struct err *e)
{
    struct play *p = data_alloc("built-in text", sizeof *p, e);
    data->symbol = p ? data_alloc("built-in text", ALPHABET * sizeof *data->symbol, e) : NULL;
    if (!data->symbol) {
        free(p);
        return -1;
    }
    for (int i = 0; i < ALPHABET; i++)
        data->symbol[i] = (uint32_t)alphabet[i];
    memset(p, 0, sizeof *p);
    p->token = data->token;
    write_play(p, c);
    free(p);
    return 0;
}

int data_make_builtin(struct data *data, int V, uint64_t seed, struct err *e)
{
    if (V < 1 || V > V_MAX)
        return err_set(e, ERR_USAGE, "the built-in text has 1 to %d ids, not %d", V_MAX, V);
    bool play = V == ALPHABET;
    struct chain c = {.seed = rng_mix(seed), .n = play ? WORDS : V};
    rng_init(&c.rng, seed, (uint64_t)V);
    c.sum = data_alloc("built-in text", (uint64_t)c.n * sizeof *c.sum, e);
    if (!c.sum)
        return -1;
    for (int k = 0; k < c.n; k++)
        c.sum[k] = (k ? c.sum[k - 1] : 0) + (UINT64_C(1) << 32) / ((uint64_t)k + 1);
    data->V = V;
    data->n = play ? PLAY_CHARACTERS : TOKENS;
    data->token = data_alloc("built-in text", data->n * sizeof *data->token, e);
    int rc = data->token ? 0 : -1;
    if (!rc && play)
        rc = fill_play(data, &c, e);
    for (uint64_t i = 0; !rc && !play && i < data->n; i++)
        data->token[i] = (uint16_t)chain_next(&c);
    free(c.sum);
    return rc;
}
