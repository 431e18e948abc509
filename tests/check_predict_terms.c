/*
 * tests/check_predict_terms.c - terms of the model one at a time, and what is said about them. Expected values are derived beside them.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "predict/explain.h"
#include "predict/inverse.h"
#include "predict/scenario.h"
#include "tests/predict_kit.h"

/* ---- computing and communication ---- */

static struct link_model seen(double rate, double busy_share, double loss)
{
    struct link_model m;
    link_model_state(&m, rate, 0, COST_DUPLEX);
    m.seen_bytes_per_s = rate;
    m.busy_share = busy_share;
    m.cpu_s_per_byte = loss / (rate * busy_share);
    return m;
}

/* Where it was measured the measurement comes back, whatever it was: even if by its q a core could not move that much. */
START_TEST(what_was_seen_comes_back)
{
    static const struct {
        double rate, busy_share, loss;
    } cases[] = {{1e8, 0.98, 0.09}, {1e9, 0.5, 0.6}, {3e8, 0.9, 0.5}, {1e9, 0.5, 0}, {1e8, 1, 0.9}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double rate = cases[i].rate, busy = rate * cases[i].busy_share;
        struct link_model m = seen(rate, cases[i].busy_share, cases[i].loss);
        struct contention c = link_model_contend(&m, rate, 0);
        is_about(c.idle_bytes_per_s, rate, 1e-9);
        is_about(c.busy_bytes_per_s, busy, 1e-9);
        is_about(c.compute_loss, cases[i].loss, 1e-9);
        c = link_model_contend(&m, rate, 1);
        ck_assert(c.busy_bytes_per_s == c.idle_bytes_per_s && c.compute_loss == 0);
    }
}
END_TEST

/* 100 MB/s took 0.09 of a core, so q = 0.9184e-9. At 1.25 GB/s a core moves at most 1/q, and half of that while it computes: more
 * than was seen (0.09), so half of a core it is. At 50 MB/s the loss is half of what it was. */
START_TEST(another_rate_gets_half_of_a_core)
{
    struct link_model m = seen(1e8, 0.98, 0.09);
    double q = 0.09 / 0.98e8;
    struct scenario s = {.link = m};
    inverse_set_rate(&s, 1.25e9);
    struct contention c = link_model_contend(&s.link, 1.25e9, 0);
    is_about(c.idle_bytes_per_s, 1 / q, 1e-9);
    is_about(c.busy_bytes_per_s, 0.5 / q, 1e-9);
    is_about(c.compute_loss, 0.5, 1e-9);
    c = link_model_contend(&m, 5e7, 0);
    is_about(c.compute_loss, 0.045, 1e-9);
}
END_TEST

/* ---- scenarios ---- */

/* Three nodes, batches of 10, 10 and 2 sequences; the third needs 0.51 s for a sequence, the others 0.1: all take about a second,
 * and none of them five. Tokens relative to the first one's; the fastest alone does 10 in a second. */
START_TEST(each_at_its_own_speed)
{
    struct rig r;
    double share[] = {1, 1, 0.2}, pace[] = {1, 1, 5.1};
    stated(&r, 1, 0, 1e6);
    r.s.nodes = 3;
    r.s.share = share;
    r.s.pace = pace;
    struct outcome o = run(&r.s);
    is_about(o.step_s.median, 1.02, 1e-9);
    is_about(o.speedup.median, 2.2 / 1.02, 1e-9);
    is_about(o.efficiency.median, (2.2 / 1.02) / (1 + 1 + 1 / 5.1), 1e-9);
    rig_fini(&r);
}
END_TEST

/* The fastest node need not be the first, the second or the last. */
START_TEST(the_fastest_is_found)
{
    struct rig r;
    double pace[] = {1, 2, 0.5, 1};
    stated(&r, 1, 0, 1e6);
    r.s.nodes = 4;
    r.s.pace = pace;
    struct outcome o = run(&r.s);
    is_about(o.alone_s, 0.5, 1e-9);
    is_about(o.speedup.median, 4 * 0.5 / 2, 1e-9);
    rig_fini(&r);
}
END_TEST

/* Four nodes on a radio of 30 MB/s get 7.5 each, so an interface of 10 each way, 5 of them, holds them up: 2 x 3 chunks of a quarter
 * of 3e6 B at 5 MB/s. On a switch it is 10 MB/s, and one of 40 holds nobody up anywhere. */
START_TEST(a_slow_interface_on_a_shared_medium)
{
    struct rig r;
    stated(&r, 1, 3e6, 30e6);
    r.s.nodes = 4;
    r.s.slow_nic_bytes_per_s = 10e6;
    is_about(scenario_floor_s(&r.s), 6 * 0.75e6 / 10e6, 1e-9);
    r.s.link.medium = COST_SHARED;
    is_about(scenario_floor_s(&r.s), 6 * 0.75e6 / 5e6, 1e-9);
    is_about(run(&r.s).step_s.median, 1 + 6 * 0.75e6 / 5e6, 1e-6);
    r.s.slow_nic_bytes_per_s = 40e6;
    is_about(scenario_floor_s(&r.s), 6 * 0.75e6 / 7.5e6, 1e-9);
    rig_fini(&r);
}
END_TEST

/* ---- what is said about it ---- */

/* 12.5 GB/s carry half a gigabyte in 40 ms, but the core needs half a second for it: a faster link brings nothing, a core of its own
 * would. */
START_TEST(contention_is_what_holds_back)
{
    struct rig r;
    struct explain_limit limit;
    struct err e = {0};
    stated(&r, 1, 5e8, 12.5e9);
    link_model_assume_costs(&r.s.link);
    struct outcome o = run(&r.s);
    ck_assert(explain_limit(&r.s, &o, &limit, &e) == 0);
    ck_assert_str_eq(limit_name(limit.limit), "contention");
    is_about(limit.without[LIMIT_RATE], o.speedup.median, 1e-3);
    rig_fini(&r);
}
END_TEST

/* The partner that is there is twice as slow; what may be 1.5 times slower is so of this node. */
START_TEST(a_partner_is_compared_with_this_node)
{
    struct rig r;
    struct profile partner;
    struct inverse without, with;
    struct err e = {0};
    stated(&r, 1, 1e6, 1e7);
    ck_assert(profile_init(&partner, 1, &e) == 0);
    partner.step[0].backward_s = 2;
    partner.tokens = 1;
    ck_assert(inverse_partner(&r.s, 1, &without, &e) == 0);
    is_about(without.value, 1.9, 1e-4); /* 2 / (x + 0.1) = 1 */
    r.s.partner = &partner;
    ck_assert(inverse_partner(&r.s, 1, &with, &e) == 0);
    is_about(with.value, without.value, 1e-9);
    profile_fini(&partner);
    rig_fini(&r);
}
END_TEST

/* Near P = 0.9 a change that changes nothing turns no verdict, though it is tried with fewer draws than the answer has. */
START_TEST(no_change_turns_nothing)
{
    struct err e = {0};
    for (int i = 0; i < 20; i++) {
        struct rig r;
        struct explain_change change[EXPLAIN_CHANGES_MAX];
        stated(&r, 1, 1e6, 1e6 / (0.93 + 0.005 * i));
        r.s.exact = false;
        r.s.no_jitter = true;
        r.s.discrepancy = 0.05;
        r.s.replicates = 1000;
        r.s.seed = (uint64_t)i;
        int n = explain_changes(&r.s, NULL, NULL, false, change, &e);
        ck_assert(n > 0);
        for (int k = 0; k < n; k++)
            if (change[k].name[0] == 'o') /* without an optimizer's time it is all the same when it runs */
                ck_assert_msg(!change[k].flips, "%s at draw %d", change[k].name, i);
        rig_fini(&r);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("predict_terms");
    TCase *c = tcase_create("predict_terms");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, what_was_seen_comes_back);
    tcase_add_test(c, another_rate_gets_half_of_a_core);
    tcase_add_test(c, each_at_its_own_speed);
    tcase_add_test(c, the_fastest_is_found);
    tcase_add_test(c, a_slow_interface_on_a_shared_medium);
    tcase_add_test(c, contention_is_what_holds_back);
    tcase_add_test(c, a_partner_is_compared_with_this_node);
    tcase_add_test(c, no_change_turns_nothing);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
