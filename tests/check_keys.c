/*
 * tests/check_keys.c - what keys are made of and kept in: derivations, one-time codes, the key store, key files; and the
 * bytes of greetings and control messages.
 */
#include <check.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "comm/code.h"
#include "comm/greeting.h"
#include "comm/keystore.h"
#include "comm/wire.h"
#include "tests/scratch.h"

static void expect_hex(const unsigned char *got, const char *expected)
{
    char hex[2 * CRYPTO_KEY_BYTES + 1];
    crypto_hex(hex, got, CRYPTO_KEY_BYTES);
    ck_assert_str_eq(hex, expected);
}

/* Expected values: Python's hmac and hashlib with the formulas of RFC 5869 and RFC 7914, key 00 01 .. 1f. */
START_TEST(derivations)
{
    unsigned char key[CRYPTO_KEY_BYTES], out[CRYPTO_KEY_BYTES];
    struct err e;
    for (int i = 0; i < CRYPTO_KEY_BYTES; i++)
        key[i] = (unsigned char)i;
    ck_assert_int_eq(crypto_prove(out, key, "label", "data", 4, &e), 0);
    expect_hex(out, "31c2ade211eb680eb6fb5c89ce2bd31f2207cb1ad558af5b4e0f1c5748b73bc8");
    ck_assert_int_eq(crypto_derive(out, key, "label", "context", 7, &e), 0);
    expect_hex(out, "c549d26a47b5543a762a83a0c8e01670d8f4da3d9ecbcfc8329ff88d36f9cc6d");
    ck_assert_int_eq(crypto_stretch(out, "k7qm-2xpr-9wtd", key, 16, &e), 0);
    expect_hex(out, "84821a78def6ced85740be7071ea14e167381d46124f031614261fc29201cd2d");
}
END_TEST

START_TEST(hexadecimal)
{
    unsigned char b[2] = {0};
    char hex[5];
    ck_assert_int_eq(crypto_unhex(b, 2, "0aFf"), 0);
    ck_assert(b[0] == 0x0a && b[1] == 0xff);
    crypto_hex(hex, b, 2);
    ck_assert_str_eq(hex, "0aff");
    const char *const wrong[] = {"", "0", "0af", "0aff0", "0aff ", "0xff", "0agf", " aff", NULL};
    for (int i = 0; wrong[i]; i++)
        ck_assert_int_eq(crypto_unhex(b, 2, wrong[i]), -1);
}
END_TEST

/* ---- codes ---- */

START_TEST(codes_as_people_type_them)
{
    char code[CODE_TEXT_BYTES];
    const char *const same[] = {"k7qm-2xp0-9wt1", "K7QM2XP09WT1", " k7qm 2xp0 9wt1\n",
                                "k7-qm2xpo-9wtl", "k7qm2xpO9wti", NULL};
    for (int i = 0; same[i]; i++) {
        ck_assert_int_eq(code_normalize(code, same[i]), 0);
        ck_assert_str_eq(code, "k7qm-2xp0-9wt1");
    }
    const char *const none[] = {
        "", "k7qm-2xp0-9wt", "k7qm-2xp0-9wt11", "k7qm-2xp0-9wtu", "k7qm_2xp0_9wt1", "k7qm-2xp0-9wt\xc3\xa4", NULL};
    for (int i = 0; none[i]; i++)
        ck_assert_int_eq(code_normalize(code, none[i]), -1);
}
END_TEST

START_TEST(codes_end_after_five_tries_or_ten_minutes)
{
    struct code code = {0}, other = {0};
    unsigned char key[CRYPTO_KEY_BYTES];
    struct err e;
    ck_assert(!code_valid(&code));
    ck_assert_int_eq(code_init(&code, &e), 0);
    ck_assert_int_eq(code_init(&other, &e), 0);
    ck_assert(strcmp(code.text, other.text) != 0);
    char normal[CODE_TEXT_BYTES];
    ck_assert_int_eq(code_normalize(normal, code.text), 0);
    ck_assert_str_eq(normal, code.text); /* its spelling is the one that is compared */
    ck_assert_int_eq(code_key(key, normal, code.salt, &e), 0);
    ck_assert(crypto_equal(key, code.key, sizeof key));

    uint64_t minutes = (code.until_ns - clock_now_ns() + 30000000000u) / 60000000000u;
    ck_assert_uint_eq(minutes, 10);
    for (int i = 0; i < 4; i++) {
        code_count_try(&code);
        ck_assert(code_valid(&code));
    }
    code_count_try(&code);
    ck_assert(!code_valid(&code));
    other.until_ns = clock_now_ns();
    ck_assert(!code_valid(&other));
    static const struct code wiped;
    ck_assert_mem_eq(other.key, wiped.key, sizeof wiped.key);
}
END_TEST

/* ---- the key store ---- */

static struct keystore store;

static void open_store(void)
{
    struct err e;
    scratch_open();
    ck_assert_msg(keystore_open(&store, scratch_path("state"), &e) == 0, "%s", e.text);
}

static void close_store(void)
{
    char command[PATH_MAX];
    snprintf(command, sizeof command, "rm -rf '%s'", store.folder);
    ck_assert_int_eq(system(command), 0);
    scratch_close();
}

static mode_t mode_of(const char *path)
{
    struct stat st;
    ck_assert_int_eq(stat(path, &st), 0);
    return st.st_mode & 07777;
}

/* A home on a file server is that of several nodes. */
START_TEST(machines_that_share_a_home_have_numbers_of_their_own)
{
    const unsigned char folder[GREETING_NODE_BYTES] = {1, 2, 3};
    unsigned char a[GREETING_NODE_BYTES], b[GREETING_NODE_BYTES], none[GREETING_NODE_BYTES];
    struct err e;
    memcpy(a, folder, sizeof a);
    memcpy(b, folder, sizeof b);
    memcpy(none, folder, sizeof none);
    ck_assert_int_eq(keystore_number(a, "0123456789abcdef0123456789abcdef", &e), 0);
    ck_assert_int_eq(keystore_number(b, "0123456789abcdef0123456789abcdee", &e), 0);
    ck_assert_int_eq(keystore_number(none, "", &e), 0);
    ck_assert_mem_ne(a, b, sizeof a);
    ck_assert_mem_eq(none, folder, sizeof none);
    memcpy(b, folder, sizeof b);
    ck_assert_int_eq(keystore_number(b, "0123456789abcdef0123456789abcdef", &e), 0);
    ck_assert_mem_eq(a, b, sizeof a); /* the same tomorrow */
}
END_TEST

START_TEST(peers_are_kept_privately)
{
    struct keystore_peer peer = {.node = {1, 2, 3}}, found;
    struct keystore again;
    struct err e;
    memset(peer.key, 0xab, sizeof peer.key);
    keystore_add_name(&peer, "laptopb");
    keystore_add_name(&peer, "10.77.0.2");
    keystore_add_name(&peer, "LaptopB"); /* the same name */
    keystore_add_name(&peer, "\033[2J");
    ck_assert_int_eq(peer.names_n, 3);
    ck_assert_str_eq(peer.names[2], "[2J");
    mode_t mask = umask(0);
    ck_assert_int_eq(keystore_save(&store, &peer, &e), 0);
    umask(mask);

    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/peers/01020300000000000000000000000000", store.folder);
    ck_assert_uint_eq(mode_of(path), 0600);
    ck_assert_uint_eq(mode_of(store.folder), 0700);
    snprintf(path, sizeof path, "%s/node", store.folder);
    ck_assert_uint_eq(mode_of(path), 0600);

    ck_assert_int_eq(keystore_open(&again, store.folder, &e), 0);
    ck_assert_mem_eq(again.node, store.node, sizeof store.node);
    ck_assert_int_eq(keystore_find(&again, peer.node, &found, &e), 1);
    ck_assert_mem_eq(found.key, peer.key, sizeof peer.key);
    ck_assert_int_eq(keystore_find_name(&again, "LAPTOPB", &found, &e), 1);
    ck_assert_mem_eq(found.node, peer.node, sizeof peer.node);
    ck_assert_int_eq(keystore_find_name(&again, "laptopc", &found, &e), 0);
    ck_assert_int_eq(keystore_find(&again, store.node, &found, &e), 0);

    struct keystore_peer listed[2];
    ck_assert_int_eq(keystore_list(&again, listed, 2, &e), 1);
    ck_assert_int_eq(listed[0].names_n, 3);
    static const unsigned char zeros[CRYPTO_KEY_BYTES];
    ck_assert_mem_eq(listed[0].key, zeros, sizeof zeros);
    ck_assert_int_eq(keystore_forget(&again, "laptopx", &e), -1);
    ck_assert_int_eq(e.code, ERR_NO_HOST);
    ck_assert_int_eq(keystore_forget(&again, "laptopb", &e), 0);
    ck_assert_int_eq(keystore_list(&again, listed, 2, &e), 0);
}
END_TEST

START_TEST(old_names_make_room)
{
    struct keystore_peer peer = {.names_n = 0};
    char name[16];
    for (int i = 0; i <= KEYSTORE_NAMES_MAX; i++) {
        snprintf(name, sizeof name, "name%d", i);
        keystore_add_name(&peer, name);
    }
    ck_assert_int_eq(peer.names_n, KEYSTORE_NAMES_MAX);
    ck_assert_str_eq(peer.names[0], "name1");
    ck_assert_str_eq(peer.names[KEYSTORE_NAMES_MAX - 1], name);
}
END_TEST

/* A store that others can read is tightened if it is a folder, refused if it is a file. */
START_TEST(keys_that_others_can_read)
{
    struct keystore_peer peer = {.node = {7}}, found;
    struct err e;
    char path[PATH_MAX];
    ck_assert_int_eq(keystore_save(&store, &peer, &e), 0);
    snprintf(path, sizeof path, "%s/peers/07000000000000000000000000000000", store.folder);
    ck_assert_int_eq(chmod(path, 0640), 0);
    ck_assert_int_eq(keystore_find(&store, peer.node, &found, &e), -1);
    ck_assert_int_eq(e.code, ERR_NOT_PAIRED);
    ck_assert_msg(strstr(e.text, "chmod 600") != NULL, "%s", e.text);
    ck_assert_int_eq(chmod(store.folder, 0755), 0);
    ck_assert_int_eq(keystore_open(&store, scratch_path("state"), &e), 0);
    ck_assert_uint_eq(mode_of(store.folder), 0700);
}
END_TEST

/* Cut at every length: refused with its path, never taken for a shorter key. */
START_TEST(damaged_peer_files)
{
    struct keystore_peer peer = {.node = {9}}, found;
    struct err e;
    char path[PATH_MAX], text[512];
    keystore_add_name(&peer, "laptopb");
    ck_assert_int_eq(keystore_save(&store, &peer, &e), 0);
    snprintf(path, sizeof path, "%s/peers/09000000000000000000000000000000", store.folder);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    ssize_t n = read(fd, text, sizeof text);
    ck_assert_int_gt(n, 64);
    for (ssize_t cut = n - 2; cut >= 0; cut--) { /* the last byte is a newline */
        ck_assert_int_eq(ftruncate(fd, cut), 0);
        ck_assert_int_eq(keystore_find(&store, peer.node, &found, &e), -1);
        ck_assert_msg(e.code == ERR_DATA && strstr(e.text, path), "%s", e.text);
    }
    close(fd);
    ck_assert_int_eq(keystore_forget(&store, "09000000000000000000000000000000", &e), 0);
}
END_TEST

START_TEST(key_files)
{
    unsigned char key[CRYPTO_KEY_BYTES];
    struct err e;
    char digits[80];
    memset(digits, 'c', 64);
    strcpy(digits + 64, "\n");
    const char *path = scratch_write("key", digits, 65);
    ck_assert_int_eq(chmod(path, 0600), 0);
    ck_assert_msg(keystore_read_key(key, path, &e) == 0, "%s", e.text);
    ck_assert_uint_eq(key[31], 0xcc);
    static const mode_t open_modes[] = {0640, 0604, 0660, 0602, 0610};
    for (size_t i = 0; i < sizeof open_modes / sizeof *open_modes; i++) {
        ck_assert_int_eq(chmod(path, open_modes[i]), 0);
        ck_assert_int_eq(keystore_read_key(key, path, &e), -1);
        ck_assert_int_eq(e.code, ERR_NOT_PAIRED);
    }
    const char *const wrong[] = {"", "cc", digits + 1, "not a key", NULL};
    for (int i = 0; wrong[i]; i++) {
        path = scratch_write("key", wrong[i], strlen(wrong[i]));
        ck_assert_int_eq(chmod(path, 0400), 0);
        ck_assert_int_eq(keystore_read_key(key, path, &e), -1);
        ck_assert_msg(e.code == ERR_DATA && !strstr(e.text, "ccc"), "%s", e.text); /* nothing of it is shown */
        ck_assert_int_eq(unlink(path), 0);
    }
    ck_assert_int_eq(keystore_read_key(key, scratch_path("nosuchkey"), &e), -1);
    ck_assert_int_eq(e.code, ERR_NO_INPUT);

    int fd[2]; /* an inherited descriptor */
    char inherited[32];
    ck_assert_int_eq(pipe(fd), 0);
    ck_assert_int_eq(write(fd[1], digits, 65), 65);
    close(fd[1]);
    snprintf(inherited, sizeof inherited, "/dev/fd/%d", fd[0]);
    memset(key, 0, sizeof key);
    ck_assert_msg(keystore_read_key(key, inherited, &e) == 0, "%s", e.text);
    ck_assert_uint_eq(key[0], 0xcc);
    close(fd[0]);
}
END_TEST

/* ---- greetings ---- */

START_TEST(greetings_as_bytes)
{
    struct greeting_intro intro = {.protocols = {1, 0x0203}, .kind = GREETING_DATA}, intro_back;
    struct greeting g = {.protocols = {1, 2}, .pairing = true}, back;
    unsigned char bytes[GREETING_BYTES], raw[GREETING_INTRO_BYTES];
    struct err e;
    memset(intro.node, 0x11, sizeof intro.node);
    greeting_encode_intro(raw, &intro);
    static const unsigned char head[12] = {'D', 'D', 'P', 'B', 1, 0, 3, 2, 'D', 0, 0, 0};
    ck_assert_mem_eq(raw, head, sizeof head);
    ck_assert_mem_eq(raw + 28, "\r\n\r\n", 4);
    ck_assert_int_eq(greeting_decode_intro(raw, &intro_back, &e), 0);
    ck_assert_int_eq(intro_back.protocols.high, 0x0203);
    ck_assert_mem_eq(intro_back.node, intro.node, sizeof intro.node);
    raw[31] = 0;
    ck_assert_int_eq(greeting_decode_intro(raw, &intro_back, &e), -1);

    memset(g.node, 0x22, sizeof g.node);
    memset(g.nonce, 0x33, sizeof g.nonce);
    memset(g.salt, 0x44, sizeof g.salt);
    greeting_encode(bytes, &g);
    ck_assert_int_eq(greeting_decode(bytes, &back, "b", &e), 0);
    ck_assert(back.pairing);
    ck_assert_mem_eq(back.nonce, g.nonce, sizeof g.nonce);
    ck_assert_mem_eq(back.salt, g.salt, sizeof g.salt);
    ck_assert(greeting_plausible(bytes, 1));
    ck_assert(!greeting_plausible((const unsigned char *)"DDX", 3));
    ck_assert(!greeting_plausible((const unsigned char *)"H", 1));

    /* any bit of either message changes the key, so tampering only makes the handshake fail */
    unsigned char root[CRYPTO_KEY_BYTES] = {5}, key[CRYPTO_KEY_BYTES], other[CRYPTO_KEY_BYTES];
    ck_assert_int_eq(greeting_key(key, root, raw, bytes, &e), 0);
    for (int i = 0; i < GREETING_BYTES; i++) {
        bytes[i] ^= 1;
        ck_assert_int_eq(greeting_key(other, root, raw, bytes, &e), 0);
        ck_assert(!crypto_equal(key, other, sizeof key));
        bytes[i] ^= 1;
    }
    for (int i = 0; i < GREETING_INTRO_BYTES; i++) {
        raw[i] ^= 0x80;
        ck_assert_int_eq(greeting_key(other, root, raw, bytes, &e), 0);
        ck_assert(!crypto_equal(key, other, sizeof key));
        raw[i] ^= 0x80;
    }
}
END_TEST

START_TEST(protocol_ranges)
{
    struct err e;
    const struct greeting_protocols own = {2, 4};
    static const struct {
        struct greeting_protocols other;
        const char *update; /* NULL: they agree */
    } cases[] = {
        {{1, 1}, "update the program on b"},
        {{1, 2}, NULL},
        {{3, 3}, NULL},
        {{4, 9}, NULL},
        {{5, 9}, "update the program on this host"},
        {{4, 3}, "update the program on"},
        {{0, 0}, "update the program on b"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int result = greeting_agree(own, cases[i].other, "b", &e);
        ck_assert_int_eq(result, cases[i].update ? -1 : 0);
        if (result)
            ck_assert_msg(e.code == ERR_PROTOCOL && strstr(e.text, cases[i].update), "%s", e.text);
    }
}
END_TEST

/* ---- control messages ---- */

static void put_length(unsigned char *head, size_t n)
{
    for (int i = 0; i < 4; i++)
        head[i] = (unsigned char)(n >> 8 * i);
}

/* Feeds text as one message, a byte at a time if asked; returns what wire_take() said. */
static int feed(const char *text, size_t n, json_t **message, struct err *e)
{
    struct wire wire = {0};
    unsigned char head[4];
    put_length(head, n);
    ck_assert_int_eq(wire_put(&wire, head, 4, e), 0);
    int result = 0;
    *message = NULL;
    for (size_t i = 0; i < n && result == 0; i++) {
        result = wire_take(&wire, message, e);
        ck_assert_ptr_null(*message);
        if (result == 0)
            ck_assert_int_eq(wire_put(&wire, text + i, 1, e), 0);
    }
    if (result == 0)
        result = wire_take(&wire, message, e);
    wire_fini(&wire);
    return result;
}

START_TEST(messages_one_after_the_other)
{
    struct wire wire = {0};
    struct err e;
    unsigned char *bytes;
    size_t n;
    json_t *message;
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(wire_encode(json_pack("{s:s, s:i}", "type", "x", "i", i), &bytes, &n, &e), 0);
        ck_assert_int_eq(wire_put(&wire, bytes, n, &e), 0);
        free(bytes);
    }
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(wire_take(&wire, &message, &e), 0);
        ck_assert_str_eq(wire_type(message), "x");
        ck_assert_int_eq(json_integer_value(json_object_get(message, "i")), i);
        json_decref(message);
    }
    ck_assert_int_eq(wire_take(&wire, &message, &e), 0);
    ck_assert_ptr_null(message);
    wire_fini(&wire);
}
END_TEST

START_TEST(messages_that_are_none)
{
    struct err e;
    json_t *message;
    const char *const wrong[] = {"x",
                                 "[]",
                                 "{}",
                                 "{\"type\":1}",
                                 "{\"type\":\"a\",\"type\":\"b\"}",
                                 "\"type\"",
                                 "{\"type\":\"a\"",
                                 "{\"type\":\"a\"}}",
                                 "{\"type\":\"\xff\"}",
                                 "null",
                                 NULL};
    for (int i = 0; wrong[i]; i++) {
        ck_assert_msg(feed(wrong[i], strlen(wrong[i]), &message, &e) == -1, "%s", wrong[i]);
        ck_assert_int_eq(e.code, ERR_PROTOCOL);
    }
    ck_assert_int_eq(feed("{\"type\":\"a\\u0000b\"}", 19, &message, &e), -1);
    unsigned char head[4];
    static const size_t lengths[] = {0, WIRE_BYTES_MAX + 1, 0xffffffff};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        struct wire wire = {0};
        put_length(head, lengths[i]);
        ck_assert_int_eq(wire_put(&wire, head, 4, &e), 0);
        ck_assert_int_eq(wire_take(&wire, &message, &e), -1); /* at once, not when so many bytes are there */
        ck_assert_uint_lt(wire.capacity, 100);
        wire_fini(&wire);
    }
}
END_TEST

/* 16 levels pass and 17 do not; brackets inside texts are none. */
START_TEST(depth_of_messages)
{
    struct err e;
    json_t *message;
    char text[200];
    for (int depth = 16; depth <= 17; depth++) {
        snprintf(text, sizeof text, "{\"type\":\"a\",\"x\":%.*s%.*s}", depth - 1, "[[[[[[[[[[[[[[[[[[[[", depth - 1,
                 "]]]]]]]]]]]]]]]]]]]]");
        ck_assert_int_eq(feed(text, strlen(text), &message, &e), depth == 16 ? 0 : -1);
        json_decref(message);
    }
    const char *quoted = "{\"type\":\"[[[[[[[[[[[[[[[[[[[[[[[[\\\"{{{{{{{{{{{{{{{{{{{{\"}";
    ck_assert_int_eq(feed(quoted, strlen(quoted), &message, &e), 0);
    json_decref(message);
}
END_TEST

START_TEST(long_messages)
{
    struct err e;
    unsigned char *bytes;
    size_t n;
    char *text = malloc(WIRE_BYTES_MAX + 1);
    memset(text, 'a', WIRE_BYTES_MAX);
    text[WIRE_BYTES_MAX] = '\0';
    ck_assert_int_eq(wire_encode(json_pack("{s:s}", "type", text), &bytes, &n, &e), -1);
    ck_assert_int_eq(e.code, ERR_PROTOCOL);
    text[WIRE_BYTES_MAX - 11] = '\0'; /* {"type":""} */
    ck_assert_int_eq(wire_encode(json_pack("{s:s}", "type", text), &bytes, &n, &e), 0);
    ck_assert_uint_eq(n, WIRE_BYTES_MAX + 4);
    free(bytes);
    free(text);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("keys");
    TCase *t = tcase_create("made"), *kept = tcase_create("kept"), *sent = tcase_create("sent");
    tcase_add_test(t, derivations);
    tcase_add_test(t, hexadecimal);
    tcase_add_test(t, codes_as_people_type_them);
    tcase_add_test(t, codes_end_after_five_tries_or_ten_minutes);
    suite_add_tcase(s, t);
    tcase_add_checked_fixture(kept, open_store, close_store);
    tcase_add_test(kept, machines_that_share_a_home_have_numbers_of_their_own);
    tcase_add_test(kept, peers_are_kept_privately);
    tcase_add_test(kept, old_names_make_room);
    tcase_add_test(kept, keys_that_others_can_read);
    tcase_add_test(kept, damaged_peer_files);
    tcase_add_test(kept, key_files);
    suite_add_tcase(s, kept);
    tcase_add_test(sent, greetings_as_bytes);
    tcase_add_test(sent, protocol_ranges);
    tcase_add_test(sent, messages_one_after_the_other);
    tcase_add_test(sent, messages_that_are_none);
    tcase_add_test(sent, depth_of_messages);
    tcase_add_test(sent, long_messages);
    suite_add_tcase(s, sent);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
