/*
 * predict/drift.c - see drift.h. Start at drift_fit(), at the end: blocks, one fit of each shape, the choice.
 *
 * For given times tau and onset the exponentials are linear in their amplitudes, so those are searched on a grid and the rest
 * solved by normal equations. The choice is by the Bayesian information criterion over the blocks, n log(rss / n) + k log n, with a
 * margin of 10 that the next shape has to win: blocks of a real machine are not quite independent.
 */
#include "predict/drift.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/stats.h"

const char *const drift_shape_names[DRIFT_SHAPES] = {[DRIFT_NONE] = "none",
                                                     [DRIFT_JUMP] = "jump",
                                                     [DRIFT_EXPONENTIAL] = "exponential",
                                                     [DRIFT_LATE_EXPONENTIAL] = "late exponential",
                                                     [DRIFT_TWO_EXPONENTIALS] = "two exponentials"};

enum { TAUS = 24, STEPS_OF_A_BLOCK_MAX = 4096 };

#define MARGIN 10.0
#define CHANGE_MIN 0.02
#define CHANGE_SIGMAS 2.0
#define SIGMA_OF_MAD 1.4826

struct blocks {
    int n;
    double t[DRIFT_BLOCKS], y[DRIFT_BLOCKS];
};

/* Equal numbers of steps; the median of at most STEPS_OF_A_BLOCK_MAX of each, spread over all of it. */
static void make_blocks(struct blocks *b, const double *at_s, const double *step_s, int n)
{
    static _Thread_local double scratch[STEPS_OF_A_BLOCK_MAX];
    b->n = n / 2 < DRIFT_BLOCKS ? n / 2 : DRIFT_BLOCKS;
    for (int i = 0; i < b->n; i++) {
        int from = (int)((int64_t)i * n / b->n), to = (int)((int64_t)(i + 1) * n / b->n), used = 0;
        int stride = (to - from - 1) / STEPS_OF_A_BLOCK_MAX + 1;
        for (int k = from; k < to; k += stride)
            scratch[used++] = step_s[k];
        b->y[i] = stats_median(scratch, (size_t)used);
        b->t[i] = (at_s[from] + at_s[to - 1]) / 2;
    }
}

static double rss_of(const struct drift *d, const struct blocks *b)
{
    double sum = 0;
    for (int i = 0; i < b->n; i++)
        sum += (b->y[i] - drift_at(d, b->t[i])) * (b->y[i] - drift_at(d, b->t[i]));
    return sum;
}

static double mean(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i];
    return sum / n;
}

static double fit_none(struct drift *d, const struct blocks *b)
{
    d->shape = DRIFT_NONE;
    d->level_s = mean(b->y, b->n);
    return rss_of(d, b);
}

/* d becomes the trial if that is nearer to the blocks than the best so far. */
static void keep_better(struct drift *d, double *best, const struct drift *trial, const struct blocks *b)
{
    double rss = rss_of(trial, b);
    if (rss < *best) {
        *best = rss;
        *d = *trial;
    }
}

/* Three blocks at least on either side: two odd ones at an end are no new level. */
static double fit_jump(struct drift *d, const struct blocks *b)
{
    double best = INFINITY;
    struct drift trial = *d;
    trial.shape = DRIFT_JUMP;
    for (int i = 3; i + 3 <= b->n; i++) {
        trial.level_s = mean(b->y + i, b->n - i);
        trial.a_s[0] = mean(b->y, i) - trial.level_s;
        trial.jump_at_s = (b->t[i - 1] + b->t[i]) / 2;
        keep_better(d, &best, &trial, b);
    }
    return best;
}

/* Solves k <= 3 equations in place, with pivots; false if they do not determine a solution. */
static bool solve(double m[3][4], int k)
{
    for (int c = 0; c < k; c++) {
        int pivot = c;
        for (int r = c + 1; r < k; r++)
            if (fabs(m[r][c]) > fabs(m[pivot][c]))
                pivot = r;
        if (fabs(m[pivot][c]) < 1e-9)
            return false;
        for (int x = 0; x <= k; x++) {
            double keep = m[c][x];
            m[c][x] = m[pivot][x];
            m[pivot][x] = keep;
        }
        for (int r = 0; r < k; r++) {
            double factor = r == c ? 0 : m[r][c] / m[c][c];
            for (int x = c; x <= k && r != c; x++)
                m[r][x] -= factor * m[c][x];
        }
    }
    for (int c = 0; c < k; c++)
        m[c][k] /= m[c][c];
    return true;
}

/* What is left of the first level at t. */
static double left_of(const struct drift *d, int term, double t)
{
    return exp(-fmax(t - d->onset_s, 0) / d->tau_s[term]);
}

/* Amplitudes for given times; both of one sign, since heat goes one way. */
static bool fit_amplitudes(struct drift *d, const struct blocks *b, int terms)
{
    double m[3][4] = {{0}};
    for (int i = 0; i < b->n; i++) {
        double basis[3] = {1, left_of(d, 0, b->t[i]), terms > 1 ? left_of(d, 1, b->t[i]) : 0};
        for (int r = 0; r <= terms; r++) {
            for (int c = 0; c <= terms; c++)
                m[r][c] += basis[r] * basis[c];
            m[r][terms + 1] += basis[r] * b->y[i];
        }
    }
    if (!solve(m, terms + 1))
        return false;
    d->level_s = m[0][terms + 1];
    d->a_s[0] = m[1][terms + 1];
    d->a_s[1] = terms > 1 ? m[2][terms + 1] : 0;
    return d->level_s > 0 && (terms == 1 || d->a_s[0] * d->a_s[1] >= 0);
}

/* From the distance of two blocks to 1.5 times the duration. */
static double tau_on_grid(const struct drift *d, const struct blocks *b, int i)
{
    double shortest = b->t[1] - b->t[0], longest = 1.5 * d->duration_s;
    return shortest * pow(pow(longest / shortest, 1.0 / (TAUS - 1)), i);
}

static double fit_exponentials(struct drift *d, const struct blocks *b, int terms)
{
    double best = INFINITY;
    struct drift trial = *d;
    trial.shape = terms > 1 ? DRIFT_TWO_EXPONENTIALS : DRIFT_EXPONENTIAL;
    for (int i = 0; i < TAUS; i++)
        for (int k = terms > 1 ? i + 3 : i; k < (terms > 1 ? TAUS : i + 1); k++) { /* close ones cannot be told apart */
            trial.tau_s[0] = tau_on_grid(d, b, i);
            trial.tau_s[1] = tau_on_grid(d, b, k);
            if (fit_amplitudes(&trial, b, terms))
                keep_better(d, &best, &trial, b);
        }
    return best;
}

/* Three blocks at least before the onset, as for a jump, and six behind it, which are to tell its time. */
static double fit_late(struct drift *d, const struct blocks *b)
{
    double best = INFINITY;
    struct drift trial = *d;
    trial.shape = DRIFT_LATE_EXPONENTIAL;
    for (int from = 2; from + 7 <= b->n; from++)
        for (int i = 0; i < TAUS; i++) {
            trial.onset_s = b->t[from];
            trial.tau_s[0] = tau_on_grid(d, b, i);
            if (fit_amplitudes(&trial, b, 1))
                keep_better(d, &best, &trial, b);
        }
    return best;
}

double drift_at(const struct drift *d, double time_s)
{
    double t = fmin(fmax(time_s, d->from_s), d->duration_s);
    switch (d->shape) {
    case DRIFT_JUMP:
        return d->level_s + (t < d->jump_at_s ? d->a_s[0] : 0);
    case DRIFT_TWO_EXPONENTIALS:
        return d->level_s + d->a_s[0] * left_of(d, 0, t) + d->a_s[1] * left_of(d, 1, t);
    case DRIFT_EXPONENTIAL:
    case DRIFT_LATE_EXPONENTIAL:
        return d->level_s + d->a_s[0] * left_of(d, 0, t);
    default:
        return d->level_s;
    }
}

static double noise_of(const struct drift *d, const struct blocks *b)
{
    double residual[DRIFT_BLOCKS], scratch[DRIFT_BLOCKS];
    for (int i = 0; i < b->n; i++)
        residual[i] = b->y[i] - drift_at(d, b->t[i]);
    return SIGMA_OF_MAD * stats_summary(residual, (size_t)b->n, scratch).mad;
}

void drift_fit(struct drift *d, const double *at_s, const double *step_s, int n)
{
    static const int parameters[DRIFT_SHAPES] = {1, 3, 3, 4, 5};
    struct blocks b = {0};
    *d = (struct drift){.n = n};
    if (n >= DRIFT_STEPS_MIN)
        make_blocks(&b, at_s, step_s, n);
    d->blocks = b.n;
    d->known = b.n >= DRIFT_BLOCKS_MIN;
    if (!d->known)
        return;
    d->duration_s = at_s[n - 1] + step_s[n - 1];
    d->from_s = b.t[0];
    struct drift fit[DRIFT_SHAPES] = {*d, *d, *d, *d, *d};
    double rss[DRIFT_SHAPES] = {fit_none(&fit[0], &b), fit_jump(&fit[1], &b), fit_exponentials(&fit[2], &b, 1),
                                fit_late(&fit[3], &b), fit_exponentials(&fit[4], &b, 2)};
    /* equal to the last digit would be infinitely sure: nothing is measured better than to a millionth */
    double least = b.n * pow(1e-6 * fit[0].level_s, 2), score[DRIFT_SHAPES];
    int best = DRIFT_NONE;
    for (int i = 0; i < DRIFT_SHAPES; i++) {
        score[i] = b.n * log(fmax(rss[i], least) / b.n) + parameters[i] * log(b.n);
        /* the simpler ones come first; a jump and one exponential have as many parameters, and an onset is a detail of the latter */
        bool near = parameters[i] == parameters[best] || (i == DRIFT_LATE_EXPONENTIAL && best == DRIFT_EXPONENTIAL);
        double margin = near ? 0 : MARGIN;
        if (score[i] < score[best] - margin)
            best = i;
    }
    *d = fit[best];
    double noise_s = noise_of(d, &b), change_s = fabs(drift_at(d, d->duration_s) - drift_at(d, 0));
    double smallest_s = fmax(CHANGE_MIN * drift_at(d, 0), CHANGE_SIGMAS * noise_s);
    if (change_s < smallest_s) {
        *d = fit[DRIFT_NONE];
        noise_s = noise_of(d, &b);
        smallest_s = fmax(CHANGE_MIN * d->level_s, CHANGE_SIGMAS * noise_s);
    }
    d->first_s = drift_at(d, 0);
    d->last_s = drift_at(d, d->duration_s);
    d->noise = noise_s / d->first_s;
    d->smallest = smallest_s / d->first_s;
}

void drift_trajectory(const struct drift *d, struct heat_path *heat)
{
    double first = d->first_s;
    *heat = (struct heat_path){0};
    if (!d->known)
        return;
    if (d->shape == DRIFT_JUMP) {
        heat->n = 2;
        heat->time_s[0] = d->jump_at_s * (1 - 1e-3);
        heat->factor[0] = 1;
        heat->time_s[1] = d->jump_at_s;
        heat->factor[1] = d->last_s / first;
        return;
    }
    /* denser where it changes: halves of the time from there, from a thousandth on if there is more than a level */
    int n = d->shape == DRIFT_NONE ? 1 : 12;
    for (int i = 0; i < n; i++) {
        bool onset = i == 0 && d->onset_s > 0;
        heat->time_s[i] = d->onset_s + (onset ? 0 : (d->duration_s - d->onset_s) * pow(0.5, n - 1 - i));
        heat->factor[i] = drift_at(d, heat->time_s[i]) / first;
    }
    heat->n = n;
}
