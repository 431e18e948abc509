/*
 * predict/link_model.c - see link_model.h. The fit: for every way to cut the sizes into at most three ranges, each range gets
 * the line that minimises relative residuals under Tukey's biweight (iterated weighted least squares with weights 1/t^2
 * times the biweight); more pieces are taken only if they lower the criterion n log(robust scale^2) + 2 sum of the biweight's rho + parameters log(n).
 * Intervals: the fit repeated on resampled points.
 */
#include "predict/link_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/stats.h"

void link_model_state(struct link_model *m, double bytes_per_s, double rtt_s, enum cost_medium medium)
{
    double alpha = rtt_s / 2, beta = 1 / bytes_per_s;
    *m = (struct link_model){
        .n = 1, .piece = {{INFINITY, alpha, beta, alpha, alpha, beta, beta}}, .medium = medium, .rtt_s = rtt_s};
    m->own_scale = m->others_scale = 1;
}

void link_model_wifi(struct link_model *m)
{
    link_model_state(m, LINK_WIFI_BYTES_PER_S, LINK_WIFI_RTT_S, COST_SHARED);
    m->rate_spread = m->latency_spread = LINK_WIFI_SPREAD;
}

void link_model_assume_costs(struct link_model *m)
{
    m->launch_s = LINK_LAUNCH_S;
    m->cpu_s_per_byte = LINK_CPU_S_PER_BYTE;
    m->cpu_spread = LINK_CPU_SPREAD;
}

double link_model_rate(const struct link_model *m)
{
    return 1 / m->piece[m->n - 1].beta_s_per_byte;
}

const struct link_piece *link_model_piece(const struct link_model *m, double bytes)
{
    int i = 0;
    while (i + 1 < m->n && bytes > m->piece[i].upto_bytes)
        i++;
    return &m->piece[i];
}

struct contention link_model_contend(const struct link_model *m, double bytes_per_s, int free_cores)
{
    struct contention c = {0, bytes_per_s, bytes_per_s};
    double q = m->cpu_s_per_byte;
    if (q > 0) /* a core moves no more than that; but what was seen can be */
        c.idle_bytes_per_s = fmin(bytes_per_s, fmax(1 / q, m->seen_bytes_per_s));
    c.busy_bytes_per_s = c.idle_bytes_per_s;
    if (free_cores > 0)
        return c;
    if (m->busy_share > 0)
        c.busy_bytes_per_s *= m->busy_share;
    if (q > 0) /* at the measured rate what was seen, at others no more than that or half a core */
        c.busy_bytes_per_s = fmin(c.busy_bytes_per_s, fmax(0.5 / q, m->seen_bytes_per_s * m->busy_share));
    c.compute_loss = fmin(c.busy_bytes_per_s * q, LINK_LOSS_MAX);
    return c;
}

/* ---- fit ---- */

enum { FIT_ROUNDS = 30, FIT_REPLICATES = 200, FIT_POINTS_MIN = 3 };
#define BIWEIGHT 4.685   /* times the scale: 95 % efficient on normal residuals */
#define SCALE_FLOOR 1e-6 /* of relative residuals: what a clock tells apart at best */

struct line {
    double alpha, beta, loss, scale; /* loss: n log(scale^2) + 2 sum rho(r / scale), rho: the biweight's */
};

static int by_size(const void *a, const void *b)
{
    const struct link_point *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return (x->seconds > y->seconds) - (x->seconds < y->seconds);
}

/* Weighted least squares for t = alpha + beta S on relative residuals: weights w/t^2. alpha is kept at or above 0. */
static void solve(const struct link_point *p, const double *w, size_t n, double *alpha, double *beta)
{
    double s = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (size_t i = 0; i < n; i++) {
        double weight = w[i] / (p[i].seconds * p[i].seconds);
        s += weight;
        sx += weight * p[i].bytes;
        sy += weight * p[i].seconds;
        sxx += weight * p[i].bytes * p[i].bytes;
        sxy += weight * p[i].bytes * p[i].seconds;
    }
    double determinant = s * sxx - sx * sx;
    if (determinant > 1e-12 * s * sxx) {
        *alpha = (sxx * sy - sx * sxy) / determinant;
        *beta = (s * sxy - sx * sy) / determinant;
    } else {
        *alpha = 0;
        *beta = sxy / sxx;
    }
    if (*alpha < 0 || *beta <= 0) {
        *alpha = 0;
        *beta = sxy / sxx;
    }
}

/* work holds 2 n. */
static struct line fit_line(const struct link_point *p, size_t n, double *work)
{
    struct line line = {0};
    double *w = work, *r = work + n;
    for (size_t i = 0; i < n; i++)
        w[i] = 1;
    for (int round = 0; round < FIT_ROUNDS; round++) {
        double before_alpha = line.alpha, before_beta = line.beta;
        solve(p, w, n, &line.alpha, &line.beta);
        for (size_t i = 0; i < n; i++)
            r[i] = fabs(1 - (line.alpha + line.beta * p[i].bytes) / p[i].seconds);
        line.scale = fmax(1.4826 * stats_median(r, n), SCALE_FLOOR);
        for (size_t i = 0; i < n; i++) {
            double u = (1 - (line.alpha + line.beta * p[i].bytes) / p[i].seconds) / (BIWEIGHT * line.scale);
            w[i] = fabs(u) < 1 ? (1 - u * u) * (1 - u * u) : 1e-9;
        }
        if (fabs(line.alpha - before_alpha) <= 1e-9 * line.alpha && fabs(line.beta - before_beta) <= 1e-9 * line.beta)
            break;
    }
    line.loss = (double)n * log(line.scale * line.scale);
    for (size_t i = 0; i < n; i++) { /* what lies off the line costs too, but no more than any other outlier */
        double u = (1 - (line.alpha + line.beta * p[i].bytes) / p[i].seconds) / (BIWEIGHT * line.scale);
        line.loss += BIWEIGHT * BIWEIGHT / 3 * (fabs(u) < 1 ? 1 - pow(1 - u * u, 3) : 1);
    }
    return line;
}

struct sizes { /* where each distinct size begins among the sorted points */
    size_t n, first[64];
};

static void find_sizes(struct sizes *s, const struct link_point *p, size_t n)
{
    s->n = 0;
    for (size_t i = 0; i < n && s->n < 63; i++)
        if (i == 0 || p[i].bytes != p[i - 1].bytes)
            s->first[s->n++] = i;
    s->first[s->n] = n;
}

struct cut {
    int n;
    size_t end[LINK_PIECES_MAX]; /* index among the sizes behind each piece's last one */
    double criterion;
};

/* A piece needs two sizes. */
static void try_cut(struct cut *best, const struct link_point *p, const struct sizes *s, struct cut c, size_t n,
                    double *work)
{
    double loss = 0;
    size_t from = 0;
    for (int i = 0; i < c.n; i++) {
        if (c.end[i] < from + 2)
            return;
        loss += fit_line(p + s->first[from], s->first[c.end[i]] - s->first[from], work).loss;
        from = c.end[i];
    }
    c.criterion = loss + (3.0 * c.n - 1) * log((double)n); /* alpha, beta and scale each, one cut between pieces */
    if (best->n == 0 || c.criterion < best->criterion - 1e-9)
        *best = c;
}

static struct cut best_cut(const struct link_point *p, const struct sizes *s, size_t n, double *work)
{
    struct cut best = {0};
    try_cut(&best, p, s, (struct cut){.n = 1, .end = {s->n}}, n, work);
    for (size_t i = 2; i + 2 <= s->n; i++) {
        try_cut(&best, p, s, (struct cut){.n = 2, .end = {i, s->n}}, n, work);
        for (size_t j = i + 2; j + 2 <= s->n; j++)
            try_cut(&best, p, s, (struct cut){.n = 3, .end = {i, j, s->n}}, n, work);
    }
    return best;
}

static void interval(double *x, size_t n, double *lo, double *hi)
{
    stats_median(x, n); /* sorts */
    *lo = stats_quantile_sorted(x, n, 0.05);
    *hi = stats_quantile_sorted(x, n, 0.95);
}

/* One piece and its intervals. Points are resampled within their size, so that every size keeps its say. */
static void fit_piece(struct link_piece *piece, const struct link_point *p, const struct sizes *s, size_t from,
                      size_t to, struct rng *rng, struct link_point *again, double *work)
{
    size_t first = s->first[from], n = s->first[to] - first;
    struct line line = fit_line(p + first, n, work);
    double alpha[FIT_REPLICATES], beta[FIT_REPLICATES];
    for (int r = 0; r < FIT_REPLICATES; r++) {
        for (size_t i = from; i < to; i++)
            for (size_t k = s->first[i]; k < s->first[i + 1]; k++)
                again[k - first] = p[s->first[i] + rng_below(rng, s->first[i + 1] - s->first[i])];
        struct line other = fit_line(again, n, work);
        alpha[r] = other.alpha;
        beta[r] = other.beta;
    }
    *piece = (struct link_piece){.upto_bytes = INFINITY, .alpha_s = line.alpha, .beta_s_per_byte = line.beta};
    interval(alpha, FIT_REPLICATES, &piece->alpha_lo_s, &piece->alpha_hi_s);
    interval(beta, FIT_REPLICATES, &piece->beta_lo, &piece->beta_hi);
}

/* From a 90 % interval to a relative standard deviation, 1.645 of which are half of it. */
static double spread(double lo, double hi, double middle)
{
    return middle > 0 ? (hi - lo) / (2 * 1.645 * middle) : 0;
}

static int check_points(const struct link_point *p, size_t n, struct err *e)
{
    if (n < FIT_POINTS_MIN)
        return err_set(e, ERR_DATA, "a link needs at least %d measured transfers, here are %zu", FIT_POINTS_MIN, n);
    for (size_t i = 0; i < n; i++)
        if (!(p[i].bytes > 0 && p[i].seconds > 0 && isfinite(p[i].bytes) && isfinite(p[i].seconds)))
            return err_set(e, ERR_DATA, "transfer %zu of the link has %g bytes in %g s; both must be above 0", i + 1,
                           p[i].bytes, p[i].seconds);
    return 0;
}

int link_model_fit(struct link_model *m, const struct link_point *point, size_t n, unsigned long seed, struct err *e)
{
    struct sizes s;
    struct rng rng;
    if (check_points(point, n, e))
        return -1;
    struct link_point *p = malloc(2 * n * sizeof *p);
    double *work = malloc(2 * n * sizeof *work);
    int result = -1;
    if (!p || !work) {
        err_set(e, ERR_MEMORY, "no memory for %zu transfers of a link", n);
        goto out;
    }
    memcpy(p, point, n * sizeof *p);
    qsort(p, n, sizeof *p, by_size);
    find_sizes(&s, p, n);
    if (s.n < 2) {
        err_set(e, ERR_DATA, "all %zu transfers of the link have one size, so latency and rate cannot be told apart",
                n);
        goto out;
    }
    struct cut cut = best_cut(p, &s, n, work);
    if (cut.n == 0) /* fewer sizes than a piece needs */
        cut = (struct cut){.n = 1, .end = {s.n}};
    *m = (struct link_model){.n = cut.n, .medium = COST_DUPLEX, .own_scale = 1, .others_scale = 1, .measured = true};
    rng_init(&rng, seed, 0);
    size_t from = 0;
    for (int i = 0; i < cut.n; i++) {
        fit_piece(&m->piece[i], p, &s, from, cut.end[i], &rng, p + n, work);
        if (i > 0) /* between the largest size below and the smallest above */
            m->piece[i - 1].upto_bytes = sqrt(p[s.first[from] - 1].bytes * p[s.first[from]].bytes);
        from = cut.end[i];
    }
    const struct link_piece *last = &m->piece[m->n - 1];
    m->rate_spread = spread(last->beta_lo, last->beta_hi, last->beta_s_per_byte);
    m->latency_spread = spread(m->piece[0].alpha_lo_s, m->piece[0].alpha_hi_s, m->piece[0].alpha_s);
    m->rtt_s = 2 * m->piece[0].alpha_s;
    result = 0;
out:
    free(p);
    free(work);
    return result;
}
