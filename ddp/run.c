/*
 * ddp/run.c - see run.h. Start with run_execute: warm-up, then steps until the stopping rule says so, a floor pass now
 * and then in between, validation and checkpoint at the end. One step is in step.c.
 *
 * Growing the sample arrays, floor passes, agreeing with other ranks and reporting progress happen between steps.
 * Invariant with several ranks: all of them go through decide() and conclude() in the same order, whatever happens
 * to one of them; a rank that cannot go on leaves, and the others notice.
 */
#include "ddp/run.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "ddp/feed.h"
#include "ddp/plan.h"
#include "ddp/step.h"
#include "model/checkpoint.h"
#include "model/kernels.h"

enum {
    STEPS_MIN = 5,             /* by time: at least this many */
    STEPS_MAX_BY_TIME = 20000, /* and at most this many: tiny models would fill memory with samples */
    ALONE_MIN = 3,             /* steps of each rank alone, before and after: at least so many, */
    ALONE_MAX = 8,
    VERIFY_PARAMETERS = 16 << 20, /* models up to this size are compared after every step */
};

#define ALONE_TIME_S 2.0 /* and until so much time has passed */

enum { RECORD_MIN = 5 };  /* steps for replay: at least so many, */
#define RECORD_TIME_S 4.0 /* and until so much time has passed */

/* ---- the experiment ---- */

/* Room for new_n rows in place of old_n. What is new is written to, so that its pages are there before a step is timed. */
static int extend(double **rows, size_t old_n, size_t new_n, size_t row_bytes)
{
    double *more = realloc(*rows, new_n * row_bytes + sizeof **rows);
    if (!more)
        return -1;
    memset((char *)more + old_n * row_bytes, 0, (new_n - old_n) * row_bytes);
    *rows = more;
    return 0;
}

enum { STEPS_AT_ONCE = 4096 };

static int grow(struct run *run, struct err *e)
{
    if (run->n < run->capacity)
        return 0;
    size_t old = (size_t)run->capacity, asked = run->options.steps > 0 ? (size_t)run->options.steps : SIZE_MAX;
    size_t n = old                      ? 2 * old
               : asked <= STEPS_AT_ONCE ? asked
                                        : 64; /* a million steps need no memory before they come */
    if (n > asked)
        n = asked;
    size_t layers = plan_layers(&run->spec), number = sizeof(double);
    double *sample = (double *)run->sample;
    int failed = extend(&sample, old, n, sizeof *run->sample);
    run->sample = (struct run_sample *)sample;
    if (failed || extend(&run->layer_s, old, n, layers * 3 * number) ||
        extend(&run->ready_s, old, n, (size_t)run->net.layout.n * number) ||
        extend(&run->bucket_s, old, n, (size_t)run->buckets * RUN_BUCKET_COLUMNS * number))
        return err_set(e, ERR_MEMORY, "no memory for the samples of %zu steps", n);
    run->capacity = (int)n;
    return 0;
}

static bool stopped(struct run *run)
{
    if (run->options.stop && *run->options.stop)
        run->interrupted = true;
    return run->interrupted;
}

static bool enough(const struct run *run, double elapsed_s)
{
    if (run->options.steps >= 0)
        return run->n >= run->options.steps;
    return (elapsed_s >= run->options.time_s && run->n >= STEPS_MIN) || run->n >= STEPS_MAX_BY_TIME;
}

static const char *describe(const struct run *run, int number, char *buf, size_t size)
{
    if (strcmp(run->stage, "training") == 0)
        snprintf(buf, size, "step %d", number);
    else
        snprintf(buf, size, "%s step %d", run->stage, number);
    return buf;
}

/* ---- several ranks ---- */

/* FNV-1a over the bits of 32-bit words. */
static uint64_t checksum(const void *words, size_t n)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, (const char *)words + i * sizeof bits, sizeof bits);
        h = (h ^ bits) * 0x100000001b3u;
    }
    return h;
}

static int agree(struct run *run, int number, const struct team_word *mine, struct err *e)
{
    uint64_t from = clock_now_ns();
    int result = team_agree(run->options.team, (uint32_t)number, mine, e);
    run->agreeing_s += clock_seconds(from, clock_now_ns());
    return result;
}

enum decision { GO_ON, FLOOR, ENOUGH };

/* What rank 0 wishes, unless some rank was asked to stop. */
static int decide(struct run *run, int number, enum decision wish, enum decision *decision, struct err *e)
{
    struct team *team = run->options.team;
    struct team_word mine = {.wish = (int)wish, .stop = stopped(run)};
    *decision = run->interrupted ? ENOUGH : wish;
    if (!team)
        return 0;
    uint64_t start = clock_now_ns();
    if (agree(run, number, &mine, e))
        return -1;
    run->agree_s = fmin(run->agree_s, clock_seconds(start, clock_now_ns())); /* fmin(NaN, x) is x */
    *decision = (enum decision)team->word[0].wish;
    for (int r = 0; r < team->world; r++)
        run->interrupted |= team->word[r].stop;
    if (run->interrupted)
        *decision = ENOUGH;
    return 0;
}

static int find_odd_rank(const struct team *team)
{
    for (int r = 1; r < team->world; r++)
        if (team->word[r].checksum != team->word[0].checksum)
            return r;
    return -1;
}

/* Checksums of what all ranks must have alike. */
static int compare(struct run *run, int number, uint64_t mine, const char *what, struct err *e)
{
    struct team *team = run->options.team;
    if (team_agree(team, (uint32_t)number, &(struct team_word){.checksum = mine}, e))
        return -1;
    int odd = find_odd_rank(team);
    if (odd < 0)
        return 0;
    return err_set(e, ERR_WRONG_RESULT,
                   "rank %d has other %s than rank 0 (checksums %016" PRIx64 " and %016" PRIx64 ")", odd, what,
                   team->word[odd].checksum, team->word[0].checksum);
}

/* After a step: the loss over all ranks; a step whose parameters differ between ranks, or whose loss is no number, ends the
 * run on all of them. */
static int conclude(struct run *run, int number, struct run_sample *s, struct err *e)
{
    const struct run_options *o = &run->options;
    struct team *team = o->team;
    char where[48];
    if (team) {
        bool verify = team_reduces(team) && (o->verify || run->net.layout.params <= VERIFY_PARAMETERS);
        struct team_word mine = {.loss = s->loss};
        if (verify)
            mine.checksum = checksum(run->net.param, run->net.layout.params);
        if (agree(run, number, &mine, e))
            return -1;
        patience_note(&run->patience, s->step_s); /* it contains waiting for the slowest */
        team_set_patience(team, patience_s(&run->patience));
        double loss = 0;
        for (int r = 0; r < team->world; r++)
            loss += (double)team->word[r].loss * run->batch_of[r] / run->batch_all;
        s->loss = (float)loss;
        int odd = find_odd_rank(team);
        if (odd >= 0)
            return err_set(
                e, ERR_WRONG_RESULT,
                "%s: the parameters of rank %d differ from rank 0's (checksums %016" PRIx64 " and %016" PRIx64 ")",
                describe(run, number, where, sizeof where), odd, team->word[odd].checksum, team->word[0].checksum);
    }
    if (run->options.replay || isfinite(s->loss))
        return 0;
    return err_set(e, ERR_WRONG_RESULT, "the loss is %f in %s: not a finite number, so the run is void from there",
                   (double)s->loss, describe(run, number, where, sizeof where));
}

/* ---- stages ---- */

struct reporter {
    void (*call)(void *ctx, const struct run_progress *p);
    void *ctx;
};

static void report(struct run *run, const struct reporter *r, const char *stage, int done, int total, double elapsed_s,
                   double eta_s, float loss)
{
    struct run_progress p = {stage, done, total, elapsed_s, eta_s, loss};
    run->stage = stage;
    run->stage_done = done;
    if (r->call)
        r->call(r->ctx, &p);
}

static int warm_up(struct run *run, struct step_worker *w, const struct reporter *r, struct err *e)
{
    uint64_t start = clock_now_ns();
    for (int i = 0;; i++) {
        enum decision next;
        report(run, r, "warm-up", i, run->options.warmup, clock_seconds(start, clock_now_ns()), -1, NAN);
        if (decide(run, i, i < run->options.warmup ? GO_ON : ENOUGH, &next, e))
            return -1;
        if (next == ENOUGH)
            return 0;
        struct run_sample s;
        if (step_take(w, i, -1, &s, e))
            return err_context(e, "warm-up");
        if (i == 0 && run->warmup_first_s == 0) /* nothing was computed before */
            run->warmup_first_s = s.step_s;
        if (conclude(run, i, &s, e))
            return -1;
    }
}

/* Every rank alone, all at once. */
static int baseline(struct run *run, struct step_worker *w, const struct reporter *r, struct err *e)
{
    uint64_t start = clock_now_ns();
    int first = run->alone_n;
    for (;;) {
        enum decision next;
        int n = run->alone_n - first;
        double elapsed_s = clock_seconds(start, clock_now_ns());
        report(run, r, "baseline", n, -1, elapsed_s, -1, NAN);
        bool enough = n >= ALONE_MAX || (n >= ALONE_MIN && elapsed_s >= ALONE_TIME_S);
        if (decide(run, run->n, enough ? ENOUGH : GO_ON, &next, e))
            return -1;
        if (next == ENOUGH)
            return 0;
        struct step_alone alone = step_alone(w);
        if (alone.step_s < 0)
            return err_set(e, ERR_PEER_LOST, "another rank was lost while each was timed alone");
        double *ready_s = run->alone_ready_s + (size_t)run->alone_n * (size_t)run->buckets;
        for (int b = 0; b < run->buckets; b++)
            ready_s[b] = clock_seconds(alone.start_ns, w->reduce->seen_ns[b]);
        run->alone_backward_s[run->alone_n] = alone.backward_s;
        run->alone_part[run->alone_n] = (struct rehearsal_step){alone.forward_s, alone.backward_s - alone.forward_s,
                                                                alone.step_s - alone.backward_s};
        run->alone_s[run->alone_n++] = alone.step_s;
    }
}

/* Patience is a matter of the slowest rank, which others know nothing of before the first step. */
static int expect_step(struct run *run, double own_s, struct err *e)
{
    struct team *team = run->options.team;
    if (team_agree(team, 0, &(struct team_word){.loss = (float)own_s}, e))
        return -1;
    double slowest_s = 0;
    for (int r = 0; r < team->world; r++)
        slowest_s = fmax(slowest_s, (double)team->word[r].loss);
    patience_expect(&run->patience, slowest_s);
    team_set_patience(team, patience_s(&run->patience));
    return 0;
}

/* Rank 0 may take its time over what follows from it; the others wait in the next agreement. */
static int rehearse_all(struct run *run, struct step_worker *w, const struct reporter *r, struct err *e)
{
    const struct run_options *o = &run->options;
    if (!o->rehearse || run->interrupted || run->alone_before == 0 || !team_reduces(o->team))
        return 0;
    report(run, r, "rehearsal", 0, 1, 0, -1, NAN);
    if (rehearse(&run->rehearsal, run, w, run->alone_part, run->alone_before, e))
        return err_context(e, "rehearsal");
    if (o->rank == 0 && o->foretell)
        o->foretell(o->foretell_ctx, run);
    return 0;
}

/* The first step of all pays for memory and threads and does not count. Training then begins as if nothing had been. */
static int baseline_before(struct run *run, struct step_worker *w, const struct reporter *r, struct err *e)
{
    if (!run->options.team || !run->options.baseline || run->options.steps == 0)
        return 0;
    report(run, r, "baseline", 0, -1, 0, -1, NAN);
    if (step_peek(w, e))
        return -1;
    run->warmup_first_s = step_alone(w).step_s;
    if (baseline(run, w, r, e))
        return -1;
    run->alone_before = run->alone_n;
    if (rehearse_all(run, w, r, e))
        return -1;
    if (run->net.spec.optimizer.kind == OPTIMIZER_ADAMW) {
        memset(run->net.m, 0, run->net.layout.params * sizeof(float));
        memset(run->net.v, 0, run->net.layout.params * sizeof(float));
    }
    double slowest_s = run->alone_s[0];
    for (int i = 1; i < run->alone_n; i++)
        slowest_s = fmax(slowest_s, run->alone_s[i]);
    return expect_step(run, slowest_s, e);
}

static int baseline_after(struct run *run, struct step_worker *w, const struct reporter *r, struct err *e)
{
    if (!run->options.team || !run->options.baseline || run->n == 0 || run->interrupted)
        return 0;
    return baseline(run, w, r, e);
}

/* Floor passes are spread over the run, so that drift of the machine hits both alike: the first RUN_FLOOR_MIN evenly over a
 * known number of steps, others as their share of the time allows. */
static bool floor_due(const struct run *run, double timed_s, bool last)
{
    double spent = 0;
    if (!run->options.floor || run->options.replay || run->n == 0 || run->floor_n == RUN_FLOOR_MAX)
        return false;
    if (run->floor_n < RUN_FLOOR_MIN && (last || run->options.steps >= 0))
        return last || (int64_t)run->n * RUN_FLOOR_MIN > (int64_t)run->floor_n * run->options.steps;
    for (int i = 0; i < run->floor_n; i++)
        spent += run->floor_s[i];
    return !last && spent * RUN_FLOOR_SHARE < timed_s;
}

static double time_left(const struct run *run, double elapsed_s)
{
    if (run->n == 0)
        return -1;
    double per_step = elapsed_s / run->n, by_time = run->options.time_s - elapsed_s;
    if (run->options.steps >= 0)
        return per_step * (run->options.steps - run->n);
    double by_count = per_step * (STEPS_MIN - run->n);
    return by_time > by_count ? by_time : by_count > 0 ? by_count : 0;
}

static enum decision wish(const struct run *run, double elapsed_s, double timed_s)
{
    bool last = enough(run, elapsed_s);
    if (floor_due(run, timed_s, last))
        return FLOOR;
    return last ? ENOUGH : GO_ON;
}

/* One timed step, kept if it is right. */
static int timed_step(struct run *run, struct step_worker *w, struct err *e)
{
    const struct run_options *o = &run->options;
    struct run_sample s;
    if (grow(run, e))
        return -1;
    if (run->n == o->poison_step)
        run->net.param[run->net.layout.params - 1] = NAN;
    if (step_take(w, run->n, run->n, &s, e))
        return -1;
    if (run->n == o->alter_step && o->rank == o->world - 1)
        run->net.param[0] += 1;
    if (conclude(run, run->n, &s, e))
        return -1;
    s.agree_s = run->agreeing_s;
    run->agreeing_s = 0;
    run->sample[run->n++] = s;
    return 0;
}

static int step_by_step(struct run *run, struct step_worker *w, const struct reporter *r, struct err *e)
{
    double timed_s = 0;
    bool fresh = true;
    uint64_t start = clock_now_ns();
    for (;;) {
        enum decision next;
        double elapsed_s = clock_seconds(start, clock_now_ns());
        float loss = run->n ? run->sample[run->n - 1].loss : NAN;
        report(run, r, "training", run->n, run->options.steps, elapsed_s, time_left(run, elapsed_s), loss);
        if (decide(run, run->n, wish(run, elapsed_s, timed_s), &next, e))
            return -1;
        if (next == ENOUGH)
            return 0;
        if (fresh) /* others may have come later from whatever was before */
            run->agreeing_s = 0;
        fresh = next == FLOOR;
        if (next == FLOOR) {
            if (run->floor_n < RUN_FLOOR_MAX)
                run->floor_s[run->floor_n++] = step_floor(w);
            continue;
        }
        if (timed_step(run, w, e))
            return -1;
        timed_s += run->sample[run->n - 1].step_s;
    }
}

static struct footprint hushed_footprint(const struct run_options *o)
{
    if (o->hush)
        o->hush(o->hush_ctx, true);
    struct footprint held = footprint_now();
    if (o->hush)
        o->hush(o->hush_ctx, false);
    return held;
}

static int timed_steps(struct run *run, struct step_worker *w, const struct reporter *r, struct err *e)
{
    if (run->options.steps != 0 && grow(run, e))
        return -1;
    run->timed = true;
    run->before = hushed_footprint(&run->options);
    int result = step_by_step(run, w, r, e);
    run->after = hushed_footprint(&run->options);
    return result;
}

static void validate(struct run *run, struct step_worker *w, const struct reporter *r)
{
    int n = run->options.eval_batches;
    double sum = 0;
    uint64_t start = clock_now_ns();
    for (int i = 0; i < n && !stopped(run); i++) {
        report(run, r, "validation", i, n, clock_seconds(start, clock_now_ns()), -1, NAN);
        data_val_batch(&run->data, (uint64_t)i, run->options.batch, run->options.seq, w->inputs, w->targets);
        sum += net_loss(&run->net, w->inputs, w->targets);
    }
    if (n > 0 && !run->interrupted)
        run->eval_loss = sum / n;
}

/* VmHWM of this program; what getrusage tells survives exec, and is that of whoever started it. */
static uint64_t peak_rss(void)
{
    char line[128];
    unsigned long long kib = 0;
    FILE *f = fopen("/proc/self/status", "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %llu kB", &kib) == 1)
            break;
    if (f)
        fclose(f);
    return (uint64_t)kib * 1024;
}

/* The same parameters on all ranks, and the same data, or rank 0's for all. */
static int start_alike(struct run *run, struct step_worker *w, struct feed *feed, struct err *e)
{
    const struct run_options *o = &run->options;
    if (o->rank == 0 && o->checkpoint) {
        if (checkpoint_load(o->checkpoint, &run->spec, &run->net.layout, run->net.param, e))
            return -1;
    } else {
        net_init_params(&run->net, o->seed);
    }
    if (!o->team)
        return 0;
    if (team_broadcast(o->team, run->net.param, run->net.layout.params * sizeof(float), e))
        return -1;
    if (run->spec.kind == MODEL_GPT && feed_open(feed, run, e))
        return -1;
    if (feed->on)
        w->feed = feed;
    return feed->on ? 0 : compare(run, 0, checksum(run->data.token, run->data.n / 2), "training data", e);
}

/* This rank's own steps, while the others are silent. The first one pays for memory and threads. */
static int record_own(struct run *run, struct step_worker *w, struct err *e)
{
    struct replay *p = run->options.replay;
    size_t tensors = (size_t)run->net.layout.n;
    if (replay_init(p, REPLAY_STEPS_MAX, (int)tensors, e))
        return -1;
    run->warmup_first_s = step_alone(w).step_s;
    uint64_t start = clock_now_ns();
    for (p->n = 0; p->n < REPLAY_STEPS_MAX; p->n++) {
        if (p->n >= RECORD_MIN && clock_seconds(start, clock_now_ns()) >= RECORD_TIME_S)
            break;
        if (p->n >= ALONE_MIN && stopped(run))
            break;
        if (step_record(w, &p->step[p->n], p->ready_s + (size_t)p->n * tensors) < 0)
            return err_set(e, ERR_PEER_LOST, "another rank was lost while this one recorded its steps");
    }
    return 0;
}

static int start_replay(struct run *run, struct step_worker *w, const struct reporter *r, struct err *e)
{
    const struct run_options *o = &run->options;
    if (!o->replay)
        return 0;
    bool record = o->replay->n == 0;
    if (record && step_peek(w, e))
        return -1;
    for (int turn = 0; record && turn < o->world; turn++) {
        report(run, r, "recording", turn, o->world, 0, -1, NAN);
        if (turn == o->rank && record_own(run, w, e))
            return -1;
        if (o->team && team_barrier(o->team, e))
            return -1;
    }
    replay_attach(o->replay, &run->net, o->accum, o->rank, o->world, o->team && team_reduces(o->team));
    return 0;
}

static int train(struct run *run, struct step_worker *w, struct feed *feed, const struct reporter *r, struct err *e)
{
    const struct run_options *o = &run->options;
    report(run, r, "preparing", 0, 1, 0, -1, NAN);
    if (start_alike(run, w, feed, e))
        return -1;
    run->stamp_cost_ns = clock_cost_ns();
    if (start_replay(run, w, r, e) || baseline_before(run, w, r, e) || warm_up(run, w, r, e) ||
        timed_steps(run, w, r, e))
        return -1;
    run->param_checksum = checksum(run->net.param, run->net.layout.params);
    if (o->team && team_reduces(o->team) && compare(run, run->n, run->param_checksum, "parameters", e))
        return err_context(e, "after %d steps", run->n);
    if (baseline_after(run, w, r, e))
        return -1;
    if (o->rank == 0)
        validate(run, w, r);
    run->peak_rss_bytes = peak_rss();
    if (o->save && !run->interrupted && !isfinite(run->net.k->sum_squares(run->net.param, run->net.layout.params)))
        return err_set(e, ERR_WRONG_RESULT,
                       "the last update made parameters infinite or not a number; they are not saved");
    if (o->save && !run->interrupted)
        return checkpoint_save(o->save, &run->spec, &run->net.layout, run->net.param, e);
    return 0;
}

int run_execute(struct run *run, void (*progress)(void *ctx, const struct run_progress *p), void *ctx,
                struct notes *notes, struct err *e)
{
    struct reporter r = {progress, ctx};
    struct feed feed = {0};
    struct step_worker *w = calloc(1, sizeof *w);
    if (!w)
        return err_set(e, ERR_MEMORY, "no memory to start the run");
    int result = net_take(&run->net, e);
    run->net.abandon = run->options.abandon;
    if (result == 0)
        result = step_open(w, run, e);
    if (result == 0)
        result = train(run, w, &feed, &r, e);
    if (run->peak_rss_bytes == 0)
        run->peak_rss_bytes = peak_rss();
    if (run->options.steps < 0 && run->n >= STEPS_MAX_BY_TIME)
        notes_add(notes, "stopped after %d steps, before the time was up: a sample of every step is kept", run->n);
    step_close(w);
    feed_close(&feed);
    free(w);
    return result;
}

void run_fini(struct run *run)
{
    data_fini(&run->data);
    net_fini(&run->net);
    free(run->sample);
    free(run->layer_s);
    free(run->ready_s);
    free(run->bucket);
    free(run->bucket_s);
    free(run->alone_ready_s);
    rehearsal_fini(&run->rehearsal);
    free(run->batch_of);
    timeline_close(&run->timeline);
    memset(run, 0, sizeof *run);
}
