/*
 * tools/bench_predict.c - how fast predictions are: events per second edge by edge, GPT-2 at two nodes, a thousand nodes.
 *
 * One thread. Profiles are made up (30 steps with 2 % of spread); the time does not depend on what the seconds are.
 * A maintainer's tool, run by `make bench`.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/rng.h"
#include "predict/scenario.h"

static void run(const char *what, const struct scenario *s, double limit_s)
{
    struct outcome o;
    struct err e = {0};
    uint64_t from = clock_now_ns();
    if (scenario_run(s, &o, &e)) {
        fprintf(stderr, "bench_predict: %s\n", e.text);
        exit((int)e.code);
    }
    double took = clock_seconds(from, clock_now_ns()), draws = (double)s->replicates * s->steps;
    printf("%-44s %8.0f draws %8.3f s %9.2f us/draw %9.1f M events/s", what, draws, took, took / draws * 1e6,
           (double)o.events / took * 1e-6);
    if (limit_s > 0)
        printf("   (goal: %g s)", limit_s);
    printf("\n");
}

int main(void)
{
    struct profile p;
    struct plan plan;
    struct link_model link;
    struct scenario s;
    struct err e = {0};
    struct rng rng;
    rng_init(&rng, 1, 0);
    if (profile_init(&p, 30, &e) || plan_init(&plan, 13, &e)) {
        fprintf(stderr, "bench_predict: %s\n", e.text);
        return (int)e.code;
    }
    for (int i = 0; i < p.n; i++)
        p.step[i] = (struct profile_step){1.2 + 0.02 * rng_normal(&rng), 2.3 + 0.03 * rng_normal(&rng), 0.1};
    p.tokens = 1024;
    for (int b = 0; b < 13; b++) {
        plan.bucket[b].bytes = b == 0 ? 9446400 : b < 12 ? 28351488 : 176446464;
        plan.bucket[b].ready = b < 12 ? 0.3 + 0.055 * b : 1;
    }
    link_model_state(&link, 117.6875e6, 0.2e-3, COST_DUPLEX);
    link_model_assume_costs(&link);
    scenario_init(&s, &p, &plan, &link);

    s.replicates = 1000;
    s.steps = 10;
    run("gpt2-124m, 2 nodes", &s, 2);
    s.in_flight = 2;
    run("gpt2-124m, 2 nodes, two buckets under way", &s, 0);
    s.in_flight = 1;
    s.nodes = 16;
    run("gpt2-124m, 16 nodes", &s, 0);
    s.edge_by_edge = true;
    run("gpt2-124m, 16 nodes, edge by edge", &s, 0);
    s.edge_by_edge = false;
    s.nodes = 1024;
    s.replicates = 20;
    run("gpt2-124m, 1024 nodes", &s, 20);
    s.slow_nic_bytes_per_s = 12.5e6;
    run("gpt2-124m, 1024 nodes, one slow interface", &s, 20);
    s.slow_nic_bytes_per_s = 0;
    s.slow_node_scale = 1.5;
    run("gpt2-124m, 1024 nodes, one throttled", &s, 20);
    s.link.cpu_s_per_byte = 6e-9; /* the link minds computing: edges change their cost in the middle of a bucket */
    run("gpt2-124m, 1024 nodes, processor-bound link", &s, 20);
    profile_fini(&p);
    plan_fini(&plan);
    return 0;
}
