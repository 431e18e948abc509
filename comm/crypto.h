/*
 * comm/crypto.h - the one door to libcrypto: random bytes, derived keys, proofs, stretched codes.
 *
 * Keys are 32 bytes; so are the proofs made with them. Every buffer that held a secret is given to crypto_wipe() before
 * its storage goes away: free() and return leave the bytes where they were. Nothing is kept here; any thread.
 */
#ifndef COMM_CRYPTO_H
#define COMM_CRYPTO_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum { CRYPTO_KEY_BYTES = 32 };

/* From the kernel (getrandom), which waits only in the first seconds after boot. ERR_CONFIG if it cannot. */
int crypto_random(void *out, size_t bytes, struct err *e);

/* HKDF with SHA-256 (RFC 5869): a key for one purpose, the label, bound to everything in context. */
int crypto_derive(unsigned char out[static CRYPTO_KEY_BYTES], const unsigned char key[static CRYPTO_KEY_BYTES],
                  const char *label, const void *context, size_t bytes, struct err *e);

/* HMAC-SHA256 of label and data: who knows key made this. */
int crypto_prove(unsigned char out[static CRYPTO_KEY_BYTES], const unsigned char key[static CRYPTO_KEY_BYTES],
                 const char *label, const void *data, size_t bytes, struct err *e);

/* scrypt (RFC 7914) with N 65536, r 8, p 1: a guess costs 64 MiB and some tenths of a second. */
int crypto_stretch(unsigned char out[static CRYPTO_KEY_BYTES], const char *secret, const void *salt, size_t bytes,
                   struct err *e);

/* SHA-256 of pieces one after the other; 0 bytes are allowed. */
struct crypto_piece {
    const void *data;
    size_t bytes;
};
int crypto_digest(unsigned char out[static CRYPTO_KEY_BYTES], const struct crypto_piece *pieces, int n, struct err *e);

/* In a time that does not depend on where they differ. */
bool crypto_equal(const void *a, const void *b, size_t bytes);

void crypto_wipe(void *p, size_t bytes);

/* 2 x bytes lower-case digits and the end; out holds 2 x bytes + 1. */
void crypto_hex(char *out, const void *in, size_t bytes);

/* Exactly 2 x bytes digits of either case and nothing else: 0, or -1. */
int crypto_unhex(void *out, size_t bytes, const char *text);

#endif
