/*
 * comm/stream.h - a data connection under TLS 1.3 with a key that both ends have: what is sent is sealed, what comes is opened.
 *
 * A ring's flow (flow.h) uses it in place of sendmsg and recvmsg, and never for a connection in clear. Moving and sealing
 * are apart: libssl only works on buffers in memory, so the time in it, seal_ns, is processor time and nothing else.
 *
 *     stream_init(&stream, fd, client, peer, key, e)      the sending end is the client; fd stays the caller's
 *     stream_shake_hands(&next, &prev, ...)               both of a rank at once, for its neighbours do the same
 *     stream_send, stream_receive                         as sendmsg and recvmsg on a non-blocking socket
 *     stream_fini(&stream)
 *
 * Bytes count as sent when the kernel has all of what they were sealed into; a call that cannot hand it over is repeated
 * with the same bytes, as after EAGAIN. The key is renewed long before it has sealed too much. Nothing is allocated between
 * handshake and fini. One owner thread. A connection that ends early is no different from one in clear that does.
 */
#ifndef COMM_STREAM_H
#define COMM_STREAM_H

#include <sys/types.h>
#include <sys/uio.h>

#include "comm/tls.h"

/* RFC 8446, section 5.2: at most so much in a record, and around it 5 bytes of header, 1 of type, 16 of proof. */
enum { STREAM_RECORD_BYTES = 16384, STREAM_OVERHEAD_BYTES = 22, STREAM_RECORDS_AT_ONCE = 8 };

/* AES-GCM keeps its promise for about 2^24.5 full records under one key (RFC 8446, section 5.5). */
#define STREAM_RECORDS_PER_KEY (UINT64_C(1) << 23)

/* errno of a failure that err explains: what came was not sealed by the peer. */
#define STREAM_DAMAGED EBADMSG

struct stream {
    int fd;
    struct tls_context context;
    struct tls tls;
    unsigned char key[CRYPTO_KEY_BYTES];
    struct tls_buffer in, out;
    unsigned char *first; /* a record's worth, for header and payload together */
    size_t sealed;        /* of the bytes being sent so many are in out */
    uint64_t records;     /* sealed so far */
    uint64_t seal_ns;     /* in libssl, since the handshake */
    bool shaken;
};

int stream_init(struct stream *stream, int fd, bool client, const char *peer,
                const unsigned char key[static CRYPTO_KEY_BYTES], struct err *e);

/* other may be NULL or the same stream. ERR_NOT_PAIRED if the keys differ; else as wait.h. */
int stream_shake_hands(struct stream *stream, struct stream *other, uint64_t deadline_ns, int stop_fd, struct err *e);

/* As sendmsg: bytes, or -1 with errno. At most STREAM_RECORDS_AT_ONCE records at a time. */
ssize_t stream_send(struct stream *stream, const struct iovec *iov, int n, struct err *e);

/* As recvmsg: bytes, 0 at the end, or -1 with errno; fewer than asked for only if nothing more is there now. */
ssize_t stream_receive(struct stream *stream, const struct iovec *iov, int n, struct err *e);

/* The fewest bytes that must arrive before bytes more can be opened; at least 1. */
size_t stream_due_bytes(const struct stream *stream, size_t bytes);

const char *stream_suite(const struct stream *stream);

void stream_fini(struct stream *stream); /* wipes the key; accepts a zeroed stream */

#endif
