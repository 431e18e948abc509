/*
 * predict/simulate.c - see simulate.h. Start at sim_step(). Between buckets a node's state is (t, work_done): at time t, when
 * its last bucket ended, it had done so much work; from there on it works at full speed until the next one begins.
 */
#include "predict/simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int sim_init(struct sim *s, int nodes, int buckets, struct err *e)
{
    *s = (struct sim){.nodes = nodes, .buckets = buckets, .in_flight = 1};
    if (nodes < 1 || nodes > SIM_NODES_MAX)
        return err_set(e, ERR_USAGE, "%d nodes are not between 1 and %d", nodes, SIM_NODES_MAX);
    if (buckets < 0 || buckets > SIM_BUCKETS_MAX)
        return err_set(e, ERR_USAGE, "%d buckets are not between 0 and %d", buckets, SIM_BUCKETS_MAX);
    double **per_node[] = {&s->before, &s->backward,  &s->optimizer, &s->compute_loss, &s->beta_idle, &s->beta_busy,
                           &s->alpha,  &s->finish,    &s->end,       &s->done,         &s->t,         &s->work_done,
                           &s->stop,   &s->edge_stop, &s->busy,      &s->idle};
    double **per_bucket[] = {&s->ready, &s->bytes, &s->weight, &s->bucket_start, &s->bucket_end};
    enum { NODE = sizeof per_node / sizeof *per_node, BUCKET = sizeof per_bucket / sizeof *per_bucket };
    s->memory = calloc((size_t)nodes * NODE + (size_t)buckets * (BUCKET + (size_t)nodes), sizeof *s->memory);
    if (!s->memory)
        return err_set(e, ERR_MEMORY, "no memory to replay %d nodes", nodes);
    double *at = s->memory;
    for (int i = 0; i < NODE; i++, at += nodes)
        *per_node[i] = at;
    for (int i = 0; i < BUCKET; i++, at += buckets)
        *per_bucket[i] = at;
    s->ended = at;
    return 0;
}

void sim_fini(struct sim *s)
{
    free(s->memory);
    *s = (struct sim){0};
}

/* ---- a ring, edge by edge ---- */

static int steps_of(int nodes)
{
    return nodes == 2 ? 1 : 2 * (nodes - 1);
}

static double chunk_of(int nodes, double bytes)
{
    return nodes == 2 ? bytes : bytes / nodes;
}

/* Results of a step are of the step before, so the last node's is kept for node 0. */
static void step_plain(double *restrict t, const double *restrict c, int n)
{
    double last = t[n - 1];
    for (int i = n - 1; i > 0; i--) {
        double from = t[i - 1];
        t[i] = (t[i] > from ? t[i] : from) + c[i];
    }
    t[0] = (t[0] > last ? t[0] : last) + c[0];
}

/* As above, where an edge costs busy until its stop and idle from there on. */
static void step_changing(const struct sim *s, int n)
{
    double *t = s->t, last = t[n - 1];
    for (int i = n - 1; i >= 0; i--) {
        double from = i ? t[i - 1] : last, start = t[i] > from ? t[i] : from, left = s->edge_stop[i] - start;
        if (left >= s->busy[i])
            t[i] = start + s->busy[i];
        else if (left <= 0)
            t[i] = start + s->idle[i];
        else
            t[i] = start + left + s->idle[i] * (1 - left / s->busy[i]);
    }
}

static double largest(const double *x, int n)
{
    double most = x[0];
    for (int i = 1; i < n; i++)
        most = x[i] > most ? x[i] : most;
    return most;
}

static double smallest(const double *x, int n)
{
    double least = x[0];
    for (int i = 1; i < n; i++)
        least = x[i] < least ? x[i] : least;
    return least;
}

/* How many of the steps to come are alike on every edge: all idle, or all busy to the end of the step. 0: not known to be. */
static int steps_alike(const struct sim *s, int n, int steps, bool uniform, const double **cost)
{
    if (!uniform)
        return 0;
    double latest = largest(s->t, n), least = smallest(s->t, n);
    if (s->busy[0] == s->idle[0] || least >= largest(s->edge_stop, n)) {
        *cost = s->idle;
        return steps;
    }
    double room = (smallest(s->edge_stop, n) - latest) / s->busy[0];
    *cost = s->busy;
    return room >= steps ? steps : room > 0 ? (int)room : 0;
}

static void ring(struct sim *s, double bytes)
{
    int n = s->nodes, steps = steps_of(n);
    double chunk = chunk_of(n, bytes), add = chunk * s->sum_s_per_byte;
    bool uniform = true, changing = false;
    for (int i = 0; i < n; i++) {
        s->idle[i] = s->alpha[i] + chunk * s->beta_idle[i] + add;
        s->busy[i] = s->alpha[i] + chunk * s->beta_busy[i] + add;
        s->edge_stop[i] = fmax(s->stop[i], s->stop[i ? i - 1 : n - 1]);
        uniform &= s->idle[i] == s->idle[0] && s->busy[i] == s->busy[0];
        changing |= s->busy[i] != s->idle[i];
    }
    const double *cost = s->idle;
    while (steps > 0) {
        int alike = s->edge_by_edge ? 0 : steps_alike(s, n, steps, uniform, &cost);
        if (alike >= n - 1 || (alike > 0 && largest(s->t, n) == smallest(s->t, n))) {
            double t = largest(s->t, n) + alike * cost[0];
            for (int i = 0; i < n; i++)
                s->t[i] = t;
            steps -= alike;
            s->events += (uint64_t)n;
            continue;
        }
        if (changing)
            step_changing(s, n);
        else
            step_plain(s->t, s->idle, n);
        steps--;
        s->events += (uint64_t)n;
    }
}

/* ---- a step with one bucket under way at a time ---- */

static double total_work(const struct sim *s, int i)
{
    return s->before[i] + s->backward[i];
}

/* From the end of the bucket before to the start of b: work at full speed until it is ready. Sets stop: when the node will
 * have finished computing if the bucket is under way until then. */
static void start_bucket(struct sim *s, int b)
{
    for (int i = 0; i < s->nodes; i++) {
        double ready = s->before[i] + s->ready[b] * s->backward[i], all = total_work(s, i);
        double wait = ready > s->work_done[i] ? ready - s->work_done[i] : 0;
        if (s->work_done[i] < all && s->work_done[i] + wait >= all)
            s->finish[i] = s->t[i] + (all - s->work_done[i]);
        s->t[i] += wait;
        s->work_done[i] = fmin(all, s->work_done[i] + wait);
        s->stop[i] = s->t[i] + (all - s->work_done[i]) / (1 - s->compute_loss[i]);
        s->end[i] = s->t[i]; /* for a moment: its start */
    }
    s->events += 2 * (uint64_t)s->nodes;
}

static void end_bucket(struct sim *s, int b)
{
    for (int i = 0; i < s->nodes; i++) {
        double all = total_work(s, i), start = s->end[i], end = s->t[i] += s->launch_s;
        if (s->work_done[i] < all && s->stop[i] <= end) {
            s->work_done[i] = all;
            s->finish[i] = s->stop[i];
        } else if (s->work_done[i] < all) {
            s->work_done[i] = fmin(all, s->work_done[i] + (end - start) * (1 - s->compute_loss[i]));
        }
        s->end[i] = end;
        if (i == 0) {
            s->bucket_start[b] = start;
            s->bucket_end[b] = end;
            s->communication_s += end - start;
        }
    }
    s->events += (uint64_t)s->nodes;
}

static void one_at_a_time(struct sim *s)
{
    for (int b = 0; b < s->buckets; b++) {
        start_bucket(s, b);
        if (s->nodes > 1)
            ring(s, s->bytes[b]);
        end_bucket(s, b);
        memcpy(s->ended + (size_t)b * (size_t)s->nodes, s->end, (size_t)s->nodes * sizeof *s->end);
    }
    for (int i = 0; i < s->nodes; i++)
        if (s->work_done[i] < total_work(s, i) || s->buckets == 0)
            s->finish[i] = s->t[i] + (total_work(s, i) - s->work_done[i]);
}

/* ---- several buckets under way ---- */

struct flight { /* one bucket on the link, which all nodes take up together */
    int bucket;
    double latency_s, alone_s; /* left: time that passes in any case, time of the whole link */
};

/* Seconds until bucket b is ready on every node at the present speeds; 0: it is. */
static double until_ready(const struct sim *s, int b, bool active)
{
    double longest = 0;
    for (int i = 0; i < s->nodes; i++) {
        double left = s->before[i] + s->ready[b] * s->backward[i] - s->work_done[i];
        longest = fmax(longest, left > 0 ? left / (active ? 1 - s->compute_loss[i] : 1) : 0);
    }
    return longest;
}

/* Seconds until the first node that is computing has finished; infinite if none is. */
static double until_finish(const struct sim *s, bool active)
{
    double first = INFINITY;
    for (int i = 0; i < s->nodes; i++) {
        double left = total_work(s, i) - s->work_done[i];
        if (left > 0)
            first = fmin(first, left / (active ? 1 - s->compute_loss[i] : 1));
    }
    return first;
}

static void compute_for(struct sim *s, double now, double seconds, bool active)
{
    for (int i = 0; i < s->nodes; i++) {
        double all = total_work(s, i), left = all - s->work_done[i];
        if (left <= 0)
            continue;
        double did = seconds * (active ? 1 - s->compute_loss[i] : 1);
        if (did >= left * (1 - 1e-12)) {
            s->work_done[i] = all;
            s->finish[i] = now + seconds;
        } else {
            s->work_done[i] += did;
        }
    }
}

/* How much slower the slowest edge is while an end of it computes: the ring goes as fast as that one. */
static double whole_ring_s(const struct sim *s, double bytes, bool busy, double *latency_s)
{
    int n = s->nodes, steps = steps_of(n);
    double chunk = chunk_of(n, bytes), slowest = 0, latency = 0;
    for (int i = 0; i < n; i++) {
        int other = i ? i - 1 : n - 1;
        bool computing = s->work_done[i] < total_work(s, i) || s->work_done[other] < total_work(s, other);
        slowest = fmax(slowest, busy && computing ? s->beta_busy[i] : s->beta_idle[i]);
        latency = fmax(latency, s->alpha[i]);
    }
    *latency_s = s->launch_s + steps * latency;
    return n > 1 ? steps * chunk * (slowest + s->sum_s_per_byte) : 0;
}

static void several_at_a_time(struct sim *s)
{
    struct flight flight[SIM_FLIGHT_MAX];
    int flying = 0, next = 0;
    double now = 0;
    for (int i = 0; i < s->nodes; i++)
        now = fmax(now, s->t[i]);
    while (next < s->buckets || flying > 0 || isfinite(until_finish(s, false))) {
        while (next < s->buckets && flying < s->in_flight && until_ready(s, next, flying > 0) <= 1e-12) {
            struct flight *f = &flight[flying++];
            f->bucket = next;
            f->alone_s = whole_ring_s(s, s->bytes[next], false, &f->latency_s);
            s->bucket_start[next++] = now;
            s->events += (uint64_t)s->nodes;
        }
        bool active = flying > 0;
        double unused, dt = until_finish(s, active), speed = 1;
        if (active) {
            double whole = whole_ring_s(s, 1e6, true, &unused);
            speed = whole > 0 ? whole_ring_s(s, 1e6, false, &unused) / whole : 1;
        }
        if (next < s->buckets && flying < s->in_flight)
            dt = fmin(dt, until_ready(s, next, active));
        int moving = 0;
        for (int k = 0; k < flying; k++)
            moving += flight[k].latency_s <= 0;
        for (int k = 0; k < flying; k++)
            dt = fmin(dt, flight[k].latency_s > 0 ? flight[k].latency_s : flight[k].alone_s * moving / speed);
        compute_for(s, now, dt, active);
        now += dt;
        s->communication_s += flying > 0 ? dt : 0;
        s->events += (uint64_t)s->nodes;
        int kept = 0;
        for (int k = 0; k < flying; k++) {
            struct flight f = flight[k];
            if (f.latency_s > 0)
                f.latency_s = f.latency_s - dt > 1e-12 ? f.latency_s - dt : 0;
            else
                f.alone_s -= dt * speed / moving;
            if (f.latency_s > 0 || f.alone_s > 1e-12) {
                flight[kept++] = f;
                continue;
            }
            s->bucket_end[f.bucket] = now;
            for (int i = 0; i < s->nodes; i++)
                s->ended[(size_t)f.bucket * (size_t)s->nodes + (size_t)i] = s->end[i] = now;
        }
        flying = kept;
    }
}

/* ---- the whole step ---- */

/* Everybody exchanges something before the last backward pass's forward; nothing computes meanwhile. */
static double exchange_first(struct sim *s)
{
    for (int i = 0; i < s->nodes; i++) {
        s->t[i] = s->work_done[i] = 0;
        s->stop[i] = 0;
    }
    if (s->blocking_bytes <= 0 || s->nodes < 2)
        return 0;
    ring(s, s->blocking_bytes);
    double end = largest(s->t, s->nodes) + s->launch_s;
    for (int i = 0; i < s->nodes; i++)
        s->t[i] = end;
    return end;
}

/* Bucket by bucket as they end, once backward is over; at the speed that is left while others are under way. */
static double update(const struct sim *s, int i)
{
    double last = fmax(s->end[i], s->finish[i]), at = s->finish[i], speed = 1 - s->compute_loss[i];
    if (!s->optimizer_by_bucket || s->buckets == 0)
        return last + s->optimizer[i];
    for (int b = 0; b < s->buckets; b++) {
        double work = s->weight[b] * s->optimizer[i];
        at = fmax(at, s->ended[(size_t)b * (size_t)s->nodes + (size_t)i]);
        double meanwhile = fmax(0, s->end[i] - at) * speed;
        at = meanwhile >= work ? at + work / speed : fmax(at, s->end[i]) + (work - meanwhile);
    }
    return at;
}

void sim_step(struct sim *s)
{
    s->communication_s = 0;
    double waited = exchange_first(s);
    s->communication_s += waited;
    for (int i = 0; i < s->nodes; i++)
        s->end[i] = s->t[i];
    if (s->in_flight > 1)
        several_at_a_time(s);
    else
        one_at_a_time(s);
    s->step_s = s->exposed_s = 0;
    for (int i = 0; i < s->nodes; i++) {
        s->done[i] = update(s, i);
        s->step_s = fmax(s->step_s, s->done[i]);
        s->exposed_s = fmax(s->exposed_s, fmax(0, s->end[i] - s->finish[i]));
    }
    s->exposed_s += waited;
}
