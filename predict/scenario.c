/*
 * predict/scenario.c - see scenario.h. Start at scenario_run(). A replicate draws, in this order and from one stream of its
 * own, the factors, the resampled profiles, and block by block each node's steps; so two scenarios with one seed meet the
 * same luck, and their difference is theirs.
 */
#include "predict/scenario.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/stats.h"
#include "predict/simulate.h"

void scenario_init(struct scenario *s, const struct profile *own, const struct plan *plan,
                   const struct link_model *link)
{
    *s = (struct scenario){.nodes = 2,
                           .own = own,
                           .plan = plan,
                           .link = *link,
                           .partner_scale = 1,
                           .slow_node_scale = 1,
                           .token_scale = 1,
                           .wire_scale = 1,
                           .contention_scale = 1,
                           .heat_scale = 1,
                           .throttle_scale = 1,
                           .in_flight = 1,
                           .discrepancy = SCENARIO_DISCREPANCY,
                           .replicates = 500,
                           .steps = 10,
                           .seed = 1};
}

bool scenario_reserve_core(struct scenario *s)
{
    int threads = s->own->threads;
    if (threads < 2 || s->own->free_cores > 0)
        return false;
    s->contention_scale = 0;
    s->throttle_scale *= (double)threads / (threads - 1);
    return true;
}

/* ---- who works how much ---- */

const struct profile *scenario_profile(const struct scenario *s, int node)
{
    return node > 0 && s->partner ? s->partner : s->own;
}

double scenario_scale(const struct scenario *s, int node)
{
    double scale = (node > 0 ? s->partner_scale : 1) * (s->pace ? s->pace[node] : 1);
    return node == s->nodes - 1 && s->nodes > 1 ? scale * s->slow_node_scale : scale;
}

static int accum_of(const struct scenario *s)
{
    return s->accum > 0 ? s->accum : s->own->accum;
}

/* Tokens of node i's update. All nodes take as many as this one unless shares say otherwise. */
static double tokens_of(const struct scenario *s, int node)
{
    double share = s->share ? s->share[node] : 1;
    return s->own->tokens / s->own->accum * accum_of(s) * s->token_scale * share;
}

/* Of all nodes' last micro-batches. */
static double micro_tokens(const struct scenario *s)
{
    double sum = 0;
    for (int i = 0; i < s->nodes; i++)
        sum += tokens_of(s, i) / accum_of(s);
    return sum;
}

/* Forward and backward grow with the tokens; the optimizer's work is that of the parameters. */
static struct profile_step scaled(const struct scenario *s, int node, struct profile_step step)
{
    double slower = scenario_scale(s, node) * s->heat_scale,
           work = tokens_of(s, node) / scenario_profile(s, node)->tokens * slower;
    return (struct profile_step){step.forward_s * work, step.backward_s * work, step.optimizer_s * slower};
}

static struct profile_step medians(const struct profile *p, double *scratch)
{
    struct profile_step m = {0};
    double *to[] = {&m.forward_s, &m.backward_s, &m.optimizer_s};
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < p->n; i++)
            scratch[i] = k == 0 ? p->step[i].forward_s : k == 1 ? p->step[i].backward_s : p->step[i].optimizer_s;
        *to[k] = stats_median(scratch, (size_t)p->n);
    }
    return m;
}

struct profile_step scenario_typical(const struct scenario *s, int node)
{
    const struct profile *p = scenario_profile(s, node);
    double *scratch = malloc((size_t)p->n * sizeof *scratch);
    struct profile_step m = {NAN, NAN, NAN};
    if (scratch)
        m = scaled(s, node, medians(p, scratch));
    free(scratch);
    return m;
}

double scenario_bytes(const struct scenario *s)
{
    return plan_bytes(s->plan, micro_tokens(s)) * s->wire_scale;
}

/* The slow interface as a rate of the medium, which all nodes on it share: its own limit is nobody else's, and only what goes out
 * and what comes in share it on a medium that carries one of them at a time. */
static double slow_nic(const struct scenario *s)
{
    double both = s->link.medium == COST_DUPLEX ? 1 : 2;
    return s->slow_nic_bytes_per_s / both * cost_sharing(s->link.medium, s->nodes);
}

double scenario_floor_s(const struct scenario *s)
{
    double rate = link_model_rate(&s->link);
    if (s->slow_nic_bytes_per_s > 0)
        rate = fmin(rate, slow_nic(s));
    return cost_floor_s(scenario_bytes(s), s->nodes, rate, s->link.medium);
}

/* ---- the replay's inputs ---- */

struct factors { /* drawn once per replicate */
    double beta, alpha, cpu, discrepancy;
};

/* The piece is chosen by the size of a typical transfer, that of the largest bucket's chunk. */
static const struct link_piece *piece_for(const struct scenario *s)
{
    double largest = 0;
    for (int b = 0; b < s->plan->n; b++)
        largest = fmax(largest, plan_bucket_bytes(&s->plan->bucket[b], micro_tokens(s)));
    return link_model_piece(&s->link, largest * s->wire_scale / (s->nodes == 2 ? 1 : s->nodes));
}

static void set_edges(const struct scenario *s, struct sim *sim, struct factors f)
{
    const struct link_piece *piece = piece_for(s);
    struct link_model m = s->link;
    m.cpu_s_per_byte *= f.cpu * s->contention_scale;
    if (s->contention_scale <= 0) /* neither slows the other */
        m.busy_share = 0;
    double rate = 1 / (piece->beta_s_per_byte * f.beta), sharing = cost_sharing(m.medium, s->nodes), slowest = rate;
    bool slow = s->slow_nic_bytes_per_s > 0 && slow_nic(s) < rate;
    if (slow)
        slowest = slow_nic(s);
    for (int i = 0; i < s->nodes; i++) {
        double own = slow && (i == s->nodes - 1 || i == 0) ? slowest : rate; /* into the last node, and out of it */
        struct contention c = link_model_contend(&m, own / sharing, scenario_profile(s, i)->free_cores);
        sim->beta_idle[i] = 1 / c.idle_bytes_per_s;
        sim->beta_busy[i] = 1 / c.busy_bytes_per_s;
        sim->alpha[i] = piece->alpha_s * f.alpha;
        /* where a slower edge holds the ring up, there is less to do per second */
        c = link_model_contend(&m, slowest / sharing, scenario_profile(s, i)->free_cores);
        sim->compute_loss[i] = fmin(LINK_LOSS_MAX, c.compute_loss * (i ? m.others_scale : m.own_scale));
    }
    sim->launch_s = m.launch_s * f.alpha;
    sim->sum_s_per_byte = m.sum_s_per_byte;
}

static void set_buckets(const struct scenario *s, struct sim *sim)
{
    double tokens = micro_tokens(s), all = 0;
    for (int b = 0; b < sim->buckets; b++) {
        const struct plan_bucket *p = &s->plan->bucket[b];
        sim->ready[b] = s->no_tail ? 0 : p->ready;
        sim->bytes[b] = plan_bucket_bytes(p, tokens) * s->wire_scale;
        all += sim->bytes[b];
    }
    for (int b = 0; b < sim->buckets; b++)
        sim->weight[b] = all > 0 ? sim->bytes[b] / all : 0;
    sim->blocking_bytes = s->plan->blocking_bytes_per_token * tokens;
    sim->in_flight = s->in_flight;
    sim->optimizer_by_bucket = s->optimizer_by_bucket;
    sim->edge_by_edge = s->edge_by_edge;
}

static void set_node(const struct scenario *s, struct sim *sim, int node, struct profile_step step)
{
    struct profile_step t = scaled(s, node, step);
    double slower = s->throttle_scale;
    int K = accum_of(s);
    sim->before[node] = (t.forward_s + t.backward_s * (K - 1) / K) * slower;
    const struct profile *p = scenario_profile(s, node);
    sim->backward[node] = (t.backward_s / K + p->wrapper_s * scenario_scale(s, node)) * slower;
    sim->optimizer[node] = t.optimizer_s * slower;
}

static double alone_of(const struct scenario *s, int node, struct profile_step step)
{
    struct profile_step t = scaled(s, node, step);
    return t.forward_s + t.backward_s + t.optimizer_s;
}

/* ---- draws ---- */

struct series { /* a node's steps within a replicate: blocks out of a resampled profile */
    int at, left;
};

struct drawing {
    const struct scenario *s;
    struct sim sim;
    struct rng rng;
    int *again[2];                 /* the resampled profiles of node 0 and of the others: indices of steps */
    struct profile_step middle[2]; /* their medians */
    struct series *series;         /* [nodes + 1]: the last one is the baseline's */
    double *step, *alone, *exposed, *communication; /* [steps] */
};

/* Blocks of about the cube root of the sample's length keep most of how steps hang together (Kunsch 1989; Politis and White
 * 2004 for the rate). */
static int block_of(const struct profile *p)
{
    return (int)ceil(cbrt(p->n));
}

static void resample(struct drawing *d, int which, const struct profile *p)
{
    int block = block_of(p), start = 0;
    for (int i = 0; i < p->n; i++) {
        if (i % block == 0)
            start = (int)rng_below(&d->rng, (uint64_t)p->n);
        d->again[which][i] = (start + i % block) % p->n;
    }
}

static struct profile_step next_step(struct drawing *d, int series, int which, const struct profile *p)
{
    struct series *t = &d->series[series];
    if (d->s->no_jitter)
        return d->middle[which];
    if (t->left == 0) {
        t->left = block_of(p);
        t->at = (int)rng_below(&d->rng, (uint64_t)p->n);
    }
    int at = t->at;
    t->at = (at + 1) % p->n;
    t->left--;
    return p->step[d->again[which][at]];
}

/* Lognormal with median 1. */
static double draw_factor(struct rng *rng, double spread)
{
    double z = rng_normal(rng);
    return spread > 0 ? exp(sqrt(log1p(spread * spread)) * z) : 1;
}

static struct factors draw_factors(struct drawing *d)
{
    const struct scenario *s = d->s;
    double growth = s->nodes > 2 ? 1 + 0.5 * log2(s->nodes / 2.0) : 1;
    struct factors f;
    f.beta = draw_factor(&d->rng, s->no_link_spread ? 0 : s->link.rate_spread);
    f.alpha = draw_factor(&d->rng, s->no_link_spread ? 0 : s->link.latency_spread);
    f.cpu = draw_factor(&d->rng, s->no_link_spread ? 0 : s->link.cpu_spread);
    f.discrepancy = draw_factor(&d->rng, s->no_discrepancy ? 0 : s->discrepancy * growth);
    return f;
}

static int fastest(const struct scenario *s)
{
    int best = 0;
    double most = 0;
    bool all_differ = s->pace || s->share; /* else there are three kinds: this one, its partners, and the last */
    int candidates[] = {0, s->nodes > 1 ? 1 : 0, s->nodes - 1};
    for (int k = 0; k < (all_differ ? s->nodes : 3); k++) {
        int node = all_differ ? k : candidates[k];
        struct profile_step t = scenario_typical(s, node);
        double rate = tokens_of(s, node) / (t.forward_s + t.backward_s + t.optimizer_s);
        if (rate > most) {
            most = rate;
            best = node;
        }
    }
    return best;
}

/* One replicate: its medians. */
static void replicate(struct drawing *d, int number, int baseline, double result[4])
{
    const struct scenario *s = d->s;
    rng_init(&d->rng, s->seed, (uint64_t)number);
    struct factors f = draw_factors(d);
    set_edges(s, &d->sim, f);
    resample(d, 0, s->own);
    if (s->partner)
        resample(d, 1, s->partner);
    memset(d->series, 0, ((size_t)s->nodes + 1) * sizeof *d->series);
    for (int k = 0; k < s->steps; k++) {
        for (int i = 0; i < s->nodes; i++)
            set_node(s, &d->sim, i, next_step(d, i, i > 0 && s->partner, scenario_profile(s, i)));
        const struct profile *p = scenario_profile(s, baseline);
        d->alone[k] = alone_of(s, baseline, next_step(d, s->nodes, baseline > 0 && s->partner, p));
        sim_step(&d->sim);
        d->step[k] = d->sim.step_s;
        d->exposed[k] = d->sim.exposed_s;
        d->communication[k] = d->sim.communication_s;
    }
    size_t n = (size_t)s->steps;
    /* a single node's step is what was measured: there is no model to be off */
    result[0] = stats_median(d->step, n) * (s->nodes > 1 ? f.discrepancy : 1);
    result[1] = stats_median(d->alone, n);
    result[2] = stats_median(d->exposed, n);
    result[3] = stats_median(d->communication, n);
}

/* No draws: the medians of the profiles, the link as it is. */
static void typical(struct drawing *d, int baseline, double result[4])
{
    const struct scenario *s = d->s;
    set_edges(s, &d->sim, (struct factors){1, 1, 1, 1});
    for (int i = 0; i < s->nodes; i++)
        set_node(s, &d->sim, i, d->middle[i > 0 && s->partner]);
    sim_step(&d->sim);
    result[0] = d->sim.step_s;
    result[1] = alone_of(s, baseline, d->middle[baseline > 0 && s->partner]);
    result[2] = d->sim.exposed_s;
    result[3] = d->sim.communication_s;
}

/* ---- summary ---- */

static struct estimate estimate_of(double *x, int n)
{
    struct estimate e = {stats_median(x, (size_t)n), NAN, NAN}; /* sorts */
    if (n > 1) {
        e.lo = stats_quantile_sorted(x, (size_t)n, 0.05);
        e.hi = stats_quantile_sorted(x, (size_t)n, 0.95);
    }
    return e;
}

/* column: [4][n] as replicate() fills it in. */
static void summarise(const struct scenario *s, struct outcome *out, double *column, int n, int baseline)
{
    double *step = column, *alone = column + n, *ratio = column + 4 * n, sum = 0, squares = 0, rates = 0;
    int faster = 0;
    for (int i = 0; i < s->nodes; i++)
        out->tokens += tokens_of(s, i);
    out->baseline_tokens = tokens_of(s, baseline);
    for (int r = 0; r < n; r++) {
        ratio[r] = out->tokens / step[r] * alone[r] / out->baseline_tokens;
        faster += ratio[r] > 1;
        sum += log(ratio[r]);
        squares += log(ratio[r]) * log(ratio[r]);
    }
    struct profile_step best = scenario_typical(s, baseline);
    double best_rate = out->baseline_tokens / (best.forward_s + best.backward_s + best.optimizer_s);
    for (int i = 0; i < s->nodes; i++) {
        struct profile_step t = scenario_typical(s, i);
        rates += tokens_of(s, i) / (t.forward_s + t.backward_s + t.optimizer_s) / best_rate;
    }
    out->p_faster = n > 1 ? (double)faster / n : NAN;
    out->log_variance = n > 1 ? fmax(0, squares / n - sum / n * (sum / n)) : NAN;
    out->step_s = estimate_of(step, n);
    out->alone_s = stats_median(alone, (size_t)n);
    out->exposed_s = estimate_of(column + 2 * n, n);
    out->communication_s = stats_median(column + 3 * n, (size_t)n);
    out->speedup = estimate_of(ratio, n);
    out->efficiency = (struct estimate){out->speedup.median / rates, out->speedup.lo / rates, out->speedup.hi / rates};
}

static void close_drawing(struct drawing *d)
{
    sim_fini(&d->sim);
    free(d->again[0]);
    free(d->again[1]);
    free(d->series);
    free(d->step);
}

static int open_drawing(struct drawing *d, const struct scenario *s, struct err *e)
{
    *d = (struct drawing){.s = s};
    size_t own = (size_t)s->own->n, other = s->partner ? (size_t)s->partner->n : 1, steps = (size_t)s->steps;
    if (sim_init(&d->sim, s->nodes, s->nodes > 1 ? s->plan->n : 0, e))
        return -1;
    d->again[0] = calloc(own, sizeof(int));
    d->again[1] = calloc(other, sizeof(int));
    d->series = calloc((size_t)s->nodes + 1, sizeof *d->series);
    d->step = calloc(4 * steps + own + other, sizeof(double));
    if (!d->again[0] || !d->again[1] || !d->series || !d->step) {
        close_drawing(d);
        return err_set(e, ERR_MEMORY, "no memory to predict %d nodes", s->nodes);
    }
    d->alone = d->step + steps;
    d->exposed = d->alone + steps;
    d->communication = d->exposed + steps;
    d->middle[0] = medians(s->own, d->communication + steps);
    if (s->partner)
        d->middle[1] = medians(s->partner, d->communication + steps);
    set_buckets(s, &d->sim);
    return 0;
}

int scenario_run(const struct scenario *s, struct outcome *out, struct err *e)
{
    struct drawing d;
    int n = s->exact ? 1 : s->replicates, baseline = fastest(s);
    *out = (struct outcome){0};
    if (n < 1 || s->steps < 1)
        return err_set(e, ERR_USAGE, "%d replicates of %d steps predict nothing", n, s->steps);
    if (open_drawing(&d, s, e))
        return -1;
    double *column = calloc(5 * (size_t)n, sizeof *column), result[4];
    if (!column) {
        close_drawing(&d);
        return err_set(e, ERR_MEMORY, "no memory for %d replicates", n);
    }
    for (int r = 0; r < n; r++) {
        if (s->exact)
            typical(&d, baseline, result);
        else
            replicate(&d, r, baseline, result);
        for (int k = 0; k < 4; k++)
            column[k * n + r] = result[k];
    }
    out->events = d.sim.events;
    summarise(s, out, column, n, baseline);
    free(column);
    close_drawing(&d);
    return 0;
}

enum verdict outcome_verdict(const struct outcome *o)
{
    double p = o->p_faster;
    if (!isfinite(p)) /* arithmetic on stated numbers */
        p = o->speedup.median > 1 ? 1 : o->speedup.median < 1 ? 0 : 0.5;
    return p >= 0.9 ? VERDICT_HELPS : p <= 0.1 ? VERDICT_HURTS : VERDICT_UNDECIDED;
}

const char *verdict_name(enum verdict v)
{
    static const char *const names[] = {
        [VERDICT_HELPS] = "helps", [VERDICT_HURTS] = "hurts", [VERDICT_UNDECIDED] = "undecided"};
    return names[v];
}
