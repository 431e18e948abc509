/*
 * model/data.h - tokens to train on and the order in which ranks see them.
 *
 * Sources: a text file (UTF-8 characters, the vocabulary is the sorted set of characters in the file), a
 * nanoGPT .bin (uint16 tokens, no header), an llm.c token file (256 int32 of header: magic 20240520,
 * version 1, count; then uint16 tokens), or the built-in deterministic text. llm.c's is known by its magic,
 * nanoGPT's by a name that ends in .bin, the rest is text. Sizes are checked against the file before memory
 * is taken; every id is checked against V. A window at start s is the inputs tokens[s .. s+T) and the
 * targets tokens[s+1 .. s+T], so n tokens have n - T start positions. The whole source is held in memory,
 * 2 bytes per token.
 *
 * Order: epoch e visits all start positions once, in a permutation given by (seed, e), computed index by
 * index (no table). Ranks take every world-th entry, as torch.utils.data.DistributedSampler does: with
 * drop_last the tail that does not divide is dropped, without it the permutation's head is repeated.
 */
#ifndef MODEL_DATA_H
#define MODEL_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "model/spec.h"

enum data_format { DATA_BUILTIN, DATA_TEXT, DATA_NANOGPT, DATA_LLMC };

struct data {
    enum data_format format;
    char path[512];    /* "" for the built-in text */
    int V;             /* ids are 0 .. V-1; for text the number of distinct characters */
    uint64_t n;        /* tokens */
    uint16_t *token;   /* owned */
    double room_bytes; /* what reading may take; 0: all the memory of the machine */
    uint64_t train_n;  /* tokens [0, train_n) train, [train_n, n) validate; n if there is no split */
    uint32_t *symbol;  /* characters (text, built-in with V = 65): code point of each id, V entries; else NULL */
};

/* path NULL: built-in text of spec->V ids, a function of (V, seed) alone. A text file sets data->V, which the
 * network's V must follow; models with token vocabularies (V > 1024) refuse text. With split in (0, 1) the
 * first (int)(split * n) tokens train, with split 1 all do. Missing or not permitted 66; directory, no regular
 * file, invalid UTF-8, more than 65,536 different characters, a size that disagrees with the format, id >= V,
 * a train part (or, if need_val, a validation part) without one window of T + 1 tokens: 65; changed or
 * unreadable meanwhile 74; more memory than room_bytes (0: the machine's) 71; a model that is no GPT, or a split out of range:
 * 64. Sentences name the path, and the part by "train" or "val". On failure data is empty. */
int data_open(struct data *data, const char *path, const struct model_spec *spec, int T, double split, bool need_val,
              uint64_t seed, double room_bytes, struct err *e);

/* The shape of a source that another node has and this one does not: n tokens of V ids, token NULL, and nothing to validate
 * with. ERR_DATA for what data_open() would not give, and for a V that the model cannot have. */
int data_describe(struct data *data, const struct model_spec *spec, uint64_t n, int V, int T, double split,
                  struct err *e);

void data_fini(struct data *data);

struct sampler {
    uint64_t positions;       /* start positions in one epoch over all ranks: train_n - T */
    uint64_t per_rank;        /* after padding or dropping */
    uint64_t padded, dropped; /* how many entries an epoch repeats or leaves out, over all ranks */
    uint64_t seed;
    int rank, world;
    bool drop_last;
    uint64_t epoch, next; /* where the next batch starts */
};

/* positions 0, or fewer than ranks with drop_last: ERR_DATA; no such rank: ERR_USAGE. */
int sampler_init(struct sampler *s, uint64_t positions, int rank, int world, bool drop_last, uint64_t seed,
                 struct err *e);

/* Entry i (0 <= i < positions) of epoch's permutation. */
uint64_t sampler_permute(uint64_t positions, uint64_t seed, uint64_t epoch, uint64_t i);

/* Start position of the rank's next window; past the epoch's last it goes on with the next epoch's first. */
uint64_t sampler_next(struct sampler *s);

/* Passes over n windows of the rank. */
void sampler_skip(struct sampler *s, uint64_t n);

/* Fills inputs and targets [B][T] with the rank's next B windows; a batch may span two epochs. */
void data_next_batch(const struct data *data, struct sampler *s, int B, int T, int32_t *inputs, int32_t *targets);

/* Batch number i of the validation part: B windows of stride T from its start, wrapping; deterministic.
 * Needs a source opened with need_val. */
void data_val_batch(const struct data *data, uint64_t i, int B, int T, int32_t *inputs, int32_t *targets);

#endif
