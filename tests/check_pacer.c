/*
 * tests/check_pacer.c - emulated links: what --emulate takes, and whether a ring over them is as fast, as far and as reliable
 * as asked.
 *
 * A ring of N moves 2 (N - 1) / N x bytes each way, so at a rate R it takes that / R, and never less: that side is exact on any
 * machine, from the first rank's start to the last one's end (a rank by itself may start late, when others have sent already).
 * The other side is about a machine that has time: the best of a few tries, each the median of a few rounds (tests/room.h).
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/stats.h"
#include "comm/loopback.h"
#include "comm/pacer.h"
#include "tests/ring_kit.h"
#include "tests/room.h"

enum { ROUNDS_MAX = 8, RANKS_MAX = 3, TRIES = 4 };

/* ---- what is asked for ---- */

START_TEST(a_link_is_parsed)
{
    struct emulate m;
    struct err e = {0};
    char text[160];
    ck_assert_msg(emulate_parse(&m, "rate=100Mbit,rtt=2ms,jitter=1ms,half-duplex", &e) == 0, "%s", e.text);
    ck_assert_double_eq(m.rate_bytes_per_s, 12.5e6);
    ck_assert_double_eq_tol(m.rtt_s, 2e-3, 1e-12);
    ck_assert_double_eq_tol(m.jitter_s, 1e-3, 1e-12);
    ck_assert(m.half_duplex);
    ck_assert_str_eq(emulate_describe(text, sizeof text, &m),
                     "100 Mbit/s (12.5 MB/s), rtt 2 ms, jitter 1 ms, half-duplex");
    ck_assert_int_eq(emulate_parse(&m, "rtt=300us,rate=1G-eth", &e), 0);
    ck_assert_double_eq_tol(m.rate_bytes_per_s, 117.6875e6, 1e-3);
    ck_assert(!m.half_duplex);
    ck_assert_int_eq(emulate_parse(&m, "rtt=20ms", &e), 0);
    ck_assert_double_eq(m.rate_bytes_per_s, 0);
}
END_TEST

START_TEST(what_is_no_link_is_refused)
{
    static const char *const bad[][2] = {{"", "none of"},
                                         {"rate=1000", "unit"},
                                         {"rate=0Mbit", "outside"},
                                         {"rate=-5Mbit", "unit"},
                                         {"rate=100Gbit", "outside"},
                                         {"rate=1kbit", "outside"},
                                         {"rate=941,5Mbit", "has a comma"},
                                         {"rate", "needs a value"},
                                         {"rate=", "unit"},
                                         {"rate=1Mbit,", "none of"},
                                         {"rate=1Mbit,rate=2Mbit", "twice"},
                                         {"rate=1Mbit,half-duplex=1", "takes no value"},
                                         {"half-duplex", "rate"},
                                         {"half-duplex,rtt=1ms", "rate"},
                                         {"speed=1Mbit", "none of"},
                                         {"rtt=2", "unit"},
                                         {"rtt=20s", "longer"},
                                         {"jitter=1,5ms", "has a comma"},
                                         {"rate=10Gbit,rtt=2s", "on its way"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct emulate m;
        struct err e = {0};
        ck_assert_msg(emulate_parse(&m, bad[i][0], &e) == -1, "'%s'", bad[i][0]);
        ck_assert_int_eq(e.code, ERR_USAGE);
        ck_assert_msg(strstr(e.text, bad[i][1]), "'%s': %s", bad[i][0], e.text);
    }
}
END_TEST

/* ---- rings over it ---- */

struct rig {
    int world, rounds;
    size_t n;
    struct pacer pacer;
    struct ring ring[RANKS_MAX];
    float *data[RANKS_MAX];
    uint64_t from_ns[RANKS_MAX][ROUNDS_MAX], to_ns[RANKS_MAX][ROUNDS_MAX];
    double took_s[ROUNDS_MAX];    /* from the first rank's start to the last one's end */
    int first_failure[RANKS_MAX]; /* code */
    char failure[RANKS_MAX][sizeof((struct err *)0)->text];
};

static void rig_open(struct rig *rig, const char *link, int world, size_t bytes, uint64_t timeout_ns)
{
    struct emulate m;
    struct err e = {0};
    int next[RANKS_MAX], prev[RANKS_MAX], fd[2];
    *rig = (struct rig){.world = world, .n = bytes / sizeof(float)};
    ck_assert_msg(emulate_parse(&m, link, &e) == 0, "%s", e.text);
    ck_assert_int_eq(pacer_open(&rig->pacer, &m, 7, &e), 0);
    for (int r = 0; r < (world == 2 ? 1 : world); r++) {
        ck_assert_int_eq(loopback_pair(fd), 0);
        ck_assert_msg(pacer_insert(&rig->pacer, &fd[r % 2], PACER_LINK, &e) == 0, "%s", e.text);
        next[r] = fd[0];
        prev[(r + 1) % world] = fd[1];
    }
    if (world == 2) {
        prev[0] = next[0];
        next[1] = prev[1];
    }
    ck_assert_int_eq(pacer_start(&rig->pacer, &e), 0);
    for (int r = 0; r < world; r++) {
        struct kit_options options = {.timeout_ns = timeout_ns, .direct_bytes = RING_DIRECT_BYTES};
        struct ring_options o = kit_ring_options(r, world, next[r], prev[r], &options);
        ck_assert_msg(ring_init(&rig->ring[r], &o, &e) == 0, "%s", e.text);
        rig->data[r] = malloc(bytes + sizeof(float));
        ck_assert_ptr_nonnull(rig->data[r]);
    }
}

static void rig_close(struct rig *rig)
{
    for (int r = 0; r < rig->world; r++) {
        ring_fini(&rig->ring[r]);
        free(rig->data[r]);
    }
    pacer_close(&rig->pacer, 5);
}

/* Small whole numbers, so that the sum is exact and everybody knows it. */
static float value_of(int rank, size_t i)
{
    return (float)((i * 7 + (size_t)rank * 13) % 101);
}

static void reduce(int rank, void *ctx)
{
    struct rig *rig = ctx;
    for (int round = 0; round < rig->rounds; round++) {
        struct err e = {0};
        struct call call = {.step = (uint32_t)round};
        for (size_t i = 0; i < rig->n; i++)
            rig->data[rank][i] = value_of(rank, i);
        int failed = ring_barrier(&rig->ring[rank], &call, &e); /* all have their data */
        rig->from_ns[rank][round] = clock_now_ns();
        if (failed || ring_allreduce(&rig->ring[rank], rig->data[rank], rig->n, &call, &e)) {
            rig->first_failure[rank] = (int)e.code;
            memcpy(rig->failure[rank], e.text, sizeof e.text);
            shutdown(rig->ring[rank].next.fd, SHUT_RDWR); /* as the end of its process does */
            shutdown(rig->ring[rank].prev.fd, SHUT_RDWR);
            return;
        }
        rig->to_ns[rank][round] = clock_now_ns();
    }
}

static double run(struct rig *rig, int rounds)
{
    rig->rounds = rounds;
    kit_each_rank(rig->world, reduce, rig);
    for (int r = 0; r < rig->world; r++) {
        ck_assert_msg(rig->first_failure[r] == 0, "rank %d: %s", r, rig->failure[r]);
        for (size_t i = 0; i < rig->n; i++) {
            float sum = 0;
            for (int k = 0; k < rig->world; k++)
                sum += value_of(k, i);
            if (rig->data[r][i] != sum)
                ck_abort_msg("rank %d, element %zu: %f, not %f", r, i, (double)rig->data[r][i], (double)sum);
        }
    }
    for (int round = 0; round < rounds; round++) {
        uint64_t first = rig->from_ns[0][round], last = rig->to_ns[0][round];
        for (int r = 1; r < rig->world; r++) {
            first = rig->from_ns[r][round] < first ? rig->from_ns[r][round] : first;
            last = rig->to_ns[r][round] > last ? rig->to_ns[r][round] : last;
        }
        rig->took_s[round] = clock_seconds(first, last);
    }
    double sorted[ROUNDS_MAX];
    memcpy(sorted, rig->took_s, sizeof sorted);
    return stats_median(sorted, (size_t)rounds);
}

/* One run of it; false: it took longer than most_s though the machine had time, so that another try is worth it. */
static bool try(struct rig *rig, int rounds, double least_s, double most_s)
{
    struct room room;
    room_open(&room);
    double took_s = run(rig, rounds);
    bool had_room = room_close(&room);
    ck_assert_msg(took_s >= least_s, "%.4f s is less than %.4f s", took_s, least_s);
    if (took_s > most_s)
        fprintf(stderr, "# %.4f s is more than %.4f s, %s\n", took_s, most_s, had_room ? "with time" : "without time");
    return took_s <= most_s || !had_room;
}

static const struct {
    const char *link;
    int world;
    size_t bytes;
    int rounds;
    double rate, share; /* of the rate for one rank's way out */
    double slow;        /* how much longer it may take here */
} speeds[] = {
    {"rate=10Mbit", 2, 2 << 20, 1, 1.25e6, 1, 0.05},
    {"rate=100Mbit", 2, 32 << 20, 1, 12.5e6, 1, 0.03},
    {"rate=941.5Mbit", 2, 32 << 20, 5, 117.6875e6, 1, 0.06},
    {"rate=2.5Gbit", 2, 32 << 20, 7, 312.5e6, 1, 0.25},
    {"rate=500Mbit,rtt=2ms,jitter=1ms", 2, 32 << 20, 3, 62.5e6, 1, 0.10},
    {"rate=1Gbit", 3, 24 << 20, 3, 125e6, 1, 0.10},
    {"rate=400Mbit,half-duplex", 2, 16 << 20, 3, 50e6, 0.5, 0.10},
    {"rate=400Mbit,half-duplex", 3, 16 << 20, 2, 50e6, 1.0 / 3, 0.10},
};

START_TEST(a_ring_takes_the_time_that_the_rate_says)
{
    struct rig rig;
    const char *link = speeds[_i].link;
    int world = speeds[_i].world;
    double due_s = 2.0 * (world - 1) / world * (double)speeds[_i].bytes / (speeds[_i].rate * speeds[_i].share);
    double least_s = due_s - 1.1e-3; /* jitter may have shortened its stay by then; nothing else is ever early */
    bool kept = false;
    for (int i = 0; i < TRIES && !kept; i++) {
        rig_open(&rig, link, world, speeds[_i].bytes, 0);
        kept = try(&rig, speeds[_i].rounds, least_s, due_s * (1 + speeds[_i].slow) + 0.02);
        rig_close(&rig);
        ck_assert(rig.pacer.cost.cpu_s > 0);
    }
    ck_assert_msg(kept, "%s, %d ranks: slower than that in %d tries", link, world, TRIES);
}
END_TEST

/* Two ranks exchange a short vector in one hop: half a round trip. */
START_TEST(a_round_trip_is_as_long_as_asked)
{
    struct rig rig;
    bool kept = false;
    for (int i = 0; i < TRIES && !kept; i++) {
        rig_open(&rig, "rtt=40ms", 2, 4, 0);
        kept = try(&rig, 7, 0.020, 0.030);
        rig_close(&rig);
    }
    ck_assert_msg(kept, "longer than that in %d tries", TRIES);
}
END_TEST

START_TEST(jitter_is_added_within_its_bounds)
{
    struct rig rig;
    bool kept = false;
    for (int k = 0; k < TRIES && !kept; k++) {
        struct room room;
        rig_open(&rig, "rtt=10ms,jitter=40ms", 2, 4, 0);
        room_open(&room);
        run(&rig, ROUNDS_MAX);
        bool had_room = room_close(&room);
        rig_close(&rig);
        double least = rig.took_s[0], most = rig.took_s[0];
        for (int i = 1; i < ROUNDS_MAX; i++) {
            least = rig.took_s[i] < least ? rig.took_s[i] : least;
            most = rig.took_s[i] > most ? rig.took_s[i] : most;
        }
        ck_assert_double_ge(least, 0.005);
        ck_assert_double_ge(most - least, 0.004); /* 8 draws from 40 ms within 4 ms: less than one in a million */
        /* the barrier before it lets the ranks go up to 40 ms apart, and each way adds up to as much */
        kept = !had_room || most <= 0.005 + 0.040 + 0.045 + 0.05;
    }
    ck_assert_msg(kept, "longer than its bounds in %d tries", TRIES);
}
END_TEST

static void *end_soon(void *argument)
{
    struct rig *rig = argument;
    struct timespec nap = {0, 200000000};
    nanosleep(&nap, NULL);
    shutdown(rig->ring[1].next.fd, SHUT_RDWR); /* as a process that dies leaves its sockets */
    return NULL;
}

START_TEST(a_lost_peer_is_noticed_through_the_pacer)
{
    struct rig rig;
    pthread_t thread;
    rig_open(&rig, "rate=10Mbit,rtt=2ms", _i, 32 << 20, 100000000000u);
    uint64_t from = clock_now_ns();
    pthread_create(&thread, NULL, end_soon, &rig);
    rig.rounds = 1;
    kit_each_rank(_i, reduce, &rig);
    pthread_join(thread, NULL);
    for (int r = 0; r < _i; r++)
        ck_assert_msg(r > 1 || rig.first_failure[r] == ERR_PEER_LOST, "rank %d: %d", r, rig.first_failure[r]);
    ck_assert_double_le(clock_seconds(from, clock_now_ns()), 50); /* silence would be for 100 */
    rig_close(&rig);
}
END_TEST

static void reduce_rank_0(int rank, void *ctx)
{
    struct rig *rig = ctx;
    struct err e = {0};
    struct call call = {0};
    if (rank == 0 && ring_allreduce(&rig->ring[0], rig->data[0], rig->n, &call, &e)) {
        rig->first_failure[0] = (int)e.code;
        memcpy(rig->failure[0], e.text, sizeof e.text);
    }
}

START_TEST(a_silent_peer_is_a_time_out_through_the_pacer)
{
    struct rig rig;
    rig_open(&rig, "rate=100Mbit", 2, 4096, 500000000);
    memset(rig.data[0], 0, 4096);
    kit_each_rank(2, reduce_rank_0, &rig);
    ck_assert_int_eq(rig.first_failure[0], ERR_PEER_LOST);
    ck_assert_msg(strstr(rig.failure[0], "for 0.5 s"), "%s", rig.failure[0]);
    rig_close(&rig);
}
END_TEST

/* What was written before the end arrives before it. */
START_TEST(closing_delivers_what_is_on_its_way)
{
    struct pacer p;
    struct emulate m;
    struct err e = {0};
    int fd[2];
    char text[6] = "";
    ck_assert_int_eq(emulate_parse(&m, "rtt=200ms", &e), 0);
    ck_assert_int_eq(pacer_open(&p, &m, 1, &e), 0);
    ck_assert_int_eq(loopback_pair(fd), 0);
    ck_assert_int_eq(pacer_insert(&p, &fd[0], PACER_OUT, &e), 0);
    ck_assert_int_eq(pacer_start(&p, &e), 0);
    uint64_t from = clock_now_ns();
    ck_assert_int_eq(write(fd[0], "hello", 5), 5);
    close(fd[0]);
    pacer_close(&p, 60);
    ck_assert_double_ge(clock_seconds(from, clock_now_ns()), 0.0999);
    ck_assert_double_le(clock_seconds(from, clock_now_ns()), 30); /* not until its patience ends */
    ck_assert_int_eq(read(fd[1], text, 6), 5);
    ck_assert_str_eq(text, "hello");
    ck_assert_int_eq(read(fd[1], text, 6), 0);
    close(fd[1]);
}
END_TEST

START_TEST(an_unused_pacer_closes)
{
    struct pacer p = {0};
    struct emulate m = {.rtt_s = 1};
    struct err e;
    pacer_close(&p, 0);
    ck_assert_int_eq(pacer_open(&p, &m, 1, &e), 0);
    ck_assert_int_eq(pacer_start(&p, &e), 0);
    pacer_close(&p, 1);
    pacer_close(&p, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pacer");
    TCase *t = tcase_create("pacer");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_link_is_parsed);
    tcase_add_test(t, what_is_no_link_is_refused);
    tcase_add_loop_test(t, a_ring_takes_the_time_that_the_rate_says, 0, sizeof speeds / sizeof *speeds);
    tcase_add_test(t, a_round_trip_is_as_long_as_asked);
    tcase_add_test(t, jitter_is_added_within_its_bounds);
    tcase_add_loop_test(t, a_lost_peer_is_noticed_through_the_pacer, 2, RANKS_MAX + 1);
    tcase_add_test(t, a_silent_peer_is_a_time_out_through_the_pacer);
    tcase_add_test(t, closing_delivers_what_is_on_its_way);
    tcase_add_test(t, an_unused_pacer_closes);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
