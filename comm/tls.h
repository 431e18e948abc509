/*
 * comm/tls.h - TLS 1.3 between two nodes that share a key, and nothing else: the one door to libssl.
 *
 * The key is an external PSK with an ephemeral Diffie-Hellman exchange (psk_dhe_ke), so recorded traffic stays closed if
 * the key leaks later. No certificates, no tickets, no early data, no older version; suites AES-128-GCM and
 * ChaCha20-Poly1305 with SHA-256, which external keys are tied to. After the handshake both ends have checked that
 * the key was really used, so there is nothing to fall back to.
 *
 *     tls_context_open(&context, true, e)                         once per role
 *     tls_accept(&tls, &context, fd, find, ctx, e)                or tls_connect(); fd is the tls' from here on
 *     while ((r = tls_handshake(&tls, e)) is TLS_WANT_READ or TLS_WANT_WRITE) poll
 *     tls_read, tls_write ... tls_close(&tls)
 *
 * Or without a socket, for whoever moves the bytes alone: tls_connect_buffers() and tls_accept_buffers() take what has
 * arrived from one buffer and leave what is to be sent in another; fd is then -1.
 *
 * The socket is non-blocking: no function here waits. SIGPIPE must be ignored. One thread at a time per tls; a context
 * may serve several.
 *
 * Failure: ERR_NOT_PAIRED from the handshake if the keys differ or the other end has none; ERR_PEER_LOST if the
 * connection breaks; ERR_PROTOCOL if what arrives is damaged or was tampered with.
 */
#ifndef COMM_TLS_H
#define COMM_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "comm/crypto.h"
#include "comm/peer_text.h"

enum tls_result { TLS_FAILED = -1, TLS_OK, TLS_WANT_READ, TLS_WANT_WRITE, TLS_END };

enum { TLS_IDENTITY_BYTES = 128 }; /* the longest, with its end */

struct ssl_st;
struct ssl_ctx_st;

struct tls_context {
    struct ssl_ctx_st *ctx;
    bool server;
};

/* Fills key and returns 0 if the identity that a client gives is known, else -1. Called inside tls_handshake(). */
typedef int tls_find_key(void *ctx, const char *identity, unsigned char key[static CRYPTO_KEY_BYTES]);

/* Bytes [at, end) of data are full; a reader takes from at, a writer adds at end, as far as there is room. */
struct tls_buffer {
    unsigned char *data;
    size_t at, end, size;
};

struct tls {
    struct ssl_st *ssl; /* NULL: closed */
    int fd;
    bool server;
    char peer[PEER_TEXT_BYTES]; /* as errors name it */
    /* client */
    char identity[TLS_IDENTITY_BYTES];
    unsigned char key[CRYPTO_KEY_BYTES]; /* until the handshake is over */
    /* server */
    tls_find_key *find;
    void *find_ctx;
    /* without a socket */
    struct tls_buffer *in, *out;
    bool in_ended; /* set by whoever fills in: nothing more will come */
};

int tls_context_open(struct tls_context *context, bool server, struct err *e);

/* Connections of this context keep their buffers while they are idle: for a few that are busy, instead of many that wait. And
 * tls_read ends with each record, TLS_WANT_READ after one without data, where it would have begun the next: whoever counts
 * records knows where it stands. */
void tls_context_for_stream(struct tls_context *context);
void tls_context_close(struct tls_context *context); /* accepts a zeroed context */

/* tls must stay where it is until tls_close: the library keeps its address. fd is closed if this fails. */
int tls_connect(struct tls *tls, const struct tls_context *context, int fd, const char *peer, const char *identity,
                const unsigned char key[static CRYPTO_KEY_BYTES], struct err *e);
int tls_accept(struct tls *tls, const struct tls_context *context, int fd, const char *peer, tls_find_key *find,
               void *find_ctx, struct err *e);

/* The same over buffers, which are borrowed until tls_close. TLS_WANT_READ: in is empty; TLS_WANT_WRITE: out is full. */
int tls_connect_buffers(struct tls *tls, const struct tls_context *context, struct tls_buffer *in,
                        struct tls_buffer *out, const char *peer, const char *identity,
                        const unsigned char key[static CRYPTO_KEY_BYTES], struct err *e);
int tls_accept_buffers(struct tls *tls, const struct tls_context *context, struct tls_buffer *in,
                       struct tls_buffer *out, const char *peer, tls_find_key *find, void *find_ctx, struct err *e);

/* Never TLS_END. */
enum tls_result tls_handshake(struct tls *tls, struct err *e);

/* Moves a handshaken connection to other storage. */
void tls_move(struct tls *to, struct tls *from);

/* At most bytes, at least one if TLS_OK; TLS_END when the other end has closed in order. */
enum tls_result tls_read(struct tls *tls, void *data, size_t bytes, size_t *got, struct err *e);
enum tls_result tls_write(struct tls *tls, const void *data, size_t bytes, size_t *put, struct err *e);

/* A key that only the two ends of this connection can compute, for one purpose (RFC 8446, section 7.5). */
int tls_export(struct tls *tls, const char *label, unsigned char key[static CRYPTO_KEY_BYTES], struct err *e);

/* Bytes that tls_read would give without taking anything more from the network. */
size_t tls_pending_bytes(const struct tls *tls);

/* A new key for what this end sends from here on: one key is good for so many records only (RFC 8446, section 5.5). */
int tls_renew_key(struct tls *tls, struct err *e);

/* What was agreed on after the handshake, "TLS_AES_128_GCM_SHA256". */
const char *tls_suite(const struct tls *tls);

/* Bytes taken from the network so far: what a stranger may spend. */
uint64_t tls_received_bytes(const struct tls *tls);

void tls_close(struct tls *tls); /* tells the other end if it can, closes fd; accepts a zeroed tls */

#endif
