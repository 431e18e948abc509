/* comm/link_survey.c - see link_survey.h. Start at link_survey_run(). */
#include "comm/link_survey.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/stats.h"
#include "comm/link_reduce.h"

const uint64_t link_sizes[LINK_SIZES] = {4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864};

/* 1461 and 2897 floats are a little more than four and eight Ethernet segments: the last, short segment of a message is
 * what a delayed acknowledgement would hold back. */
static const uint64_t reduce_sizes[] = {4, 256, 4096, 5844, 11588, 65536, 262144, 1048576, 4194304, 16777216, 67108864};

enum { CELLS_MAX = 64, ROUNDS_MAX = 5, REPEATS_OF_CELL = 20, REDUCE_REPEATS = 200 };
#define PING_GAP_S 0.005
#define WORK_WINDOW_LEAST_S 0.1

enum { BESIDE_SMALL = 4, BESIDE_LARGE = 16777216, BESIDE_LEAST = 65536, BESIDE_ROUNDS = 3, BESIDE_CALLS = 4 };
#define BESIDE_WINDOW_MAX_S 2.0

/* Shares of the duration. */
#define SHARE_LATENCY 0.08
#define SHARE_STREAMS 0.30
#define SHARE_MESSAGES 0.27
#define SHARE_WORK 0.15 /* without it, streams and messages have half of both each */
#define SHARE_BESIDE 0.20
#define SHARE_REDUCE_STREAMS 0.20 /* where tables of all-reduce have the rest */
#define SHARE_REDUCE_BESIDE 0.35
#define REDUCE_CALL_MAX_S 20.0 /* of one call, where the caller sets no limit */

struct surveying { /* one call */
    struct link_survey *survey;
    struct link *link;
    struct session *session;
    const struct link_survey_options *options;
    uint64_t from_ns;
    double streams_s, messages_s, work_s, beside_s, reduce_s;
};

/* ---- trials ---- */

static struct link_trial *add(struct link_survey *s, struct err *e)
{
    if (s->n == s->capacity) {
        int more = s->capacity ? 2 * s->capacity : 128;
        struct link_trial *grown = realloc(s->trial, (size_t)more * sizeof *grown);
        if (!grown) {
            err_set(e, ERR_MEMORY, "out of memory");
            return NULL;
        }
        s->trial = grown;
        s->capacity = more;
    }
    return &s->trial[s->n];
}

static int take(struct surveying *g, struct link_trial wanted, struct err *e)
{
    struct link_survey *s = g->survey;
    struct link_trial *t = add(s, e);
    if (!t)
        return -1;
    *t = wanted;
    if (link_lead(g->link, g->session, &t->order, t->end, e)) {
        link_result_fini(&t->end[0]);
        link_result_fini(&t->end[1]);
        return -1;
    }
    s->n++;
    if (g->options->progress) {
        static const char *const names[] = {
            "latency", "streams", "messages", "computing beside the link", "all-reduce", "all-reduce beside computing"};
        double share = clock_seconds(g->from_ns, clock_now_ns()) / g->options->duration_s;
        g->options->progress(g->options->ctx, names[t->phase], share < 1 ? share : 1);
    }
    return 0;
}

static void shuffle(struct link_survey *s, int *order, int n)
{
    for (int i = 0; i < n; i++)
        order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int k = (int)rng_below(&s->rng, (uint64_t)i + 1), swap = order[i];
        order[i] = order[k];
        order[k] = swap;
    }
}

void link_survey_fini(struct link_survey *s)
{
    for (int i = 0; i < s->n; i++) {
        link_result_fini(&s->trial[i].end[0]);
        link_result_fini(&s->trial[i].end[1]);
    }
    free(s->trial);
    *s = (struct link_survey){.n = 0};
}

/* ---- medians ---- */

double link_survey_rate(const struct link_survey *s, enum link_mode mode, int to)
{
    double *x = calloc((size_t)s->n + 1, sizeof *x);
    size_t n = 0;
    for (int i = 0; x && i < s->n; i++) {
        const struct link_trial *t = &s->trial[i];
        if (t->phase == LINK_PHASE_STREAM && t->order.mode == mode && t->end[to].window_s > 0)
            x[n++] = (double)t->end[to].window_bytes / t->end[to].window_s;
    }
    double median = x ? stats_median(x, n) : NAN;
    free(x);
    return median;
}

double link_survey_rtt(const struct link_survey *s)
{
    size_t all = 0, n = 0;
    for (int i = 0; i < s->n; i++)
        all += s->trial[i].phase == LINK_PHASE_LATENCY ? (size_t)s->trial[i].end[0].n : 0;
    double *x = calloc(all + 1, sizeof *x);
    for (int i = 0; x && i < s->n; i++)
        for (int k = 0; s->trial[i].phase == LINK_PHASE_LATENCY && k < s->trial[i].end[0].n; k++)
            x[n++] = s->trial[i].end[0].time_s[k];
    double median = x ? stats_median(x, n) : NAN;
    free(x);
    return median;
}

/* ---- phases ---- */

static int latency(struct surveying *g, struct err *e)
{
    struct link_trial t = {.phase = LINK_PHASE_LATENCY, .round = g->survey->rounds, .order = {.kind = LINK_PING}};
    double *time_s;
    t.order.repeats = 10; /* what is asleep at both ends wakes up; not kept */
    if (take(g, t, e))
        return -1;
    struct link_trial *first = &g->survey->trial[--g->survey->n];
    time_s = first->end[0].time_s;
    double rtt_s = stats_median(time_s, (size_t)first->end[0].n);
    link_result_fini(&first->end[0]);
    link_result_fini(&first->end[1]);
    double fit = SHARE_LATENCY * g->options->duration_s / rtt_s, most = 3 * fit;
    double n = fit > LINK_PINGS_LEAST ? fit : LINK_PINGS_LEAST;
    n = n > most ? most : n; /* a slow answer must not eat up all of the time */
    t.order.repeats = n > 1000 ? 1000 : n < 10 ? 10 : (int)n;
    return take(g, t, e);
}

static int streams(struct surveying *g, struct err *e)
{
    const struct link_survey_options *o = g->options;
    struct link_survey *s = g->survey;
    int rounds = o->duration_s >= 6 ? 2 : 1, order[3];
    double each_s = g->streams_s / (3 * rounds);
    s->warmup_s = isfinite(o->warmup_s) ? o->warmup_s : fmin(0.5, 0.3 * each_s);
    s->window_s = isfinite(o->window_s) ? o->window_s : fmax(0.1, each_s - s->warmup_s);
    rounds = (int)(g->streams_s / (3 * (s->warmup_s + s->window_s)) + 0.01);
    rounds = rounds < 1 ? 1 : rounds > ROUNDS_MAX ? ROUNDS_MAX : rounds;
    for (int r = 0; r < rounds; r++) {
        shuffle(s, order, 3);
        for (int i = 0; i < 3; i++) {
            struct link_trial t = {.phase = LINK_PHASE_STREAM, .round = s->rounds + r};
            t.order = (struct link_order){.kind = LINK_STREAM,
                                          .mode = (enum link_mode)order[i],
                                          .warmup_s = s->warmup_s,
                                          .window_s = s->window_s,
                                          .ping_gap_s = PING_GAP_S};
            if (take(g, t, e))
                return -1;
        }
    }
    return 0;
}

/* Roughly, from what the streams carried. */
static double expected_s(const struct surveying *g, enum link_mode mode, uint64_t bytes)
{
    const struct link_survey *s = g->survey;
    double rate = mode == LINK_A_TO_B   ? link_survey_rate(s, mode, 1)
                  : mode == LINK_B_TO_A ? link_survey_rate(s, mode, 0)
                                        : fmin(link_survey_rate(s, mode, 0), link_survey_rate(s, mode, 1));
    return 3 * link_survey_rtt(s) + (double)bytes / rate;
}

/* How many of the sizes one round can hold. */
static int fitting_sizes(const struct surveying *g)
{
    double sum_s = 0;
    for (int i = 0; i < LINK_SIZES; i++) {
        for (int mode = 0; mode < 3; mode++)
            sum_s += expected_s(g, (enum link_mode)mode, link_sizes[i]);
        if (!(sum_s <= g->messages_s))
            return i;
    }
    return LINK_SIZES;
}

static int messages(struct surveying *g, struct err *e)
{
    struct link_survey *s = g->survey;
    int sizes = fitting_sizes(g), cells = 3 * sizes, order[CELLS_MAX];
    uint64_t from = clock_now_ns();
    if (sizes && link_sizes[sizes - 1] > s->largest_bytes)
        s->largest_bytes = link_sizes[sizes - 1];
    for (int r = 0; r < ROUNDS_MAX && sizes; r++) {
        shuffle(s, order, cells);
        for (int i = 0; i < cells; i++) {
            enum link_mode mode = (enum link_mode)(order[i] % 3);
            uint64_t bytes = link_sizes[order[i] / 3];
            double one_s = expected_s(g, mode, bytes), fit = g->messages_s / (cells * ROUNDS_MAX) / one_s;
            int repeats = fit < 1 ? 1 : fit > REPEATS_OF_CELL ? REPEATS_OF_CELL : (int)fit;
            if (r > 0 && clock_seconds(from, clock_now_ns()) + one_s * repeats > g->messages_s)
                return 0;
            struct link_trial t = {.phase = LINK_PHASE_MESSAGES, .round = s->rounds + r};
            t.order = (struct link_order){.kind = LINK_MESSAGES, .mode = mode, .bytes = bytes, .repeats = repeats};
            if (take(g, t, e))
                return -1;
        }
    }
    return 0;
}

static struct link_trial work_cell(const struct surveying *g, int cell, const struct link_work *work, bool reserve)
{
    static const double loads[] = {0, 0.5, 1};
    const struct link_survey *s = g->survey;
    double load = loads[cell % 3];
    double full = fmin(link_survey_rate(s, LINK_DUPLEX, 0), link_survey_rate(s, LINK_DUPLEX, 1));
    struct link_trial t = {.phase = LINK_PHASE_WORK, .reserved = reserve, .load = load};
    t.order = (struct link_order){.kind = LINK_STREAM,
                                  .mode = load > 0 ? LINK_DUPLEX : LINK_IDLE,
                                  .warmup_s = 0.25 * s->work_window_s,
                                  .window_s = s->work_window_s,
                                  .rate_bytes_per_s = load < 1 ? load * full : 0};
    strncpy(t.order.work, work->name, sizeof t.order.work - 1);
    for (int i = 0; i < 2; i++) {
        int all = g->options->threads[i];
        t.order.threads[i] = reserve && all > 1 ? all - 1 : all;
    }
    return t;
}

/* Cells: work x (all cores, one reserved) x (idle, half, full). */
static int compute(struct surveying *g, struct err *e)
{
    struct link_survey *s = g->survey;
    const struct link_work *works = g->link->works;
    int kinds = 0, order[CELLS_MAX];
    bool can_reserve = g->options->threads[0] > 1 || g->options->threads[1] > 1;
    while (works && works[kinds].name && kinds < LINK_WORKS_MAX)
        kinds++;
    int cells = kinds * 3 * (can_reserve ? 2 : 1), rounds = 3;
    if (cells == 0 || !isfinite(link_survey_rate(s, LINK_DUPLEX, 0) + link_survey_rate(s, LINK_DUPLEX, 1)))
        return 0;
    do
        s->work_window_s =
            g->work_s / (cells * rounds) / 1.5; /* a quarter of it is warm-up; the rest is coming and going */
    while (s->work_window_s < WORK_WINDOW_LEAST_S && --rounds > 0);
    if (rounds == 0) {
        s->work_window_s = 0;
        return 0;
    }
    s->work_window_s = fmin(s->work_window_s, 2);
    for (int r = 0; r < rounds; r++) {
        shuffle(s, order, cells);
        for (int i = 0; i < cells; i++) {
            int cell = order[i];
            struct link_trial t = work_cell(g, cell, &works[cell / 3 % kinds], cell / 3 / kinds > 0);
            t.round = s->rounds + r;
            if (take(g, t, e))
                return -1;
        }
    }
    return 0;
}

/* ---- all-reduce beside computing ---- */

static struct link_trial beside_trial(const struct surveying *g, const char *backend, enum link_beside kind,
                                      uint64_t bytes, int repeats)
{
    struct link_trial t = {.phase = LINK_PHASE_BESIDE, .beside = kind};
    t.order = (struct link_order){.kind = LINK_REDUCE,
                                  .bytes = bytes,
                                  .repeats = repeats,
                                  .threads = {g->options->threads[0], g->options->threads[1]}};
    strncpy(t.order.work, backend, sizeof t.order.work - 1);
    if (kind == LINK_BESIDE_SMALL_BUSY || kind == LINK_BESIDE_LARGE_BUSY)
        strncpy(t.order.beside, g->link->works[0].name, sizeof t.order.beside - 1);
    if (kind == LINK_BESIDE_WORK) {
        t.order.kind = LINK_STREAM;
        t.order.mode = LINK_IDLE;
        t.order.bytes = 0;
        t.order.repeats = 0;
        t.order.warmup_s = 0.25 * g->survey->beside_window_s;
        t.order.window_s = g->survey->beside_window_s;
        strncpy(t.order.work, g->link->works[0].name, sizeof t.order.work - 1);
    }
    return t;
}

/* So many bytes that some calls fit into a window, and what one takes. A first call tells; it is not kept. */
static int size_up(struct surveying *g, const char *backend, uint64_t *bytes, double *one_s, struct err *e)
{
    *bytes = BESIDE_LARGE;
    for (;; *bytes /= 4) {
        double expected = (double)*bytes / fmin(link_survey_rate(g->survey, LINK_DUPLEX, 0),
                                                link_survey_rate(g->survey, LINK_DUPLEX, 1));
        if (*bytes > BESIDE_LEAST && expected > g->survey->beside_window_s / BESIDE_CALLS)
            continue;
        if (take(g, beside_trial(g, backend, LINK_BESIDE_LARGE, *bytes, 1), e))
            return -1;
        struct link_trial *first = &g->survey->trial[--g->survey->n];
        *one_s = fmax(first->end[0].time_s[0], 1e-6);
        link_result_fini(&first->end[0]);
        link_result_fini(&first->end[1]);
        if (*bytes <= BESIDE_LEAST || *one_s <= g->survey->beside_window_s / BESIDE_CALLS)
            return 0;
    }
}

static int repeats_in(double window_s, double one_s)
{
    double n = window_s / one_s;
    return n < 2 ? 2 : n > LINK_REPEATS_MAX ? LINK_REPEATS_MAX : (int)n;
}

/* One back-end: every kind in every round. The work alone is taken in every round too, as the measure of that round. */
static int beside_backend(struct surveying *g, const char *backend, struct err *e)
{
    struct link_survey *s = g->survey;
    uint64_t bytes;
    double one_s;
    int order[LINK_BESIDES];
    if (size_up(g, backend, &bytes, &one_s, e))
        return -1;
    int large = repeats_in(s->beside_window_s, one_s);
    for (int r = 0; r < BESIDE_ROUNDS; r++) {
        shuffle(s, order, LINK_BESIDES);
        for (int i = 0; i < LINK_BESIDES; i++) {
            bool small = order[i] == LINK_BESIDE_SMALL || order[i] == LINK_BESIDE_SMALL_BUSY;
            int repeats = small ? REPEATS_OF_CELL : large;
            struct link_trial t =
                beside_trial(g, backend, (enum link_beside)order[i], small ? BESIDE_SMALL : bytes, repeats);
            t.round = s->rounds + r;
            if (order[i] == LINK_BESIDE_WORK) /* which back-end it is the measure of */
                strncpy(t.order.beside, backend, sizeof t.order.beside - 1);
            if (take(g, t, e))
                return -1;
        }
    }
    return 0;
}

static int beside(struct surveying *g, struct err *e)
{
    int backends = 0;
    while (g->options->backends[backends])
        backends++;
    if (!backends || !g->options->work || !g->link->works || !g->link->works[0].name)
        return 0;
    double window_s = g->beside_s / (backends * BESIDE_ROUNDS * 4) / 1.2; /* two of the five kinds are short */
    g->survey->beside_window_s = window_s < WORK_WINDOW_LEAST_S ? 0 : fmin(window_s, BESIDE_WINDOW_MAX_S);
    for (int b = 0; b < backends && g->survey->beside_window_s > 0; b++)
        if (beside_backend(g, g->options->backends[b], e))
            return -1;
    return 0;
}

static struct surveying begin(struct link_survey *s, struct link *link, struct session *session,
                              const struct link_survey_options *o)
{
    struct surveying g = {.survey = s, .link = link, .session = session, .options = o, .from_ns = clock_now_ns()};
    double spare = o->work ? 0 : (SHARE_WORK + SHARE_BESIDE) / 2;
    g.streams_s = (SHARE_STREAMS + spare) * o->duration_s;
    g.messages_s = (SHARE_MESSAGES + spare) * o->duration_s;
    g.work_s = o->work ? SHARE_WORK * o->duration_s : 0;
    g.beside_s = o->work ? SHARE_BESIDE * o->duration_s : 0;
    if (isfinite(o->warmup_s) && isfinite(o->window_s)) { /* what the streams are asked to take, the others lack */
        double asked = 3 * (o->warmup_s + o->window_s), rest = (1 - SHARE_LATENCY) * o->duration_s;
        if (asked > g.streams_s) {
            double left = fmax(0, rest - asked) / (rest - g.streams_s);
            g.messages_s *= left;
            g.work_s *= left;
            g.beside_s *= left;
            g.streams_s = asked;
        }
    }
    return g;
}

int link_survey_run(struct link_survey *s, struct link *link, struct session *session,
                    const struct link_survey_options *o, struct err *e)
{
    struct surveying g = begin(s, link, session, o);
    int result =
        latency(&g, e) || streams(&g, e) || messages(&g, e) || (o->work && compute(&g, e)) || beside(&g, e) ? -1 : 0;
    s->rounds += ROUNDS_MAX;
    return result;
}

/* ---- all-reduce ---- */

enum { REDUCE_SIZES = sizeof reduce_sizes / sizeof *reduce_sizes };

/* A single call, which also warms up, and how long it took. A late wake makes a short call look long, so one that took much
 * longer than the streams let expect is tried again. The last try is kept as a trial. */
static int try_call(struct surveying *g, const struct link_trial *t, double line_s, double *one_s, struct err *e)
{
    struct link_survey *s = g->survey;
    bool odd = true;
    *one_s = INFINITY;
    for (int i = 0; i < 3 && odd; i++) {
        uint64_t wrong[2] = {0, 0};
        for (int end = 0; i > 0 && end < 2; end++) {
            struct link_result *before = &s->trial[s->n - 1].end[end];
            wrong[end] = before->wrong;
            link_result_fini(before);
        }
        s->n -= i > 0;
        if (take(g, *t, e))
            return -1;
        struct link_result *end = s->trial[s->n - 1].end;
        end[0].wrong += wrong[0];
        end[1].wrong += wrong[1];
        *one_s = fmin(*one_s, fmax(end[0].time_s[0], end[1].n > 0 ? end[1].time_s[0] : 0));
        odd = 2 * *one_s > line_s && 4 * expected_s(g, LINK_DUPLEX, t->order.bytes) < *one_s;
    }
    return 0;
}

/* One line: as many calls as fit, or the single one. */
static int reduce_line(struct surveying *g, const char *backend, uint64_t bytes, double line_s, bool *too_long,
                       struct err *e)
{
    struct link_trial t = {.phase = LINK_PHASE_REDUCE, .order = {.kind = LINK_REDUCE, .bytes = bytes, .repeats = 1}};
    strncpy(t.order.work, backend, sizeof t.order.work - 1);
    double one_s;
    if (try_call(g, &t, line_s, &one_s, e))
        return -1;
    struct link_trial *first = &g->survey->trial[g->survey->n - 1];
    double fit = line_s / fmax(one_s, 1e-7);
    *too_long = fit < 2;
    if (*too_long) /* that one call has to do */
        return 0;
    uint64_t wrong[2] = {first->end[0].wrong, first->end[1].wrong};
    link_result_fini(&first->end[0]);
    link_result_fini(&first->end[1]);
    g->survey->n--;
    t.order.repeats = fit > REDUCE_REPEATS ? REDUCE_REPEATS : fit < 5 ? 5 : (int)fit;
    if (take(g, t, e))
        return -1;
    for (int i = 0; i < 2; i++)
        g->survey->trial[g->survey->n - 1].end[i].wrong += wrong[i];
    return 0;
}

/* Streams first: what a link carries is the first thing to know of it, and tells how long the largest calls take. */
static void divide_for_reduce(struct surveying *g)
{
    const struct link_survey_options *o = g->options;
    bool asked = isfinite(o->warmup_s) && isfinite(o->window_s);
    g->streams_s = asked ? 3 * (o->warmup_s + o->window_s) : SHARE_REDUCE_STREAMS * o->duration_s;
    double left_s = fmax(0, (1 - SHARE_LATENCY) * o->duration_s - g->streams_s);
    g->beside_s = o->work ? SHARE_REDUCE_BESIDE / (1 - SHARE_LATENCY - SHARE_REDUCE_STREAMS) * left_s : 0;
    g->reduce_s = left_s - g->beside_s;
}

/* Whether the table ends before this size. */
static bool out_of_time(const struct surveying *g, uint64_t bytes, bool over, uint64_t table_ns)
{
    if (g->options->whole)
        return expected_s(g, LINK_DUPLEX, bytes) > REDUCE_CALL_MAX_S;
    return over || clock_seconds(table_ns, clock_now_ns()) > 1.5 * g->reduce_s; /* larger ones take even longer */
}

int link_survey_reduce(struct link_survey *s, struct link *link, struct session *session,
                       const struct link_survey_options *o, struct err *e)
{
    struct surveying g = begin(s, link, session, o);
    int backends = 0;
    while (o->backends[backends])
        backends++;
    divide_for_reduce(&g);
    if (latency(&g, e) || streams(&g, e))
        return -1;
    uint64_t table_ns = clock_now_ns();
    bool over[LINK_WORKS_MAX] = {false};
    for (int i = 0; i < REDUCE_SIZES; i++)
        for (int b = 0; b < backends; b++) {
            if (out_of_time(&g, reduce_sizes[i], over[b], table_ns))
                continue;
            if (reduce_line(&g, o->backends[b], reduce_sizes[i], g.reduce_s / (REDUCE_SIZES * backends), &over[b], e))
                return -1;
        }
    int result = beside(&g, e);
    s->rounds += ROUNDS_MAX;
    return result;
}
