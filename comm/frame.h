/*
 * comm/frame.h - the 36 bytes in front of every piece of data between two ranks.
 *
 * A frame says where in the run its payload belongs. The receiver knows from the plan what must come next and how
 * long it is; the header only confirms that both ranks are at the same place, so no length is ever taken from the
 * wire. Every field that has a place is compared: a difference is ERR_PROTOCOL with both positions. What is left is news:
 * how long the sender had to wait itself. The CRC32C, of that and the payload, guards against accidents, not against
 * tampering.
 *
 * On the wire, little-endian: magic, sequence, step, bucket (32 bits each), kind, hop (16 bits each), segment, bytes,
 * waited_us, crc (32 bits each). Pure functions, any thread.
 */
#ifndef COMM_FRAME_H
#define COMM_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { FRAME_BYTES = 36 };

enum frame_kind { FRAME_RING = 1, FRAME_DIRECT, FRAME_BROADCAST, FRAME_BARRIER };

struct frame {
    uint32_t sequence; /* of the collective, counted from the start of the run */
    uint32_t step;     /* of the training */
    uint32_t bucket;
    uint16_t kind;      /* enum frame_kind */
    uint16_t hop;       /* round of the collective */
    uint32_t segment;   /* within the hop */
    uint32_t bytes;     /* of the payload that follows */
    uint32_t waited_us; /* in this collective, until the sender could send this: see call.h, wait_ns */
    uint32_t crc;       /* frame_crc() */
};

/* CRC32C of waited_us, as it is on the wire, and the payload. */
uint32_t frame_crc(uint32_t waited_us, const void *payload, size_t bytes);

/* "all-reduce", "direct all-reduce", "broadcast", "barrier", or "unknown operation". */
const char *frame_kind_name(unsigned kind);

void frame_encode(unsigned char out[static FRAME_BYTES], const struct frame *frame);

/* Fills frame; ERR_PROTOCOL if the magic is not ours. peer is named in the error. */
int frame_decode(const unsigned char in[static FRAME_BYTES], struct frame *frame, const char *peer, struct err *e);

/* ERR_PROTOCOL naming both positions unless got agrees with expected in all but waited_us and crc. */
int frame_match(const struct frame *got, const struct frame *expected, const char *peer, struct err *e);

#endif
