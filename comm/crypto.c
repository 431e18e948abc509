/* comm/crypto.c - see crypto.h. */
#include "comm/crypto.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

enum {
    SCRYPT_N = 1 << 16,
    SCRYPT_R = 8,
    SCRYPT_P = 1,
    /* 128 r (N + p) bytes and a little; the library's own limit is below that. */
    SCRYPT_MEMORY_BYTES = 80 << 20,
    PROOF_BYTES_MAX = 1024,
};

int crypto_random(void *out, size_t bytes, struct err *e)
{
    unsigned char *to = out;
    while (bytes > 0) {
        ssize_t n = getrandom(to, bytes, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return err_set(e, ERR_CONFIG, "the system gives no random bytes: %m");
        to += n;
        bytes -= (size_t)n;
    }
    return 0;
}

int crypto_derive(unsigned char out[static CRYPTO_KEY_BYTES], const unsigned char key[static CRYPTO_KEY_BYTES],
                  const char *label, const void *context, size_t bytes, struct err *e)
{
    EVP_KDF *kdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
    EVP_KDF_CTX *ctx = kdf ? EVP_KDF_CTX_new(kdf) : NULL;
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, (char *)"SHA256", 0),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)key, CRYPTO_KEY_BYTES),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, (void *)label, strlen(label)),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, (void *)context, bytes),
        OSSL_PARAM_construct_end(),
    };
    bool ok = ctx && EVP_KDF_derive(ctx, out, CRYPTO_KEY_BYTES, params) == 1;
    EVP_KDF_CTX_free(ctx);
    EVP_KDF_free(kdf);
    return ok ? 0 : err_set(e, ERR_CONFIG, "this OpenSSL cannot derive a key (HKDF with SHA-256)");
}

int crypto_prove(unsigned char out[static CRYPTO_KEY_BYTES], const unsigned char key[static CRYPTO_KEY_BYTES],
                 const char *label, const void *data, size_t bytes, struct err *e)
{
    unsigned char text[PROOF_BYTES_MAX];
    size_t n = strlen(label) + 1, made = 0;
    if (n + bytes > sizeof text)
        return err_set(e, ERR_CONFIG, "%zu bytes are too many to prove", bytes);
    memcpy(text, label, n);
    memcpy(text + n, data, bytes);
    if (!EVP_Q_mac(NULL, "HMAC", NULL, "SHA256", NULL, key, CRYPTO_KEY_BYTES, text, n + bytes, out, CRYPTO_KEY_BYTES,
                   &made) ||
        made != CRYPTO_KEY_BYTES)
        return err_set(e, ERR_CONFIG, "this OpenSSL cannot make an HMAC with SHA-256");
    return 0;
}

int crypto_digest(unsigned char out[static CRYPTO_KEY_BYTES], const struct crypto_piece *pieces, int n, struct err *e)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool ok = ctx && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL);
    for (int i = 0; i < n && ok; i++)
        ok = EVP_DigestUpdate(ctx, pieces[i].data, pieces[i].bytes);
    ok = ok && EVP_DigestFinal_ex(ctx, out, NULL);
    EVP_MD_CTX_free(ctx);
    return ok ? 0 : err_set(e, ERR_CONFIG, "this OpenSSL cannot compute SHA-256");
}

int crypto_stretch(unsigned char out[static CRYPTO_KEY_BYTES], const char *secret, const void *salt, size_t bytes,
                   struct err *e)
{
    if (EVP_PBE_scrypt(secret, strlen(secret), salt, bytes, SCRYPT_N, SCRYPT_R, SCRYPT_P, SCRYPT_MEMORY_BYTES, out,
                       CRYPTO_KEY_BYTES) != 1)
        return err_set(e, ERR_MEMORY, "scrypt failed: it needs 64 MiB of memory");
    return 0;
}

bool crypto_equal(const void *a, const void *b, size_t bytes)
{
    return CRYPTO_memcmp(a, b, bytes) == 0;
}

void crypto_wipe(void *p, size_t bytes)
{
    OPENSSL_cleanse(p, bytes);
}

void crypto_hex(char *out, const void *in, size_t bytes)
{
    const unsigned char *from = in;
    for (size_t i = 0; i < bytes; i++) {
        *out++ = "0123456789abcdef"[from[i] >> 4];
        *out++ = "0123456789abcdef"[from[i] & 15];
    }
    *out = '\0';
}

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

int crypto_unhex(void *out, size_t bytes, const char *text)
{
    unsigned char *to = out;
    for (size_t i = 0; i < bytes; i++) {
        int high = digit(text[2 * i]), low = high < 0 ? -1 : digit(text[2 * i + 1]);
        if (low < 0)
            return -1;
        to[i] = (unsigned char)(high << 4 | low);
    }
    return text[2 * bytes] ? -1 : 0;
}
