/*
 * comm/code.h - the one-time code of a first meeting: twelve characters that a person reads here and types there.
 *
 * Crockford's base 32 (no I, L, O, U; O is read as 0, I and L as 1, case and dashes do not matter): 60 random bits. It
 * lives ten minutes and survives four wrong tries; the fifth, or the first right one, ends it. The key that it stands for
 * is made once, when the code is (scrypt), so that a guess costs the guesser that work and this node none of it.
 * One owner thread.
 */
#ifndef COMM_CODE_H
#define COMM_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "comm/crypto.h"

enum { CODE_TEXT_BYTES = 15, CODE_TRIES = 5, CODE_MINUTES = 10, CODE_SALT_BYTES = 16 };

struct code {
    char text[CODE_TEXT_BYTES]; /* "k7qm-2xpr-9wtd"; empty: no code is valid */
    unsigned char salt[CODE_SALT_BYTES];
    unsigned char key[CRYPTO_KEY_BYTES];
    int tries_left;
    uint64_t until_ns;
};

/* A new code. */
int code_init(struct code *code, struct err *e);

/* True while it may be used; ends it when its time is over. */
bool code_valid(struct code *code);

/* Counts a try before its outcome is known, so that no two tries can share one; the last one ends the code. */
void code_count_try(struct code *code);

/* Wipes it; accepts a zeroed code. */
void code_fini(struct code *code);

/* What was typed, as the code's own spelling: 0, or -1 if no code looks like that. */
int code_normalize(char out[static CODE_TEXT_BYTES], const char *typed);

/* The key that the code (in its own spelling) stands for. */
int code_key(unsigned char out[static CRYPTO_KEY_BYTES], const char *text,
             const unsigned char salt[static CODE_SALT_BYTES], struct err *e);

#endif
