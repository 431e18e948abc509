/*
 * ddp/rehearse.c - see rehearse.h; start at rehearse(). Ranks that take different times have to make the same calls, so
 * whatever depends on a time is decided by rank 0 and told (team_agree carries it in place of a loss).
 */
#include "ddp/rehearse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/stats.h"
#include "ddp/run.h"
#include "ddp/step.h"

enum {
    SMALL_CALLS = 20,
    LARGE_BYTES_MAX = 16 << 20,
    LARGE_BYTES_LEAST = 64 << 10,
    LARGE_CALLS = 5,
    BESIDE_STEPS = 3,
    BESIDE_CALLS_MAX = 4096,
};

#define LARGE_CALL_S 0.3   /* at most, as far as LARGE_BYTES_LEAST allows */
#define BESIDE_MARGIN 1.6  /* calls enough for a step that is so many times slower than alone */
#define BESIDE_TIME_S 10.0 /* no further step after that */

struct rehearsing {
    struct run *run;
    struct step_worker *w;
    struct transport *transport;
    float *scratch;
    size_t n; /* floats of the large one */
};

/* What rank 0 says, on every rank. Whole numbers below 2^24 arrive as they are. */
static int told(const struct rehearsing *g, double mine, double *value, struct err *e)
{
    struct team *team = g->run->options.team;
    if (team_agree(team, 0, &(struct team_word){.loss = (float)mine}, e))
        return -1;
    *value = (double)team->word[0].loss;
    return 0;
}

static int timed_calls(const struct rehearsing *g, size_t n, int calls, double *median_s, struct err *e)
{
    double x[SMALL_CALLS];
    struct call call = {.step = 0};
    for (int i = 0; i < calls; i++) {
        uint64_t from = clock_now_ns();
        if (transport_allreduce(g->transport, g->scratch, n, &call, e))
            return -1;
        x[i] = clock_seconds(from, clock_now_ns());
    }
    *median_s = stats_median(x, (size_t)calls);
    return 0;
}

/* As much as the largest bucket or 16 MiB, less where that takes too long. */
static int size_up(struct rehearsing *g, double *alone_s, struct err *e)
{
    size_t largest = 0;
    for (int b = 0; b < g->run->buckets; b++)
        if (g->run->bucket[b].count > largest)
            largest = g->run->bucket[b].count;
    g->n = LARGE_BYTES_MAX / sizeof(float);
    g->n = largest && largest < g->n ? largest : g->n;
    for (;;) {
        double mine;
        if (timed_calls(g, g->n, 1, &mine, e) || told(g, mine, alone_s, e))
            return -1;
        if (*alone_s <= LARGE_CALL_S || g->n * sizeof(float) / 4 < LARGE_BYTES_LEAST)
            return 0;
        g->n /= 4;
    }
}

/* One step alone with so many all-reduces beside it, one after the other from its start on. */
static int beside(const struct rehearsing *g, struct overlap *overlap, const struct overlap_bucket *span, int calls,
                  struct step_alone *alone, double *call_s, int *n, struct err *e)
{
    if (overlap_begin(overlap, 0, span, calls, e))
        return -1;
    for (int b = 0; b < calls; b++)
        overlap_ready(overlap, b);
    *alone = step_alone(g->w);
    uint64_t computed_ns = alone->start_ns + (uint64_t)(alone->backward_s * 1e9);
    if (overlap_wait(overlap, calls, e))
        return -1;
    if (alone->step_s < 0)
        return err_set(e, ERR_PEER_LOST, "another rank was lost while computing was timed beside communication");
    for (int b = 0; b < calls; b++) {
        const struct call *call = &overlap->record[b].call;
        if (call->start_ns >= alone->start_ns && call->end_ns <= computed_ns && *n < BESIDE_CALLS_MAX)
            call_s[(*n)++] = clock_seconds(call->start_ns, call->end_ns);
    }
    return 0;
}

static int all_beside(struct rehearsal *r, const struct rehearsing *g, struct overlap *overlap, int calls,
                      double alone_s, double *slowdown, struct err *e)
{
    double *call_s = calloc(BESIDE_CALLS_MAX, sizeof *call_s), took[BESIDE_STEPS];
    struct overlap_bucket *span = calloc((size_t)calls, sizeof *span);
    int steps = 0, result = call_s && span ? 0 : err_set(e, ERR_MEMORY, "no memory for the rehearsal");
    uint64_t from = clock_now_ns();
    for (int b = 0; b < calls && span; b++)
        span[b] = (struct overlap_bucket){g->scratch, g->n};
    while (result == 0 && steps < BESIDE_STEPS) {
        struct step_alone alone;
        double more;
        result = beside(g, overlap, span, calls, &alone, call_s, &r->calls, e);
        if (result == 0)
            took[steps++] = alone.backward_s;
        if (result == 0)
            result = told(g, clock_seconds(from, clock_now_ns()) < BESIDE_TIME_S, &more, e);
        if (result || more <= 0)
            break;
    }
    if (result == 0) {
        *slowdown = stats_median(took, (size_t)steps) / alone_s;
        r->beside_s = r->calls ? stats_median(call_s, (size_t)r->calls) : NAN;
    }
    free(call_s);
    free(span);
    return result;
}

static int measure_beside(struct rehearsal *r, const struct rehearsing *g, double slowest_s, double own_s,
                          double *slowdown, struct err *e)
{
    struct run *run = g->run;
    const struct run_options *o = &run->options;
    struct overlap overlap = {0};
    double wanted = ceil(BESIDE_MARGIN * slowest_s / r->alone_s) + 1;
    if (told(g, fmin(wanted, BESIDE_CALLS_MAX), &wanted, e))
        return -1;
    if (o->roam)
        o->roam(o->roam_ctx, true);
    int result = overlap_start(&overlap, g->transport, (int)wanted, e);
    if (o->roam)
        o->roam(o->roam_ctx, false);
    if (result)
        return -1;
    result = all_beside(r, g, &overlap, (int)wanted, own_s, slowdown, e);
    overlap_stop(&overlap);
    return result;
}

/* Every rank's numbers on every rank: each fills in its own and the sum is all of them. Single precision is far finer than the
 * numbers are. */
static int gather(struct rehearsal *r, const struct rehearsing *g, const struct rehearsal_step *alone, double slowdown,
                  struct err *e)
{
    size_t each = 3 * (size_t)r->steps + 1, n = each * (size_t)r->world;
    float *wire = calloc(n, sizeof *wire), *own = wire ? wire + each * (size_t)g->run->options.rank : NULL;
    struct call call = {.step = 0};
    if (!wire)
        return err_set(e, ERR_MEMORY, "no memory for the steps of %d ranks", r->world);
    for (int k = 0; k < r->steps; k++) {
        own[3 * k] = (float)alone[k].forward_s;
        own[3 * k + 1] = (float)alone[k].backward_s;
        own[3 * k + 2] = (float)alone[k].optimizer_s;
    }
    own[each - 1] = (float)slowdown;
    int result = transport_allreduce(g->run->options.team->agree, wire, n, &call, e);
    for (int rank = 0; rank < r->world && result == 0; rank++) {
        const float *from = wire + each * (size_t)rank;
        for (int k = 0; k < r->steps; k++)
            r->step[rank * r->steps + k] =
                (struct rehearsal_step){(double)from[3 * k], (double)from[3 * k + 1], (double)from[3 * k + 2]};
        r->slowdown[rank] = (double)from[each - 1];
    }
    free(wire);
    return result;
}

static double median_work(const struct rehearsal_step *alone, int n)
{
    double x[RUN_ALONE_MAX];
    int m = n < RUN_ALONE_MAX ? n : RUN_ALONE_MAX;
    for (int k = 0; k < m; k++)
        x[k] = alone[k].forward_s + alone[k].backward_s;
    return stats_median(x, (size_t)m);
}

int rehearse(struct rehearsal *r, struct run *run, struct step_worker *w, const struct rehearsal_step *alone, int n,
             struct err *e)
{
    const struct run_options *o = &run->options;
    struct rehearsing g = {.run = run, .w = w, .transport = o->team->gradients};
    *r = (struct rehearsal){.world = o->world, .steps = n};
    r->step = calloc((size_t)(o->world * n), sizeof *r->step);
    r->slowdown = calloc((size_t)o->world, sizeof *r->slowdown);
    g.scratch = aligned_alloc(64, LARGE_BYTES_MAX);
    int result = -1;
    if (!r->step || !r->slowdown || !g.scratch) {
        err_set(e, ERR_MEMORY, "no memory for the rehearsal");
        goto out;
    }
    memset(g.scratch, 0, LARGE_BYTES_MAX);
    double own_s = median_work(alone, n), slowest_s = own_s, slowdown = NAN;
    struct team *team = o->team;
    if (team_agree(team, 0, &(struct team_word){.loss = (float)own_s}, e))
        goto out;
    for (int rank = 0; rank < o->world; rank++)
        slowest_s = fmax(slowest_s, (double)team->word[rank].loss);
    if (timed_calls(&g, 1, SMALL_CALLS, &r->small_s, e) || size_up(&g, &r->alone_s, e) ||
        timed_calls(&g, g.n, LARGE_CALLS, &r->alone_s, e) || told(&g, r->alone_s, &r->alone_s, e) ||
        measure_beside(r, &g, slowest_s, own_s, &slowdown, e) || gather(r, &g, alone, slowdown, e))
        goto out;
    r->bytes = (double)(g.n * sizeof(float));
    r->known = true;
    result = 0;
out:
    if (!g.transport->unfinished)
        free(g.scratch);
    return result;
}

void rehearsal_fini(struct rehearsal *r)
{
    free(r->step);
    free(r->slowdown);
    *r = (struct rehearsal){0};
}
