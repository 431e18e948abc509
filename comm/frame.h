/*
 * comm/frame.h - the 32 bytes in front of every piece of data between two ranks.
 *
 * A frame says where in the run its payload belongs. The receiver knows from the plan what must come next and how
 * long it is; the header only confirms that both ranks are at the same place, so no length is ever taken from the
 * wire. Every field is compared: a difference is ERR_PROTOCOL with both positions. The payload's CRC32C guards
 * against accidents, not against tampering.
 *
 * On the wire, little-endian: magic, sequence, step, bucket (32 bits each), kind, hop (16 bits each), segment, bytes,
 * crc (32 bits each). Pure functions, any thread.
 */
#ifndef COMM_FRAME_H
#define COMM_FRAME_H

#include <stdint.h>

#include "base/err.h"

enum { FRAME_BYTES = 32 };

enum frame_kind { FRAME_RING = 1, FRAME_DIRECT, FRAME_BROADCAST, FRAME_BARRIER };

struct frame {
    uint32_t sequence; /* of the collective, counted from the start of the run */
    uint32_t step;     /* of the training */
    uint32_t bucket;
    uint16_t kind;    /* enum frame_kind */
    uint16_t hop;     /* round of the collective */
    uint32_t segment; /* within the hop */
    uint32_t bytes;   /* of the payload that follows */
    uint32_t crc;     /* CRC32C of the payload */
};

/* "all-reduce", "direct all-reduce", "broadcast", "barrier", or "unknown operation". */
const char *frame_kind_name(unsigned kind);

void frame_encode(unsigned char out[static FRAME_BYTES], const struct frame *frame);

/* Fills frame; ERR_PROTOCOL if the magic is not ours. peer is named in the error. */
int frame_decode(const unsigned char in[static FRAME_BYTES], struct frame *frame, const char *peer, struct err *e);

/* ERR_PROTOCOL naming both positions unless got agrees with expected in all but crc. */
int frame_match(const struct frame *got, const struct frame *expected, const char *peer, struct err *e);

#endif
