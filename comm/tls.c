/*
 * comm/tls.c - see tls.h. Start at tls_context_open(), which says what is allowed, then offer_key() and find_key(), the
 * two places where a key enters a handshake.
 */
#include "comm/tls.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

static const char suites[] = "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256";
static const unsigned char first_suite[2] = {0x13, 0x01}; /* TLS_AES_128_GCM_SHA256: ties the key to SHA-256 */

/* The key as the session that libssl resumes from; NULL if memory is out. */
static SSL_SESSION *session_of(SSL *ssl, const unsigned char *key)
{
    SSL_SESSION *session = SSL_SESSION_new();
    const SSL_CIPHER *suite = SSL_CIPHER_find(ssl, first_suite);
    if (session && suite && SSL_SESSION_set1_master_key(session, key, CRYPTO_KEY_BYTES) &&
        SSL_SESSION_set_cipher(session, suite) && SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION))
        return session;
    SSL_SESSION_free(session);
    return NULL;
}

static int offer_key(SSL *ssl, const EVP_MD *md, const unsigned char **identity, size_t *bytes, SSL_SESSION **session)
{
    struct tls *tls = SSL_get_app_data(ssl);
    (void)md; /* after a retry it is SHA-256 too, since no suite uses another hash */
    *session = session_of(ssl, tls->key);
    *identity = (const unsigned char *)tls->identity;
    *bytes = strlen(tls->identity);
    return *session != NULL;
}

static int find_key(SSL *ssl, const unsigned char *identity, size_t bytes, SSL_SESSION **session)
{
    struct tls *tls = SSL_get_app_data(ssl);
    char name[TLS_IDENTITY_BYTES];
    unsigned char key[CRYPTO_KEY_BYTES];
    *session = NULL;
    if (bytes == 0 || bytes >= sizeof name || memchr(identity, '\0', bytes))
        return 1; /* unknown: the handshake fails for want of anything else */
    memcpy(name, identity, bytes);
    name[bytes] = '\0';
    if (tls->find(tls->find_ctx, name, key) == 0)
        *session = session_of(ssl, key);
    crypto_wipe(key, sizeof key);
    return 1;
}

int tls_context_open(struct tls_context *context, bool server, struct err *e)
{
    SSL_CTX *ctx = SSL_CTX_new(server ? TLS_server_method() : TLS_client_method());
    *context = (struct tls_context){ctx, server};
    if (!ctx || !SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION) ||
        !SSL_CTX_set_max_proto_version(ctx, TLS1_3_VERSION) || !SSL_CTX_set_ciphersuites(ctx, suites) ||
        !SSL_CTX_set1_groups_list(ctx, "X25519:P-256") || !SSL_CTX_set_num_tickets(ctx, 0) ||
        !SSL_CTX_set_max_early_data(ctx, 0)) {
        ERR_clear_error();
        tls_context_close(context);
        return err_set(e, ERR_CONFIG, "this OpenSSL cannot do TLS 1.3 with the suites %s", suites);
    }
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_mode(ctx,
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    if (server) {
        SSL_CTX_set_psk_find_session_callback(ctx, find_key);
    } else {
        SSL_CTX_set_psk_use_session_callback(ctx, offer_key);
        SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL); /* should a certificate be offered, nobody vouches for it */
    }
    return 0;
}

void tls_context_for_stream(struct tls_context *context)
{
    SSL_CTX_clear_mode(context->ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_AUTO_RETRY);
}

void tls_context_close(struct tls_context *context)
{
    SSL_CTX_free(context->ctx);
    context->ctx = NULL;
}

/* ---- buffers in place of a socket ---- */

static int take_in(BIO *bio, char *data, size_t bytes, size_t *got)
{
    struct tls *tls = BIO_get_data(bio);
    struct tls_buffer *in = tls->in;
    size_t n = in->end - in->at < bytes ? in->end - in->at : bytes;
    BIO_clear_retry_flags(bio);
    memcpy(data, in->data + in->at, n);
    in->at += n;
    *got = n;
    if (n == 0 && !tls->in_ended)
        BIO_set_retry_read(bio);
    return n > 0;
}

static int put_out(BIO *bio, const char *data, size_t bytes, size_t *put)
{
    struct tls *tls = BIO_get_data(bio);
    struct tls_buffer *out = tls->out;
    size_t n = out->size - out->end < bytes ? out->size - out->end : bytes;
    BIO_clear_retry_flags(bio);
    memcpy(out->data + out->end, data, n);
    out->end += n;
    *put = n;
    if (n == 0)
        BIO_set_retry_write(bio);
    return n > 0;
}

static long answer_control(BIO *bio, int command, long number, void *pointer)
{
    const struct tls *tls = BIO_get_data(bio);
    (void)number;
    (void)pointer;
    if (command == BIO_CTRL_EOF)
        return tls->in_ended && tls->in->at == tls->in->end;
    return command == BIO_CTRL_FLUSH; /* nothing is held back */
}

static BIO_METHOD *buffer_method;

static void make_buffer_method(void)
{
    BIO_METHOD *m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "buffers");
    if (m && BIO_meth_set_read_ex(m, take_in) && BIO_meth_set_write_ex(m, put_out) &&
        BIO_meth_set_ctrl(m, answer_control))
        buffer_method = m;
}

static int set_buffers(struct tls *tls)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_buffer_method);
    BIO *bio = buffer_method ? BIO_new(buffer_method) : NULL;
    if (!bio)
        return 0;
    BIO_set_data(bio, tls);
    BIO_set_init(bio, 1);
    SSL_set_bio(tls->ssl, bio, bio);
    return 1;
}

/* ---- opening ---- */

static int open_on(struct tls *tls, const struct tls_context *context, int fd, const char *peer, struct err *e)
{
    struct tls_buffer *in = tls->in, *out = tls->out;
    *tls = (struct tls){.ssl = SSL_new(context->ctx), .fd = fd, .server = context->server, .in = in, .out = out};
    snprintf(tls->peer, sizeof tls->peer, "%s", peer);
    if (!tls->ssl || !(in ? set_buffers(tls) : SSL_set_fd(tls->ssl, fd))) {
        ERR_clear_error();
        tls_close(tls);
        return err_set(e, ERR_MEMORY, "no memory for a connection to %s", peer);
    }
    SSL_set_app_data(tls->ssl, tls);
    return 0;
}

static int connect_on(struct tls *tls, const struct tls_context *context, int fd, const char *peer,
                      const char *identity, const unsigned char *key, struct err *e)
{
    if (open_on(tls, context, fd, peer, e))
        return -1;
    snprintf(tls->identity, sizeof tls->identity, "%s", identity);
    memcpy(tls->key, key, sizeof tls->key);
    SSL_set_connect_state(tls->ssl);
    return 0;
}

static int accept_on(struct tls *tls, const struct tls_context *context, int fd, const char *peer, tls_find_key *find,
                     void *find_ctx, struct err *e)
{
    if (open_on(tls, context, fd, peer, e))
        return -1;
    tls->find = find;
    tls->find_ctx = find_ctx;
    SSL_set_accept_state(tls->ssl);
    return 0;
}

int tls_connect(struct tls *tls, const struct tls_context *context, int fd, const char *peer, const char *identity,
                const unsigned char key[static CRYPTO_KEY_BYTES], struct err *e)
{
    tls->in = tls->out = NULL;
    return connect_on(tls, context, fd, peer, identity, key, e);
}

int tls_accept(struct tls *tls, const struct tls_context *context, int fd, const char *peer, tls_find_key *find,
               void *find_ctx, struct err *e)
{
    tls->in = tls->out = NULL;
    return accept_on(tls, context, fd, peer, find, find_ctx, e);
}

int tls_connect_buffers(struct tls *tls, const struct tls_context *context, struct tls_buffer *in,
                        struct tls_buffer *out, const char *peer, const char *identity,
                        const unsigned char key[static CRYPTO_KEY_BYTES], struct err *e)
{
    tls->in = in;
    tls->out = out;
    return connect_on(tls, context, -1, peer, identity, key, e);
}

int tls_accept_buffers(struct tls *tls, const struct tls_context *context, struct tls_buffer *in,
                       struct tls_buffer *out, const char *peer, tls_find_key *find, void *find_ctx, struct err *e)
{
    tls->in = in;
    tls->out = out;
    return accept_on(tls, context, -1, peer, find, find_ctx, e);
}

/* What libssl's answer means. handshake: failures of the library are about keys, not about damage. */
static enum tls_result judge(struct tls *tls, int answer, bool handshake, struct err *e)
{
    int error = errno;
    switch (SSL_get_error(tls->ssl, answer)) {
    case SSL_ERROR_WANT_READ:
        return TLS_WANT_READ;
    case SSL_ERROR_WANT_WRITE:
        return TLS_WANT_WRITE;
    case SSL_ERROR_ZERO_RETURN:
        if (!handshake)
            return TLS_END;
        err_set(e, ERR_PEER_LOST, "%s closed the connection during the handshake", tls->peer);
        break;
    case SSL_ERROR_SYSCALL:
        err_set(e, ERR_PEER_LOST, "the connection to %s broke%s: %s", tls->peer,
                handshake ? " during the handshake" : "", error ? strerror(error) : "closed by the other end");
        break;
    default: {
        unsigned long code = ERR_peek_error();
        const char *reason = ERR_reason_error_string(code);
        if (ERR_GET_REASON(code) == SSL_R_UNEXPECTED_EOF_WHILE_READING)
            err_set(e, ERR_PEER_LOST, "%s closed the connection%s", tls->peer,
                    handshake ? " during the handshake" : " without a word");
        else if (handshake)
            err_set(e, ERR_NOT_PAIRED, "%s and this node do not share a key (%s)", tls->peer, reason ? reason : "TLS");
        else if (ERR_GET_REASON(code) >= SSL_AD_REASON_OFFSET) /* the other end complains */
            err_set(e, ERR_PROTOCOL, "what was sent to %s arrived damaged or was tampered with (%s)", tls->peer,
                    reason ? reason : "TLS");
        else
            err_set(e, ERR_PROTOCOL, "what %s sent is damaged or was tampered with (%s)", tls->peer,
                    reason ? reason : "TLS");
    }
    }
    ERR_clear_error();
    return TLS_FAILED;
}

enum tls_result tls_handshake(struct tls *tls, struct err *e)
{
    ERR_clear_error();
    errno = 0;
    int answer = SSL_do_handshake(tls->ssl);
    if (answer != 1)
        return judge(tls, answer, true, e);
    crypto_wipe(tls->key, sizeof tls->key);
    if (SSL_session_reused(tls->ssl) && SSL_version(tls->ssl) == TLS1_3_VERSION && !SSL_get0_peer_certificate(tls->ssl))
        return TLS_OK;
    err_set(e, ERR_NOT_PAIRED, "%s did not prove that it has the key", tls->peer);
    return TLS_FAILED;
}

void tls_move(struct tls *to, struct tls *from)
{
    *to = *from;
    SSL_set_app_data(to->ssl, to);
    crypto_wipe(from, sizeof *from);
}

enum tls_result tls_read(struct tls *tls, void *data, size_t bytes, size_t *got, struct err *e)
{
    ERR_clear_error();
    errno = 0;
    *got = 0;
    int answer = SSL_read_ex(tls->ssl, data, bytes, got);
    return answer == 1 ? TLS_OK : judge(tls, answer, false, e);
}

enum tls_result tls_write(struct tls *tls, const void *data, size_t bytes, size_t *put, struct err *e)
{
    ERR_clear_error();
    errno = 0;
    *put = 0;
    int answer = SSL_write_ex(tls->ssl, data, bytes, put);
    return answer == 1 ? TLS_OK : judge(tls, answer, false, e);
}

int tls_export(struct tls *tls, const char *label, unsigned char key[static CRYPTO_KEY_BYTES], struct err *e)
{
    if (SSL_export_keying_material(tls->ssl, key, CRYPTO_KEY_BYTES, label, strlen(label), NULL, 0, 0) == 1)
        return 0;
    ERR_clear_error();
    return err_set(e, ERR_CONFIG, "this OpenSSL exports no key");
}

size_t tls_pending_bytes(const struct tls *tls)
{
    return (size_t)SSL_pending(tls->ssl);
}

int tls_renew_key(struct tls *tls, struct err *e)
{
    if (SSL_key_update(tls->ssl, SSL_KEY_UPDATE_NOT_REQUESTED) == 1)
        return 0;
    ERR_clear_error();
    return err_set(e, ERR_CONFIG, "this OpenSSL renews no key");
}

const char *tls_suite(const struct tls *tls)
{
    return SSL_get_cipher_name(tls->ssl);
}

uint64_t tls_received_bytes(const struct tls *tls)
{
    return BIO_number_read(SSL_get_rbio(tls->ssl));
}

void tls_close(struct tls *tls)
{
    bool open = (tls->ssl && tls->fd >= 0) || tls->fd > 0;
    if (tls->ssl) {
        if (SSL_is_init_finished(tls->ssl))
            SSL_shutdown(tls->ssl); /* one way, and only if there is room for it now */
        SSL_free(tls->ssl);
        ERR_clear_error();
    }
    if (open)
        close(tls->fd);
    crypto_wipe(tls, sizeof *tls);
    tls->fd = -1;
}
