/*
 * tests/check_replay.c - recorded segments in place of computation: they take the time they took, gradients are ready when they
 * were, sums over ranks are compared, and what --compute takes.
 *
 * A sleep never ends early; how late it may end is judged on the best of ten, on a machine that has time for that.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/compute.h"
#include "ddp/reduce.h"
#include "ddp/replay.h"
#include "tests/ring_kit.h"
#include "tests/room.h"

enum { STEPS = 5, B = 2, T = 16, RANKS_MAX = 4 };

static const struct model_spec spec = {.name = "small",
                                       .kind = MODEL_GPT,
                                       .L = 2,
                                       .NH = 2,
                                       .C = 32,
                                       .V = 61,
                                       .context = 24,
                                       .bias = true,
                                       .optimizer = {OPTIMIZER_ADAMW, 1e-3f, 0.9f, 0.95f, 1e-8f, 0.1f},
                                       .batch = B,
                                       .seq = T};

static const struct replay_step recorded[STEPS] = {
    {0.010, 0.030, 0.005}, {0.012, 0.020, 0.005}, {0.010, 0.040, 0.010}, {0.020, 0.030, 0.005}, {0.010, 0.030, 0.015}};

/* Tensors become ready from the last to the first, evenly over backward. */
static double ready_at(const struct replay_step *s, int tensors, int i)
{
    return s->forward_s + s->backward_s * (tensors - i) / tensors;
}

static void open_net(struct net *net, struct replay *r)
{
    struct err e = {0};
    ck_assert_int_eq(net_plan(net, &spec, B, T, 1, &e), 0);
    ck_assert_int_eq(net_take(net, &e), 0);
    int tensors = net->layout.n;
    ck_assert_int_eq(replay_init(r, STEPS, tensors, &e), 0);
    for (int s = 0; s < STEPS; s++) {
        r->step[s] = recorded[s];
        for (int i = 0; i < tensors; i++)
            r->ready_s[s * tensors + i] = ready_at(&recorded[s], tensors, i);
    }
}

START_TEST(steps_take_what_they_took_in_their_order)
{
    static const double factors[] = {1, 2};
    struct net net;
    struct replay r = {.slow = factors[_i]};
    double late[2 * STEPS];
    struct room room;
    open_net(&net, &r);
    replay_attach(&r, &net, 1, 0, 1, false);
    room_open(&room);
    for (int s = 0; s < 2 * STEPS; s++) {
        const struct replay_step *due = &recorded[s % STEPS];
        net_trace_reset(&net);
        uint64_t start = clock_now_ns();
        ck_assert(isnan(net_step(&net, NULL, NULL, 1, false)));
        double both = clock_seconds(start, clock_now_ns());
        for (int i = 0; i < net.layout.n; i++) {
            double at = clock_seconds(start, net.trace.ready_ns[i]);
            ck_assert_double_ge(at + 1e-6, ready_at(due, net.layout.n, i) * r.slow);
        }
        ck_assert_int_eq(net.trace.ready_n, net.layout.n);
        ck_assert_int_eq(net.trace.ready_order[0], net.layout.n - 1);
        net_update(&net, &spec.optimizer, s + 1);
        double all = clock_seconds(start, clock_now_ns());
        ck_assert_double_ge(both + 1e-6, (due->forward_s + due->backward_s) * r.slow);
        double least = (due->forward_s + due->backward_s + due->optimizer_s) * r.slow;
        ck_assert_double_ge(all + 1e-6, least);
        late[s] = all - least;
    }
    double least_late = late[0];
    for (int s = 1; s < 2 * STEPS; s++)
        least_late = fmin(least_late, late[s]);
    ck_assert(!room_close(&room) || least_late <= 0.020);
    ck_assert_double_eq_tol(replay_median_s(&r), 0.055 * factors[_i], 1e-12); /* 45, 37, 60, 55, 55 ms */
    replay_fini(&r);
    net_fini(&net);
}
END_TEST

/* With K micro-batches each takes a K-th, and gradients are ready in the last. */
START_TEST(micro_batches_divide_a_step)
{
    struct net net;
    struct replay r = {.slow = 1};
    open_net(&net, &r);
    replay_attach(&r, &net, 2, 0, 1, false);
    uint64_t start = clock_now_ns();
    net_step(&net, NULL, NULL, 1, false);
    double first = clock_seconds(start, clock_now_ns());
    ck_assert_double_ge(first, 0.020);
    ck_assert_int_eq(net.trace.ready_n, 0);
    net_step(&net, NULL, NULL, 1, true);
    ck_assert_int_eq(net.trace.ready_n, net.layout.n);
    ck_assert_double_ge(clock_seconds(start, clock_now_ns()), 0.040);
    replay_fini(&r);
    net_fini(&net);
}
END_TEST

/* ---- sums over ranks ---- */

struct world {
    int ranks;
    enum reduce_schedule schedule;
    int alter; /* rank that alters one element after the sum; -1: none */
    struct transport transport[RANKS_MAX];
    int wrong[RANKS_MAX];
};

static void train(int rank, void *ctx)
{
    struct world *w = ctx;
    struct net net;
    struct replay r = {.slow = 0.2};
    struct err e = {0};
    int32_t tokens[B * T] = {0};
    struct reduce reduce;
    struct reduce_options options = {w->schedule, 0.01, NULL};
    open_net(&net, &r);
    replay_attach(&r, &net, 1, rank, w->ranks, true);
    ck_assert_msg(reduce_init(&reduce, &net, &w->transport[rank], &options, &e) == 0, "%s", e.text);
    for (int i = 0; i < B * T; i++)
        tokens[i] = (i * 5 + rank) % spec.V;
    for (int s = 0; s < STEPS; s++) {
        net_trace_reset(&net);
        ck_assert_int_eq(reduce_begin(&reduce, (uint32_t)s, tokens, &e), 0);
        replay_begin(&r, true);
        net_step(&net, tokens, tokens, reduce_scale(&reduce), false);
        ck_assert_msg(reduce_finish(&reduce, NULL, &e) == 0, "%s", e.text);
        if (rank == w->alter && s == 2)
            net.grad[0] += 1; /* element 0 is one of those that are looked at */
        net_update(&net, &spec.optimizer, s + 1);
    }
    w->wrong[rank] = replay_wrong(&r, &e);
    if (rank == w->alter)
        ck_assert_msg(e.code == ERR_WRONG_RESULT && strstr(e.text, "gradient element 0"), "%s", e.text);
    reduce_fini(&reduce);
    replay_fini(&r);
    net_fini(&net);
}

static void run(struct world *w)
{
    int next[RANKS_MAX], prev[RANKS_MAX], fd[2];
    struct kit_options options = {.direct_bytes = 4096};
    for (int r = 0; r < w->ranks; r++) {
        kit_connect(KIT_TCP, 0, fd);
        next[r] = fd[0];
        prev[(r + 1) % w->ranks] = fd[1];
    }
    for (int r = 0; r < w->ranks; r++) {
        struct err e = {0};
        struct ring_options o = kit_ring_options(r, w->ranks, next[r], prev[r], &options);
        ck_assert_msg(transport_open_tcp(&w->transport[r], &o, &e) == 0, "%s", e.text);
    }
    kit_each_rank(w->ranks, train, w);
    for (int r = 0; r < w->ranks; r++)
        transport_close(&w->transport[r]);
}

START_TEST(sums_over_ranks_are_exact)
{
    struct world w = {.ranks = 2 + _i / 2, .schedule = _i % 2 ? SCHEDULE_SPLIT : SCHEDULE_DDP, .alter = -1};
    run(&w);
    for (int r = 0; r < w.ranks; r++)
        ck_assert_int_eq(w.wrong[r], 0);
}
END_TEST

START_TEST(a_wrong_sum_is_noticed)
{
    struct world w = {.ranks = 2, .alter = 1};
    run(&w);
    ck_assert_int_eq(w.wrong[0], 0);
    ck_assert_int_eq(w.wrong[1], -1);
}
END_TEST

/* ---- the option ---- */

START_TEST(how_to_compute_is_parsed)
{
    struct compute c;
    struct err e = {0};
    ck_assert_int_eq(compute_parse(&c, "real", &e), 0);
    ck_assert(!c.replay);
    ck_assert_int_eq(compute_parse(&c, "replay", &e), 0);
    ck_assert(c.replay && !*c.path && c.slow_n == 0);
    ck_assert_msg(compute_parse(&c, "replay:a,b:c.json,slow=1:2,slow=3:0.5", &e) == 0, "%s", e.text);
    ck_assert_str_eq(c.path, "a,b:c.json");
    ck_assert_double_eq(compute_slow(&c, 0), 1);
    ck_assert_double_eq(compute_slow(&c, 1), 2);
    ck_assert_double_eq(compute_slow(&c, 3), 0.5);
    ck_assert_int_eq(compute_parse(&c, "replay,slow=0:1.25", &e), 0);
    ck_assert_double_eq(compute_slow(&c, 0), 1.25);
}
END_TEST

START_TEST(what_is_no_way_to_compute_is_refused)
{
    static const char *const bad[] = {"",
                                      "fast",
                                      "replayed",
                                      "Replay",
                                      "replay:",
                                      "replay:,slow=1:2",
                                      "replay,slow",
                                      "replay,slow=1",
                                      "replay,slow=1:",
                                      "replay,slow=:2",
                                      "replay,slow=-1:2",
                                      "replay,slow=1:-2",
                                      "replay,slow=1:0",
                                      "replay,slow=1:2x",
                                      "replay,slow=1:1e9",
                                      "replay,slow=99999999999:2",
                                      "replay,fast=1:2",
                                      "real,slow=1:2",
                                      "replay,slow=1:2,"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct compute c;
        struct err e = {0};
        ck_assert_msg(compute_parse(&c, bad[i], &e) == -1, "'%s'", bad[i]);
        ck_assert_int_eq(e.code, ERR_USAGE);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("replay");
    TCase *t = tcase_create("replay");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, steps_take_what_they_took_in_their_order, 0, 2);
    tcase_add_test(t, micro_batches_divide_a_step);
    tcase_add_loop_test(t, sums_over_ranks_are_exact, 0, 6);
    tcase_add_test(t, a_wrong_sum_is_noticed);
    tcase_add_test(t, how_to_compute_is_parsed);
    tcase_add_test(t, what_is_no_way_to_compute_is_refused);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
