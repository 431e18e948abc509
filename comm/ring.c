/*
 * comm/ring.c - see ring.h. Each collective is a few numbers for a flow (flow.h), which does the moving.
 */
#include "comm/ring.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "comm/data_socket.h"
#include "comm/flow.h"
#include "comm/stream.h"

enum { LINE_BYTES = 64, SEGMENT_MIN_BYTES = 16 * 1024, SEGMENT_MAX_BYTES = 64 * 1024 * 1024 };

static void set_peer(struct ring_peer *peer, int fd, const char *name)
{
    peer->fd = fd;
    strncpy(peer->name, name ? name : "peer", sizeof peer->name - 1);
}

/* The end that sends on a connection is its client; of one connection for both ways, rank 0. */
static int seal(struct ring *ring, const struct ring_options *o, struct err *e)
{
    bool one = ring->next.fd == ring->prev.fd;
    if (!o->next_key || !o->prev_key)
        return 0;
    ring->stream = calloc(2, sizeof *ring->stream);
    if (!ring->stream)
        return err_set(e, ERR_MEMORY, "no memory for sealed connections");
    ring->next.sealed = &ring->stream[0];
    ring->prev.sealed = one ? ring->next.sealed : &ring->stream[1];
    if (stream_init(ring->next.sealed, ring->next.fd, !one || ring->rank == 0, ring->next.name, o->next_key, e))
        return -1;
    if (!one && stream_init(ring->prev.sealed, ring->prev.fd, false, ring->prev.name, o->prev_key, e))
        return -1;
    uint64_t deadline_ns = clock_now_ns() + ring->timeout_ns;
    return stream_shake_hands(ring->next.sealed, ring->prev.sealed, deadline_ns, ring->stop_fd, e);
}

int ring_init(struct ring *ring, const struct ring_options *options, struct err *e)
{
    const struct ring_options *o = options;
    size_t segment = o->segment_bytes ? o->segment_bytes : RING_SEGMENT_BYTES;
    *ring = (struct ring){
        .open = true,
        .rank = o->rank,
        .world = o->world,
        .stop_fd = o->stop_fd,
        .timeout_ns = o->timeout_ns,
        .segment_bytes = (segment + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES,
        .direct_bytes = o->direct_bytes,
        .low_water = 0, /* unknown: others may have used the socket */
    };
    set_peer(&ring->next, o->world == 1 ? -1 : o->next_fd, o->next_name);
    set_peer(&ring->prev, o->world == 1 ? -1 : o->prev_fd, o->prev_name);
    if (o->world < 1 || o->world > UINT16_MAX / 2 || o->rank < 0 || o->rank >= o->world)
        return err_set(e, ERR_USAGE, "rank %d of %d is impossible", o->rank, o->world);
    if (segment > SEGMENT_MAX_BYTES)
        return err_set(e, ERR_USAGE, "segments of %zu bytes exceed %d", segment, SEGMENT_MAX_BYTES);
    if (o->world == 1)
        return 0;
    if (ring->next.fd == ring->prev.fd && o->world != 2)
        return err_set(e, ERR_USAGE, "one socket for both neighbours of %d ranks", o->world);
    struct data_socket prev;
    if (data_socket_init(&prev, ring->prev.fd, ring->prev.name, e) ||
        data_socket_init(&ring->data, ring->next.fd, ring->next.name, e))
        return -1;
    ring->fits_backlog = ring->data.tcp && !o->keep_buffers;
    ring->scratch = aligned_alloc(LINE_BYTES, ring->segment_bytes);
    if (!ring->scratch)
        return err_set(e, ERR_MEMORY, "no %zu bytes for a segment", ring->segment_bytes);
    return seal(ring, o, e);
}

/* A quarter of a chunk, so that the hops of short messages overlap too, within limits set by the cost of a system call
 * and by the cache. All ranks compute the same. */
static size_t segment_of(const struct ring *ring, size_t chunk_bytes)
{
    size_t quarter = (chunk_bytes / 4 + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
    size_t least = SEGMENT_MIN_BYTES < ring->segment_bytes ? SEGMENT_MIN_BYTES : ring->segment_bytes;
    return quarter < least ? least : quarter < ring->segment_bytes ? quarter : ring->segment_bytes;
}

static int run(struct ring *ring, struct flow *flow, struct call *call, struct err *e)
{
    if (ring->broken.code) {
        if (e)
            *e = ring->broken;
        return -1;
    }
    flow->ring = ring;
    flow->call = call;
    if (flow_run(flow, &ring->broken)) {
        if (e)
            *e = ring->broken;
        return -1;
    }
    ring->sequence++;
    uint64_t own_ns = call->end_ns - call->start_ns - call->wait_ns;
    if (ring->fits_backlog && own_ns > 0)
        backlog_fit(&ring->backlog, ring->next.fd, call->sent_bytes, (double)call->cpu_ns / (double)own_ns);
    return 0;
}

int ring_allreduce(struct ring *ring, float *data, size_t n, struct call *call, struct err *e)
{
    int world = ring->world, rank = ring->rank;
    struct flow flow = {.kind = FRAME_RING, .data = (char *)data, .count = n, .unit_bytes = sizeof *data};
    if (world == 2 && n * sizeof *data <= ring->direct_bytes) {
        flow.kind = FRAME_DIRECT;
        flow.chunks = 1;
        flow.lag = FLOW_NO_LAG;
        flow.added_hops = 1;
        flow.add_late = true;
        flow.segment_bytes = ring->segment_bytes;
        flow.send = flow.receive = (struct cursor){.hops = 1};
    } else {
        flow.chunks = world;
        flow.lag = 1;
        flow.added_hops = world - 1;
        flow.segment_bytes = segment_of(ring, (n + (size_t)world - 1) / (size_t)world * sizeof *data);
        flow.send = (struct cursor){.hops = 2 * (world - 1), .chunk = rank};
        flow.receive = (struct cursor){.hops = 2 * (world - 1), .chunk = rank - 1};
    }
    return run(ring, &flow, call, e);
}

int ring_broadcast(struct ring *ring, void *data, size_t bytes, int root, struct call *call, struct err *e)
{
    if (root < 0 || root >= ring->world)
        return err_set(e, ERR_USAGE, "no rank %d among %d to broadcast from", root, ring->world);
    struct flow flow = {
        .kind = FRAME_BROADCAST,
        .data = data,
        .count = bytes,
        .unit_bytes = 1,
        .chunks = 1,
        .lag = ring->rank == root ? FLOW_NO_LAG : 0,
        .segment_bytes = segment_of(ring, bytes),
        .send = {.hops = (ring->rank + 1) % ring->world != root},
        .receive = {.hops = ring->rank != root},
    };
    return run(ring, &flow, call, e);
}

/* After hop h a rank has heard, directly or by others, from the h + 1 ranks behind it. */
int ring_barrier(struct ring *ring, struct call *call, struct err *e)
{
    struct flow flow = {
        .kind = FRAME_BARRIER,
        .unit_bytes = 1,
        .chunks = 1,
        .lag = 1,
        .empty_frames = true,
        .segment_bytes = ring->segment_bytes,
        .send = {.hops = ring->world - 1},
        .receive = {.hops = ring->world - 1},
    };
    return run(ring, &flow, call, e);
}

const char *ring_suite(const struct ring *ring)
{
    return ring->stream ? stream_suite(ring->next.sealed) : NULL;
}

void ring_fini(struct ring *ring)
{
    if (ring->open && ring->prev.fd >= 0 && ring->prev.fd != ring->next.fd)
        close(ring->prev.fd);
    if (ring->open && ring->next.fd >= 0)
        close(ring->next.fd);
    for (int i = 0; ring->stream && i < 2; i++)
        stream_fini(&ring->stream[i]);
    free(ring->stream);
    free(ring->scratch);
    *ring = (struct ring){.stop_fd = -1};
}
