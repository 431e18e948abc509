/*
 * comm/greeting.h - the first bytes on every connection, in clear: who is there and which protocol they speak.
 *
 * The side that connected says its intro first, so that servers of another kind answer with something that is no
 * greeting, and a difference of versions becomes a sentence instead of a failed handshake. Nothing here is secret or
 * proven: both messages go into the key of what follows (greeting_key), so whoever alters them only makes it fail.
 *
 *     intro     "DDPB", lowest and highest protocol, kind, 3 zeros, node (16), CR LF CR LF           32 bytes
 *     greeting  "DDPB", lowest and highest protocol, flags, node (16), nonce (16), salt (16)         64 bytes
 *
 * Numbers are little-endian, 16 bits; flags 32; four zeros fill the greeting up. Pure functions, any thread.
 */
#ifndef COMM_GREETING_H
#define COMM_GREETING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "comm/crypto.h"

enum {
    GREETING_PROTOCOL = 1, /* what this program speaks */
    GREETING_NODE_BYTES = 16,
    GREETING_INTRO_BYTES = 32,
    GREETING_BYTES = 64,
};

enum greeting_kind { GREETING_CONTROL = 'C', GREETING_DATA = 'D' };

struct greeting_protocols { /* both ends included */
    uint16_t low, high;
};

struct greeting_intro {
    struct greeting_protocols protocols;
    uint8_t kind;
    unsigned char node[GREETING_NODE_BYTES];
};

struct greeting {
    struct greeting_protocols protocols;
    bool pairing; /* a one-time code is being shown */
    unsigned char node[GREETING_NODE_BYTES];
    unsigned char nonce[16]; /* of this connection */
    unsigned char salt[16];  /* of the one-time code */
};

void greeting_encode_intro(unsigned char out[static GREETING_INTRO_BYTES], const struct greeting_intro *intro);
void greeting_encode(unsigned char out[static GREETING_BYTES], const struct greeting *greeting);

/* bytes may be the first few only: false as soon as they cannot become one of ours. */
bool greeting_plausible(const unsigned char *bytes, size_t n);

/* ERR_PROTOCOL if it is none of ours. */
int greeting_decode_intro(const unsigned char in[static GREETING_INTRO_BYTES], struct greeting_intro *intro,
                          struct err *e);
int greeting_decode(const unsigned char in[static GREETING_BYTES], struct greeting *greeting, const char *peer,
                    struct err *e);

/* ERR_PROTOCOL naming both and which end is to be updated, unless the ranges have a version in common. */
int greeting_agree(struct greeting_protocols own, struct greeting_protocols other, const char *peer, struct err *e);

/* The key for this connection from what both ends know, bound to every byte of both messages. */
int greeting_key(unsigned char out[static CRYPTO_KEY_BYTES], const unsigned char root[static CRYPTO_KEY_BYTES],
                 const unsigned char intro[static GREETING_INTRO_BYTES],
                 const unsigned char greeting[static GREETING_BYTES], struct err *e);

#endif
