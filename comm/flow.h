/*
 * comm/flow.h - one collective in motion on one rank: what is sent and received, piece by piece. Private to the ring.
 *
 * A flow is a number of hops each way. In hop h a rank sends chunk (send_chunk - h) and receives chunk (receive_chunk - h),
 * modulo the number of chunks, each cut into segments. The differences between collectives are a handful of numbers:
 *
 *                 chunks  hops sent, received   lag   added
 *     ring        N       2(N-1), 2(N-1)        1     hops 0 .. N-2
 *     direct      1       1, 1                  none  hop 0, a segment only after the own one has been sent
 *     broadcast   1       0 or 1, 0 or 1        0     none
 *     barrier     1 of 0  N-1, N-1              1     none; a hop is one empty frame
 *
 * lag is the one rule of order: a segment of sending hop h may leave when the same segment of receiving hop h - lag is
 * complete. In the ring the chunk sent in hop h is the chunk received in hop h - 1, so the rule is exact, and a segment
 * travels on as soon as it has been summed.
 */
#ifndef COMM_FLOW_H
#define COMM_FLOW_H

#include <stdbool.h>

#include "comm/frame.h"
#include "comm/ring.h"

enum { FLOW_NO_LAG = -1 };

/* The next frame of one direction. */
struct cursor {
    int hops, hop;
    int chunk;         /* of hop 0 */
    size_t at;         /* of the segment, within the chunk */
    uint32_t segment;  /* its number within the hop */
    size_t bytes;      /* of its payload */
    size_t done;       /* header and payload bytes already moved */
    char *payload;     /* begins here */
    bool blocked;      /* the kernel has no room or no data until poll says so */
    bool header_ready; /* made, or received and compared */
    uint32_t crc;      /* as received */
    unsigned char header[FRAME_BYTES];
};

struct flow {
    struct ring *ring;
    struct call *call;
    enum frame_kind kind;
    char *data;
    size_t count, unit_bytes; /* elements; chunk boundaries fall between them */
    int chunks;
    size_t segment_bytes;
    int lag;
    int added_hops; /* received hops below this are added, later ones stored */
    bool add_late;  /* a segment is added only when the own one has left */
    bool empty_frames;
    struct cursor send, receive;

    uint64_t slept_ns;       /* for the next frame to receive, the first one of all apart */
    uint32_t prev_waited_us; /* as the previous rank has last told */
    bool moved;              /* a byte, since the last sleep */
    uint64_t idle_since_ns;
};

/* Runs it to its end. The caller has set everything from ring to empty_frames, and hops and chunk of both cursors. */
int flow_run(struct flow *flow, struct err *e);

#endif
