/* comm/greeting.c - see greeting.h. */
#include "comm/greeting.h"

#include <stdio.h>
#include <string.h>

static const unsigned char magic[4] = {'D', 'D', 'P', 'B'};
static const unsigned char tail[4] = {'\r', '\n', '\r', '\n'}; /* ends the request of a server that reads lines */

enum { FLAG_PAIRING = 1 };

static void put16(unsigned char *p, uint16_t x)
{
    p[0] = (unsigned char)x;
    p[1] = (unsigned char)(x >> 8);
}

static uint16_t get16(const unsigned char *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static void put_head(unsigned char *out, struct greeting_protocols protocols)
{
    memcpy(out, magic, sizeof magic);
    put16(out + 4, protocols.low);
    put16(out + 6, protocols.high);
}

static struct greeting_protocols get_protocols(const unsigned char *in)
{
    return (struct greeting_protocols){get16(in + 4), get16(in + 6)};
}

void greeting_encode_intro(unsigned char out[static GREETING_INTRO_BYTES], const struct greeting_intro *intro)
{
    memset(out, 0, GREETING_INTRO_BYTES);
    put_head(out, intro->protocols);
    out[8] = intro->kind;
    memcpy(out + 12, intro->node, sizeof intro->node);
    memcpy(out + 28, tail, sizeof tail);
}

void greeting_encode(unsigned char out[static GREETING_BYTES], const struct greeting *greeting)
{
    memset(out, 0, GREETING_BYTES);
    put_head(out, greeting->protocols);
    out[8] = greeting->pairing ? FLAG_PAIRING : 0;
    memcpy(out + 12, greeting->node, sizeof greeting->node);
    memcpy(out + 28, greeting->nonce, sizeof greeting->nonce);
    memcpy(out + 44, greeting->salt, sizeof greeting->salt);
}

bool greeting_plausible(const unsigned char *bytes, size_t n)
{
    return memcmp(bytes, magic, n < sizeof magic ? n : sizeof magic) == 0;
}

int greeting_decode_intro(const unsigned char in[static GREETING_INTRO_BYTES], struct greeting_intro *intro,
                          struct err *e)
{
    if (!greeting_plausible(in, GREETING_INTRO_BYTES) || memcmp(in + 28, tail, sizeof tail) != 0)
        return err_set(e, ERR_PROTOCOL, "a connection that does not speak this program's protocol");
    intro->protocols = get_protocols(in);
    intro->kind = in[8];
    memcpy(intro->node, in + 12, sizeof intro->node);
    return 0;
}

int greeting_decode(const unsigned char in[static GREETING_BYTES], struct greeting *greeting, const char *peer,
                    struct err *e)
{
    if (!greeting_plausible(in, GREETING_BYTES))
        return err_set(e, ERR_PROTOCOL, "what answers at %s is no bench peer: it speaks another protocol", peer);
    greeting->protocols = get_protocols(in);
    greeting->pairing = in[8] & FLAG_PAIRING;
    memcpy(greeting->node, in + 12, sizeof greeting->node);
    memcpy(greeting->nonce, in + 28, sizeof greeting->nonce);
    memcpy(greeting->salt, in + 44, sizeof greeting->salt);
    return 0;
}

static const char *range(char *text, size_t size, struct greeting_protocols p)
{
    snprintf(text, size, p.low == p.high ? "%u" : "%u to %u", p.low, p.high);
    return text;
}

int greeting_agree(struct greeting_protocols own, struct greeting_protocols other, const char *peer, struct err *e)
{
    char here[24], there[24];
    if (own.low <= other.high && other.low <= own.high && other.low <= other.high)
        return 0;
    return err_set(e, ERR_PROTOCOL, "protocol version %s here, %s on %s: update the program on %s",
                   range(here, sizeof here, own), range(there, sizeof there, other), peer,
                   own.low > other.high ? peer : "this host");
}

int greeting_key(unsigned char out[static CRYPTO_KEY_BYTES], const unsigned char root[static CRYPTO_KEY_BYTES],
                 const unsigned char intro[static GREETING_INTRO_BYTES],
                 const unsigned char greeting[static GREETING_BYTES], struct err *e)
{
    unsigned char both[GREETING_INTRO_BYTES + GREETING_BYTES];
    memcpy(both, intro, GREETING_INTRO_BYTES);
    memcpy(both + GREETING_INTRO_BYTES, greeting, GREETING_BYTES);
    return crypto_derive(out, root, "ddpbench connection 1", both, sizeof both, e);
}
