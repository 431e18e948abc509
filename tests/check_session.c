/*
 * tests/check_session.c - nodes meet: pairing, keys that differ, plans that differ, strangers, silence, the ring's sockets.
 *
 * Servers are threads of the test; each has its own state folder and port on the loopback. "At once" is before the time-out that
 * would have ended it otherwise, and no more can be asked of a machine that is busy.
 */
#include <check.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "comm/ring.h"
#include "comm/wait.h"
#include "tests/session_kit.h"

static struct kit_node a, b, c;
static struct kit_call call;

static void open_nodes(void)
{
    kit_node_open(&a, "laptopa");
    kit_node_open(&b, "laptopb");
    kit_node_open(&c, "laptopc");
}

static void close_nodes(void)
{
    kit_node_close(&a);
    kit_node_close(&b);
    kit_node_close(&c);
}

static void expect_failure(int code, const char *says)
{
    ck_assert_int_eq(kit_call(&call), -1);
    ck_assert_msg((int)call.err.code == code, "%d, not %d: %s", call.err.code, code, call.err.text);
    ck_assert_msg(strstr(call.err.text, says) != NULL, "'%s' is not in: %s", says, call.err.text);
}

static void expect_session(void)
{
    ck_assert_msg(kit_call(&call) == 0, "%d: %s", call.err.code, call.err.text);
}

/* A whole session with an echo in it: what shows that a node serves as before. */
static void check_it_serves(struct kit_node *node)
{
    static struct kit_call one;
    kit_call_init(&one, &a, kit_address(node));
    node->work = KIT_ECHO;
    for (int i = 0; i < 50; i++) { /* the end of the session before takes the server a moment */
        if (kit_call(&one) == 0)
            break;
        ck_assert_msg(one.err.code == ERR_UNAVAILABLE && strstr(one.err.text, "busy"), "%s", one.err.text);
        usleep(100000);
    }
    json_t *answer = NULL;
    ck_assert_msg(session_send(&one.session, 0, json_pack("{s:s, s:i}", "type", "question", "x", 42), &one.err) == 0,
                  "%s", one.err.text);
    ck_assert_msg(session_receive(&one.session, 0, "answer", &answer, wait_deadline(20), &one.err) == 0, "%s",
                  one.err.text);
    ck_assert_int_eq(json_integer_value(json_object_get(answer, "x")), 42);
    json_decref(answer);
    kit_call_end(&one, NULL);
    ck_assert(kit_said(node, "ended well"));
}

/* ---- pairing and keys ---- */

/* A first meeting takes the code, once; afterwards both ends hold the same 256-bit key and nobody is asked. */
START_TEST(a_code_pairs_once_and_for_all)
{
    b.options.codes = true;
    kit_serve(&b);
    const char *code = kit_shown_code(&b);
    char typed[32];
    snprintf(typed, sizeof typed, " %s\n", code);
    for (char *p = typed; *p; p++)
        if (*p >= 'a' && *p <= 'z')
            *p = (char)(*p - 'a' + 'A'); /* as people type */
    kit_call_init(&call, &a, kit_address(&b));
    call.typed = typed;
    expect_session();
    ck_assert_int_eq(call.asked, 1);
    ck_assert_str_eq(call.session.local_addr, "127.0.0.1");
    ck_assert(call.session.same_host);
    ck_assert(call.session.peers[0].paired);
    kit_call_end(&call, NULL);
    ck_assert(kit_said(&b, "ended well"));
    ck_assert(kit_said(&b, "used up"));

    struct keystore_peer at_a, at_b;
    struct err e;
    ck_assert_int_eq(keystore_find(&a.store, b.store.node, &at_a, &e), 1);
    ck_assert_int_eq(keystore_find(&b.store, a.store.node, &at_b, &e), 1);
    ck_assert(crypto_equal(at_a.key, at_b.key, CRYPTO_KEY_BYTES));
    ck_assert_str_eq(at_b.names[0], "laptopa");

    kit_call_init(&call, &a, kit_address(&b));
    expect_session();
    ck_assert_int_eq(call.asked, 0);
    ck_assert(!call.session.peers[0].paired);
    kit_call_end(&call, NULL);
    check_it_serves(&b);
}
END_TEST

START_TEST(wrong_codes_are_refused_and_burn_it_at_the_fifth)
{
    b.options.codes = true;
    kit_serve(&b);
    const char *code = kit_shown_code(&b);
    for (int i = 0; i < CODE_TRIES; i++) {
        kit_call_init(&call, &a, kit_address(&b));
        call.typed = "0000-0000-0000";
        expect_failure(ERR_NOT_PAIRED, "wrong code");
        kit_call_end(&call, NULL);
    }
    ck_assert(kit_said(&b, "used up"));
    kit_call_init(&call, &a, kit_address(&b));
    call.typed = code; /* the right one, too late */
    expect_failure(ERR_NOT_PAIRED, "shows no code");
    ck_assert_int_eq(call.asked, 0);
    kit_call_end(&call, NULL);
    kit_pair(&a, &b, NULL);
    check_it_serves(&b);
}
END_TEST

START_TEST(strangers_are_told_what_to_do)
{
    kit_serve(&b); /* no terminal there */
    kit_call_init(&call, &a, kit_address(&b));
    expect_failure(ERR_NOT_PAIRED, "have not met");
    ck_assert_int_eq(call.asked, 0);
    kit_call_end(&call, NULL);
    kit_serve_end(&b);

    c.options.codes = true; /* nobody here to ask */
    kit_serve(&c);
    ck_assert_uint_eq(strlen(kit_shown_code(&c)), CODE_TEXT_BYTES - 1);
    kit_call_init(&call, &a, kit_address(&c));
    expect_failure(ERR_NOT_PAIRED, "on a terminal");
    ck_assert_int_eq(call.asked, 1);
    kit_call_end(&call, NULL);
}
END_TEST

/* Many machines come with the name of their system. */
START_TEST(others_may_have_the_same_name)
{
    struct err e;
    b.options.codes = true;
    kit_pair(&a, &b, NULL);
    kit_serve(&b);
    check_it_serves(&b);                    /* it has that name now */
    for (unsigned char i = 0; i < 8; i++) { /* some of them are read before b, in whatever order */
        struct keystore_peer other = {.node = {(unsigned char)(i << 5), i}};
        keystore_add_name(&other, kit_address(&b));
        ck_assert_int_eq(keystore_save(&a.store, &other, &e), 0);
    }
    check_it_serves(&b);
}
END_TEST

/* A key that does not fit is an error, never a reason to ask for a code; the server goes on. */
START_TEST(a_stored_key_that_fails_is_no_pairing)
{
    struct keystore_peer peer;
    struct err e;
    b.options.codes = true;
    kit_pair(&a, &b, NULL);
    ck_assert_int_eq(keystore_find(&a.store, b.store.node, &peer, &e), 1);
    peer.key[0] ^= 1;
    ck_assert_int_eq(keystore_save(&a.store, &peer, &e), 0);
    kit_serve(&b);
    kit_call_init(&call, &a, kit_address(&b));
    call.typed = "0000-0000-0000";
    expect_failure(ERR_NOT_PAIRED, "peers forget");
    ck_assert_int_eq(call.asked, 0);
    kit_call_end(&call, NULL);
    peer.key[0] ^= 1;
    ck_assert_int_eq(keystore_save(&a.store, &peer, &e), 0);
    check_it_serves(&b);

    /* forgotten at the other end only */
    char hex[2 * GREETING_NODE_BYTES + 1];
    crypto_hex(hex, a.store.node, GREETING_NODE_BYTES);
    ck_assert_int_eq(keystore_forget(&b.store, hex, &e), 0);
    kit_call_init(&call, &a, kit_address(&b));
    expect_failure(ERR_NOT_PAIRED, "do not share a key");
    ck_assert_int_eq(call.asked, 0);
    kit_call_end(&call, NULL);
}
END_TEST

/* Whoever answers under a name that belongs to another node gets no further than that: no code is asked for. */
START_TEST(a_name_that_answers_as_another_node)
{
    c.options.codes = true;
    kit_serve(&c);
    kit_pair(&a, &b, kit_address(&c)); /* b's key under the name where c answers */
    kit_call_init(&call, &a, kit_address(&c));
    call.typed = "0000-0000-0000";
    expect_failure(ERR_NOT_PAIRED, "another node");
    ck_assert_int_eq(call.asked, 0);
    kit_call_end(&call, NULL);
}
END_TEST

START_TEST(key_files_serve_scripts)
{
    unsigned char key[CRYPTO_KEY_BYTES], other[CRYPTO_KEY_BYTES];
    struct err e;
    ck_assert_int_eq(crypto_random(key, sizeof key, &e), 0);
    memcpy(other, key, sizeof other);
    other[31] ^= 0x80;
    b.options.file_key = key;
    kit_serve(&b);
    kit_call_init(&call, &a, kit_address(&b));
    call.options.file_key = other;
    expect_failure(ERR_NOT_PAIRED, "key files differ");
    kit_call_end(&call, NULL);

    kit_call_init(&call, &a, kit_address(&b));
    call.options.file_key = key;
    expect_session();
    kit_call_end(&call, NULL);
    ck_assert(kit_said(&b, "ended well"));

    /* a stored key does not open a node that has been given a key file */
    kit_pair(&a, &b, NULL);
    kit_call_init(&call, &a, kit_address(&b));
    expect_failure(ERR_NOT_PAIRED, "do not share a key");
    kit_call_end(&call, NULL);
}
END_TEST

/* ---- different work ---- */

/* Both ends name every difference, each from its own side, before any data socket is opened. */
START_TEST(every_difference_is_named_on_both_ends)
{
    kit_pair(&a, &b, NULL);
    b.options.once = true;
    b.options.version = "1.1";
    b.own_plan = json_pack("{s:s, s:i, s:s, s:[i, i], s:i}", "model", "shakespeare-char", "gradient_bytes", 42980352,
                           "dtype", "fp32", "bucket_bytes", 1, 2, "seed", 1);
    kit_serve(&b);
    kit_call_init(&call, &a, kit_address(&b));
    json_decref(call.options.plan);
    call.options.plan = json_pack("{s:s, s:i, s:s, s:[i, i, i], s:i}", "model", "gpt2-124m", "gradient_bytes",
                                  497759232, "dtype", "fp32", "bucket_bytes", 1, 2, 3, "steps", 5);
    uint64_t from = clock_now_ns();
    expect_failure(ERR_PROTOCOL, "model gpt2-124m here, shakespeare-char on 127.0.0.1");
    ck_assert(kit_seconds_since(from) < SESSION_HANDSHAKE_S);
    static const char *const here[] = {"gradient bytes 497759232 here, 42980352 on",
                                       "bucket bytes [1,2,3] here, [1,2] on", "seed nothing here, 1 on",
                                       "steps 5 here, nothing on", "version 1.0 here, 1.1 on"};
    for (size_t i = 0; i < sizeof here / sizeof *here; i++)
        ck_assert_msg(strstr(call.err.text, here[i]) != NULL, "'%s' is not in: %s", here[i], call.err.text);
    ck_assert_ptr_null(strstr(call.err.text, "dtype"));
    kit_call_end(&call, NULL);

    pthread_join(b.thread, NULL); /* once: the failed session was the one */
    b.serving = false;
    serve_close(&b.serve);
    ck_assert_int_eq(b.result, -1);
    ck_assert_int_eq(b.err.code, ERR_PROTOCOL);
    static const char *const there[] = {"model shakespeare-char here, gpt2-124m on laptopa",
                                        "gradient bytes 42980352 here, 497759232 on laptopa",
                                        "bucket bytes [1,2] here, [1,2,3] on laptopa",
                                        "seed 1 here, nothing on laptopa", "version 1.1 here, 1.0 on laptopa"};
    for (size_t i = 0; i < sizeof there / sizeof *there; i++)
        ck_assert_msg(strstr(b.err.text, there[i]) != NULL, "'%s' is not in: %s", there[i], b.err.text);
}
END_TEST

START_TEST(another_protocol_version_is_a_sentence)
{
    kit_pair(&a, &b, NULL);
    b.options.protocols = (struct greeting_protocols){GREETING_PROTOCOL + 1, GREETING_PROTOCOL + 2};
    kit_serve(&b);
    kit_call_init(&call, &a, kit_address(&b));
    expect_failure(ERR_PROTOCOL, "protocol version 1 here, 2 to 3 on 127.0.0.1");
    ck_assert_msg(strstr(call.err.text, "update the program on this host") != NULL, "%s", call.err.text);
    kit_call_end(&call, NULL);
    ck_assert(kit_said(&b, "protocol version 2 to 3 here, 1 on the caller: update the program on the caller"));
    kit_call_init(&call, &a, kit_address(&b));
    call.options.protocols = (struct greeting_protocols){GREETING_PROTOCOL, GREETING_PROTOCOL + 1};
    expect_session(); /* they have one in common */
    kit_call_end(&call, NULL);
}
END_TEST

/* ---- who answers ---- */

struct impostor {
    int listen_fd;
    const char *says;
    bool waits_for_line; /* as servers of the web do */
};

static void *impostor_thread(void *argument)
{
    struct impostor *i = argument;
    char line[1];
    int fd = accept(i->listen_fd, NULL, NULL);
    while (i->waits_for_line && recv(fd, line, 1, 0) == 1 && *line != '\n')
        ;
    if (i->says)
        send(fd, i->says, strlen(i->says), MSG_NOSIGNAL);
    while (recv(fd, line, 1, 0) == 1) /* until the caller has had enough */
        ;
    close(fd);
    return NULL;
}

static void meet(struct impostor i, int code, const char *says, double least_s, double most_s)
{
    int port;
    char list[32];
    pthread_t thread;
    i.listen_fd = kit_listen_plain(&port);
    snprintf(list, sizeof list, "127.0.0.1:%d", port);
    pthread_create(&thread, NULL, impostor_thread, &i);
    kit_call_init(&call, &a, list);
    uint64_t from = clock_now_ns();
    expect_failure(code, says);
    double took_s = kit_seconds_since(from);
    ck_assert_msg(took_s >= least_s && took_s < most_s, "%g s", took_s);
    kit_call_end(&call, NULL);
    pthread_join(thread, NULL);
    close(i.listen_fd);
}

START_TEST(servers_of_another_kind)
{
    meet((struct impostor){.says = "HTTP/1.1 400 Bad Request\r\n\r\n", .waits_for_line = true}, ERR_PROTOCOL,
         "is no bench peer", 0, SESSION_HANDSHAKE_S);
    meet((struct impostor){.says = "SSH-2.0-OpenSSH_9.2\r\n"}, ERR_PROTOCOL, "is no bench peer", 0,
         SESSION_HANDSHAKE_S);
    meet((struct impostor){.says = "x"}, ERR_PROTOCOL, "is no bench peer", 0, SESSION_HANDSHAKE_S);
}
END_TEST

/* Four bytes of a greeting and then nothing, and nothing at all: the deadline of the handshake is 5 s. */
START_TEST(half_a_greeting)
{
    meet((struct impostor){.says = "DDPB"}, ERR_UNAVAILABLE, "does not answer", SESSION_HANDSHAKE_S,
         3 * SESSION_HANDSHAKE_S);
}
END_TEST

START_TEST(missing_nodes_are_named_and_only_they)
{
    char list[128];
    int port;
    int closed = kit_listen_plain(&port);
    close(closed);
    kit_pair(&a, &b, NULL);
    kit_serve(&b);
    snprintf(list, sizeof list, "%s,127.0.0.1:%d", kit_address(&b), port);
    kit_call_init(&call, &a, list);
    expect_failure(ERR_UNAVAILABLE, list + strlen(kit_address(&b)) + 1);
    ck_assert_ptr_null(strstr(call.err.text, kit_address(&b)));
    kit_call_end(&call, NULL);
    check_it_serves(&b);
}
END_TEST

START_TEST(one_node_under_two_names)
{
    char list[128];
    kit_serve(&b);
    snprintf(list, sizeof list, "127.0.0.1:%d,127.0.0.2:%d", b.serve.port, b.serve.port);
    kit_call_init(&call, &a, list);
    expect_failure(ERR_USAGE, "are the same node");
    kit_call_end(&call, NULL);
    kit_call_init(&call, &b, kit_address(&b));
    call.options.this_host = false; /* then already its address gives it away */
    expect_failure(ERR_USAGE, "peer is this host");
    kit_call_end(&call, NULL);
}
END_TEST

/* ---- strangers at the port ---- */

static void drain(int fd)
{
    char x[256];
    while (recv(fd, x, sizeof x, 0) > 0)
        ;
    close(fd);
}

/* Silence, garbage, half an intro, an endless one, another program's TLS: none of it keeps a peer waiting. */
START_TEST(strangers_do_not_block_the_port)
{
    enum { SILENT = 100 };
    int fd[SILENT];
    char garbage[65536];
    memset(garbage, 'G', sizeof garbage);
    kit_pair(&a, &b, NULL);
    kit_serve(&b);
    for (int i = 0; i < SILENT; i++) {
        fd[i] = kit_connect_plain(b.serve.port);
        if (i % 4 == 1)
            send(fd[i], "DDPB", 4, MSG_NOSIGNAL);
        if (i % 4 == 2)
            send(fd[i], garbage, sizeof garbage, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (i % 4 == 3)
            send(fd[i], "\x16\x03\x01\x02\x00\x01", 6, MSG_NOSIGNAL);
    }
    uint64_t from = clock_now_ns();
    check_it_serves(&b);
    ck_assert_msg(kit_seconds_since(from) < GUEST_SECONDS, "%g s", kit_seconds_since(from));
    ck_assert(kit_said(&b, "turned away 127.0.0.1"));
    for (int i = 0; i < SILENT; i++)
        drain(fd[i]); /* all are closed within the deadline, or this hangs */
    ck_assert(kit_seconds_since(from) < 6 * GUEST_SECONDS);
    check_it_serves(&b);
}
END_TEST

/* A handshake that goes on and on: more than 8 KiB before it has proven anything. */
START_TEST(a_stranger_may_not_say_much)
{
    unsigned char intro[GREETING_INTRO_BYTES],
        record[4096 + 5] = {0x16, 0x03, 0x01, 0x10, 0x00, 0x01, 0x00, 0xff, 0xff};
    struct greeting_intro i = {.protocols = {1, 1}, .kind = GREETING_CONTROL};
    memcpy(i.node, a.store.node, sizeof i.node);
    greeting_encode_intro(intro, &i);
    kit_serve(&b);
    int fd = kit_connect_plain(b.serve.port);
    ck_assert_int_eq(send(fd, intro, sizeof intro, MSG_NOSIGNAL), sizeof intro);
    uint64_t from = clock_now_ns();
    for (int k = 0; k < 16; k++)
        send(fd, record, sizeof record, MSG_NOSIGNAL);
    drain(fd);
    ck_assert_msg(kit_seconds_since(from) < GUEST_SECONDS, "%g s", kit_seconds_since(from));
}
END_TEST

/* "Busy" is for those who have proven a key. */
START_TEST(busy_is_told_to_acquaintances_only)
{
    static struct kit_call second;
    kit_pair(&a, &b, NULL);
    kit_pair(&c, &b, NULL);
    b.work = KIT_HOLD;
    kit_serve(&b);
    kit_call_init(&call, &a, kit_address(&b));
    expect_session();
    kit_call_init(&second, &c, kit_address(&b));
    ck_assert_int_eq(kit_call(&second), -1);
    ck_assert_msg(second.err.code == ERR_UNAVAILABLE && strstr(second.err.text, "busy with laptopa since "), "%s",
                  second.err.text);
    kit_call_end(&second, NULL);
    struct err e;
    ck_assert_int_eq(session_send(&call.session, 0, json_pack("{s:s}", "type", "enough"), &e), 0);
    kit_call_end(&call, NULL);
    ck_assert(kit_said(&b, "session with laptopa ended well"));
    kit_call_init(&second, &c, kit_address(&b));
    ck_assert_msg(kit_call(&second) == 0, "%s", second.err.text);
    kit_call_end(&second, &(struct err){ERR_INTERRUPTED, "enough"});
    ck_assert(kit_said(&b, "gave up: enough"));
}
END_TEST

static void *end_in_a_moment(void *unused)
{
    struct err e;
    (void)unused;
    usleep(300000);
    ck_assert_int_eq(session_send(&call.session, 0, json_pack("{s:s}", "type", "enough"), &e), 0);
    kit_call_end(&call, NULL);
    return NULL;
}

/* Whoever calls while the session before is about to end gets the next one. Only if that takes longer than SERVE_BUSY_MS, as
 * on a machine that is very busy, it is told. */
START_TEST(a_caller_waits_for_the_end_of_the_session_before)
{
    static struct kit_call second;
    int result = -1;
    kit_pair(&a, &b, NULL);
    kit_pair(&c, &b, NULL);
    b.work = KIT_HOLD;
    kit_serve(&b);
    for (int i = 0; i < 5 && result; i++) {
        pthread_t thread;
        kit_call_init(&call, &a, kit_address(&b));
        expect_session();
        ck_assert_int_eq(pthread_create(&thread, NULL, end_in_a_moment, NULL), 0);
        kit_call_init(&second, &c, kit_address(&b));
        result = kit_call(&second);
        ck_assert_msg(result == 0 || strstr(second.err.text, "busy with laptopa"), "%s", second.err.text);
        kit_call_end(&second, &(struct err){ERR_INTERRUPTED, "enough"});
        pthread_join(thread, NULL);
        ck_assert(kit_said(&b, "session with laptopa ended well"));
    }
    ck_assert_msg(result == 0, "%s", second.err.text);
}
END_TEST

/* ---- data sockets ---- */

/* The words that once opened a data socket open nothing again, nor do they in another direction. */
START_TEST(recorded_words_of_a_data_socket_are_refused)
{
    struct rendezvous r;
    struct err e = {0};
    struct datalink link = {.edge = 0, .direction = DATALINK_OUT};
    struct greeting_intro intro = {.protocols = {1, 1}, .kind = GREETING_DATA};
    struct greeting greeting = {.protocols = {1, 1}};
    unsigned char first[GREETING_INTRO_BYTES], hers[GREETING_BYTES], hello[DATALINK_HELLO_BYTES], answer[32];
    unsigned char seal[CRYPTO_KEY_BYTES];
    ck_assert_int_eq(crypto_random(&link.key, sizeof link.key, &e), 0);
    ck_assert_int_eq(rendezvous_init(&r, &e), 0);
    ck_assert_int_eq(rendezvous_expect(&r, &link, &e), 0);

    /* the test stands between a dialling node and the rendezvous and records */
    int pair[2], out[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, out), 0);
    greeting_encode(hers, &greeting);
    ck_assert_int_eq(send(pair[1], hers, sizeof hers, 0), sizeof hers);
    memset(answer, 0, sizeof answer);
    ck_assert_int_eq(send(pair[1], answer, sizeof answer, 0), sizeof answer);
    ck_assert_int_eq(datalink_dial(pair[0], &link, &intro, "peer", seal, wait_deadline(5), -1, &e), -1);
    ck_assert_int_eq(e.code, ERR_NOT_PAIRED); /* an answer of zeros proves nothing */
    ck_assert_int_eq(recv(pair[1], first, sizeof first, MSG_WAITALL), sizeof first);
    ck_assert_int_eq(recv(pair[1], hello, sizeof hello, MSG_WAITALL), sizeof hello);

    unsigned char altered[DATALINK_HELLO_BYTES];
    for (size_t i = 0; i < sizeof hello; i++) { /* no byte of it is idle */
        memcpy(altered, hello, sizeof hello);
        altered[i] ^= 1;
        ck_assert_int_eq(rendezvous_offer(&r, out[0], first, hers, altered, &e), -1);
    }
    unsigned char later[GREETING_BYTES];
    memcpy(later, hers, sizeof later);
    later[28] ^= 1; /* the nonce of the next connection */
    ck_assert_int_eq(rendezvous_offer(&r, out[0], first, later, hello, &e), -1);
    ck_assert_int_eq(e.code, ERR_NOT_PAIRED);

    ck_assert_msg(rendezvous_offer(&r, out[0], first, hers, hello, &e) == 0, "%s", e.text);
    ck_assert_int_eq(rendezvous_offer(&r, out[0], first, hers, hello, &e), -1); /* the very same words, twice */
    int fd;
    ck_assert_int_eq(rendezvous_wait(&r, 0, &fd, seal, "peer", wait_deadline(5), -1, &e), 0);
    ck_assert_int_eq(fd, out[0]);
    ck_assert_int_eq(rendezvous_offer(&r, out[0], first, hers, hello, &e), -1); /* and after it was fetched */
    rendezvous_fini(&r);
    close(pair[0]);
    close(pair[1]);
    close(out[0]);
    close(out[1]);
}
END_TEST

static void sum_over(struct session *s)
{
    struct ring ring;
    struct err e = {0};
    struct call one = {.step = 1, .bucket = 2};
    float x[1000], sum = (float)(s->world * (s->world + 1)) / 2;
    for (int i = 0; i < 1000; i++)
        x[i] = 1;
    struct ring_options o = {.rank = 0,
                             .world = s->world,
                             .stop_fd = s->stop_fd,
                             .timeout_ns = 20000000000u,
                             .next_name = s->next_name,
                             .prev_name = s->prev_name};
    o.next_fd = session_take_next(s);
    o.prev_fd = session_take_prev(s);
    ck_assert_msg(ring_init(&ring, &o, &e) == 0, "%s", e.text);
    ck_assert_msg(ring_allreduce(&ring, x, 1000, &one, &e) == 0, "%s", e.text);
    for (int i = 0; i < 1000; i++)
        ck_assert_float_eq(x[i], sum);
    ring_fini(&ring);
}

/* rank r contributes r + 1: 3 with two ranks, 6 with three. Between b and c only a has introduced them. */
START_TEST(data_sockets_form_a_ring)
{
    char list[128];
    kit_pair(&a, &b, NULL);
    kit_pair(&a, &c, NULL);
    b.work = c.work = KIT_RING;
    kit_serve(&b);
    kit_serve(&c);
    kit_call_init(&call, &a, kit_address(&b));
    expect_session();
    ck_assert_int_eq(call.session.world, 2);
    sum_over(&call.session);
    kit_call_end(&call, NULL);
    ck_assert(kit_said(&b, "rank 1 of 2"));
    ck_assert(kit_said(&b, "ended well"));

    snprintf(list, sizeof list, "%s,%s", kit_address(&b), kit_address(&c));
    kit_call_init(&call, &a, list);
    expect_session();
    ck_assert_int_eq(call.session.world, 3);
    sum_over(&call.session);
    kit_call_end(&call, NULL);
    ck_assert(kit_said(&b, "rank 1 of 3"));
    ck_assert(kit_said(&c, "rank 2 of 3"));
    ck_assert(kit_said(&c, "ended well"));
    struct err e;
    struct keystore_peer none;
    ck_assert_int_eq(keystore_find(&b.store, c.store.node, &none, &e), 0); /* their key was for this session */
}
END_TEST

/* ---- losses ---- */

START_TEST(the_other_end_hears_why_at_once)
{
    kit_pair(&a, &b, NULL);
    b.work = KIT_HOLD;
    kit_serve(&b);
    kit_call_init(&call, &a, kit_address(&b));
    expect_session();
    uint64_t from = clock_now_ns();
    kit_call_end(&call, &(struct err){ERR_WRONG_RESULT, "the loss is not \033[31mfinite"});
    ck_assert(kit_said(&b, "laptopa gave up: the loss is not [31mfinite"));
    ck_assert(kit_seconds_since(from) < 10); /* far below any time-out: 20 s of silence */
    ck_assert_int_eq(b.run_err.code, ERR_PEER_LOST);
    struct err e = {ERR_PEER_LOST, "step 3, bucket 1"}; /* what a ring says when the data socket ends first */
    ck_assert_msg(strstr(b.run_err.text, "bucket") == NULL, "%s", b.run_err.text);
    check_it_serves(&b);

    b.work = KIT_HOLD;
    kit_call_init(&call, &a, kit_address(&b));
    for (int i = 0; i < 50 && kit_call(&call); i++) /* the server may not have done with the one before */
        usleep(100000);
    ck_assert_int_eq(call.session.world, 2);
    for (int i = 0; i < 3; i++) /* this one is the third */
        ck_assert(kit_begun(&b));
    kit_serve_end(&b); /* gives up with a reason, which rings the bell once it is here */
    ck_assert_msg(wait_ready(call.session.stop_fd, POLLIN, wait_deadline(20), -1, "b", &e) == 0, "%s", e.text);
    e = (struct err){ERR_PEER_LOST, "step 3, bucket 1"};
    session_reason(&call.session, &e);
    ck_assert_msg(e.code == ERR_PEER_LOST && strstr(e.text, " gave up: interrupted"), "%s", e.text);
    ck_assert_msg(strstr(e.text, ": step 3, bucket 1") != NULL, "%s", e.text);
    kit_call_end(&call, NULL);
}
END_TEST

/* A process that is gone closes its connections: known at once, and stop_fd says so to the ring. */
START_TEST(a_dead_peer_is_noticed_at_once)
{
    kit_pair(&a, &b, NULL);
    b.work = KIT_HOLD;
    kit_serve(&b);
    kit_call_init(&call, &a, kit_address(&b));
    expect_session();
    ck_assert(kit_begun(&b));
    uint64_t from = clock_now_ns();
    shutdown(atomic_load(&b.control_fd), SHUT_RDWR); /* as its kernel would */
    struct err e;
    json_t *message;
    ck_assert_int_eq(session_receive(&call.session, 0, "word", &message, wait_deadline(20), &e), -1);
    ck_assert_msg(e.code == ERR_PEER_LOST && strstr(e.text, "127.0.0.1"), "%s", e.text);
    ck_assert_int_eq(wait_ready(call.session.stop_fd, 1, wait_deadline(10), -1, "the bell", &e), 0);
    ck_assert(kit_seconds_since(from) < 10); /* silence would be for 20 */
    e = (struct err){ERR_INTERRUPTED, "what the ring says"};
    session_reason(&call.session, &e);
    ck_assert_int_eq(e.code, ERR_PEER_LOST);
    e = (struct err){ERR_PEER_LOST, "step 3, bucket 1"}; /* knows more */
    session_reason(&call.session, &e);
    ck_assert_str_eq(e.text, "step 3, bucket 1");
    kit_call_end(&call, NULL);
}
END_TEST

static void warned(void *ctx, const char *text)
{
    const int *fd = ctx;
    ck_assert_int_gt(write(*fd, text, strlen(text)), 0);
}

/* Here both ends have one clock, so the true offset is 0 and has to be within the error told; what else is said goes on. */
START_TEST(clocks_are_compared_while_the_session_lasts)
{
    kit_pair(&a, &b, NULL);
    b.work = KIT_ECHO;
    kit_serve(&b);
    kit_call_init(&call, &a, kit_address(&b));
    expect_session();
    struct control *control = &call.session.peers[0].control;
    struct clock_reading few = {0}, many = {0}, none = {0};
    struct err e = {0};
    json_t *message;
    uint64_t from = clock_now_ns();
    ck_assert_msg(control_clock(control, &few, 3, wait_deadline(20), -1, &e) == 0, "%s", e.text);
    ck_assert_msg(control_clock(control, &many, 50, wait_deadline(20), -1, &e) == 0, "%s", e.text);
    ck_assert(few.known && many.known);
    ck_assert(from <= few.at_ns && few.at_ns < many.at_ns && many.at_ns <= clock_now_ns());
    ck_assert_double_gt(many.error_ns, 0);
    ck_assert_double_le(fabs(few.offset_ns), few.error_ns);
    ck_assert_double_le(fabs(many.offset_ns), many.error_ns);
    ck_assert_int_eq(session_send(&call.session, 0, json_pack("{s:s}", "type", "question"), &e), 0);
    ck_assert_msg(session_receive(&call.session, 0, "answer", &message, wait_deadline(20), &e) == 0, "%s", e.text);
    json_decref(message);
    ck_assert(kit_said(&b, "ended well"));
    ck_assert_int_eq(control_clock(control, &none, 3, wait_deadline(20), -1, &e), -1); /* nobody is there any more */
    ck_assert(!none.known);
    kit_call_end(&call, NULL);
}
END_TEST

/* What a node says of its step comes with a heartbeat; what cannot be is not taken. */
START_TEST(steps_are_told_with_the_heartbeat)
{
    kit_pair(&a, &b, NULL);
    b.work = KIT_STEP;
    kit_serve(&b);
    kit_call_init(&call, &a, kit_address(&b));
    expect_session();
    struct step_word word;
    struct err e = {0};
    ck_assert(!session_step(&call.session, 0, &word));
    for (int i = 0; i < 3000 && !session_step(&call.session, 0, &word); i++)
        usleep(10000);
    ck_assert_int_eq(word.done, 8);
    ck_assert_double_eq(word.work_s, 0.5);
    ck_assert_double_eq(word.still_s, 0.25);
    ck_assert_int_eq(session_send(&call.session, 0, json_pack("{s:s}", "type", "enough"), &e), 0);
    ck_assert(kit_said(&b, "ended well"));
    kit_call_end(&call, NULL);
}
END_TEST

/* A frozen process keeps its connections: a warning after 3 s of silence, the end at the time agreed on, 10 s instead of 60. The
 * server is a process of its own here. Silence counts from its last sign of life, which is no earlier than its answer. */
START_TEST(a_frozen_peer_is_warned_of_then_given_up)
{
    int told[2], port[2];
    ck_assert_int_eq(pipe(told), 0);
    ck_assert_int_eq(pipe(port), 0);
    kit_pair(&a, &b, NULL);
    b.work = KIT_HOLD;
    b.options.peer_timeout_s = 60;
    pid_t pid = fork();
    if (pid == 0) {
        kit_serve(&b);
        if (write(port[1], &b.serve.port, sizeof b.serve.port) < 0)
            _exit(1);
        pause();
        _exit(0);
    }
    ck_assert_int_eq(read(port[0], &b.serve.port, sizeof b.serve.port), sizeof b.serve.port);
    kit_call_init(&call, &a, kit_address(&b));
    call.options.peer_timeout_s = 10;
    call.options.warn = warned;
    call.options.ctx = &told[1];
    expect_session();
    sleep(2);
    uint64_t from = clock_now_ns();
    struct clock_reading reading = {0};
    struct err e;
    json_t *message;
    ck_assert_int_eq(control_clock(&call.session.peers[0].control, &reading, 1, wait_deadline(20), -1, &e), 0);
    kill(pid, SIGSTOP);
    char text[256] = "";
    ck_assert_int_eq(wait_ready(told[0], POLLIN, wait_deadline(30), -1, "the warning", &e), 0);
    ck_assert_int_gt(read(told[0], text, sizeof text - 1), 0);
    double warned_s = kit_seconds_since(from);
    ck_assert_msg(warned_s >= 3 && warned_s < 30, "warned after %g s", warned_s);
    ck_assert_msg(strstr(text, "no sign of life from 127.0.0.1") != NULL, "%s", text);
    ck_assert_int_eq(session_receive(&call.session, 0, "word", &message, wait_deadline(60), &e), -1);
    double lost_s = kit_seconds_since(from);
    ck_assert_msg(lost_s >= 10 && lost_s < 40, "given up after %g s", lost_s);
    ck_assert_msg(e.code == ERR_PEER_LOST && strstr(e.text, "stopped or frozen"), "%s", e.text);
    kit_call_end(&call, &e);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}
END_TEST

/* The caller's patience counts at the other end too, so the server is free again when the caller has given up. */
START_TEST(the_shorter_patience_counts_at_both_ends)
{
    int port[2];
    ck_assert_int_eq(pipe(port), 0);
    kit_pair(&a, &b, NULL);
    b.work = KIT_HOLD;
    b.options.peer_timeout_s = 60;
    pid_t pid = fork(); /* before there are threads */
    if (pid == 0) {
        if (read(port[0], &b.serve.port, sizeof b.serve.port) != sizeof b.serve.port)
            _exit(1);
        kit_call_init(&call, &a, kit_address(&b));
        call.options.peer_timeout_s = 8;
        if (kit_call(&call))
            _exit(1);
        raise(SIGSTOP);
        _exit(0);
    }
    kit_serve(&b);
    ck_assert_int_eq(write(port[1], &b.serve.port, sizeof b.serve.port), sizeof b.serve.port);
    ck_assert(kit_said(&b, "rank 1 of 2"));
    uint64_t from = clock_now_ns();
    ck_assert(kit_said(&b, "no sign of life from laptopa for "));
    ck_assert(kit_said(&b, "it is stopped or frozen"));
    ck_assert_msg(kit_seconds_since(from) < 40, "%g s", kit_seconds_since(from)); /* its own patience is 60 s */
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    check_it_serves(&b);
}
END_TEST

/* ---- ends ---- */

START_TEST(nobody_comes)
{
    b.options.once = true;
    b.options.wait_s = 1;
    uint64_t from = clock_now_ns();
    kit_serve(&b);
    int fd = kit_connect_plain(b.serve.port); /* a stranger is nobody */
    pthread_join(b.thread, NULL);
    ck_assert_msg(kit_seconds_since(from) >= 1 && kit_seconds_since(from) < 20, "%g s", kit_seconds_since(from));
    b.serving = false;
    serve_close(&b.serve);
    close(fd);
    ck_assert_int_eq(b.result, -1);
    ck_assert_int_eq(b.err.code, ERR_UNAVAILABLE);
}
END_TEST

START_TEST(an_interrupt_ends_a_session_under_way)
{
    kit_pair(&a, &b, NULL);
    b.work = KIT_HOLD;
    kit_serve(&b);
    kit_call_init(&call, &a, kit_address(&b));
    expect_session();
    ck_assert(kit_begun(&b));
    uint64_t from = clock_now_ns();
    kit_serve_end(&b);
    ck_assert(kit_seconds_since(from) < 15); /* the session would wait for 60 s, and silence is noticed after 20 */
    ck_assert_int_eq(b.err.code, ERR_INTERRUPTED);
    struct err e;
    json_t *message;
    ck_assert_int_eq(session_receive(&call.session, 0, "word", &message, wait_deadline(20), &e), -1);
    ck_assert_msg(strstr(e.text, "gave up: interrupted") != NULL, "%s", e.text);
    kit_call_end(&call, NULL);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("session");
    TCase *t = tcase_create("session");
    tcase_add_checked_fixture(t, open_nodes, close_nodes);
    tcase_add_test(t, a_code_pairs_once_and_for_all);
    tcase_add_test(t, wrong_codes_are_refused_and_burn_it_at_the_fifth);
    tcase_add_test(t, strangers_are_told_what_to_do);
    tcase_add_test(t, others_may_have_the_same_name);
    tcase_add_test(t, a_stored_key_that_fails_is_no_pairing);
    tcase_add_test(t, a_name_that_answers_as_another_node);
    tcase_add_test(t, key_files_serve_scripts);
    tcase_add_test(t, every_difference_is_named_on_both_ends);
    tcase_add_test(t, another_protocol_version_is_a_sentence);
    tcase_add_test(t, servers_of_another_kind);
    tcase_add_test(t, half_a_greeting);
    tcase_add_test(t, missing_nodes_are_named_and_only_they);
    tcase_add_test(t, one_node_under_two_names);
    tcase_add_test(t, strangers_do_not_block_the_port);
    tcase_add_test(t, a_stranger_may_not_say_much);
    tcase_add_test(t, busy_is_told_to_acquaintances_only);
    tcase_add_test(t, a_caller_waits_for_the_end_of_the_session_before);
    tcase_add_test(t, recorded_words_of_a_data_socket_are_refused);
    tcase_add_test(t, data_sockets_form_a_ring);
    tcase_add_test(t, the_other_end_hears_why_at_once);
    tcase_add_test(t, a_dead_peer_is_noticed_at_once);
    tcase_add_test(t, clocks_are_compared_while_the_session_lasts);
    tcase_add_test(t, steps_are_told_with_the_heartbeat);
    tcase_add_test(t, a_frozen_peer_is_warned_of_then_given_up);
    tcase_add_test(t, the_shorter_patience_counts_at_both_ends);
    tcase_add_test(t, nobody_comes);
    tcase_add_test(t, an_interrupt_ends_a_session_under_way);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
