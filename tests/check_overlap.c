/*
 * tests/check_overlap.c - buckets reduced by a communication thread while another thread computes, and the transports
 * below it. Two ranks over loopback TCP, each with a thread that plays the backward pass.
 */
#include <check.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "comm/overlap.h"
#include "comm/slice.h"
#include "tests/ring_kit.h"

enum { BUCKETS = 7, STEPS = 4, COUNT = 40009 };

static const size_t sizes[BUCKETS] = {1, 20000, 0, 3, 9001, 5004, 6000}; /* sum: COUNT */

struct rank {
    struct transport transport;
    struct overlap overlap;
    struct overlap_bucket bucket[BUCKETS];
    float *gradient;
    struct overlap_record record[STEPS][BUCKETS];
    struct err e;
    const char *wrong; /* what was not as it should be */
};

struct pair {
    struct rank rank[2];
};

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static void open_pair(struct pair *p)
{
    struct kit_options plain = {.direct_bytes = RING_DIRECT_BYTES};
    int fds[2];
    memset(p, 0, sizeof *p);
    kit_connect(KIT_TCP, 0, fds);
    for (int r = 0; r < 2; r++) {
        struct rank *k = &p->rank[r];
        struct ring_options o = kit_ring_options(r, 2, fds[r], fds[r], &plain);
        ck_assert_int_eq(transport_open_tcp(&k->transport, &o, &k->e), 0);
        ck_assert_str_eq(k->transport.ops->name, "tcp");
        ck_assert_int_eq(overlap_start(&k->overlap, &k->transport, BUCKETS, &k->e), 0);
        k->gradient = malloc(COUNT * sizeof(float));
        size_t at = 0;
        for (int b = 0; b < BUCKETS; at += sizes[b++])
            k->bucket[b] = (struct overlap_bucket){k->gradient + at, sizes[b]};
        ck_assert_uint_eq(at, COUNT);
    }
}

static void close_pair(struct pair *p)
{
    for (int r = 0; r < 2; r++) {
        overlap_stop(&p->rank[r].overlap);
        transport_close(&p->rank[r].transport);
        free(p->rank[r].gradient);
    }
}

static float share(int rank, int step, size_t i)
{
    return (float)((i * 3 + (size_t)rank * 17 + (size_t)step * 5) % 1013);
}

static void compute(struct rank *k, int rank, int step, int b)
{
    size_t at = (size_t)(k->bucket[b].data - k->gradient);
    for (size_t i = 0; i < sizes[b]; i++)
        k->bucket[b].data[i] = share(rank, step, at + i);
    overlap_ready(&k->overlap, b);
}

static void check_sums(struct rank *k, int step)
{
    for (size_t i = 0; i < COUNT && !k->wrong; i++)
        if (k->gradient[i] != share(0, step, i) + share(1, step, i))
            k->wrong = "a sum";
}

/* Rank 0 is slow; rank 1 finishes its buckets in another order than they are launched. */
static void train(int r, void *ctx)
{
    static const int order[2][BUCKETS] = {{0, 1, 2, 3, 4, 5, 6}, {1, 0, 4, 3, 6, 5, 2}};
    struct rank *k = &((struct pair *)ctx)->rank[r];
    for (int step = 0; step < STEPS && !k->wrong; step++) {
        if (overlap_begin(&k->overlap, (uint32_t)step, k->bucket, BUCKETS, &k->e))
            k->wrong = "begin";
        for (int i = 0; i < BUCKETS; i++) {
            if (r == 0 && i % 3 == 0)
                sleep_ms(3);
            compute(k, r, step, order[r][i]);
        }
        if (overlap_wait(&k->overlap, BUCKETS, &k->e))
            k->wrong = "wait";
        memcpy(k->record[step], k->overlap.record, sizeof k->record[step]);
        check_sums(k, step);
        /* between steps the transport is the owner's */
        struct call call = {.step = (uint32_t)step};
        if (transport_barrier(&k->transport, &call, &k->e))
            k->wrong = "barrier";
    }
}

START_TEST(buckets_are_summed_in_order_while_backward_goes_on)
{
    struct pair p;
    open_pair(&p);
    kit_each_rank(2, train, &p);
    for (int r = 0; r < 2; r++) {
        ck_assert_msg(!p.rank[r].wrong, "rank %d: %s: %s", r, p.rank[r].wrong, p.rank[r].e.text);
        for (int step = 0; step < STEPS; step++)
            for (int b = 0; b < BUCKETS; b++) {
                const struct overlap_record *record = &p.rank[r].record[step][b];
                ck_assert_uint_eq(record->call.step, (unsigned)step);
                ck_assert_uint_eq(record->call.bucket, (unsigned)b);
                ck_assert(0 < record->ready_ns && record->ready_ns <= record->call.start_ns);
                ck_assert(record->call.start_ns <= record->call.end_ns);
                ck_assert(b == 0 || record[-1].call.end_ns <= record->call.start_ns);
                ck_assert_uint_eq(record->call.received_bytes, sizes[b] * sizeof(float)); /* 2 (N-1) / N = 1 */
                ck_assert_int_eq(record->call.first_byte_ns > 0, sizes[b] > 0);
            }
    }
    close_pair(&p);
}
END_TEST

/* Bucket 0 can be had while bucket 1 is still being computed; a queue that waited for all would stand still here. */
static void update_early(int r, void *ctx)
{
    struct rank *k = &((struct pair *)ctx)->rank[r];
    if (overlap_begin(&k->overlap, 0, k->bucket, 2, &k->e))
        k->wrong = "begin";
    compute(k, r, 0, 0);
    if (overlap_wait(&k->overlap, 1, &k->e) || k->gradient[0] != share(0, 0, 0) + share(1, 0, 0))
        k->wrong = "the first bucket";
    if (overlap_wait(&k->overlap, 2, &k->e) == 0 || k->e.code != ERR_USAGE)
        k->wrong = "waiting for what never was ready";
    if (overlap_begin(&k->overlap, 1, k->bucket, 2, &k->e) == 0 || k->e.code != ERR_USAGE)
        k->wrong = "a step on top of another";
    compute(k, r, 0, 1);
    if (overlap_wait(&k->overlap, 2, &k->e))
        k->wrong = "the second bucket";
    if (overlap_begin(&k->overlap, 1, k->bucket, BUCKETS + 1, &k->e) == 0 || k->e.code != ERR_USAGE)
        k->wrong = "more buckets than planned";
    if (overlap_begin(&k->overlap, 1, k->bucket, 0, &k->e) || overlap_wait(&k->overlap, 0, &k->e))
        k->wrong = "a step without buckets";
}

START_TEST(a_bucket_can_be_waited_for_by_itself)
{
    struct pair p;
    open_pair(&p);
    kit_each_rank(2, update_early, &p);
    for (int r = 0; r < 2; r++)
        ck_assert_msg(!p.rank[r].wrong, "rank %d: %s", r, p.rank[r].wrong);
    close_pair(&p);
}
END_TEST

/* Rank 1 ends while bucket 2 is the next one; rank 0 is told in its wait, and every time after that. */
static void lose_peer(int r, void *ctx)
{
    struct rank *k = &((struct pair *)ctx)->rank[r];
    if (overlap_begin(&k->overlap, 12, k->bucket, 4, &k->e))
        k->wrong = "begin";
    compute(k, r, 0, 0);
    compute(k, r, 0, 1);
    if (r == 1) {
        if (overlap_wait(&k->overlap, 2, &k->e))
            k->wrong = "wait";
        shutdown(k->transport.ring.next.fd, SHUT_RDWR);
        return;
    }
    compute(k, r, 0, 2);
    compute(k, r, 0, 3);
    if (overlap_wait(&k->overlap, 4, &k->e) == 0)
        k->wrong = "a peer that is gone";
    struct err again = {0};
    if (overlap_begin(&k->overlap, 13, k->bucket, 4, &again) == 0 || strcmp(again.text, k->e.text) != 0)
        k->wrong = "begin after the failure";
    overlap_ready(&k->overlap, 3);
    if (overlap_wait(&k->overlap, 4, &again) == 0 || strcmp(again.text, k->e.text) != 0)
        k->wrong = "wait after the failure";
}

START_TEST(a_lost_peer_stops_the_queue)
{
    struct pair p;
    open_pair(&p);
    kit_each_rank(2, lose_peer, &p);
    for (int r = 0; r < 2; r++)
        ck_assert_msg(!p.rank[r].wrong, "rank %d: %s: %s", r, p.rank[r].wrong, p.rank[r].e.text);
    ck_assert_int_eq(p.rank[0].e.code, ERR_PEER_LOST);
    /* bucket 2 is empty, so nothing is sent for it: the loss shows at bucket 3 */
    ck_assert_msg(strstr(p.rank[0].e.text, "rank1") && strstr(p.rank[0].e.text, "step 12, bucket 3"), "%s",
                  p.rank[0].e.text);
    close_pair(&p);
}
END_TEST

/* Started and never used, or used and stopped with a bucket that never came. */
START_TEST(a_queue_can_be_stopped_at_any_time)
{
    struct transport transport;
    struct overlap zeroed = {0}, o;
    struct err e = {0};
    float x[2] = {1, 2};
    struct overlap_bucket buckets[2] = {{x, 1}, {x + 1, 1}};
    overlap_stop(&zeroed);
    transport_open_null(&transport, 0, 1);
    ck_assert_int_eq(overlap_start(&o, &transport, 0, &e), -1);
    ck_assert_int_eq(e.code, ERR_USAGE);
    ck_assert_int_eq(overlap_start(&o, &transport, 2, &e), 0);
    overlap_stop(&o);
    ck_assert_int_eq(overlap_start(&o, &transport, 2, &e), 0);
    ck_assert_int_eq(overlap_begin(&o, 0, buckets, 2, &e), 0);
    overlap_ready(&o, 1);
    overlap_stop(&o);
    overlap_stop(&o);
    transport_close(&transport);
    transport_close(&transport);
}
END_TEST

/* One rank's results are right; more ranks' are not changed at all, and nothing is counted as moved. */
START_TEST(null_moves_nothing)
{
    for (int world = 1; world <= 3; world += 2) {
        struct transport t;
        struct call call = {.step = 12, .bucket = 3, .sent_bytes = 99, .wait_ns = 99};
        struct err e = {0};
        float x[3] = {1, 2, 3};
        uint64_t before = clock_now_ns();
        transport_open_null(&t, 0, world);
        ck_assert_str_eq(t.ops->name, "null");
        ck_assert_int_eq(transport_allreduce(&t, x, 3, &call, &e), 0);
        ck_assert(x[0] == 1 && x[1] == 2 && x[2] == 3);
        ck_assert_uint_eq(call.step, 12);
        ck_assert_uint_eq(call.sent_bytes + call.received_bytes + call.wait_ns, 0);
        ck_assert(call.start_ns >= before && call.end_ns == call.start_ns);
        ck_assert_int_eq(transport_barrier(&t, &call, &e), 0);
        ck_assert_int_eq(transport_broadcast(&t, x, sizeof x, 0, &call, &e), 0);
        ck_assert_int_eq(transport_broadcast(&t, x, sizeof x, world, &call, &e), -1);
        ck_assert_int_eq(e.code, ERR_USAGE);
        transport_close(&t);
    }
}
END_TEST

/* A failed start leaves nothing open. */
START_TEST(tcp_refuses_what_is_no_socket)
{
    struct kit_options plain = {0};
    struct transport t;
    struct err e = {0};
    int pipe_fds[2];
    ck_assert_int_eq(pipe(pipe_fds), 0);
    struct ring_options o = kit_ring_options(0, 2, pipe_fds[0], pipe_fds[1], &plain);
    ck_assert_int_eq(transport_open_tcp(&t, &o, &e), -1);
    ck_assert_int_eq(e.code, ERR_IO);
    ck_assert_ptr_nonnull(strstr(e.text, "rank1"));
    ck_assert_int_eq(close(pipe_fds[0]), -1); /* the transport has closed them */
    ck_assert_int_eq(close(pipe_fds[1]), -1);
    transport_close(&t);
}
END_TEST

/* A sandbox may forbid it, or be no Linux in spite of what it says. */
static bool may_set(void)
{
    struct attributes {
        uint32_t size, policy;
        uint64_t flags, nice_and_priority, runtime_ns, deadline_ns, period_ns, utilization;
    } a = {0};
    return syscall(SYS_sched_getattr, 0, &a, sizeof a, 0) == 0 && a.runtime_ns > 0 &&
           syscall(SYS_sched_setattr, 0, &a, 0) == 0;
}

/* Linux grants 0.1 ms to any thread of the usual class from 6.12 on; before, it does not tell and nothing is changed. Other
 * classes have no slices to shorten. Asking twice changes nothing. */
START_TEST(a_slice_is_shortened_where_there_are_slices)
{
    struct utsname name;
    ck_assert_int_eq(uname(&name), 0);
    char *end;
    long major = strtol(name.release, &end, 10), minor = strtol(end + (*end == '.'), NULL, 10);
    bool told = major > 6 || (major == 6 && minor >= 12);
    uint64_t slice_ns = slice_shorten();
    if (slice_ns == 0)
        ck_assert_msg(!told || sched_getscheduler(0) != SCHED_OTHER || !may_set(), "no slice on Linux %s",
                      name.release);
    else
        ck_assert_uint_eq(slice_ns, 100000);
    ck_assert_uint_eq(slice_shorten(), slice_ns);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("overlap");
    TCase *all = tcase_create("overlap");
    tcase_set_timeout(all, 60);
    tcase_add_test(all, buckets_are_summed_in_order_while_backward_goes_on);
    tcase_add_test(all, a_bucket_can_be_waited_for_by_itself);
    tcase_add_test(all, a_lost_peer_stops_the_queue);
    tcase_add_test(all, a_queue_can_be_stopped_at_any_time);
    tcase_add_test(all, a_slice_is_shortened_where_there_are_slices);
    tcase_add_test(all, null_moves_nothing);
    tcase_add_test(all, tcp_refuses_what_is_no_socket);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
