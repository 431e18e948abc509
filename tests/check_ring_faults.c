/*
 * tests/check_ring_faults.c - what a rank reports when its peer dies, stalls, sends damaged data or is elsewhere.
 *
 * One rank is real; the other end of its sockets is the test. Every error must name the peer, the step and the bucket,
 * and come at once unless only a deadline can tell.
 */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "comm/frame.h"
#include "tests/ring_kit.h"

enum { COUNT = 300000 };

/* "At once" on a busy machine with sanitizers; the deadline that would end it otherwise is 20 s. */
#define AT_ONCE_NS 15000000000u

static float data[KIT_RANKS_MAX][COUNT];
static const struct kit_options plain = {.link = KIT_TCP};

static void check_names(const struct err *e, enum err_code code, const char *peer)
{
    ck_assert_msg(e->code == code, "%d: %s", e->code, e->text);
    ck_assert_msg(strstr(e->text, peer) && strstr(e->text, "step 12") && strstr(e->text, "bucket 3"), "%s", e->text);
}

struct victim {
    struct ring ring;
    struct err e;
    struct call call;
    int rc;
    uint64_t took_ns;
};

static void reduce_one(struct victim *v)
{
    v->call = (struct call){.step = 12, .bucket = 3};
    uint64_t from = clock_now_ns();
    v->rc = ring_allreduce(&v->ring, data[v->ring.rank], COUNT, &v->call, &v->e);
    v->took_ns = clock_now_ns() - from;
}

static void *reduce_on_thread(void *victim)
{
    reduce_one(victim);
    return NULL;
}

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* The peer takes a part of what it is sent and then closes, which resets the connection, or ends in order. */
START_TEST(peer_that_closes_in_the_middle_is_lost_at_once)
{
    for (int orderly = 0; orderly < 2; orderly++) {
        struct victim v = {0};
        int fds[2];
        kit_connect(KIT_TCP, 0, fds);
        struct ring_options o = kit_ring_options(0, 2, fds[0], fds[0], &plain);
        ck_assert_int_eq(ring_init(&v.ring, &o, &v.e), 0);
        pthread_t thread;
        pthread_create(&thread, NULL, reduce_on_thread, &v);
        char taken[5000];
        ck_assert_int_eq(recv(fds[1], taken, sizeof taken, MSG_WAITALL), sizeof taken);
        if (orderly)
            shutdown(fds[1], SHUT_WR);
        else
            close(fds[1]);
        pthread_join(thread, NULL);
        ck_assert_int_eq(v.rc, -1);
        check_names(&v.e, ERR_PEER_LOST, "rank1");
        ck_assert_uint_lt(v.took_ns, AT_ONCE_NS);
        ring_fini(&v.ring);
        if (orderly)
            close(fds[1]);
    }
}
END_TEST

/* Reads all there is, so that closing afterwards is an orderly end and no reset. */
static void drain(int fd)
{
    struct timeval limit = {.tv_usec = 200000};
    char taken[65536];
    ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
    while (recv(fd, taken, sizeof taken, 0) > 0)
        ;
}

/* Three ranks: nothing ever comes back from the next one, so its end shows only in poll; the rank cannot send either, as
 * the previous one is silent. */
START_TEST(next_rank_that_closes_is_lost_at_once)
{
    struct victim v = {0};
    int to_next[2], from_prev[2];
    kit_connect((enum kit_link)_i, 0, to_next);
    kit_connect((enum kit_link)_i, 0, from_prev);
    struct ring_options o = kit_ring_options(0, 3, to_next[0], from_prev[0], &plain);
    ck_assert_int_eq(ring_init(&v.ring, &o, &v.e), 0);
    pthread_t thread;
    pthread_create(&thread, NULL, reduce_on_thread, &v);
    drain(to_next[1]);
    close(to_next[1]);
    pthread_join(thread, NULL);
    ck_assert_int_eq(v.rc, -1);
    check_names(&v.e, ERR_PEER_LOST, "rank1");
    ck_assert_uint_lt(v.took_ns, AT_ONCE_NS);
    ring_fini(&v.ring);
    close(from_prev[1]);
}
END_TEST

START_TEST(peer_that_died_before_is_lost_at_once)
{
    struct victim v = {0};
    int fds[2];
    kit_connect((enum kit_link)_i, 0, fds);
    close(fds[1]);
    struct ring_options o = kit_ring_options(0, 2, fds[0], fds[0], &plain);
    ck_assert_int_eq(ring_init(&v.ring, &o, &v.e), 0);
    reduce_one(&v);
    ck_assert_int_eq(v.rc, -1);
    check_names(&v.e, ERR_PEER_LOST, "rank1");
    ck_assert_uint_lt(v.took_ns, AT_ONCE_NS);
    ring_fini(&v.ring);
}
END_TEST

/* The connection stays open and nothing moves. False: the wait is not the peer's. */
static bool wait_for_one_that_stalls(void)
{
    struct victim v = {0};
    struct kit_options options = {.link = KIT_TCP, .timeout_ns = 300000000};
    int fds[2];
    kit_connect(KIT_TCP, 0, fds);
    struct ring_options o = kit_ring_options(0, 2, fds[0], fds[0], &options);
    ck_assert_int_eq(ring_init(&v.ring, &o, &v.e), 0);
    reduce_one(&v);
    ck_assert_int_eq(v.rc, -1);
    check_names(&v.e, ERR_PEER_LOST, "rank1");
    ck_assert_ptr_nonnull(strstr(v.e.text, "0.3 s"));
    ck_assert_uint_ge(v.took_ns, options.timeout_ns);
    ck_assert_uint_lt(v.took_ns, options.timeout_ns + AT_ONCE_NS);
    ring_fini(&v.ring);
    close(fds[1]);
    return v.call.wait_ns >= options.timeout_ns * 9 / 10;
}

/* A rank that gets no processor does not wait, so one try in which it did is enough. */
START_TEST(peer_that_stalls_is_lost_at_the_deadline)
{
    bool waited = false;
    for (int i = 0; i < 10 && !waited; i++)
        waited = wait_for_one_that_stalls();
    ck_assert(waited);
}
END_TEST

struct dripper {
    int fd;
    const unsigned char *bytes;
    size_t n;
};

static void *drip(void *argument)
{
    struct dripper *d = argument;
    for (size_t i = 0; i < d->n; i++) {
        sleep_ms(100);
        if (send(d->fd, d->bytes + i, 1, MSG_NOSIGNAL) != 1)
            break;
    }
    return NULL;
}

/* 40 bytes in 4 s under a deadline of 2.5 s: only silence ends a call, slowness is measured. */
START_TEST(peer_that_is_slow_is_not_dropped)
{
    struct kit_options options = {.link = KIT_TCP, .direct_bytes = 4, .timeout_ns = 2500000000};
    unsigned char wire[FRAME_BYTES + 4] = {0};
    struct frame frame = {.kind = FRAME_DIRECT, .step = 12, .bucket = 3, .bytes = 4};
    frame.crc = frame_crc(0, wire, 4);
    frame_encode(wire, &frame);
    struct ring ring;
    struct err e = {0};
    int fds[2];
    kit_connect(KIT_TCP, 0, fds);
    struct ring_options o = kit_ring_options(0, 2, fds[0], fds[0], &options);
    ck_assert_int_eq(ring_init(&ring, &o, &e), 0);
    struct dripper dripper = {fds[1], wire, sizeof wire};
    pthread_t thread;
    uint64_t from = clock_now_ns();
    pthread_create(&thread, NULL, drip, &dripper);
    float x = 5;
    struct call call = {.step = 12, .bucket = 3};
    int rc = ring_allreduce(&ring, &x, 1, &call, &e);
    pthread_join(thread, NULL);
    ck_assert_msg(rc == 0, "%s", e.text);
    ck_assert_float_eq(x, 5);
    ck_assert_uint_ge(call.end_ns - from, 40 * 100000000u);
    ring_fini(&ring);
    close(fds[1]);
}
END_TEST

/* Passes bytes on in one direction and flips one bit on the way. */
struct forwarder {
    int from, to;
    size_t flip_byte;
};

static void *forward(void *argument)
{
    struct forwarder *f = argument;
    unsigned char part[4096];
    size_t passed = 0;
    for (;;) {
        ssize_t n = recv(f->from, part, sizeof part, 0);
        if (n <= 0)
            break;
        if (f->flip_byte >= passed && f->flip_byte < passed + (size_t)n)
            part[f->flip_byte - passed] ^= 0x10;
        passed += (size_t)n;
        if (send(f->to, part, (size_t)n, MSG_NOSIGNAL) != n)
            break;
    }
    shutdown(f->to, SHUT_WR);
    return NULL;
}

static void reduce_rank(int rank, void *ctx)
{
    struct victim *v = ctx;
    reduce_one(&v[rank]);
    /* as a program that gives up does: the other one must not wait for the deadline */
    if (v[rank].rc)
        shutdown(v[rank].ring.next.fd, SHUT_RDWR);
    if (v[rank].rc)
        shutdown(v[rank].ring.prev.fd, SHUT_RDWR);
}

/* Byte 3 is in the magic, 20 in the segment's number, 30 in the time waited, 34 in the checksum, 300036 in the payload of the second frame. */
START_TEST(flipped_bit_is_a_protocol_error)
{
    static const size_t flips[] = {3, 20, 30, 34, FRAME_BYTES, FRAME_BYTES + 1000, 300036};
    for (size_t k = 0; k < sizeof flips / sizeof *flips; k++) {
        struct victim v[2] = {0};
        int a[2], b[2], back[2];
        kit_connect(KIT_TCP, 0, a);
        kit_connect(KIT_TCP, 0, b);
        kit_connect(KIT_TCP, 0, back);
        struct ring_options o0 = kit_ring_options(0, 2, a[0], back[0], &plain);
        struct ring_options o1 = kit_ring_options(1, 2, back[1], b[1], &plain);
        ck_assert_int_eq(ring_init(&v[0].ring, &o0, &v[0].e), 0);
        ck_assert_int_eq(ring_init(&v[1].ring, &o1, &v[1].e), 0);
        struct forwarder forwarder = {a[1], b[0], flips[k]};
        pthread_t thread;
        pthread_create(&thread, NULL, forward, &forwarder);
        kit_each_rank(2, reduce_rank, v);
        ck_assert_int_eq(v[1].rc, -1);
        check_names(&v[1].e, ERR_PROTOCOL, "rank0");
        ck_assert_uint_lt(v[1].took_ns, AT_ONCE_NS);
        ck_assert_int_eq(v[0].rc, -1);
        check_names(&v[0].e, ERR_PEER_LOST, "rank1");
        ring_fini(&v[0].ring);
        ring_fini(&v[1].ring);
        pthread_join(thread, NULL);
        close(a[1]);
        close(b[0]);
    }
}
END_TEST

struct other_place {
    struct ring rings[2];
    struct err e[2];
    int rc[2];
    int what;
};

static void go_elsewhere(int rank, void *ctx)
{
    struct other_place *p = ctx;
    struct call call = {.step = 12, .bucket = 3};
    if (rank == 1 && p->what == 0)
        call.bucket = 4;
    if (rank == 1 && p->what == 1)
        p->rc[1] = ring_broadcast(&p->rings[1], data[1], COUNT, 1, &call, &p->e[1]);
    else
        p->rc[rank] = ring_allreduce(&p->rings[rank], data[rank], rank == 1 && p->what == 2 ? COUNT / 2 : COUNT, &call,
                                     &p->e[rank]);
    shutdown(p->rings[rank].next.fd, SHUT_RDWR);
}

/* Another bucket, another operation, another length: never a silent sum. */
START_TEST(ranks_at_different_places_are_told_apart)
{
    static const char *const there[] = {"bucket 4", "broadcast", "hop 0"};
    for (int what = 0; what < 3; what++) {
        struct other_place p = {.what = what};
        kit_open(p.rings, 2, &(struct kit_options){.link = KIT_TCP});
        kit_each_rank(2, go_elsewhere, &p);
        ck_assert_int_eq(p.rc[0], -1);
        check_names(&p.e[0], ERR_PROTOCOL, "rank1");
        ck_assert_msg(strstr(p.e[0].text, there[what]) && strstr(p.e[0].text, "bucket 3, all-reduce"), "%s",
                      p.e[0].text);
        kit_close_rings(p.rings, 2);
    }
}
END_TEST

START_TEST(after_a_failure_the_first_error_comes_back)
{
    struct victim v = {0};
    int fds[2];
    kit_connect(KIT_TCP, 0, fds);
    close(fds[1]);
    struct ring_options o = kit_ring_options(0, 2, fds[0], fds[0], &plain);
    ck_assert_int_eq(ring_init(&v.ring, &o, &v.e), 0);
    reduce_one(&v);
    struct err later = {0};
    struct call call = {.step = 13};
    ck_assert_int_eq(ring_barrier(&v.ring, &call, &later), -1);
    ck_assert_int_eq(later.code, v.e.code);
    ck_assert_str_eq(later.text, v.e.text);
    ring_fini(&v.ring);
}
END_TEST

/* What a heartbeat does that has noticed a dead peer, or Ctrl-C. */
START_TEST(waiting_ends_when_told_to_stop)
{
    struct victim v = {0};
    int fds[2], stop = eventfd(0, EFD_CLOEXEC);
    kit_connect(KIT_TCP, 0, fds);
    struct ring_options o = kit_ring_options(0, 2, fds[0], fds[0], &plain);
    o.stop_fd = stop;
    ck_assert_int_eq(ring_init(&v.ring, &o, &v.e), 0);
    pthread_t thread;
    pthread_create(&thread, NULL, reduce_on_thread, &v);
    sleep_ms(50);
    ck_assert_int_eq(eventfd_write(stop, 1), 0);
    pthread_join(thread, NULL);
    ck_assert_int_eq(v.rc, -1);
    ck_assert_int_eq(v.e.code, ERR_INTERRUPTED);
    ck_assert_ptr_nonnull(strstr(v.e.text, "step 12, bucket 3"));
    ck_assert_uint_lt(v.took_ns, AT_ONCE_NS);
    ring_fini(&v.ring);
    close(stop);
    close(fds[1]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ring faults");
    TCase *all = tcase_create("ring faults");
    tcase_set_timeout(all, 60);
    tcase_add_test(all, peer_that_closes_in_the_middle_is_lost_at_once);
    tcase_add_loop_test(all, next_rank_that_closes_is_lost_at_once, KIT_UNIX, KIT_TCP + 1);
    tcase_add_loop_test(all, peer_that_died_before_is_lost_at_once, KIT_UNIX, KIT_TCP + 1);
    tcase_add_test(all, peer_that_stalls_is_lost_at_the_deadline);
    tcase_add_test(all, peer_that_is_slow_is_not_dropped);
    tcase_add_test(all, flipped_bit_is_a_protocol_error);
    tcase_add_test(all, ranks_at_different_places_are_told_apart);
    tcase_add_test(all, after_a_failure_the_first_error_comes_back);
    tcase_add_test(all, waiting_ends_when_told_to_stop);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
