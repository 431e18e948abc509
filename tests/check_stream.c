/*
 * tests/check_stream.c - rings whose connections are sealed: the same bits as in clear, nothing readable on the wire, and
 * what altered bytes, other keys and an early end lead to.
 *
 * Between two ranks stands a relay that keeps what passes and may alter it. Ring and direct exchange add in the same order
 * whatever carries the bytes, so sealed sums have to be the clear ones' bit for bit.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rng.h"
#include "comm/frame.h"
#include "comm/stream.h"
#include "tests/ring_kit.h"

struct work {
    int world;
    struct ring rings[KIT_RANKS_MAX];
    float *data[KIT_RANKS_MAX];
    size_t count;
    struct call call[KIT_RANKS_MAX];
    struct err e[KIT_RANKS_MAX];
    int rc[KIT_RANKS_MAX];
};

static void reduce(int rank, void *ctx)
{
    struct work *w = ctx;
    w->rc[rank] = ring_allreduce(&w->rings[rank], w->data[rank], w->count, &w->call[rank], &w->e[rank]);
}

static void fill(struct work *w)
{
    for (int r = 0; r < w->world; r++) {
        struct rng rng;
        rng_init(&rng, 7, (uint64_t)r);
        for (size_t i = 0; i < w->count; i++)
            w->data[r][i] = (float)rng_normal(&rng);
    }
}

static void take_data(struct work *w, int world, size_t count)
{
    *w = (struct work){.world = world, .count = count};
    for (int r = 0; r < world; r++)
        w->data[r] = malloc((count + 1) * sizeof(float));
}

static void free_data(struct work *w)
{
    for (int r = 0; r < w->world; r++)
        free(w->data[r]);
}

/* Rank 0's sum, over the kind of link; the caller frees it. */
static float *sum_over(enum kit_link link, bool sealed, int world, size_t count)
{
    struct work w;
    struct kit_options o = {.link = link, .sealed = sealed, .direct_bytes = RING_DIRECT_BYTES};
    take_data(&w, world, count);
    fill(&w);
    kit_open(w.rings, world, &o);
    kit_each_rank(world, reduce, &w);
    for (int r = 0; r < world; r++) {
        const struct call *c = &w.call[r];
        ck_assert_msg(w.rc[r] == 0, "%d ranks, %zu elements: %s", world, count, w.e[r].text);
        ck_assert_mem_eq(w.data[r], w.data[0], count * sizeof(float));
        ck_assert_uint_eq(c->wait_ns + c->move_ns + c->sum_ns + c->check_ns + c->seal_ns, c->end_ns - c->start_ns);
        ck_assert_int_eq(c->seal_ns > 0, sealed && count > 0);
        ck_assert_int_eq(c->check_ns > 0, !sealed && count > 0);
    }
    float *sum = w.data[0];
    w.data[0] = NULL;
    kit_close_rings(w.rings, world);
    free_data(&w);
    return sum;
}

START_TEST(sums_are_those_in_clear)
{
    static const size_t counts[] = {0, 1, 2, 4095, 4096 - FRAME_BYTES / sizeof(float), 16384, 300007, 1000003};
    const struct {
        enum kit_link link;
        int world;
    } cases[] = {{KIT_UNIX, 2}, {KIT_TCP, 2}, {KIT_DUPLEX, 2}, {KIT_TCP, 3}, {KIT_TCP, 4}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            float *clear = sum_over(cases[k].link, false, cases[k].world, counts[i]);
            float *sealed = sum_over(cases[k].link, true, cases[k].world, counts[i]);
            ck_assert_mem_eq(clear, sealed, counts[i] * sizeof(float));
            free(clear);
            free(sealed);
        }
}
END_TEST

struct others {
    struct work work;
    unsigned char data[4][100001];
};

static void broadcast(int rank, void *ctx)
{
    struct others *o = ctx;
    struct work *w = &o->work;
    for (int turn = 0; turn < 3 && w->rc[rank] == 0; turn++)
        w->rc[rank] =
            ring_barrier(&w->rings[rank], &w->call[rank], &w->e[rank]) ||
            ring_broadcast(&w->rings[rank], o->data[rank], sizeof o->data[rank], 1, &w->call[rank], &w->e[rank]);
}

START_TEST(broadcasts_and_barriers_too)
{
    static struct others o;
    o.work.world = 4;
    for (int r = 0; r < 4; r++)
        memset(o.data[r], r == 1 ? 'x' : 'y', sizeof o.data[r]);
    kit_open(o.work.rings, 4, &(struct kit_options){.link = KIT_TCP, .sealed = true});
    kit_each_rank(4, broadcast, &o);
    for (int r = 0; r < 4; r++) {
        ck_assert_msg(o.work.rc[r] == 0, "%s", o.work.e[r].text);
        ck_assert_mem_eq(o.data[r], o.data[1], sizeof o.data[r]);
    }
    kit_close_rings(o.work.rings, 4);
}
END_TEST

/* ---- a relay on the way from rank 0 to rank 1 ---- */

struct relay {
    int from, to;
    unsigned char *passed; /* all of it */
    size_t bytes, room;
    size_t flip_at; /* this byte gets another lowest bit; SIZE_MAX: none */
    size_t cut_at;  /* the connection ends before this byte */
};

/* What rank 1 says on that connection, which is its part of the handshake. */
static bool pass_back(const struct relay *r)
{
    unsigned char bytes[4096];
    ssize_t n = read(r->to, bytes, sizeof bytes);
    return n > 0 && send(r->from, bytes, (size_t)n, MSG_NOSIGNAL) == n;
}

static void *pass_on(void *argument)
{
    struct relay *r = argument;
    for (;;) {
        struct pollfd p[2] = {{r->from, POLLIN, 0}, {r->to, POLLIN, 0}};
        poll(p, 2, -1);
        if (p[1].revents && !pass_back(r))
            break;
        if (!p[0].revents)
            continue;
        ssize_t n = read(r->from, r->passed + r->bytes, r->room - r->bytes);
        if (n <= 0)
            break;
        if (r->flip_at >= r->bytes && r->flip_at < r->bytes + (size_t)n)
            r->passed[r->flip_at] ^= 1;
        if (r->bytes + (size_t)n > r->cut_at)
            n = (ssize_t)(r->cut_at - r->bytes);
        for (ssize_t done = 0; done < n;) {
            ssize_t put = send(r->to, r->passed + r->bytes + done, (size_t)(n - done), MSG_NOSIGNAL);
            if (put <= 0)
                break;
            done += put;
        }
        r->bytes += (size_t)n;
        if (r->bytes == r->cut_at)
            break;
    }
    shutdown(r->to, SHUT_RDWR);
    shutdown(r->from, SHUT_RDWR);
    return NULL;
}

struct pair {
    struct work work;
    struct ring_options options[2];
    struct relay relay;
    bool sealed;
};

static void open_and_reduce(int rank, void *ctx)
{
    struct pair *p = ctx;
    p->work.rc[rank] = ring_init(&p->work.rings[rank], &p->options[rank], &p->work.e[rank]);
    if (p->work.rc[rank] == 0)
        reduce(rank, &p->work);
    if (p->work.rc[rank]) { /* as a process that ends: the other one notices */
        shutdown(p->options[rank].next_fd, SHUT_RDWR);
        shutdown(p->options[rank].prev_fd, SHUT_RDWR);
    }
}

/* Two ranks, the relay between rank 0 and rank 1; edge 1 goes straight back. */
static void relayed(struct pair *p, size_t count, const unsigned char *key0, const unsigned char *key1)
{
    int out[2], in[2], back[2];
    pthread_t thread;
    take_data(&p->work, 2, count);
    for (int r = 0; r < 2; r++)
        for (size_t i = 0; i < count; i++)
            memcpy(&p->work.data[r][i], "LOOK", 4);
    kit_connect(KIT_UNIX, 0, out);
    kit_connect(KIT_UNIX, 0, in);
    kit_connect(KIT_UNIX, 0, back);
    p->relay.from = out[1];
    p->relay.to = in[0];
    p->relay.room = 4 * count * sizeof(float) + 100000;
    p->relay.passed = malloc(p->relay.room);
    struct kit_options o = {.direct_bytes = RING_DIRECT_BYTES, .timeout_ns = 20000000000u};
    p->options[0] = kit_ring_options(0, 2, out[0], back[1], &o);
    p->options[1] = kit_ring_options(1, 2, back[0], in[1], &o);
    p->options[0].next_key = p->options[0].prev_key = key0;
    p->options[1].next_key = p->options[1].prev_key = key1;
    ck_assert_int_eq(pthread_create(&thread, NULL, pass_on, &p->relay), 0);
    kit_each_rank(2, open_and_reduce, p);
    kit_close_rings(p->work.rings, 2);
    pthread_join(thread, NULL); /* rank 0's end is closed */
    close(p->relay.from);
    close(p->relay.to);
    free_data(&p->work);
}

static const unsigned char one_key[CRYPTO_KEY_BYTES] = "one key of thirty-two bytes 1234";
static const unsigned char other_key[CRYPTO_KEY_BYTES] = "another key of as many bytes 123";

static size_t occurrences(const struct relay *r, const char *word)
{
    size_t n = 0;
    for (size_t i = 0; i + 4 <= r->bytes; i++)
        n += memcmp(r->passed + i, word, 4) == 0;
    return n;
}

/* Of 200,000 bytes at random 2^-32 is expected at each place to look like the word: 0.00005 times in all. */
START_TEST(nothing_can_be_read_on_the_way)
{
    enum { COUNT = 50000 };
    struct pair clear = {.relay = {.flip_at = SIZE_MAX, .cut_at = SIZE_MAX}}, sealed = clear;
    relayed(&clear, COUNT, NULL, NULL);
    relayed(&sealed, COUNT, one_key, one_key);
    for (int r = 0; r < 2; r++)
        ck_assert_msg(clear.work.rc[r] == 0 && sealed.work.rc[r] == 0, "%s", sealed.work.e[r].text);
    ck_assert_uint_ge(occurrences(&clear.relay, "LOOK"), COUNT);
    ck_assert_uint_eq(occurrences(&sealed.relay, "LOOK"), 0);
    ck_assert_uint_eq(occurrences(&sealed.relay, "DDPF"), 0); /* where a frame begins */
    /* one frame of 200,032 bytes makes 13 records; the handshake takes less than 1 KB */
    size_t records = (COUNT * sizeof(float) + FRAME_BYTES + STREAM_RECORD_BYTES - 1) / STREAM_RECORD_BYTES;
    size_t extra = sealed.relay.bytes - clear.relay.bytes;
    ck_assert_uint_eq(clear.relay.bytes, COUNT * sizeof(float) + FRAME_BYTES);
    ck_assert_uint_ge(extra, records * STREAM_OVERHEAD_BYTES);
    ck_assert_uint_le(extra, records * STREAM_OVERHEAD_BYTES + 1000);
    free(clear.relay.passed);
    free(sealed.relay.passed);
}
END_TEST

START_TEST(one_altered_bit_is_found)
{
    static const size_t places[] = {1200, 20000, 150000, 200400};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        struct pair p = {.relay = {.flip_at = places[i], .cut_at = SIZE_MAX}};
        relayed(&p, 50000, one_key, one_key);
        ck_assert_msg(p.work.rc[1] == -1 && p.work.e[1].code == ERR_PROTOCOL, "%d: %s", p.work.e[1].code,
                      p.work.e[1].text);
        ck_assert_msg(strstr(p.work.e[1].text, "rank0") && strstr(p.work.e[1].text, "tampered"), "%s",
                      p.work.e[1].text);
        free(p.relay.passed);
    }
}
END_TEST

START_TEST(other_keys_do_not_get_together)
{
    struct pair p = {.relay = {.flip_at = SIZE_MAX, .cut_at = SIZE_MAX}};
    relayed(&p, 1000, one_key, other_key);
    ck_assert_int_eq(p.work.rc[0], -1);
    ck_assert_int_eq(p.work.rc[1], -1);
    ck_assert_msg(p.work.e[0].code == ERR_NOT_PAIRED || p.work.e[1].code == ERR_NOT_PAIRED, "%s / %s", p.work.e[0].text,
                  p.work.e[1].text);
    free(p.relay.passed);
}
END_TEST

/* One end in clear, the other sealed: no hang and no sum. */
START_TEST(clear_and_sealed_do_not_mix)
{
    struct pair p = {.relay = {.flip_at = SIZE_MAX, .cut_at = SIZE_MAX}};
    uint64_t from = clock_now_ns();
    relayed(&p, 1000, one_key, NULL);
    ck_assert_int_eq(p.work.rc[0], -1);
    ck_assert_int_eq(p.work.rc[1], -1);
    ck_assert_uint_lt(clock_now_ns() - from, 15000000000u);
    free(p.relay.passed);
}
END_TEST

START_TEST(an_early_end_is_a_lost_peer)
{
    static const size_t places[] = {300, 30000, 200000};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        struct pair p = {.relay = {.flip_at = SIZE_MAX, .cut_at = places[i]}};
        relayed(&p, 50000, one_key, one_key);
        ck_assert_msg(p.work.rc[1] == -1 && p.work.e[1].code == ERR_PEER_LOST, "%d: %s", p.work.e[1].code,
                      p.work.e[1].text);
        ck_assert_msg(strstr(p.work.e[1].text, "rank0"), "%s", p.work.e[1].text);
        free(p.relay.passed);
    }
}
END_TEST

/* A neighbour that never answers the handshake. */
/* What is sealed for one message; less than the kernel keeps for a socket. */
static size_t sealed_message(struct stream *s, int wire, const void *data, size_t bytes, void *sealed, size_t room)
{
    struct err e;
    for (size_t done = 0; done < bytes;) {
        struct iovec piece = {(char *)(uintptr_t)data + done, bytes - done};
        ssize_t gone = stream_send(s, &piece, 1, &e);
        ck_assert_msg(gone > 0, "%s", strerror(errno));
        done += (size_t)gone;
    }
    ssize_t n = read(wire, sealed, room);
    ck_assert_int_gt(n, (ssize_t)bytes);
    return (size_t)n;
}

/* What can be opened of it after so many bytes more. */
static size_t opened(struct stream *s, int wire, const void *sealed, size_t sealed_bytes, void *data, size_t bytes)
{
    struct err e;
    struct iovec piece = {data, bytes};
    ck_assert_int_eq(write(wire, sealed, sealed_bytes), (ssize_t)sealed_bytes);
    ssize_t n = stream_receive(s, &piece, 1, &e);
    ck_assert(n > 0 || errno == EAGAIN);
    return n > 0 ? (size_t)n : 0;
}

/* The message with the new key is 27 bytes; the first piece ends in it, after it, and in the record that follows. */
START_TEST(a_new_key_may_arrive_in_any_pieces)
{
    enum { BYTES = 3 * STREAM_RECORD_BYTES / 2, ROOM = 2 * BYTES };
    static const unsigned char key[CRYPTO_KEY_BYTES] = {1};
    static unsigned char message[BYTES], got[BYTES], sealed[ROOM];
    static const size_t cuts[] = {1, 5, 26, 27, 28, 31, 32, 33, 64, 100, 1000, 10000, 16384, 16432, 16433, 20000};
    struct stream client, server;
    int direct[2], out[2], in[2];
    struct err e;
    kit_connect(KIT_UNIX, 0, direct);
    kit_connect(KIT_UNIX, 0, out);
    kit_connect(KIT_UNIX, 0, in);
    const int nonblocking[] = {direct[0], direct[1], out[0], in[0]};
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(fcntl(nonblocking[i], F_SETFL, O_NONBLOCK), 0);
    ck_assert_msg(stream_init(&client, direct[0], true, "server", key, &e) == 0, "%s", e.text);
    ck_assert_msg(stream_init(&server, direct[1], false, "client", key, &e) == 0, "%s", e.text);
    ck_assert_msg(stream_shake_hands(&client, &server, clock_now_ns() + 20000000000u, -1, &e) == 0, "%s", e.text);
    client.fd = out[0];
    server.fd = in[0];
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        memset(message, (int)i + 1, sizeof message);
        client.records = STREAM_RECORDS_PER_KEY - 1;
        size_t bytes = sealed_message(&client, out[1], message, sizeof message, sealed, sizeof sealed);
        size_t n = opened(&server, in[1], sealed, cuts[i], got, sizeof got);
        n += opened(&server, in[1], sealed + cuts[i], bytes - cuts[i], got + n, sizeof got - n);
        ck_assert_uint_eq(n, sizeof got);
        ck_assert_mem_eq(got, message, sizeof got);
    }
    stream_fini(&client);
    stream_fini(&server);
    for (int i = 0; i < 2; i++) {
        close(direct[i]);
        close(out[i]);
        close(in[i]);
    }
}
END_TEST

START_TEST(a_silent_neighbour_is_given_up)
{
    int out[2], back[2];
    struct ring ring;
    struct err e = {0};
    kit_connect(KIT_UNIX, 0, out);
    kit_connect(KIT_UNIX, 0, back);
    struct kit_options o = {.timeout_ns = 300000000u};
    struct ring_options options = kit_ring_options(0, 2, out[0], back[0], &o);
    options.next_key = options.prev_key = one_key;
    ck_assert_int_eq(ring_init(&ring, &options, &e), -1);
    ck_assert_msg(e.code == ERR_PEER_LOST && strstr(e.text, "rank1"), "%s", e.text);
    ring_fini(&ring);
    close(out[1]);
    close(back[1]);

    uint64_t one = 1;
    kit_connect(KIT_UNIX, 0, out);
    kit_connect(KIT_UNIX, 0, back);
    options = kit_ring_options(0, 2, out[0], back[0], &(struct kit_options){.timeout_ns = 60000000000u});
    options.next_key = options.prev_key = one_key;
    options.stop_fd = eventfd(0, 0);
    ck_assert_int_eq(write(options.stop_fd, &one, sizeof one), sizeof one);
    ck_assert_int_eq(ring_init(&ring, &options, &e), -1);
    ck_assert_msg(e.code == ERR_INTERRUPTED, "%s", e.text);
    ring_fini(&ring);
    close(out[1]);
    close(back[1]);
    close(options.stop_fd);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stream");
    TCase *t = tcase_create("stream");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, sums_are_those_in_clear);
    tcase_add_test(t, broadcasts_and_barriers_too);
    tcase_add_test(t, nothing_can_be_read_on_the_way);
    tcase_add_test(t, one_altered_bit_is_found);
    tcase_add_test(t, other_keys_do_not_get_together);
    tcase_add_test(t, clear_and_sealed_do_not_mix);
    tcase_add_test(t, an_early_end_is_a_lost_peer);
    tcase_add_test(t, a_new_key_may_arrive_in_any_pieces);
    tcase_add_test(t, a_silent_neighbour_is_given_up);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_set_tap(runner, "-");
    srunner_run_all(runner, CK_SILENT);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
