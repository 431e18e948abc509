/* comm/channel.c - see channel.h. */
#include "comm/channel.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "comm/wait.h"

static int wait_for(struct channel *c, enum tls_result want, uint64_t deadline_ns, struct err *e)
{
    return wait_ready(c->tls.fd, want == TLS_WANT_WRITE ? POLLOUT : POLLIN, deadline_ns, c->stop_fd, c->peer, e);
}

int channel_connect(struct channel *channel, const struct tls_context *context, int fd, const char *peer,
                    const char *identity, const unsigned char key[static CRYPTO_KEY_BYTES], uint64_t deadline_ns,
                    int stop_fd, struct err *e)
{
    *channel = (struct channel){.stop_fd = stop_fd};
    peer_text_clean(channel->peer, sizeof channel->peer, peer);
    if (tls_connect(&channel->tls, context, fd, channel->peer, identity, key, e))
        return -1;
    enum tls_result r;
    while ((r = tls_handshake(&channel->tls, e)) == TLS_WANT_READ || r == TLS_WANT_WRITE)
        if (wait_for(channel, r, deadline_ns, e)) {
            err_context(e, "the handshake did not end");
            break;
        }
    if (r == TLS_OK)
        return 0;
    channel_close(channel);
    return -1;
}

void channel_init(struct channel *channel, struct tls *tls, struct wire *wire, const char *peer, int stop_fd)
{
    *channel = (struct channel){.wire = *wire, .stop_fd = stop_fd};
    *wire = (struct wire){0};
    tls_move(&channel->tls, tls);
    channel_rename(channel, peer);
}

void channel_rename(struct channel *channel, const char *peer)
{
    peer_text_clean(channel->peer, sizeof channel->peer, peer);
    memcpy(channel->tls.peer, channel->peer, sizeof channel->tls.peer);
}

int channel_send(struct channel *channel, json_t *message, uint64_t deadline_ns, struct err *e)
{
    unsigned char *bytes;
    size_t n = 0, done = 0;
    if (wire_encode(message, &bytes, &n, e))
        return -1;
    int result = 0;
    while (result == 0 && done < n) {
        size_t put;
        enum tls_result r = tls_write(&channel->tls, bytes + done, n - done, &put, e);
        done += put;
        if (r == TLS_WANT_READ || r == TLS_WANT_WRITE)
            result = wait_for(channel, r, deadline_ns, e);
        else if (r != TLS_OK)
            result = r == TLS_END ? err_set(e, ERR_PEER_LOST, "%s closed the connection", channel->peer) : -1;
    }
    wire_free(bytes, n);
    return result;
}

json_t *channel_refusal(const struct err *why)
{
    char text[sizeof why->text];
    peer_text_clean(text, sizeof text, why->text);
    return json_pack("{s:s, s:i, s:s}", "type", "refused", "code", why->code, "text", text);
}

/* Another node's exit code, if it is one. */
static enum err_code code_of(const json_t *message)
{
    json_int_t code = json_integer_value(json_object_get(message, "code"));
    return code >= ERR_USAGE && code <= ERR_CONFIG ? (enum err_code)code : ERR_PROTOCOL;
}

int channel_judge(json_t **message, const char *type, const char *peer, struct err *e)
{
    const char *got = wire_type(*message);
    char text[400], since[16];
    if (strcmp(got, type) == 0)
        return 0;
    if (strcmp(got, "refused") == 0) {
        wire_text(*message, "text", text, sizeof text);
        err_set(e, code_of(*message), "%s: %s", peer, text);
    } else if (strcmp(got, "busy") == 0) {
        wire_text(*message, "with", text, PEER_TEXT_BYTES);
        wire_text(*message, "since", since, sizeof since);
        err_set(e, ERR_UNAVAILABLE, "%s is busy with %s since %s UTC", peer, text, since);
    } else {
        peer_text_clean(text, 40, got);
        err_set(e, ERR_PROTOCOL, "%s sent '%s' where '%s' was expected", peer, text, type);
    }
    json_decref(*message);
    *message = NULL;
    return -1;
}

int channel_receive(struct channel *channel, const char *type, json_t **message, uint64_t deadline_ns, struct err *e)
{
    unsigned char bytes[4096];
    for (;;) {
        if (wire_take(&channel->wire, message, e))
            return err_context(e, "%s", channel->peer);
        if (*message)
            return channel_judge(message, type, channel->peer, e);
        size_t got;
        enum tls_result r = tls_read(&channel->tls, bytes, sizeof bytes, &got, e);
        if (r == TLS_OK && wire_put(&channel->wire, bytes, got, e))
            return -1;
        if (r == TLS_END)
            return err_set(e, ERR_PEER_LOST, "%s closed the connection", channel->peer);
        if (r == TLS_FAILED || (r != TLS_OK && wait_for(channel, r, deadline_ns, e)))
            return -1;
    }
}

void channel_close(struct channel *channel)
{
    if (channel->tls.ssl)
        tls_close(&channel->tls);
    wire_fini(&channel->wire);
}
