/*
 * comm/channel.h - a control connection during set-up: TLS with messages on it, one at a time, each with a deadline.
 *
 * For the client, channel_connect() does the handshake; a server makes a channel of a connection whose handshake its
 * accept loop has done (channel_init). Once both sides are ready the channel is handed to a control (control.h), which
 * keeps it alive. One owner thread. Errors as in tls.h and wait.h.
 */
#ifndef COMM_CHANNEL_H
#define COMM_CHANNEL_H

#include <stdint.h>

#include "comm/peer_text.h"
#include "comm/tls.h"
#include "comm/wire.h"

struct channel {
    struct tls tls;
    struct wire wire;
    char peer[PEER_TEXT_BYTES]; /* as errors name it */
    int stop_fd;                /* readable: give up; -1: none */
};

/* fd belongs to the channel from here on, also if this fails. */
int channel_connect(struct channel *channel, const struct tls_context *context, int fd, const char *peer,
                    const char *identity, const unsigned char key[static CRYPTO_KEY_BYTES], uint64_t deadline_ns,
                    int stop_fd, struct err *e);

/* Takes over a handshaken connection and what has been read of it. */
void channel_init(struct channel *channel, struct tls *tls, struct wire *wire, const char *peer, int stop_fd);

/* By its own name, once that is known, instead of its address. */
void channel_rename(struct channel *channel, const char *peer);

/* Frees message in any case. */
int channel_send(struct channel *channel, json_t *message, uint64_t deadline_ns, struct err *e);

/* *message is the caller's. ERR_PROTOCOL unless it is of that type; one of type "refused" becomes the error that it
 * carries, "busy" ERR_UNAVAILABLE. */
int channel_receive(struct channel *channel, const char *type, json_t **message, uint64_t deadline_ns, struct err *e);

/* The judgement on a message that channel_receive and control_receive share; frees it unless 0. */
int channel_judge(json_t **message, const char *type, const char *peer, struct err *e);

/* The "refused" message that tells the other end why. */
json_t *channel_refusal(const struct err *why);

void channel_close(struct channel *channel); /* accepts a zeroed or closed channel */

#endif
