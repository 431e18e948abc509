/*
 * comm/stream.c - see stream.h. Start at stream_send() and stream_receive(): seal() and open_some() work on buffers, flush()
 * and fill() on the socket.
 */
#include "comm/stream.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "comm/wait.h"

/* A record may be longer than what it carries; and a message to renew the key may come before. */
enum { RECORD_HEADER_BYTES = 5, BUFFER_BYTES = (STREAM_RECORDS_AT_ONCE + 1) * (STREAM_RECORD_BYTES + 256) };

static const char identity[] = "ddpbench 1 data";

static int find_key(void *ctx, const char *name, unsigned char key[static CRYPTO_KEY_BYTES])
{
    const struct stream *stream = ctx;
    if (strcmp(name, identity) != 0)
        return -1;
    memcpy(key, stream->key, CRYPTO_KEY_BYTES);
    return 0;
}

int stream_init(struct stream *stream, int fd, bool client, const char *peer,
                const unsigned char key[static CRYPTO_KEY_BYTES], struct err *e)
{
    *stream = (struct stream){.fd = fd};
    memcpy(stream->key, key, sizeof stream->key);
    stream->first = malloc(STREAM_RECORD_BYTES);
    stream->in = (struct tls_buffer){.data = malloc(BUFFER_BYTES), .size = BUFFER_BYTES};
    stream->out = (struct tls_buffer){.data = malloc(BUFFER_BYTES), .size = BUFFER_BYTES};
    if (!stream->first || !stream->in.data || !stream->out.data)
        return err_set(e, ERR_MEMORY, "no memory for a sealed connection to %s", peer);
    if (tls_context_open(&stream->context, !client, e))
        return -1;
    tls_context_for_stream(&stream->context);
    if (client)
        return tls_connect_buffers(&stream->tls, &stream->context, &stream->in, &stream->out, peer, identity, key, e);
    return tls_accept_buffers(&stream->tls, &stream->context, &stream->in, &stream->out, peer, find_key, stream, e);
}

/* ---- the socket ---- */

/* What has been sealed goes to the kernel: 1 if all of it did, 0 if not yet, -1 with errno. */
static int flush(struct stream *s)
{
    while (s->out.at < s->out.end) {
        ssize_t n = send(s->fd, s->out.data + s->out.at, s->out.end - s->out.at, MSG_NOSIGNAL);
        if (n < 0)
            return errno == EAGAIN || errno == EINTR ? 0 : -1;
        s->out.at += (size_t)n;
    }
    s->out.at = s->out.end = 0;
    return 1;
}

/* Takes what the kernel has: 1 if there was something, or the end; 0 if not, -1 with errno. */
static int fill(struct stream *s)
{
    struct tls_buffer *in = &s->in;
    memmove(in->data, in->data + in->at, in->end - in->at);
    in->end -= in->at;
    in->at = 0;
    ssize_t n = recv(s->fd, in->data + in->end, in->size - in->end, 0);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    in->end += (size_t)n;
    s->tls.in_ended = n == 0;
    return 1;
}

/* ---- the handshake ---- */

static int broken(const struct stream *s, struct err *e)
{
    return err_set(e, ERR_PEER_LOST, "the data connection to %s broke: %s", s->tls.peer, strerror(errno));
}

/* As far as it goes now: what to poll for, 0 when it is done and all is sent, -1 if it failed. */
static int shake(struct stream *s, struct err *e)
{
    for (;;) {
        enum tls_result r = s->shaken ? TLS_OK : tls_handshake(&s->tls, e);
        int sent = flush(s); /* also of a failure, for the other end to know */
        if (r == TLS_FAILED)
            return err_context(e, "the data connection");
        s->shaken = r == TLS_OK;
        if (sent <= 0)
            return sent ? broken(s, e) : POLLOUT;
        if (s->shaken)
            return 0;
        if (s->tls.in_ended)
            return err_set(e, ERR_PEER_LOST, "%s closed the data connection during the handshake", s->tls.peer);
        int got = fill(s);
        if (got <= 0)
            return got ? broken(s, e) : POLLIN;
    }
}

int stream_shake_hands(struct stream *stream, struct stream *other, uint64_t deadline_ns, int stop_fd, struct err *e)
{
    struct stream *both[2] = {stream, other && other != stream ? other : NULL};
    for (;;) {
        struct pollfd p[3] = {{-1, 0, 0}, {-1, 0, 0}, {stop_fd, POLLIN, 0}};
        int left = 0;
        for (int i = 0; i < 2; i++) {
            int events = both[i] ? shake(both[i], e) : 0;
            if (events < 0)
                return -1;
            if (events == 0)
                continue;
            p[i] = (struct pollfd){both[i]->fd, (short)events, 0};
            left++;
        }
        if (left == 0)
            return 0;
        int ms = wait_left_ms(deadline_ns), ready = poll(p, 3, ms);
        if (ready < 0 && errno != EINTR)
            return err_set(e, ERR_IO, "poll on the data sockets: %m");
        if (p[2].revents)
            return err_set(e, ERR_INTERRUPTED, "stopped while the data connections were sealed");
        if (ready == 0 && ms == 0)
            return err_set(e, ERR_PEER_LOST, "%s did not answer the handshake on its data connection",
                           p[0].fd >= 0 ? stream->tls.peer : other->tls.peer);
    }
}

/* ---- sending ---- */

/* One record. */
static int seal_record(struct stream *s, const void *data, size_t bytes, struct err *e)
{
    size_t put;
    if (++s->records % STREAM_RECORDS_PER_KEY == 0 && tls_renew_key(&s->tls, e))
        return -1;
    enum tls_result r = tls_write(&s->tls, data, bytes, &put, e);
    if (r == TLS_OK && put == bytes)
        return 0;
    return r == TLS_FAILED ? -1 : err_set(e, ERR_PROTOCOL, "a record for %s does not fit", s->tls.peer);
}

/* The first record takes from all pieces, so that a frame's header is no record of its own. */
static size_t gather_first(struct stream *s, const struct iovec *iov, int n)
{
    size_t have = 0;
    for (int i = 0; i < n && have < STREAM_RECORD_BYTES; i++) {
        size_t room = STREAM_RECORD_BYTES - have, take = iov[i].iov_len < room ? iov[i].iov_len : room;
        memcpy(s->first + have, iov[i].iov_base, take);
        have += take;
    }
    return have;
}

static int seal(struct stream *s, const struct iovec *iov, int n, struct err *e)
{
    size_t done = gather_first(s, iov, n), skip = done, most = (size_t)STREAM_RECORDS_AT_ONCE * STREAM_RECORD_BYTES;
    if (seal_record(s, s->first, done, e))
        return -1;
    for (int i = 0; i < n; i++) {
        const char *at = iov[i].iov_base;
        size_t left = iov[i].iov_len, passed = left < skip ? left : skip;
        skip -= passed;
        at += passed;
        left -= passed;
        while (left > 0 && done < most) {
            size_t record = left < STREAM_RECORD_BYTES ? left : STREAM_RECORD_BYTES;
            record = record < most - done ? record : most - done;
            if (seal_record(s, at, record, e))
                return -1;
            at += record;
            left -= record;
            done += record;
        }
    }
    s->sealed = done;
    return 0;
}

ssize_t stream_send(struct stream *stream, const struct iovec *iov, int n, struct err *e)
{
    if (stream->sealed == 0) {
        uint64_t from = clock_now_ns();
        int failed = seal(stream, iov, n, e);
        stream->seal_ns += clock_now_ns() - from;
        errno = STREAM_DAMAGED;
        if (failed)
            return -1;
    }
    int sent = flush(stream);
    if (sent <= 0) {
        errno = sent ? errno : EAGAIN;
        return -1;
    }
    size_t gone = stream->sealed;
    stream->sealed = 0;
    return (ssize_t)gone;
}

/* ---- receiving ---- */

/* Only whole records are handed to libssl, so that what is here of the next one can be counted. */
static bool is_ready(const struct stream *s)
{
    const unsigned char *header = s->in.data + s->in.at;
    size_t here = s->in.end - s->in.at;
    if (tls_pending_bytes(&s->tls) > 0 || s->tls.in_ended)
        return true;
    return here >= RECORD_HEADER_BYTES && here >= RECORD_HEADER_BYTES + ((size_t)header[3] << 8 | header[4]);
}

/* Into one piece: bytes; fewer than its length if what arrived is used up or the peer has ended; -1. A record may carry no
 * bytes but a new key. */
static ssize_t open_some(struct stream *s, char *to, size_t bytes, struct err *e)
{
    size_t done = 0;
    uint64_t from = clock_now_ns();
    enum tls_result r = TLS_OK;
    bool moved = true;
    while (moved && done < bytes && is_ready(s)) {
        size_t got, at = s->in.at;
        r = tls_read(&s->tls, to + done, bytes - done, &got, e);
        done += got;
        moved = r == TLS_OK || (r == TLS_WANT_READ && s->in.at > at);
    }
    s->seal_ns += clock_now_ns() - from;
    if (r == TLS_END)
        s->tls.in_ended = true;
    return r == TLS_FAILED ? -1 : (ssize_t)done;
}

ssize_t stream_receive(struct stream *stream, const struct iovec *iov, int n, struct err *e)
{
    size_t total = 0, in_piece = 0;
    for (int i = 0; i < n;) {
        ssize_t got = open_some(stream, (char *)iov[i].iov_base + in_piece, iov[i].iov_len - in_piece, e);
        if (got < 0) {
            errno = e && e->code == ERR_PEER_LOST ? 0 : STREAM_DAMAGED;
            return errno ? -1 : 0; /* an end without a word is one as in clear */
        }
        total += (size_t)got;
        in_piece += (size_t)got;
        if (in_piece == iov[i].iov_len) {
            in_piece = 0;
            i++;
            continue;
        }
        int more = stream->tls.in_ended ? 1 : fill(stream);
        if (more < 0)
            return total ? (ssize_t)total : -1;
        if (more == 0 || stream->tls.in_ended)
            break;
    }
    if (total == 0 && !stream->tls.in_ended) {
        errno = EAGAIN;
        return -1;
    }
    return (ssize_t)total;
}

size_t stream_due_bytes(const struct stream *stream, size_t bytes)
{
    size_t here = stream->in.end - stream->in.at;
    return bytes > here ? bytes - here : 1;
}

const char *stream_suite(const struct stream *stream)
{
    return tls_suite(&stream->tls);
}

void stream_fini(struct stream *stream)
{
    if (stream->tls.ssl)
        tls_close(&stream->tls);
    tls_context_close(&stream->context);
    free(stream->first);
    free(stream->in.data);
    free(stream->out.data);
    crypto_wipe(stream, sizeof *stream);
    stream->fd = -1;
}
