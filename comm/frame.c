/* comm/frame.c - see frame.h. */
#include "comm/frame.h"

#include <stdio.h>

#include "comm/crc32c.h"

#define MAGIC 0x46504444u /* the bytes "DDPF" */

static void put16(unsigned char *p, uint16_t x)
{
    p[0] = (unsigned char)x;
    p[1] = (unsigned char)(x >> 8);
}

static void put32(unsigned char *p, uint32_t x)
{
    put16(p, (uint16_t)x);
    put16(p + 2, (uint16_t)(x >> 16));
}

static uint16_t get16(const unsigned char *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t get32(const unsigned char *p)
{
    return get16(p) | (uint32_t)get16(p + 2) << 16;
}

const char *frame_kind_name(unsigned kind)
{
    static const char *const names[] = {
        [FRAME_RING] = "all-reduce",
        [FRAME_DIRECT] = "direct all-reduce",
        [FRAME_BROADCAST] = "broadcast",
        [FRAME_BARRIER] = "barrier",
    };
    return kind >= FRAME_RING && kind <= FRAME_BARRIER ? names[kind] : "unknown operation";
}

uint32_t frame_crc(uint32_t waited_us, const void *payload, size_t bytes)
{
    unsigned char waited[4];
    put32(waited, waited_us);
    return crc32c(crc32c(0, waited, sizeof waited), payload, bytes);
}

void frame_encode(unsigned char out[static FRAME_BYTES], const struct frame *frame)
{
    put32(out, MAGIC);
    put32(out + 4, frame->sequence);
    put32(out + 8, frame->step);
    put32(out + 12, frame->bucket);
    put16(out + 16, frame->kind);
    put16(out + 18, frame->hop);
    put32(out + 20, frame->segment);
    put32(out + 24, frame->bytes);
    put32(out + 28, frame->waited_us);
    put32(out + 32, frame->crc);
}

int frame_decode(const unsigned char in[static FRAME_BYTES], struct frame *frame, const char *peer, struct err *e)
{
    if (get32(in) != MAGIC)
        return err_set(e, ERR_PROTOCOL, "%s sent 0x%08x where a frame begins (0x%08x)", peer, get32(in), MAGIC);
    *frame = (struct frame){
        .sequence = get32(in + 4),
        .step = get32(in + 8),
        .bucket = get32(in + 12),
        .kind = get16(in + 16),
        .hop = get16(in + 18),
        .segment = get32(in + 20),
        .bytes = get32(in + 24),
        .waited_us = get32(in + 28),
        .crc = get32(in + 32),
    };
    return 0;
}

static void describe(char *text, size_t size, const struct frame *f)
{
    snprintf(text, size, "step %u, bucket %u, %s %u, hop %u, segment %u, %u bytes", f->step, f->bucket,
             frame_kind_name(f->kind), f->sequence, f->hop, f->segment, f->bytes);
}

int frame_match(const struct frame *got, const struct frame *expected, const char *peer, struct err *e)
{
    if (got->sequence == expected->sequence && got->step == expected->step && got->bucket == expected->bucket &&
        got->kind == expected->kind && got->hop == expected->hop && got->segment == expected->segment &&
        got->bytes == expected->bytes)
        return 0;
    char there[160], here[160];
    describe(there, sizeof there, got);
    describe(here, sizeof here, expected);
    return err_set(e, ERR_PROTOCOL, "%s is at another place: it sent %s; expected was %s", peer, there, here);
}
