/* A link's measurement: two ends on this machine's loopback, orders and answers from a peer, sums that are checked. */
#include <check.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/stats.h"
#include "comm/link.h"
#include "comm/link_reduce.h"
#include "comm/link_socket.h"
#include "comm/link_survey.h"
#include "tests/ring_kit.h"

enum { TRIES = 6 }; /* of what a machine shows that does not hold an end up just then */

struct two {
    struct link link[2];
    struct link_order order;
    struct link_result result[2];
    struct err err[2];
    int rc[2];
    int dies; /* this end closes its sockets instead; -1: none */
};

static void open_two(struct two *t)
{
    int there[2], back[2];
    *t = (struct two){.dies = -1};
    kit_connect(KIT_TCP, 0, there);
    kit_connect(KIT_TCP, 0, back);
    ck_assert_int_eq(link_start(&t->link[0], 0, there[0], back[1], -1, "b", &t->err[0]), 0);
    ck_assert_int_eq(link_start(&t->link[1], 1, back[0], there[1], -1, "a", &t->err[1]), 0);
}

static void close_two(struct two *t)
{
    for (int i = 0; i < 2; i++) {
        link_result_fini(&t->result[i]);
        link_close(&t->link[i]);
    }
}

static void one_end(int rank, void *ctx)
{
    struct two *t = ctx;
    if (t->dies == rank) {
        link_close(&t->link[rank]);
        return;
    }
    link_result_fini(&t->result[rank]);
    t->rc[rank] = link_perform(&t->link[rank], &t->order, &t->result[rank], &t->err[rank]);
}

static void perform(struct two *t, struct link_order order)
{
    t->order = order;
    kit_each_rank(2, one_end, t);
    for (int i = 0; i < 2 && t->dies < 0; i++)
        ck_assert_msg(t->rc[i] == 0, "end %d: %s", i, t->err[i].text);
}

/* Rank 0 has a time for each ping, rank 1 for none. */
START_TEST(pings)
{
    struct two t;
    open_two(&t);
    perform(&t, (struct link_order){.kind = LINK_PING, .repeats = 300});
    ck_assert_int_eq(t.result[0].n, 300);
    ck_assert_int_eq(t.result[1].n, 0);
    for (int i = 0; i < 300; i++)
        ck_assert(t.result[0].time_s[i] > 0 && t.result[0].time_s[i] < 60);
    close_two(&t);
}
END_TEST

/* Times are where the message arrives, and the bytes are those of the order, whatever its size is a multiple of. */
START_TEST(messages)
{
    static const uint64_t sizes[] = {1, 4096, 262143, 262144, 262145, 1048577, LINK_BYTES_MAX};
    struct two t;
    open_two(&t);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int mode = 0; mode < 3; mode++) {
            int repeats = sizes[i] < 1000000 ? 7 : 1;
            perform(&t,
                    (struct link_order){
                        .kind = LINK_MESSAGES, .mode = (enum link_mode)mode, .bytes = sizes[i], .repeats = repeats});
            for (int end = 0; end < 2; end++) {
                bool receives = mode == LINK_DUPLEX || (mode == LINK_A_TO_B) == (end == 1);
                bool sends = mode == LINK_DUPLEX || !receives;
                ck_assert_int_eq(t.result[end].n, receives ? repeats : 0);
                ck_assert_uint_eq(t.result[end].received_bytes, receives ? repeats * sizes[i] : 0);
                ck_assert_uint_eq(t.result[end].sent_bytes, sends ? repeats * sizes[i] : 0);
            }
        }
    close_two(&t);
}
END_TEST

/* What is sent reaches the other end's memory as it was. */
START_TEST(bytes_arrive)
{
    enum { BYTES = 1000003 };
    struct two t;
    open_two(&t);
    for (int i = 0; i < BYTES; i++)
        t.link[0].memory[i] = (char)(i * 31 + i / 257);
    perform(&t, (struct link_order){.kind = LINK_MESSAGES, .mode = LINK_A_TO_B, .bytes = BYTES, .repeats = 1});
    ck_assert_mem_eq(t.link[1].memory + LINK_MEMORY_BYTES, t.link[0].memory, BYTES);
    close_two(&t);
}
END_TEST

/* A paced stream: the rate is that of the pace. Had the bytes of the warm-up counted it would be twice as much, and had what
 * the sender's kernel holds counted, more than the pace as well. */
static bool rates_of_windows(void)
{
    struct two t;
    bool paced = true;
    struct link_order order = {
        .kind = LINK_STREAM, .warmup_s = 0.6, .window_s = 0.6, .rate_bytes_per_s = 20e6, .ping_gap_s = 0.01};
    open_two(&t);
    for (int mode = 0; mode < 3; mode++) {
        order.mode = (enum link_mode)mode;
        perform(&t, order);
        for (int end = 0; end < 2; end++) {
            const struct link_result *r = &t.result[end];
            if (mode == LINK_DUPLEX || (mode == LINK_A_TO_B) == (end == 1)) {
                double rate = (double)r->window_bytes / r->window_s;
                paced &= rate > 14e6 && rate < 28e6;
                ck_assert(r->window_s >= 0.6);
                ck_assert_uint_eq(r->window_bytes, r->received_bytes);
            } else {
                ck_assert_uint_eq(r->window_bytes, 0);
            }
            ck_assert(r->cpu_s >= 0 && r->cpu_s <= r->process_cpu_s + 0.01 && r->cpu_window_s > 0);
        }
        ck_assert_int_gt(t.result[0].n, 0); /* pings beside it */
        ck_assert_int_eq(t.result[1].n, 0);
    }
    close_two(&t);
    return paced;
}

/* An end that is held up for half a window counts fewer bytes in it, or those of before. */
START_TEST(window_of_a_stream)
{
    bool paced = false;
    for (int i = 0; i < TRIES && !paced; i++)
        paced = rates_of_windows();
    ck_assert(paced);
}
END_TEST

/* As fast as it goes, then the next order: nothing of a stream is left in the sockets. */
START_TEST(streams_leave_nothing)
{
    struct two t;
    open_two(&t);
    for (int i = 0; i < 6; i++) {
        perform(&t, (struct link_order){.kind = LINK_STREAM,
                                        .mode = (enum link_mode)(i % 4),
                                        .warmup_s = 0.02,
                                        .window_s = 0.05,
                                        .ping_gap_s = 0.001});
        perform(&t, (struct link_order){.kind = LINK_PING, .repeats = 3});
    }
    close_two(&t);
}
END_TEST

static atomic_int begun, ended;

static int begin_nap(void *ctx, int threads, struct err *e)
{
    (void)ctx;
    begun += threads;
    return *(int *)ctx ? err_set(e, ERR_MEMORY, "no room") : 0;
}

static void nap(void *ctx, int threads)
{
    (void)ctx;
    (void)threads;
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
}

static void end_nap(void *ctx)
{
    (void)ctx;
    ended++;
}

/* Work that sleeps 5 ms takes at least that, and units end within the window only; nobody sends meanwhile. */
START_TEST(work_beside_an_idle_link)
{
    struct two t;
    int fails = 0;
    bool had_time = false;
    struct link_work works[] = {{"nap", begin_nap, nap, end_nap, &fails}, {.name = NULL}};
    open_two(&t);
    t.link[0].works = t.link[1].works = works;
    struct link_order order = {
        .kind = LINK_STREAM, .mode = LINK_IDLE, .warmup_s = 0.05, .window_s = 0.3, .work = "nap", .threads = {3, 4}};
    for (int i = 0; i < TRIES && !had_time; i++) {
        begun = ended = 0;
        perform(&t, order);
        ck_assert_int_eq(begun, 7);
        ck_assert_int_eq(ended, 2);
        for (int end = 0; end < 2; end++) {
            const struct link_result *r = &t.result[end];
            ck_assert(r->units == 0 || r->units_s / (double)r->units >= 0.005);
            ck_assert_uint_eq(r->sent_bytes + r->received_bytes, 0);
        }
        /* the second end only hears when the window is over */
        had_time = t.result[0].units > 0 && t.result[1].units > 0 && t.result[0].units_s <= 0.4;
    }
    ck_assert(had_time);
    /* work that cannot begin ends the order, at both ends alike and without a hang */
    fails = 1;
    t.order = order;
    kit_each_rank(2, one_end, &t);
    for (int end = 0; end < 2; end++) {
        ck_assert_int_eq(t.rc[end], -1);
        ck_assert_int_eq(t.err[end].code, ERR_MEMORY);
    }
    strcpy(t.order.work, "none");
    kit_each_rank(2, one_end, &t);
    ck_assert_int_eq(t.err[0].code, ERR_PROTOCOL);
    close_two(&t);
}
END_TEST

/* An end that goes away is told at once. */
START_TEST(a_lost_peer)
{
    static const struct link_order orders[] = {
        {.kind = LINK_PING, .repeats = 3},
        {.kind = LINK_MESSAGES, .mode = LINK_A_TO_B, .bytes = LINK_BYTES_MAX, .repeats = 2},
        {.kind = LINK_MESSAGES, .mode = LINK_B_TO_A, .bytes = LINK_BYTES_MAX, .repeats = 2},
        {.kind = LINK_STREAM, .mode = LINK_DUPLEX, .warmup_s = 10, .window_s = 10},
        {.kind = LINK_REDUCE, .mode = LINK_DUPLEX, .bytes = 4096, .repeats = 5, .work = "tcp"},
    };
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        struct two t;
        open_two(&t);
        t.dies = 1;
        uint64_t from = clock_now_ns();
        perform(&t, orders[i]);
        ck_assert_int_eq(t.rc[0], -1);
        ck_assert_msg(t.err[0].code == ERR_PEER_LOST, "order %zu: %s", i, t.err[0].text);
        ck_assert(strstr(t.err[0].text, "to b ") || strncmp(t.err[0].text, "b ", 2) == 0);
        ck_assert(clock_seconds(from, clock_now_ns()) < 9);
        close_two(&t);
    }
}
END_TEST

START_TEST(stopped)
{
    struct two t;
    uint64_t one = 1;
    open_two(&t);
    int fd = eventfd(0, 0);
    t.link[0].stop_fd = t.link[1].stop_fd = fd;
    ck_assert_int_eq(write(fd, &one, sizeof one), sizeof one);
    t.order = (struct link_order){.kind = LINK_STREAM, .mode = LINK_DUPLEX, .warmup_s = 10, .window_s = 10};
    kit_each_rank(2, one_end, &t);
    ck_assert_int_eq(t.err[0].code, ERR_INTERRUPTED);
    ck_assert_int_eq(t.err[1].code, ERR_INTERRUPTED);
    close_two(&t);
    close(fd);
}
END_TEST

/* Sums are right for any count; an element that is altered is found, once, at the end where it was altered. */
START_TEST(sums_are_checked)
{
    static const uint64_t sizes[] = {0, 4, 5844, 11588, 1048580};
    struct two t;
    open_two(&t);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct link_order order = {.kind = LINK_REDUCE, .bytes = sizes[i], .repeats = 20, .work = "tcp"};
        t.link[0].alter = -1;
        perform(&t, order);
        for (int end = 0; end < 2; end++) {
            ck_assert_int_eq(t.result[end].n, 20);
            ck_assert_uint_eq(t.result[end].wrong, 0);
            ck_assert_uint_eq(t.result[end].sent_bytes, 20 * sizes[i]);
        }
        t.link[0].alter = 0;
        perform(&t, order);
        ck_assert_uint_eq(t.result[0].wrong, sizes[i] > 0);
        ck_assert_uint_eq(t.result[1].wrong, 0);
    }
    /* and the link is what it was: the ring and the marks share sockets */
    perform(&t, (struct link_order){.kind = LINK_MESSAGES, .mode = LINK_DUPLEX, .bytes = 3000000, .repeats = 3});
    perform(&t, (struct link_order){.kind = LINK_PING, .repeats = 10});
    close_two(&t);
}
END_TEST

/* A stream leaves the socket to wake its reader for a large piece only, which few bytes never make: each call that had to
 * wait would then take the 100 ms after which the ring looks by itself. On a busy machine some calls take that long anyway. */
static bool woken_in_time(void)
{
    struct two t;
    bool all = true;
    open_two(&t);
    for (int round = 0; round < 3; round++) { /* the ring is made in the first round and used again in the others */
        perform(&t, (struct link_order){.kind = LINK_STREAM, .mode = LINK_DUPLEX, .warmup_s = 0.05, .window_s = 0.1});
        perform(&t, (struct link_order){.kind = LINK_REDUCE, .bytes = 4, .repeats = 40, .work = "tcp"});
        int late = 0;
        for (int i = 0; i < t.result[0].n; i++)
            late += t.result[0].time_s[i] > 0.09;
        all &= late < 10;
    }
    close_two(&t);
    return all;
}

START_TEST(few_bytes_after_many)
{
    bool all = false;
    for (int i = 0; i < TRIES && !all; i++)
        all = woken_in_time();
    ck_assert(all);
}
END_TEST

/* A transport that exchanges nothing is found out: every element lacks the other rank's part, (7 i + 13) mod 1021, which is
 * 0 for one i of 1021. */
START_TEST(no_exchange_is_wrong)
{
    struct transport null;
    static float data[1021];
    struct link_result r = {.time_s = calloc(8, sizeof(double))};
    struct link_order order = {.kind = LINK_REDUCE, .bytes = sizeof data, .repeats = 2};
    uint64_t window_ns[2];
    struct err e;
    transport_open_null(&null, 0, 2);
    ck_assert_int_eq(link_reduce_on(&null, data, &order, -1, &r, window_ns, &e), 0);
    ck_assert_uint_eq(r.wrong, 2 * 1020); /* checked before and after */
    transport_close(&null);
    link_result_fini(&r);
}
END_TEST

/* ---- what comes from a peer ---- */

START_TEST(orders_travel)
{
    struct link_order read, order = {.kind = LINK_STREAM,
                                     .mode = LINK_DUPLEX,
                                     .bytes = 12345,
                                     .repeats = 17,
                                     .warmup_s = 0.25,
                                     .window_s = 1.5,
                                     .rate_bytes_per_s = 1e7,
                                     .ping_gap_s = 0.125,
                                     .work = "gemm",
                                     .threads = {8, 3}};
    struct err e;
    json_t *m = link_order_json(&order);
    ck_assert_int_eq(link_order_read(&read, m, &e), 0);
    ck_assert_int_eq(read.kind, LINK_STREAM);
    ck_assert_int_eq(read.mode, LINK_DUPLEX);
    ck_assert_uint_eq(read.bytes, 12345);
    ck_assert_int_eq(read.repeats, 17);
    ck_assert_double_eq(read.warmup_s, 0.25);
    ck_assert_double_eq(read.window_s, 1.5);
    ck_assert_double_eq(read.rate_bytes_per_s, 1e7);
    ck_assert_double_eq(read.ping_gap_s, 0.125);
    ck_assert_str_eq(read.work, "gemm");
    ck_assert_int_eq(read.threads[0], 8);
    ck_assert_int_eq(read.threads[1], 3);
    json_decref(m);
}
END_TEST

/* Whatever would make this node take more memory or time than its own program gives, or is of another type. */
START_TEST(orders_are_judged)
{
    static const struct {
        const char *key, *value;
    } bad[] = {{"kind", "\"dance\""},
               {"kind", "7"},
               {"mode", "null"},
               {"bytes", "67108865"},
               {"bytes", "-1"},
               {"bytes", "0"},
               {"bytes", "1.5"},
               {"repeats", "2001"},
               {"repeats", "-1"},
               {"warmup_s", "3601"},
               {"window_s", "-0.1"},
               {"window_s", "\"1\""},
               {"rate_bytes_per_s", "-1"},
               {"ping_gap_s", "1e9"},
               {"threads", "[1]"},
               {"threads", "[1, 99999]"},
               {"work", "\"a name that is longer than any\""},
               {"work", "null"}};
    struct link_order order = {.kind = LINK_MESSAGES, .mode = LINK_A_TO_B, .bytes = 4096, .repeats = 3}, read;
    struct err e;
    json_t *m = link_order_json(&order);
    ck_assert_int_eq(link_order_read(&read, m, &e), 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        json_t *copy = json_deep_copy(m);
        json_object_set_new(copy, bad[i].key, json_loads(bad[i].value, JSON_DECODE_ANY, NULL));
        ck_assert_msg(link_order_read(&read, copy, &e) == -1, "%s: %s", bad[i].key, bad[i].value);
        ck_assert_int_eq(e.code, ERR_PROTOCOL);
        json_decref(copy);
    }
    order.kind = LINK_REDUCE;
    order.bytes = 6; /* no whole number of floats */
    json_decref(m);
    m = link_order_json(&order);
    ck_assert_int_eq(link_order_read(&read, m, &e), -1);
    json_decref(m);
}
END_TEST

START_TEST(answers_are_judged)
{
    struct link_order order = {.kind = LINK_MESSAGES, .mode = LINK_A_TO_B, .bytes = 4096, .repeats = 2};
    double times[] = {0.5, 0.25, 0.125};
    struct link_result result = {.n = 2, .time_s = times, .window_bytes = 99, .wrong = 4, .cpu_s = 0.5}, read;
    struct err e;
    json_t *m = link_result_json(&result);
    ck_assert_int_eq(link_result_read(&read, &order, m, &e), 0);
    ck_assert_int_eq(read.n, 2);
    ck_assert_double_eq(read.time_s[1], 0.25);
    ck_assert_uint_eq(read.window_bytes, 99);
    ck_assert_uint_eq(read.wrong, 4);
    link_result_fini(&read);
    json_decref(m);

    result.n = 3; /* more than were ordered */
    m = link_result_json(&result);
    ck_assert_int_eq(link_result_read(&read, &order, m, &e), -1);
    ck_assert_int_eq(e.code, ERR_PROTOCOL);
    json_decref(m);

    result.n = 2;
    static const char *const bad[] = {"{\"time_s\": [1, -1]}", "{\"time_s\": [null]}", "{\"time_s\": 3}",
                                      "{\"units\": -1}",       "{\"cpu_s\": -0.5}",    "{\"window_s\": \"x\"}",
                                      "{\"wrong\": 0.5}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        json_t *patch = json_loads(bad[i], 0, NULL);
        m = link_result_json(&result);
        json_object_update(m, patch);
        ck_assert_msg(link_result_read(&read, &order, m, &e) == -1, "%s", bad[i]);
        ck_assert_ptr_null(read.time_s);
        json_decref(patch);
        json_decref(m);
    }
}
END_TEST

/* ---- medians of trials ---- */

START_TEST(rates_and_round_trips)
{
    struct link_trial trials[4] = {0};
    double rtt[] = {3e-5, 1e-5, 2e-5};
    struct link_survey s = {.n = 4, .trial = trials};
    ck_assert(isnan(link_survey_rate(&(struct link_survey){.n = 0}, LINK_DUPLEX, 0)));
    ck_assert(isnan(link_survey_rtt(&(struct link_survey){.n = 0})));
    for (int i = 0; i < 3; i++) {
        trials[i].phase = LINK_PHASE_STREAM;
        trials[i].order.mode = LINK_DUPLEX;
        trials[i].end[0] = (struct link_result){.window_s = 2, .window_bytes = (uint64_t)(i + 1) * 1000};
        trials[i].end[1] = (struct link_result){.window_s = 0.5, .window_bytes = (uint64_t)(i + 1) * 1000};
    }
    trials[3].phase = LINK_PHASE_LATENCY;
    trials[3].end[0] = (struct link_result){.n = 3, .time_s = rtt};
    ck_assert_double_eq(link_survey_rate(&s, LINK_DUPLEX, 0), 1000);
    ck_assert_double_eq(link_survey_rate(&s, LINK_DUPLEX, 1), 4000);
    ck_assert(isnan(link_survey_rate(&s, LINK_A_TO_B, 1)));
    ck_assert_double_eq(link_survey_rtt(&s), 2e-5);
}
END_TEST

START_TEST(the_way_of_a_socket)
{
    int fds[2];
    struct link_socket s;
    struct address to;
    struct err e;
    kit_connect(KIT_TCP, 0, fds);
    link_socket_read(&s, fds[0]);
    ck_assert_str_eq(s.interface, "lo");
    ck_assert_str_eq(s.owner, "lo");
    ck_assert_str_eq(s.local, "127.0.0.1");
    ck_assert_str_eq(s.remote, "127.0.0.1");
    ck_assert_int_gt(s.mtu_bytes, 1000);
    ck_assert_int_gt(s.segment_bytes, 500);
    ck_assert(s.retransmits >= 0);
    ck_assert(*s.congestion);
    close(fds[0]);
    close(fds[1]);
    ck_assert_int_eq(address_parse(&to, "127.0.0.1", 9), 0);
    ck_assert_int_eq(link_socket_try(&s, "lo", &to, &e), 0);
    ck_assert_str_eq(s.interface, "lo");
    ck_assert_int_eq(link_socket_try(&s, "nosuch0", &to, &e), -1);
    ck_assert_int_eq(e.code, ERR_CONFIG);
    link_socket_read(&s, -1); /* nothing is known of no socket */
    ck_assert_str_eq(s.interface, "");
    ck_assert_int_eq(s.mtu_bytes, -1);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("link");
    TCase *t = tcase_create("link");
    tcase_add_test(t, pings);
    tcase_add_test(t, messages);
    tcase_add_test(t, bytes_arrive);
    tcase_add_test(t, window_of_a_stream);
    tcase_add_test(t, streams_leave_nothing);
    tcase_add_test(t, work_beside_an_idle_link);
    tcase_add_test(t, a_lost_peer);
    tcase_add_test(t, stopped);
    tcase_add_test(t, sums_are_checked);
    tcase_add_test(t, few_bytes_after_many);
    tcase_add_test(t, no_exchange_is_wrong);
    tcase_add_test(t, orders_travel);
    tcase_add_test(t, orders_are_judged);
    tcase_add_test(t, answers_are_judged);
    tcase_add_test(t, rates_and_round_trips);
    tcase_add_test(t, the_way_of_a_socket);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
