/*
 * tests/fuzz/peers.c - fuzzer for what other machines and command lines say: control messages, greetings, a data socket's
 * hello, lists of peers, codes, names.
 *
 * The first byte of an input, modulo 6, says which. Whatever the bytes are, a reader refuses with ERR_PROTOCOL or
 * ERR_USAGE and a sentence, or delivers something that keeps its promises; no memory is taken because a length says so.
 *
 *     clang -std=gnu11 -g -O1 -fsanitize=fuzzer,address,undefined -I. -Ibuild tests/fuzz/peers.c comm/wire.c \
 *         comm/greeting.c comm/datalink.c comm/peer_list.c comm/peer_text.c comm/code.c comm/crypto.c comm/wait.c \
 *         comm/link_order.c base/err.c base/json.c -ljansson -lcrypto -o fuzz-peers
 *     mkdir -p found && ./fuzz-peers -max_len=4000 found tests/fuzz/corpus-peers
 *
 * `make check` replays the corpus and near misses of it through tests/fuzz/replay.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/code.h"
#include "comm/datalink.h"
#include "comm/greeting.h"
#include "comm/link_order.h"
#include "comm/peer_list.h"
#include "comm/peer_text.h"
#include "comm/wire.h"
#include "tests/fuzz/fuzz.h"

static void require(int kept, const char *what)
{
    if (!kept) {
        fprintf(stderr, "fuzz: not so: %s\n", what);
        abort();
    }
}

static void require_clean(const char *text, size_t size)
{
    require(strlen(text) < size, "a text has its end");
    for (const char *c = text; *c; c++)
        require((unsigned char)*c >= 0x20 && *c != 0x7f, "no control character is left");
}

/* What a message says about a link is within bounds, or refused. */
static void link_messages(const json_t *message)
{
    struct link_order order = {.kind = LINK_STREAM}, read;
    struct link_result result;
    struct err e = {0};
    if (link_order_read(&read, message, &e) == 0) {
        require(read.bytes <= LINK_BYTES_MAX && read.repeats >= 0 && read.repeats <= LINK_REPEATS_MAX,
                "an order is small");
        require(read.warmup_s >= 0 && read.window_s <= LINK_WINDOW_MAX_S && read.threads[1] <= LINK_THREADS_MAX,
                "and short");
    } else {
        require(e.code == ERR_PROTOCOL, "a bad order is an error of the protocol");
    }
    if (link_result_read(&result, &order, message, &e) == 0) {
        require(result.n <= LINK_REPEATS_MAX, "an answer has no more times than can be");
        for (int i = 0; i < result.n; i++)
            require(result.time_s[i] >= 0, "a time is none below 0");
        link_result_fini(&result);
    } else {
        require(!result.time_s, "a refused answer holds nothing");
    }
}

/* In two pieces, as a network cuts them. */
static void messages(const uint8_t *bytes, size_t n)
{
    struct wire wire = {0};
    struct err e = {0};
    json_t *message;
    char text[PEER_TEXT_BYTES];
    int result = wire_put(&wire, bytes, n / 2, &e);
    for (int half = 0; half < 2 && result == 0; half++) {
        while ((result = wire_take(&wire, &message, &e)) == 0 && message) {
            require(json_is_object(message), "a message is an object");
            wire_text(message, "text", text, sizeof text);
            require_clean(text, sizeof text);
            link_messages(message);
            json_decref(message);
        }
        if (half == 0 && result == 0)
            result = wire_put(&wire, bytes + n / 2, n - n / 2, &e);
    }
    require(result == 0 || e.code == ERR_PROTOCOL, "a bad message is an error of the protocol");
    require(wire.capacity <= 2 * n + 8, "memory follows the bytes, not the length");
    wire_fini(&wire);
}

static void greetings(const uint8_t *bytes, size_t n)
{
    unsigned char in[GREETING_BYTES] = {0}, out[GREETING_BYTES], intro_out[GREETING_INTRO_BYTES];
    struct greeting greeting;
    struct greeting_intro intro;
    struct err e;
    memcpy(in, bytes, n < sizeof in ? n : sizeof in);
    if (greeting_decode(in, &greeting, "peer", &e) == 0) {
        require(greeting_plausible(in, sizeof in), "what is decoded was plausible");
        greeting_encode(out, &greeting);
        require(memcmp(in, out, 8) == 0 && memcmp(in + 12, out + 12, 48) == 0, "a greeting comes back as it was");
        greeting_agree((struct greeting_protocols){1, 1}, greeting.protocols, "peer", &e);
    }
    if (greeting_decode_intro(in, &intro, &e) == 0) {
        greeting_encode_intro(intro_out, &intro);
        require(memcmp(in, intro_out, 9) == 0 && memcmp(in + 12, intro_out + 12, 20) == 0, "so does an intro");
    }
}

/* Nobody without the key gets in. */
static void data_hello(const uint8_t *bytes, size_t n)
{
    static const unsigned char intro[GREETING_INTRO_BYTES], greeting[GREETING_BYTES];
    unsigned char hello[DATALINK_HELLO_BYTES] = {0};
    struct datalink link = {.direction = DATALINK_OUT, .key = "not known to whoever made this.."};
    struct rendezvous r;
    struct err e;
    memcpy(hello, bytes, n < sizeof hello ? n : sizeof hello);
    require(rendezvous_init(&r, &e) == 0 && rendezvous_expect(&r, &link, &e) == 0, "there is a rendezvous");
    require(rendezvous_offer(&r, -1, intro, greeting, hello, &e) == -1 && e.code == ERR_NOT_PAIRED,
            "a stranger is refused");
    rendezvous_fini(&r);
}

static void texts(int kind, const uint8_t *bytes, size_t n)
{
    static struct peer_list list;
    char *text = malloc(n + 1), clean[PEER_TEXT_BYTES], code[CODE_TEXT_BYTES], again[CODE_TEXT_BYTES];
    struct err e = {0};
    require(text != NULL, "there is memory");
    memcpy(text, bytes, n);
    text[n] = '\0';
    if (kind == 3) {
        int result = peer_list_parse(&list, text, true, &e);
        require(result == 0 || e.code == ERR_USAGE, "a bad list is an error of usage");
        require_clean(e.text, sizeof e.text);
        for (int i = 0; result == 0 && i < list.n; i++)
            require(*list.peer[i].host && list.peer[i].host[0] != '-' && list.peer[i].port > 0, "a peer is one");
    } else if (kind == 4) {
        if (code_normalize(code, text) == 0)
            require(code_normalize(again, code) == 0 && strcmp(code, again) == 0, "one spelling");
    } else {
        peer_text_clean(clean, sizeof clean, text);
        require_clean(clean, sizeof clean);
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (n == 0)
        return 0;
    int kind = bytes[0] % 6;
    if (kind == 0)
        messages(bytes + 1, n - 1);
    else if (kind == 1)
        greetings(bytes + 1, n - 1);
    else if (kind == 2)
        data_hello(bytes + 1, n - 1);
    else
        texts(kind, bytes + 1, n - 1);
    return 0;
}
