/*
 * comm/flow.c - see flow.h; start reading at flow_run().
 *
 * Both directions are non-blocking and take turns, one system call each, so neither starves; when neither can move the
 * thread sleeps in poll. A frame's header and payload leave in one call. A segment to be added is received into
 * scratch memory that stays in the cache, verified, and only then added; one to be stored is received where it belongs.
 */
#include "config.h" /* ppoll, POLLRDHUP, the GNU strerror_r */

#include "comm/flow.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

#include "base/clock.h"
#include "comm/data_socket.h"
#include "comm/stream.h"
#include "comm/sum.h"

static uint64_t thread_cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Offset of chunk c in elements: the first count % chunks chunks have one element more. */
static size_t chunk_start(const struct flow *f, size_t c)
{
    size_t each = f->count / (size_t)f->chunks, more = f->count % (size_t)f->chunks;
    return c * each + (c < more ? c : more);
}

static size_t chunk_of_hop(const struct flow *f, const struct cursor *c, int hop)
{
    int chunk = (c->chunk - hop) % f->chunks;
    return (size_t)(chunk < 0 ? chunk + f->chunks : chunk);
}

/* Makes the cursor point to a frame that exists, passing over hops that have none, or to the end. */
static void settle(const struct flow *f, struct cursor *c)
{
    for (; c->hop < c->hops; c->hop++, c->at = 0, c->segment = 0) {
        size_t chunk = chunk_of_hop(f, c, c->hop);
        size_t start = chunk_start(f, chunk) * f->unit_bytes;
        size_t left = chunk_start(f, chunk + 1) * f->unit_bytes - start - c->at;
        if (left > 0 || (f->empty_frames && c->segment == 0)) {
            c->payload = f->data ? f->data + start + c->at : NULL;
            c->bytes = left < f->segment_bytes ? left : f->segment_bytes;
            c->done = 0;
            c->header_ready = false;
            return;
        }
    }
}

static void advance(const struct flow *f, struct cursor *c)
{
    c->at += c->bytes;
    c->segment++;
    settle(f, c);
}

static bool pending(const struct cursor *c)
{
    return c->hop < c->hops;
}

static bool may_send(const struct flow *f)
{
    if (!pending(&f->send))
        return false;
    int needed = f->lag == FLOW_NO_LAG ? -1 : f->send.hop - f->lag;
    return needed < 0 || f->receive.hop > needed || (f->receive.hop == needed && f->receive.segment > f->send.segment);
}

static bool received_whole(const struct flow *f)
{
    return pending(&f->receive) && f->receive.done == FRAME_BYTES + f->receive.bytes;
}

static bool is_added(const struct flow *f)
{
    return f->receive.hop < f->added_hops;
}

static struct frame expected_frame(const struct flow *f, const struct cursor *c)
{
    return (struct frame){
        .sequence = f->ring->sequence,
        .step = f->call->step,
        .bucket = f->call->bucket,
        .kind = (uint16_t)f->kind,
        .hop = (uint16_t)c->hop,
        .segment = c->segment,
        .bytes = (uint32_t)c->bytes,
    };
}

/* What comes out of a sealed connection is what went in. */
static uint32_t checksum(struct flow *f, const struct ring_peer *peer, uint32_t waited_us, const void *payload,
                         size_t bytes)
{
    if (peer->sealed)
        return 0;
    uint64_t from = clock_now_ns();
    uint32_t crc = frame_crc(waited_us, payload, bytes);
    f->call->check_ns += clock_now_ns() - from;
    return crc;
}

static int lost(const struct flow *f, const struct ring_peer *peer, const char *what, struct err *e)
{
    size_t due = 0;
    for (int hop = 0; hop < f->receive.hops; hop++) {
        size_t chunk = chunk_of_hop(f, &f->receive, hop);
        due += (chunk_start(f, chunk + 1) - chunk_start(f, chunk)) * f->unit_bytes;
    }
    return err_set(e, ERR_PEER_LOST, "%s %s at step %u, bucket %u (%s, %.3f of %.3f MB received)", peer->name, what,
                   f->call->step, f->call->bucket, frame_kind_name(f->kind), (double)f->call->received_bytes * 1e-6,
                   (double)due * 1e-6);
}

static int lost_errno(const struct flow *f, const struct ring_peer *peer, int number, struct err *e)
{
    char what[128], text[96];
    if (number == 0 || number == EPIPE)
        return lost(f, peer, "closed the connection", e);
    snprintf(what, sizeof what, "is gone (%s)", strerror_r(number, text, sizeof text));
    return lost(f, peer, what, e);
}

/* The part of header and payload that has not moved yet; returns the number of pieces. */
static int remainder_of(struct cursor *c, char *payload, struct iovec iov[static 2])
{
    int n = 0;
    if (c->done < FRAME_BYTES)
        iov[n++] = (struct iovec){c->header + c->done, FRAME_BYTES - c->done};
    size_t in_payload = c->done < FRAME_BYTES ? 0 : c->done - FRAME_BYTES;
    if (c->bytes > in_payload)
        iov[n++] = (struct iovec){payload + in_payload, c->bytes - in_payload};
    return n;
}

static ssize_t send_pieces(const struct ring_peer *to, struct iovec *iov, int n, struct err *e)
{
    struct msghdr message = {.msg_iov = iov, .msg_iovlen = (size_t)n};
    return to->sealed ? stream_send(to->sealed, iov, n, e) : sendmsg(to->fd, &message, MSG_NOSIGNAL);
}

static ssize_t receive_pieces(const struct ring_peer *from, struct iovec *iov, int n, struct err *e)
{
    struct msghdr message = {.msg_iov = iov, .msg_iovlen = (size_t)n};
    return from->sealed ? stream_receive(from->sealed, iov, n, e) : recvmsg(from->fd, &message, 0);
}

/* In libssl so far, both ways. */
static uint64_t sealing_ns(const struct ring *ring)
{
    return ring->stream ? ring->stream[0].seal_ns + ring->stream[1].seal_ns : 0;
}

static int send_some(struct flow *f, struct err *e)
{
    struct cursor *c = &f->send;
    if (!c->header_ready) {
        struct frame frame = expected_frame(f, c);
        uint64_t waited_us = f->call->wait_ns / 1000;
        frame.waited_us = waited_us < UINT32_MAX ? (uint32_t)waited_us : UINT32_MAX;
        frame.crc = checksum(f, &f->ring->next, frame.waited_us, c->payload, c->bytes);
        frame_encode(c->header, &frame);
        c->header_ready = true;
    }
    struct iovec iov[2];
    size_t left = FRAME_BYTES + c->bytes - c->done;
    ssize_t n = send_pieces(&f->ring->next, iov, remainder_of(c, c->payload, iov), e);
    if (n < 0) {
        if (errno == STREAM_DAMAGED)
            return -1;
        if (errno != EAGAIN && errno != EINTR)
            return lost_errno(f, &f->ring->next, errno, e);
        c->blocked = errno == EAGAIN;
        return 0;
    }
    f->moved = true;
    c->done += (size_t)n;
    if ((size_t)n < left) {
        c->blocked = !f->ring->next.sealed; /* which stops at so many records of its own accord */
        return 0;
    }
    f->call->sent_bytes += c->bytes;
    advance(f, c);
    return 0;
}

/* This rank has slept for the frame, and while it did the previous one may have waited for another: as far as it says so the
 * link is not to blame. What is told is a duration, so no two clocks are compared. It may be older than the sleep: a
 * wait from before the frames that were still on their way, and then the sleep for one frame is counted wrongly, once. */
static void divide_sleep(struct flow *f, uint32_t waited_us)
{
    uint64_t told_ns = waited_us > f->prev_waited_us ? (uint64_t)(waited_us - f->prev_waited_us) * 1000 : 0;
    uint64_t upstream_ns = told_ns < f->slept_ns ? told_ns : f->slept_ns;
    f->call->wait_ns += upstream_ns;
    f->call->upstream_ns += upstream_ns;
    f->prev_waited_us = waited_us;
    f->slept_ns = 0;
}

static int check_header(struct flow *f, struct err *e)
{
    struct frame got, expected = expected_frame(f, &f->receive);
    f->receive.header_ready = true;
    if (frame_decode(f->receive.header, &got, f->ring->prev.name, e))
        return err_context(e, "step %u, bucket %u", f->call->step, f->call->bucket);
    f->receive.crc = got.crc;
    if (frame_match(&got, &expected, f->ring->prev.name, e))
        return -1;
    divide_sleep(f, got.waited_us);
    return 0;
}

/* A whole frame is here: verified, added if it is to be added, and done with. */
static int take_segment(struct flow *f, struct err *e)
{
    struct cursor *c = &f->receive;
    const void *payload = is_added(f) ? f->ring->scratch : c->payload;
    uint32_t crc = checksum(f, &f->ring->prev, f->prev_waited_us, payload, c->bytes);
    if (crc != c->crc)
        return err_set(e, ERR_PROTOCOL,
                       "data from %s was damaged on the way: step %u, bucket %u, hop %d, segment %u has CRC32C %08x "
                       "instead of %08x",
                       f->ring->prev.name, f->call->step, f->call->bucket, c->hop, c->segment, crc, c->crc);
    if (is_added(f)) {
        uint64_t from = clock_now_ns();
        sum_add((float *)(void *)c->payload, payload, c->bytes / sizeof(float));
        f->call->sum_ns += clock_now_ns() - from;
    }
    f->call->received_bytes += c->bytes;
    f->slept_ns = 0;
    advance(f, c);
    return 0;
}

static int receive_some(struct flow *f, struct err *e)
{
    struct cursor *c = &f->receive;
    struct iovec iov[2];
    char *payload = is_added(f) ? f->ring->scratch : c->payload;
    size_t left = FRAME_BYTES + c->bytes - c->done;
    ssize_t n = receive_pieces(&f->ring->prev, iov, remainder_of(c, payload, iov), e);
    if (n < 0) {
        if (errno == STREAM_DAMAGED)
            return err_context(e, "step %u, bucket %u", f->call->step, f->call->bucket);
        if (errno != EAGAIN && errno != EINTR)
            return lost_errno(f, &f->ring->prev, errno, e);
        c->blocked = errno == EAGAIN;
        return 0;
    }
    if (n == 0)
        return lost_errno(f, &f->ring->prev, 0, e);
    if (f->call->first_byte_ns == 0)
        f->call->first_byte_ns = clock_now_ns();
    f->moved = true;
    c->done += (size_t)n;
    c->blocked = (size_t)n < left;
    if (c->done >= FRAME_BYTES && !c->header_ready)
        return check_header(f, e);
    return 0;
}

/* A connection that only carries data away tells of its end by poll alone. */
static int judge_next(struct flow *f, int events, struct err *e)
{
    const struct ring_peer *next = &f->ring->next;
    int number = 0;
    socklen_t size = sizeof number;
    if (!(events & (POLLERR | POLLHUP | POLLRDHUP | POLLNVAL)))
        return 0;
    if (getsockopt(next->fd, SOL_SOCKET, SO_ERROR, &number, &size))
        number = errno;
    return lost_errno(f, next, number, e);
}

/* Nothing can be done with a part of a frame, so the kernel is asked to wake us for the rest of it in one piece: on a
 * link slower than the memory that saves most of the wakes. The first byte of all is waited for by itself, since it ends
 * the wait for the peer. A socket that does not know the option just wakes us more often. A part of a frame is a sign of
 * life too, for which we look now and then. */
#define LOOK_AGAIN_NS 100000000u
#define STOPPED_NS 1000000000u

static void ask_for_whole_frame(struct flow *f)
{
    size_t left = FRAME_BYTES + f->receive.bytes - f->receive.done;
    const struct stream *sealed = f->ring->prev.sealed;
    size_t due = f->call->first_byte_ns == 0 ? 1 : sealed ? stream_due_bytes(sealed, left) : left;
    data_socket_wake_for(f->ring->prev.fd, due, &f->ring->low_water);
}

static int sleep_until_ready(struct flow *f, struct err *e)
{
    const struct ring *ring = f->ring;
    bool receiving = pending(&f->receive) && !received_whole(f), apart = ring->next.fd != ring->prev.fd;
    if (receiving)
        ask_for_whole_frame(f);
    struct pollfd fds[3] = {
        {.fd = receiving ? ring->prev.fd : -1, .events = POLLIN},
        {.fd = pending(&f->send) && (apart || may_send(f)) ? ring->next.fd : -1,
         .events = (short)((may_send(f) ? POLLOUT : 0) | (apart ? POLLRDHUP : 0))},
        {.fd = ring->stop_fd, .events = POLLIN},
    };
    uint64_t now = clock_now_ns();
    if (f->moved)
        f->idle_since_ns = now;
    f->moved = false;
    uint64_t idle = now - f->idle_since_ns;
    uint64_t left = idle < ring->timeout_ns ? ring->timeout_ns - idle : 0;
    uint64_t nap = receiving && left > LOOK_AGAIN_NS ? LOOK_AGAIN_NS : left;
    struct timespec limit = {(time_t)(nap / 1000000000u), (long)(nap % 1000000000u)};
    int ready = ppoll(fds, 3, &limit, NULL);
    if (ready == 0 &&
        clock_now_ns() - now > nap + STOPPED_NS) { /* this process was stopped, and the peer perhaps with it */
        f->idle_since_ns = clock_now_ns();
        return 0;
    }
    if (receiving)
        *(f->call->first_byte_ns == 0 ? &f->call->wait_ns : &f->slept_ns) += clock_now_ns() - now;
    if (ready < 0)
        return errno == EINTR ? 0 : err_set(e, ERR_IO, "poll on the data sockets: %m");
    if (fds[2].revents)
        return err_set(e, ERR_INTERRUPTED, "stopped at step %u, bucket %u", f->call->step, f->call->bucket);
    if (ready == 0 && nap == left) {
        char what[80];
        snprintf(what, sizeof what, "has neither sent nor taken a byte for %.3g s", (double)ring->timeout_ns * 1e-9);
        return lost(f, receiving ? &ring->prev : &ring->next, what, e);
    }
    if (fds[0].revents || ready == 0)
        f->receive.blocked = false;
    if (apart && judge_next(f, fds[1].revents, e))
        return -1;
    if (fds[1].revents)
        f->send.blocked = false;
    return 0;
}

static int turn(struct flow *f, struct err *e)
{
    bool active = false;
    if (may_send(f) && !f->send.blocked) {
        active = true;
        if (send_some(f, e))
            return -1;
    }
    if (pending(&f->receive) && !received_whole(f) && !f->receive.blocked) {
        active = true;
        if (receive_some(f, e))
            return -1;
    }
    if (received_whole(f) && !(f->add_late && f->send.hop == f->receive.hop && f->send.segment <= f->receive.segment)) {
        active = true;
        if (take_segment(f, e))
            return -1;
    }
    return active ? 0 : sleep_until_ready(f, e);
}

int flow_run(struct flow *f, struct err *e)
{
    struct call *call = f->call;
    uint64_t cpu = thread_cpu_ns(), sealing = sealing_ns(f->ring);
    int rc = 0;
    *call = (struct call){.step = call->step, .bucket = call->bucket, .start_ns = clock_now_ns()};
    f->moved = true;
    settle(f, &f->send);
    settle(f, &f->receive);
    while (rc == 0 && (pending(&f->send) || pending(&f->receive)))
        rc = turn(f, e);
    call->end_ns = clock_now_ns();
    call->cpu_ns = thread_cpu_ns() - cpu;
    call->seal_ns = sealing_ns(f->ring) - sealing;
    call->move_ns = call->end_ns - call->start_ns - call->wait_ns - call->sum_ns - call->check_ns - call->seal_ns;
    return rc;
}
