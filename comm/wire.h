/*
 * comm/wire.h - messages on a control connection: a length and a JSON object, cut out of a stream of bytes.
 *
 * Four bytes, little-endian, say how long the text is: 1 .. WIRE_BYTES_MAX. The text is one JSON object, at most
 * WIRE_DEPTH_MAX deep, without duplicate keys, with a string "type". Anything else is ERR_PROTOCOL, after which the
 * connection is of no use. Memory is taken as bytes arrive, never because a length says so. One owner thread.
 */
#ifndef COMM_WIRE_H
#define COMM_WIRE_H

#include <stddef.h>

#include "base/err.h"
#include "base/json.h"

enum { WIRE_BYTES_MAX = 256 * 1024, WIRE_DEPTH_MAX = 16 };

struct wire {
    unsigned char *data; /* what has arrived and is not taken yet */
    size_t have, capacity;
};

/* Adds what has arrived. */
int wire_put(struct wire *wire, const void *bytes, size_t n, struct err *e);

/* The next whole message, the caller's, or NULL in *message if there is none yet. */
int wire_take(struct wire *wire, json_t **message, struct err *e);

void wire_fini(struct wire *wire); /* accepts a zeroed wire */

/* The bytes of a message, for wire_free(), which wipes them; message is freed by this. ERR_PROTOCOL if it is too long. */
int wire_encode(json_t *message, unsigned char **bytes, size_t *n, struct err *e);
void wire_free(unsigned char *bytes, size_t n);

/* message["type"], "" if there is none; and a text of it made harmless for terminals. */
const char *wire_type(const json_t *message);
void wire_text(const json_t *message, const char *key, char *out, size_t size);

#endif
