/*
 * tests/check_predict.c - the replay and what is asked of it, against closed forms. Each expected value is derived beside it.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "predict/balance.h"
#include "predict/cost.h"
#include "predict/explain.h"
#include "predict/heat.h"
#include "predict/inverse.h"
#include "predict/scenario.h"
#include "predict/simulate.h"
#include "tests/predict_kit.h"

#define GPT2_BYTES 497759232.0
#define GPT2_EMBEDDING_BYTES 154389504.0
#define MBIT 125000.0
#define RELATIVE 1e-9

/* ---- closed forms ---- */

START_TEST(floors)
{
    is_about(cost_floor_s(GPT2_BYTES, 2, 941.5 * MBIT, COST_DUPLEX), GPT2_BYTES * 8 / 941.5e6, RELATIVE);
    is_about(cost_floor_s(GPT2_BYTES, 2, 941.5 * MBIT, COST_DUPLEX), 4.2295, 1e-5);
    /* 2 (N-1)/N: 4/3 at three nodes, 3/2 at four */
    is_about(cost_floor_s(3e6, 3, 1e6, COST_DUPLEX), 4, RELATIVE);
    is_about(cost_floor_s(3e6, 4, 1e6, COST_DUPLEX), 4.5, RELATIVE);
    ck_assert(cost_floor_s(3e6, 1, 1e6, COST_DUPLEX) == 0);
    /* a radio cell of G carries 2 (N-1) S in all */
    for (int n = 2; n <= 5; n++)
        is_about(cost_floor_s(3e6, n, 1e6, COST_SHARED), 2 * (n - 1) * 3.0, RELATIVE);
    is_about(cost_floor_s(3e6, 2, 1e6, COST_HALF), 6, RELATIVE);
    /* ring: a0 + 2(N-1) alpha + floor + (N-1) S/N gamma; pair: a0 + alpha + S beta + S gamma */
    is_about(cost_allreduce_s(4e6, 4, 1e6, COST_DUPLEX, 0.5, 0.01, 1e-7), 0.5 + 6 * 0.01 + 6 + 3 * 0.1, RELATIVE);
    is_about(cost_allreduce_s(4e6, 2, 1e6, COST_DUPLEX, 0.5, 0.01, 1e-7), 0.5 + 0.01 + 4 + 0.4, RELATIVE);
    is_about(cost_naive_step_s(1, 2, 0.5, 1.5), 3.5, RELATIVE);
    is_about(cost_naive_step_s(1, 2, 0.5, 2.5), 4, RELATIVE);
}
END_TEST

/* ---- one step ---- */

static void open_sim(struct sim *s, int nodes, int buckets)
{
    struct err e = {0};
    ck_assert_msg(sim_init(s, nodes, buckets, &e) == 0, "%s", e.text);
    for (int i = 0; i < nodes; i++) {
        s->before[i] = 1;
        s->backward[i] = 2;
        s->optimizer[i] = 0.25;
        s->beta_idle[i] = s->beta_busy[i] = 1e-6;
    }
    for (int b = 0; b < buckets; b++) {
        s->ready[b] = (b + 1.0) / buckets;
        s->bytes[b] = 1e6;
        s->weight[b] = 1.0 / buckets;
    }
}

/* Two nodes, four buckets of 1 s that become ready every 0.5 s from 1.5 s on: the first at 1.5, then back to back until 5.5;
 * backward ends at 3, so 2.5 s are exposed, and the optimizer follows. */
START_TEST(two_nodes_by_hand)
{
    struct sim s;
    open_sim(&s, 2, 4);
    sim_step(&s);
    is_about(s.step_s, 5.75, RELATIVE);
    is_about(s.exposed_s, 2.5, RELATIVE);
    is_about(s.communication_s, 4, RELATIVE);
    is_about(s.bucket_start[0], 1.5, RELATIVE);
    is_about(s.bucket_end[3], 5.5, RELATIVE);
    /* updating by bucket, backward over at 3: buckets end at 2.5, 3.5, 4.5, 5.5, each update takes 0.0625 */
    s.optimizer_by_bucket = true;
    sim_step(&s);
    is_about(s.step_s, 5.5625, RELATIVE);
    sim_fini(&s);
}
END_TEST

/* Computing loses a fifth of its speed while a bucket is under way: from 1.5 on 1.5 s of work take 1.875 s, backward ends at
 * 3.375. The link does not mind, so the end stays at 5.5. */
START_TEST(computing_slows)
{
    struct sim s;
    open_sim(&s, 2, 4);
    s.compute_loss[0] = s.compute_loss[1] = 0.2;
    sim_step(&s);
    is_about(s.finish[0], 3.375, RELATIVE);
    is_about(s.step_s, 5.75, RELATIVE);
    is_about(s.exposed_s, 5.5 - 3.375, RELATIVE);
    sim_fini(&s);
}
END_TEST

/* The edge takes twice as long while an end computes. Bucket 0 from 1.5 to 3.5 would be all busy, but backward ends at 3:
 * 1.5 s are three quarters of it, the last quarter takes 0.25, so it ends at 3.25; the others 1 s each. */
START_TEST(the_link_slows)
{
    struct sim s;
    open_sim(&s, 2, 4);
    s.beta_busy[0] = s.beta_busy[1] = 2e-6;
    sim_step(&s);
    is_about(s.bucket_end[0], 3.25, RELATIVE);
    is_about(s.step_s, 6.25 + 0.25, RELATIVE);
    sim_fini(&s);
}
END_TEST

/* N equal nodes: the ring formula for every N, edge by edge and by symmetry. */
START_TEST(equal_nodes_follow_the_formula)
{
    for (int n = 2; n <= 33; n++)
        for (int edge = 0; edge < 2; edge++) {
            struct sim s;
            open_sim(&s, n, 1);
            s.edge_by_edge = edge;
            s.launch_s = 0.125;
            s.sum_s_per_byte = 1e-7;
            for (int i = 0; i < n; i++)
                s.alpha[i] = 0.001;
            sim_step(&s);
            double t = n == 2 ? 0.125 + 0.001 + 1 + 0.1 : 0;
            for (int k = 0; n > 2 && k < 2 * (n - 1); k++)
                t += 0.001 + 1.0 / n + 0.1 / n;
            is_about(s.step_s, 3 + t + (n > 2 ? 0.125 : 0) + 0.25, RELATIVE);
            sim_fini(&s);
        }
}
END_TEST

/* The plain recursion, written down once more and as slowly as can be: T_s(i) = max(T_{s-1}(i), T_{s-1}(i-1)) + c_i. */
static double ring_end(const double *start, const double *c, int n)
{
    double *now = malloc((size_t)n * sizeof *now), *next = malloc((size_t)n * sizeof *next), most = 0;
    for (int i = 0; i < n; i++)
        now[i] = start[i];
    for (int step = 0; step < 2 * (n - 1); step++) {
        for (int i = 0; i < n; i++)
            next[i] = fmax(now[i], now[(i + n - 1) % n]) + c[i];
        for (int i = 0; i < n; i++)
            now[i] = next[i];
    }
    for (int i = 0; i < n; i++)
        most = fmax(most, now[i]);
    free(now);
    free(next);
    return most;
}

START_TEST(unequal_edges_follow_the_recursion)
{
    struct rng rng;
    rng_init(&rng, 7, 0);
    for (int round = 0; round < 50; round++) {
        int n = 3 + (int)rng_below(&rng, 30);
        struct sim s;
        double start[33], c[33];
        open_sim(&s, n, 1);
        for (int i = 0; i < n; i++) {
            s.before[i] = start[i] = rng_uniform(&rng);
            start[i] += 2;
            s.beta_idle[i] = s.beta_busy[i] = (1 + rng_uniform(&rng)) * 1e-6;
            c[i] = s.beta_idle[i] * 1e6 / n;
        }
        sim_step(&s);
        is_about(s.step_s, ring_end(start, c, n) + 0.25, RELATIVE);
        sim_fini(&s);
    }
}
END_TEST

/* One slow edge of 512 holds all up: it has to carry 2 (N-1) chunks one after the other, and the first reaches it at once. */
START_TEST(one_slow_edge)
{
    enum { N = 512 };
    struct sim s;
    open_sim(&s, N, 1);
    s.beta_idle[100] = s.beta_busy[100] = 10e-6;
    sim_step(&s);
    is_about(s.step_s, 3 + 2.0 * (N - 1) / N * 10 + 0.25, RELATIVE);
    sim_fini(&s);
}
END_TEST

/* The shortcut gives what edge by edge gives, also when nodes change state in the middle of a bucket. */
START_TEST(symmetry_is_exact)
{
    struct rng rng;
    rng_init(&rng, 11, 0);
    for (int round = 0; round < 60; round++) {
        int n = 2 + (int)rng_below(&rng, 40), buckets = 1 + (int)rng_below(&rng, 8);
        struct sim a, b;
        open_sim(&a, n, buckets);
        open_sim(&b, n, buckets);
        b.edge_by_edge = true;
        for (int i = 0; i < n; i++) {
            a.before[i] = b.before[i] = 1 + 0.3 * rng_uniform(&rng);
            a.compute_loss[i] = b.compute_loss[i] = 0.1 * rng_uniform(&rng);
            a.beta_busy[i] = b.beta_busy[i] = round % 2 ? 1.5e-6 : 1e-6;
        }
        sim_step(&a);
        sim_step(&b);
        is_about(a.step_s, b.step_s, RELATIVE);
        is_about(a.exposed_s, b.exposed_s, 1e-7);
        ck_assert(a.events <= b.events);
        sim_fini(&a);
        sim_fini(&b);
    }
}
END_TEST

/* Several under way: with equal nodes nothing is gained or lost in bytes, so the last bucket ends when the link has carried
 * them all; latencies overlap. Two buckets of 1 s ready at 2 and 3, one at a time: 3 and 4. Two at a time with 0.1 s
 * launch: bucket 0 starts moving at 2.1, alone until 3.1 less what the second takes from 3.1 on: ends at 3.1; the second
 * moves from 3.1 to 4.1. */
START_TEST(two_under_way)
{
    struct sim s;
    open_sim(&s, 2, 2);
    s.in_flight = 2;
    sim_step(&s);
    is_about(s.step_s, 4.25, RELATIVE);
    s.launch_s = 0.1;
    sim_step(&s);
    is_about(s.bucket_end[0], 3.1, RELATIVE);
    is_about(s.bucket_end[1], 4.1, RELATIVE);
    /* ready at the same time they share: both end together, after 2 s of the link */
    s.launch_s = 0;
    s.ready[0] = s.ready[1] = 1;
    sim_step(&s);
    is_about(s.bucket_end[0], 5, RELATIVE);
    is_about(s.bucket_end[1], 5, RELATIVE);
    sim_fini(&s);
}
END_TEST

/* The queue is never idle while something is ready, with one under way or two, so with a link that does not mind computing all
 * bytes are through at the same instant; only what overlaps with computing is divided otherwise. */
START_TEST(two_under_way_carry_the_same_bytes)
{
    struct rng rng;
    rng_init(&rng, 13, 0);
    for (int round = 0; round < 40; round++) {
        int n = 2 + (int)rng_below(&rng, 6), buckets = 1 + (int)rng_below(&rng, 6);
        struct sim s;
        open_sim(&s, n, buckets);
        for (int b = 0; b < buckets; b++)
            s.bytes[b] = 1e6 * rng_uniform(&rng);
        sim_step(&s);
        double one = s.step_s;
        s.in_flight = 2;
        sim_step(&s);
        is_about(s.step_s, one, RELATIVE);
        sim_fini(&s);
    }
}
END_TEST

/* ---- scenarios ---- */

/* Step 4 s, GPT-2's bytes, two equal nodes, no overlap: 8 / (4 + t), break-even at bytes / 4 s. */
START_TEST(a_second_node_makes_it_slower)
{
    static const double mbit[] = {941.5, 625, 100}, t[] = {4.2295, 6.371, 39.82}, speedup[] = {0.972, 0.771, 0.183};
    for (int i = 0; i < 3; i++) {
        struct rig r;
        struct inverse rate;
        struct err e = {0};
        stated(&r, 4, GPT2_BYTES, mbit[i] * MBIT);
        struct outcome o = run(&r.s);
        is_about(scenario_floor_s(&r.s), t[i], 2e-4);
        is_about(o.speedup.median, 8 / (4 + GPT2_BYTES / (mbit[i] * MBIT)), RELATIVE);
        ck_assert(fabs(o.speedup.median - speedup[i]) <= 0.0005);
        ck_assert(outcome_verdict(&o) == VERDICT_HURTS);
        ck_assert(isnan(o.p_faster) && isnan(o.speedup.lo));
        ck_assert(inverse_rate(&r.s, 1, &rate, &e) == 0);
        is_about(rate.value, GPT2_BYTES / 4, 1e-6);
        ck_assert(fabs(rate.value / MBIT - 995.5) <= 0.05);
        rig_fini(&r);
    }
}
END_TEST

/* 1.0 s and 2.5 s, nothing to communicate: equal batches take 2.5 s for two, 0.80; shares of 5:2 take 2 / (1/1 + 1/2.5), 1.40. */
START_TEST(fast_and_slow_node)
{
    struct rig r;
    double share[2];
    stated(&r, 1.0, 0, MBIT);
    r.s.partner_scale = 2.5;
    is_about(run(&r.s).speedup.median, 0.80, RELATIVE);
    is_about(balance_scenario(&r.s, share), 2 / 1.4, RELATIVE);
    is_about(share[0] / share[1], 2.5, RELATIVE);
    r.s.share = share;
    is_about(run(&r.s).speedup.median, 1.40, RELATIVE);
    rig_fini(&r);
}
END_TEST

/* Slower with proportional shares, never slower than the fast one alone: a node with a fixed part as long as T gets none. */
START_TEST(shares)
{
    double fixed[] = {0.1, 0.1, 5}, per[] = {1, 2, 1}, share[3];
    double T = balance_shares(fixed, per, 3, share);
    /* two take part: (T - 0.1)(1 + 1/2) = 3 */
    is_about(T, 2.1, RELATIVE);
    is_about(share[0], 2, RELATIVE);
    is_about(share[1], 1, RELATIVE);
    ck_assert(share[2] == 0);
    int count[3];
    double thirds[] = {1, 1, 1}, lopsided[] = {2.9, 0.05, 0.05};
    balance_whole(thirds, 3, 16, count);
    ck_assert_int_eq(count[0] + count[1] + count[2], 16);
    ck_assert(count[0] >= 5 && count[1] >= 5 && count[2] >= 5);
    balance_whole(lopsided, 3, 8, count);
    ck_assert(count[0] == 6 && count[1] == 1 && count[2] == 1);
}
END_TEST

/* GPT-2's default buckets: the tied embedding is in the last one, complete when backward ends. However long backward is,
 * two nodes leave that bucket's bytes outside: at least the embedding's 154,389,504 B, 1.31 s at 941.5 Mbit/s and
 * 12.35 s at 100 Mbit/s; the bucket with the embedding has 176,446,464 B. */
static void gpt2_plan(struct plan *plan)
{
    struct err e = {0};
    ck_assert(plan_init(plan, 13, &e) == 0);
    double sum = 0;
    for (int b = 0; b < 13; b++) {
        plan->bucket[b].bytes = b == 0 ? 9446400 : b < 12 ? 28351488 : 176446464;
        plan->bucket[b].ready = b < 12 ? 0.3 + 0.055 * b : 1;
        sum += plan->bucket[b].bytes;
    }
    ck_assert(sum == GPT2_BYTES);
    plan->parameter_bytes = GPT2_BYTES;
}

START_TEST(the_last_bucket_cannot_hide)
{
    static const double mbit[] = {941.5, 100}, tail[] = {1.31, 12.35};
    for (int i = 0; i < 2; i++) {
        struct rig r;
        stated(&r, 1000, 0, mbit[i] * MBIT);
        plan_fini(&r.plan);
        gpt2_plan(&r.plan);
        struct outcome o = run(&r.s);
        is_about(o.exposed_s.median, 176446464 / (mbit[i] * MBIT), 1e-6);
        is_about(GPT2_EMBEDDING_BYTES / (mbit[i] * MBIT), tail[i], 2e-3);
        ck_assert(o.exposed_s.median >= tail[i]);
        struct explain_limit limit;
        struct err e = {0};
        r.own.step[0].backward_s = 5; /* long enough that only that one is left */
        if (i == 0) {
            o = run(&r.s);
            ck_assert(explain_limit(&r.s, &o, &limit, &e) == 0);
            ck_assert_str_eq(limit_name(limit.limit), "last bucket");
        }
        rig_fini(&r);
    }
}
END_TEST

/* A profile with spread, GPT-2's plan, a wire with everything on top. */
static void measured(struct rig *r, double bytes_per_s)
{
    struct err e = {0};
    struct rng rng;
    rng_init(&rng, 3, 0);
    ck_assert(profile_init(&r->own, 30, &e) == 0);
    for (int i = 0; i < 30; i++)
        r->own.step[i] = (struct profile_step){1.2 + 0.02 * rng_normal(&rng), 2.3 + 0.03 * rng_normal(&rng), 0.1};
    r->own.tokens = 1024;
    gpt2_plan(&r->plan);
    link_model_state(&r->link, bytes_per_s, 0.2e-3, COST_DUPLEX);
    link_model_assume_costs(&r->link);
    scenario_init(&r->s, &r->own, &r->plan, &r->link);
    r->s.replicates = 100;
}

/* Whatever the rate: a faster link is never slower, nobody beats the floor or N, and the medians are inside the intervals. */
START_TEST(monotone_and_above_floors)
{
    double before = 0;
    for (double mbit = 50; mbit < 20000; mbit *= 1.5) {
        struct rig r;
        measured(&r, mbit * MBIT);
        struct outcome o = run(&r.s);
        ck_assert_msg(o.speedup.median >= before * (1 - RELATIVE), "%g Mbit/s: %g after %g", mbit, o.speedup.median,
                      before);
        before = o.speedup.median;
        ck_assert(o.speedup.lo <= o.speedup.median && o.speedup.median <= o.speedup.hi);
        ck_assert(o.step_s.lo <= o.step_s.median && o.step_s.median <= o.step_s.hi);
        r.s.no_discrepancy = r.s.no_link_spread = true;
        o = run(&r.s);
        ck_assert(o.speedup.median < 2 && o.step_s.median > scenario_floor_s(&r.s));
        ck_assert(o.step_s.median > o.alone_s * (1 - 0.02));
        ck_assert(o.communication_s >= scenario_floor_s(&r.s));
        rig_fini(&r);
    }
}
END_TEST

START_TEST(each_change_goes_the_right_way)
{
    struct rig r;
    measured(&r, 941.5 * MBIT);
    double now = run(&r.s).speedup.median;
    struct scenario s = r.s;
    s.token_scale = 4;
    ck_assert(run(&s).speedup.median > now);
    s = r.s, s.accum = 4;
    ck_assert(run(&s).speedup.median > now);
    s = r.s, s.wire_scale = 0.5;
    ck_assert(run(&s).speedup.median > now);
    s = r.s, s.optimizer_by_bucket = true;
    ck_assert(run(&s).speedup.median > now);
    s = r.s, s.partner_scale = 1.5;
    ck_assert(run(&s).speedup.median < now);
    s = r.s, s.throttle_scale = 1.5;
    ck_assert(run(&s).speedup.median < now);
    s = r.s, s.slow_nic_bytes_per_s = 100 * MBIT;
    ck_assert(run(&s).speedup.median < 0.5 * now);
    s = r.s, s.link.medium = COST_HALF;
    ck_assert(run(&s).speedup.median < now);
    rig_fini(&r);
}
END_TEST

/* The inverse answers put back in give the target. */
START_TEST(inverse_answers_fit)
{
    struct rig r;
    struct inverse x;
    struct err e = {0};
    double speedup;
    measured(&r, 500 * MBIT);
    ck_assert(inverse_rate(&r.s, 1.3, &x, &e) == 0);
    struct scenario s = r.s;
    inverse_set_rate(&s, x.value);
    ck_assert(inverse_speedup(&s, &speedup, &e) == 0);
    is_about(speedup, 1.3, 1e-4);
    ck_assert(inverse_tokens(&r.s, 1.3, &x, &e) == 0);
    s = r.s, s.token_scale = x.value / 1024;
    ck_assert(inverse_speedup(&s, &speedup, &e) == 0);
    is_about(speedup, 1.3, 2e-3);
    ck_assert(inverse_accum(&r.s, 1.3, &x, &e) == 0);
    s = r.s, s.accum = (int)x.value;
    ck_assert(inverse_speedup(&s, &speedup, &e) == 0 && speedup >= 1.3);
    s.accum--;
    ck_assert(inverse_speedup(&s, &speedup, &e) == 0 && speedup < 1.3);
    /* no rate makes two nodes 2.5 times as fast */
    ck_assert(inverse_rate(&r.s, 2.5, &x, &e) == 0);
    ck_assert(isnan(x.value) && x.best < 2);
    s = r.s;
    inverse_set_rate(&s, 2500 * MBIT);
    ck_assert(inverse_partner(&s, 1, &x, &e) == 0);
    s.partner_scale = x.value;
    ck_assert(inverse_speedup(&s, &speedup, &e) == 0);
    is_about(speedup, 1, 1e-3);
    rig_fini(&r);
}
END_TEST

/* The slowest of N jittering nodes sets the pace: with nothing to communicate, steps of 1 s or 2 s with even odds take 2 - 2^-N
 * on average, and the median is 2 from N = 2 on, whereas a prediction from the mean would say 1.5. */
START_TEST(no_mean_inside_a_maximum)
{
    struct rig r;
    struct err e = {0};
    stated(&r, 1, 0, MBIT);
    profile_fini(&r.own);
    ck_assert(profile_init(&r.own, 1000, &e) == 0);
    struct rng rng;
    rng_init(&rng, 5, 0);
    for (int i = 0; i < 1000; i++)
        r.own.step[i].backward_s = rng_below(&rng, 2) ? 1 : 2;
    r.own.tokens = 1;
    scenario_init(&r.s, &r.own, &r.plan, &r.link);
    r.s.no_discrepancy = true;
    r.s.steps = 101;
    r.s.replicates = 50;
    r.s.nodes = 4;
    is_about(run(&r.s).step_s.median, 2, RELATIVE);
    rig_fini(&r);
}
END_TEST

/* Straight lines from (0, 1) on, level after the last point. */
START_TEST(heat)
{
    struct heat_path h;
    struct err e = {0};
    ck_assert(heat_parse(&h, "60s:1.1,600s:1.4", &e) == 0);
    ck_assert(heat_factor(&h, 0) == 1);
    is_about(heat_factor(&h, 30), 1.05, RELATIVE);
    is_about(heat_factor(&h, 60), 1.1, RELATIVE);
    is_about(heat_factor(&h, 330), 1.25, RELATIVE);
    is_about(heat_factor(&h, 9999), 1.4, RELATIVE);
    static const char *const wrong[] = {"", "60:1.1", "60s", "60s:0", "60s:1.1,30s:1.2", "60s:1,1", "60s:nan", ":2"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_msg(heat_parse(&h, wrong[i], &e) == -1, "%s", wrong[i]);
        ck_assert_int_eq(e.code, ERR_USAGE);
    }
    struct rig r;
    measured(&r, 941.5 * MBIT);
    double cold = run(&r.s).speedup.median;
    r.s.heat_scale = 1.4;
    struct outcome o = run(&r.s);
    ck_assert(o.speedup.median > cold); /* everybody computes longer, so the same bytes weigh less */
    is_about(o.alone_s, 1.4 * 3.6, 0.02);
    rig_fini(&r);
}
END_TEST

/* What a group adds to backward is in the run and not in the baseline: 0.5 s on top of 4 s, nothing to communicate. */
START_TEST(a_wrapper_costs)
{
    struct rig r;
    stated(&r, 4, 0, MBIT);
    r.own.wrapper_s = 0.5;
    is_about(run(&r.s).speedup.median, 2 * 4 / 4.5, RELATIVE);
    rig_fini(&r);
}
END_TEST

START_TEST(same_seed_same_answer)
{
    struct rig r;
    measured(&r, 941.5 * MBIT);
    struct outcome a = run(&r.s), b = run(&r.s);
    ck_assert(a.step_s.median == b.step_s.median && a.speedup.hi == b.speedup.hi && a.p_faster == b.p_faster);
    r.s.seed = 2;
    ck_assert(run(&r.s).step_s.median != a.step_s.median);
    rig_fini(&r);
}
END_TEST

START_TEST(variance_is_taken_apart)
{
    struct rig r;
    struct explain_variance v;
    struct err e = {0};
    measured(&r, 941.5 * MBIT);
    r.s.link.rate_spread = 0.2;
    ck_assert(explain_variance(&r.s, &v, &e) == 0);
    is_about(v.jitter + v.link + v.model, 1, RELATIVE);
    ck_assert(v.link > v.model && v.model > v.jitter);
    ck_assert(v.together > 0.7 && v.together < 1.3);
    rig_fini(&r);
}
END_TEST

START_TEST(too_many_are_refused)
{
    struct sim s;
    struct err e = {0};
    ck_assert(sim_init(&s, SIM_NODES_MAX + 1, 1, &e) == -1);
    ck_assert_int_eq(e.code, ERR_USAGE);
    ck_assert(sim_init(&s, 2, SIM_BUCKETS_MAX + 1, &e) == -1);
    ck_assert_int_eq(e.code, ERR_USAGE);
    struct profile p;
    ck_assert(profile_init(&p, 0, &e) == -1);
    ck_assert_int_eq(e.code, ERR_DATA);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("predict");
    TCase *c = tcase_create("predict");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, floors);
    tcase_add_test(c, two_nodes_by_hand);
    tcase_add_test(c, computing_slows);
    tcase_add_test(c, the_link_slows);
    tcase_add_test(c, equal_nodes_follow_the_formula);
    tcase_add_test(c, unequal_edges_follow_the_recursion);
    tcase_add_test(c, one_slow_edge);
    tcase_add_test(c, symmetry_is_exact);
    tcase_add_test(c, two_under_way);
    tcase_add_test(c, two_under_way_carry_the_same_bytes);
    tcase_add_test(c, a_second_node_makes_it_slower);
    tcase_add_test(c, fast_and_slow_node);
    tcase_add_test(c, shares);
    tcase_add_test(c, the_last_bucket_cannot_hide);
    tcase_add_test(c, monotone_and_above_floors);
    tcase_add_test(c, each_change_goes_the_right_way);
    tcase_add_test(c, inverse_answers_fit);
    tcase_add_test(c, no_mean_inside_a_maximum);
    tcase_add_test(c, heat);
    tcase_add_test(c, a_wrapper_costs);
    tcase_add_test(c, same_seed_same_answer);
    tcase_add_test(c, variance_is_taken_apart);
    tcase_add_test(c, too_many_are_refused);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
