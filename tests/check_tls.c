/*
 * tests/check_tls.c - what the control connection accepts: TLS 1.3 with the shared key, and nothing else.
 *
 * One end is ours, the other is OpenSSL as somebody else would set it up: without the key, with another, with an older
 * version, with a certificate instead. Both ends run in turns over a pair of sockets.
 */
#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "comm/tls.h"

static const unsigned char key[CRYPTO_KEY_BYTES] = "thirty-two bytes that both know.";
static struct tls_context client_context, server_context;
static int fd[2];
static struct tls ours, theirs;

static void open_sockets(void)
{
    struct err e;
    signal(SIGPIPE, SIG_IGN);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd), 0);
    ck_assert_int_eq(tls_context_open(&client_context, false, &e), 0);
    ck_assert_int_eq(tls_context_open(&server_context, true, &e), 0);
}

static void close_sockets(void)
{
    if (ours.ssl)
        tls_close(&ours);
    if (theirs.ssl)
        tls_close(&theirs);
    tls_context_close(&client_context);
    tls_context_close(&server_context);
}

static int find(void *ctx, const char *identity, unsigned char found[static CRYPTO_KEY_BYTES])
{
    (void)ctx;
    if (strcmp(identity, "laptopa") != 0)
        return -1;
    memcpy(found, key, CRYPTO_KEY_BYTES);
    return 0;
}

static bool goes_on(enum tls_result r)
{
    return r == TLS_WANT_READ || r == TLS_WANT_WRITE;
}

/* Both ends ours. */
static void shake_ours(const char *identity, const unsigned char *with, enum tls_result *client,
                       enum tls_result *server, struct err *client_err, struct err *server_err)
{
    ck_assert_int_eq(tls_connect(&ours, &client_context, fd[0], "laptopb", identity, with, client_err), 0);
    ck_assert_int_eq(tls_accept(&theirs, &server_context, fd[1], "laptopa", find, NULL, server_err), 0);
    *client = *server = TLS_WANT_READ;
    for (int i = 0; i < 100 && (goes_on(*client) || goes_on(*server)); i++) {
        if (goes_on(*client))
            *client = tls_handshake(&ours, client_err);
        if (goes_on(*server))
            *server = tls_handshake(&theirs, server_err);
    }
}

START_TEST(the_shared_key_opens)
{
    enum tls_result client, server;
    struct err ce, se;
    shake_ours("laptopa", key, &client, &server, &ce, &se);
    ck_assert_int_eq(client, TLS_OK);
    ck_assert_int_eq(server, TLS_OK);
    ck_assert_str_eq(SSL_get_version(ours.ssl), "TLSv1.3");
    ck_assert(SSL_session_reused(ours.ssl) && SSL_session_reused(theirs.ssl));
    static const unsigned char wiped[CRYPTO_KEY_BYTES];
    ck_assert_mem_eq(ours.key, wiped, sizeof wiped);

    unsigned char a[CRYPTO_KEY_BYTES], b[CRYPTO_KEY_BYTES], other[CRYPTO_KEY_BYTES];
    ck_assert_int_eq(tls_export(&ours, "EXPORTER-one", a, &ce), 0);
    ck_assert_int_eq(tls_export(&theirs, "EXPORTER-one", b, &se), 0);
    ck_assert_int_eq(tls_export(&theirs, "EXPORTER-two", other, &se), 0);
    ck_assert_mem_eq(a, b, sizeof a);
    ck_assert_mem_ne(a, other, sizeof a);

    char text[16];
    size_t n;
    ck_assert_int_eq(tls_write(&ours, "hello", 5, &n, &ce), TLS_OK);
    ck_assert_int_eq(tls_read(&theirs, text, sizeof text, &n, &se), TLS_OK);
    ck_assert(n == 5 && memcmp(text, "hello", 5) == 0);
    ck_assert_int_eq(tls_read(&theirs, text, sizeof text, &n, &se), TLS_WANT_READ);
    tls_close(&ours);
    ck_assert_int_eq(tls_read(&theirs, text, sizeof text, &n, &se), TLS_END);
}
END_TEST

START_TEST(another_key_and_an_unknown_name)
{
    unsigned char wrong[CRYPTO_KEY_BYTES];
    memcpy(wrong, key, sizeof wrong);
    wrong[0] ^= 1;
    const struct {
        const char *identity;
        const unsigned char *key;
    } cases[] = {{"laptopa", wrong}, {"laptopx", key}};
    for (int i = 0; i < 2; i++) {
        enum tls_result client, server;
        struct err ce = {0}, se = {0};
        shake_ours(cases[i].identity, cases[i].key, &client, &server, &ce, &se);
        ck_assert_int_eq(client, TLS_FAILED);
        ck_assert_int_eq(server, TLS_FAILED);
        ck_assert_msg(ce.code == ERR_NOT_PAIRED && strstr(ce.text, "laptopb"), "%s", ce.text);
        ck_assert_int_eq(se.code, ERR_NOT_PAIRED);
        tls_close(&ours);
        tls_close(&theirs);
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd), 0);
    }
    close(fd[0]);
    close(fd[1]);
}
END_TEST

/* A byte changed on the way is damage, not data. */
START_TEST(tampering_is_noticed)
{
    enum tls_result client, server;
    struct err ce, se;
    char text[64];
    size_t n;
    shake_ours("laptopa", key, &client, &server, &ce, &se);
    ck_assert_int_eq(tls_write(&ours, "hello", 5, &n, &ce), TLS_OK);
    ssize_t got = recv(fd[1], text, sizeof text, 0);
    ck_assert_int_gt(got, 10);
    text[got - 1] ^= 1;
    ck_assert_int_eq(send(fd[0], text, (size_t)got, 0), got);
    ck_assert_int_eq(tls_read(&theirs, text, sizeof text, &n, &se), TLS_FAILED);
    ck_assert_int_eq(se.code, ERR_PROTOCOL);
}
END_TEST

/* ---- OpenSSL as others set it up ---- */

static unsigned int old_psk(SSL *ssl, const char *hint, char *identity, unsigned int identity_max, unsigned char *psk,
                            unsigned int psk_max)
{
    (void)ssl;
    (void)hint;
    ck_assert(identity_max > 8 && psk_max >= CRYPTO_KEY_BYTES);
    strcpy(identity, "laptopa");
    memcpy(psk, key, CRYPTO_KEY_BYTES);
    return CRYPTO_KEY_BYTES;
}

/* Steps a foreign end and ours until ours has decided. */
static enum tls_result against(SSL *foreign, struct tls *own, struct err *e)
{
    enum tls_result r = TLS_WANT_READ;
    for (int i = 0; i < 100 && goes_on(r); i++) {
        SSL_do_handshake(foreign);
        ERR_clear_error();
        r = tls_handshake(own, e);
    }
    return r;
}

static void foreign_client(SSL_CTX *ctx)
{
    struct err e = {0};
    SSL *ssl = SSL_new(ctx);
    ck_assert(ssl && SSL_set_fd(ssl, fd[0]));
    SSL_set_connect_state(ssl);
    ck_assert_int_eq(tls_accept(&theirs, &server_context, fd[1], "somebody", find, NULL, &e), 0);
    ck_assert_int_eq(against(ssl, &theirs, &e), TLS_FAILED);
    ck_assert_msg(e.code == ERR_NOT_PAIRED, "%d: %s", e.code, e.text);
    SSL_free(ssl);
    SSL_CTX_free(ctx);
    close(fd[0]);
}

START_TEST(a_client_without_a_key)
{
    foreign_client(SSL_CTX_new(TLS_client_method()));
}
END_TEST

/* The right key in TLS 1.2's way. */
START_TEST(a_client_of_an_older_version)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    ck_assert(SSL_CTX_set_max_proto_version(ctx, TLS1_2_VERSION) && SSL_CTX_set_cipher_list(ctx, "PSK"));
    SSL_CTX_set_psk_client_callback(ctx, old_psk);
    foreign_client(ctx);
}
END_TEST

static SSL_CTX *server_with_certificate(void)
{
    EVP_PKEY *pair = EVP_EC_gen("P-256");
    X509 *x = X509_new();
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    ck_assert(pair && x && ctx && X509_set_version(x, X509_VERSION_3) &&
              ASN1_INTEGER_set(X509_get_serialNumber(x), 1) && X509_gmtime_adj(X509_getm_notBefore(x), 0) &&
              X509_gmtime_adj(X509_getm_notAfter(x), 3600) && X509_set_pubkey(x, pair) &&
              X509_sign(x, pair, EVP_sha256()));
    ck_assert(SSL_CTX_use_certificate(ctx, x) == 1 && SSL_CTX_use_PrivateKey(ctx, pair) == 1);
    X509_free(x);
    EVP_PKEY_free(pair);
    return ctx;
}

/* It does not know the key, and shows a certificate instead: nothing to fall back to. */
START_TEST(a_server_with_a_certificate)
{
    struct err e = {0};
    SSL_CTX *ctx = server_with_certificate();
    SSL *ssl = SSL_new(ctx);
    ck_assert(ssl && SSL_set_fd(ssl, fd[1]));
    SSL_set_accept_state(ssl);
    ck_assert_int_eq(tls_connect(&ours, &client_context, fd[0], "laptopb", "laptopa", key, &e), 0);
    ck_assert_int_eq(against(ssl, &ours, &e), TLS_FAILED);
    ck_assert_msg(e.code == ERR_NOT_PAIRED && strstr(e.text, "laptopb"), "%d: %s", e.code, e.text);
    SSL_free(ssl);
    SSL_CTX_free(ctx);
    close(fd[1]);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("tls");
    TCase *t = tcase_create("tls");
    tcase_add_checked_fixture(t, open_sockets, close_sockets);
    tcase_add_test(t, the_shared_key_opens);
    tcase_add_test(t, another_key_and_an_unknown_name);
    tcase_add_test(t, tampering_is_noticed);
    tcase_add_test(t, a_client_without_a_key);
    tcase_add_test(t, a_client_of_an_older_version);
    tcase_add_test(t, a_server_with_a_certificate);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
