/*
 * ddp/run.c - see run.h. Start with run_execute: warm-up, then one_step() until the stopping rule says so, a
 * floor pass now and then in between, validation and checkpoint at the end.
 *
 * What is timed is only the step: fetching the batch, floor passes, growing the sample arrays and
 * reporting progress happen between steps.
 */
#include "ddp/run.h"

#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/rng.h"
#include "ddp/plan.h"
#include "model/checkpoint.h"
#include "model/kernels.h"

enum {
    STEPS_MIN = 5,             /* by time: at least this many */
    STEPS_MAX_BY_TIME = 20000, /* and at most this many: tiny models would fill memory with samples */
    FLOOR_MAX = 16,
    FLOOR_MIN = 3,
    FLOOR_SHARE = 8, /* about one part in eight of the time goes to floor passes */
};

/* ---- one step ---- */

struct worker {   /* what run_execute needs besides the run */
    void *inputs; /* [accum][B][T] ids, or [accum][B][dim] values */
    int32_t *targets;
    struct rng rng;        /* MLP inputs */
    int64_t update;        /* optimizer updates so far */
    double layer_s[64][3]; /* of the step in progress, by layer + 1 and kind */
};

static size_t batch_positions(const struct run *run)
{
    return (size_t)run->options.batch * (size_t)run->options.seq;
}

static void fetch(struct run *run, struct worker *w)
{
    const struct run_options *o = &run->options;
    if (run->spec.kind == MODEL_MLP) {
        float *x = w->inputs;
        size_t n = batch_positions(run) * (size_t)o->accum * (size_t)run->spec.dim[0];
        for (size_t i = 0; i < n; i++)
            x[i] = (float)rng_normal(&w->rng);
        return;
    }
    for (int k = 0; k < o->accum; k++) {
        size_t at = (size_t)k * batch_positions(run);
        data_next_batch(&run->data, &run->sampler, o->batch, o->seq, (int32_t *)w->inputs + at, w->targets + at);
    }
}

static const void *micro_inputs(const struct run *run, const struct worker *w, int k)
{
    size_t at = (size_t)k * batch_positions(run);
    if (run->spec.kind == MODEL_MLP)
        return (const float *)w->inputs + at * (size_t)run->spec.dim[0];
    return (const int32_t *)w->inputs + at;
}

static void harvest(struct run *run, struct worker *w)
{
    struct net_trace *trace = &run->net.trace;
    for (int i = 0; i < trace->n; i++) {
        const struct phase *p = &trace->phase[i];
        w->layer_s[p->layer + 1][p->kind] += clock_seconds(p->start_ns, p->end_ns);
    }
    run->stamps_per_step += trace->n;
    trace->n = 0;
}

/* Forward and backward of every micro-batch; the gradient is their mean. Returns the mean loss. */
static float all_micro_batches(struct run *run, struct worker *w)
{
    int K = run->options.accum;
    float loss = 0;
    for (int k = 0; k < K; k++) {
        if (k == K - 1)
            net_trace_reset(&run->net);
        size_t at = (size_t)k * batch_positions(run);
        const int32_t *targets = w->targets ? w->targets + at : NULL;
        loss += net_step(&run->net, micro_inputs(run, w, k), targets, 1.0f / (float)K, k > 0) / (float)K;
        harvest(run, w);
    }
    return loss;
}

static int64_t minor_faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

static size_t heap_bytes(void)
{
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

/* One whole update; row < 0 in warm-up, else where the details go. */
static struct run_sample one_step(struct run *run, struct worker *w, int row)
{
    struct run_sample s;
    uint64_t t0 = clock_now_ns();
    fetch(run, w);
    memset(w->layer_s, 0, sizeof w->layer_s);
    run->stamps_per_step = 0;
    s.data_s = clock_seconds(t0, clock_now_ns());

    size_t heap = heap_bytes();
    s.minor_faults = minor_faults();
    uint64_t start = clock_now_ns();
    s.loss = all_micro_batches(run, w);
    uint64_t middle = clock_now_ns();
    if (run->options.clip > 0)
        net_clip(&run->net, (float)run->options.clip);
    net_update(&run->net, &run->optimizer, ++w->update);
    uint64_t end = clock_now_ns();
    s.minor_faults = minor_faults() - s.minor_faults;
    if (row >= 0)
        run->allocated_in_timed_region += (int64_t)heap_bytes() - (int64_t)heap;

    harvest(run, w);
    run->stamps_per_step += run->net.trace.ready_n * run->options.accum;
    s.step_s = clock_seconds(start, end);
    s.optimizer_s = clock_seconds(middle, end);
    s.forward_s = 0;
    for (int l = 0; l < 64; l++)
        s.forward_s += w->layer_s[l][PHASE_FORWARD];
    s.backward_s = clock_seconds(start, middle) - s.forward_s;
    if (row >= 0) {
        size_t layers = plan_layers(&run->spec);
        memcpy(run->layer_s + (size_t)row * layers * 3, w->layer_s, layers * 3 * sizeof(double));
        for (int i = 0; i < run->net.layout.n; i++)
            run->ready_s[(size_t)row * (size_t)run->net.layout.n + (size_t)i] =
                clock_seconds(start, run->net.trace.ready_ns[i]);
    }
    return s;
}

/* The same step with nothing but its matrix products. */
static double floor_step(struct run *run, struct worker *w)
{
    const struct kernels *real = run->net.k;
    net_use_kernels(&run->net, &kernels_null);
    int stamps = run->stamps_per_step;
    uint64_t start = clock_now_ns();
    all_micro_batches(run, w);
    double took = clock_seconds(start, clock_now_ns());
    run->stamps_per_step = stamps;
    net_use_kernels(&run->net, real);
    return took;
}

/* ---- the experiment ---- */

static int grow(struct run *run, struct err *e)
{
    if (run->n < run->capacity)
        return 0;
    size_t layers = plan_layers(&run->spec);
    size_t capacity = run->options.steps > 0 ? (size_t)run->options.steps
                      : run->capacity        ? 2 * (size_t)run->capacity
                                             : 64;
    void *sample = realloc(run->sample, capacity * sizeof *run->sample);
    if (sample)
        run->sample = sample;
    void *layer = realloc(run->layer_s, capacity * layers * 3 * sizeof(double));
    if (layer)
        run->layer_s = layer;
    void *ready = realloc(run->ready_s, capacity * (size_t)run->net.layout.n * sizeof(double));
    if (ready)
        run->ready_s = ready;
    if (!sample || !layer || !ready)
        return err_set(e, ERR_MEMORY, "no memory for the samples of %zu steps", capacity);
    run->capacity = (int)capacity;
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

struct reporter {
    void (*call)(void *ctx, const struct run_progress *p);
    void *ctx;
};

static void report(const struct reporter *r, const char *stage, int done, int total, double elapsed_s, double eta_s,
                   float loss)
{
    struct run_progress p = {stage, done, total, elapsed_s, eta_s, loss};
    if (r->call)
        r->call(r->ctx, &p);
}

static int warm_up(struct run *run, struct worker *w, const struct reporter *r, struct err *e)
{
    uint64_t start = clock_now_ns();
    for (int i = 0; i < run->options.warmup && !stopped(run); i++) {
        report(r, "warm-up", i, run->options.warmup, clock_seconds(start, clock_now_ns()), -1, NAN);
        struct run_sample s = one_step(run, w, -1);
        if (i == 0)
            run->warmup_first_s = s.step_s;
        if (!isfinite(s.loss))
            return err_set(e, ERR_WRONG_RESULT, "the loss is %f in warm-up step %d: not a finite number",
                           (double)s.loss, i);
    }
    return 0;
}

/* Floor passes are spread over the run, so that drift of the machine hits both alike. */
static void floor_if_due(struct run *run, struct worker *w, double timed_s, bool last)
{
    double spent = 0;
    for (int i = 0; i < run->floor_n; i++)
        spent += run->floor_s[i];
    while (run->options.floor && run->n > 0 && run->floor_n < FLOOR_MAX &&
           (spent * FLOOR_SHARE < timed_s || (last && run->floor_n < FLOOR_MIN))) {
        run->floor_s[run->floor_n] = floor_step(run, w);
        spent += run->floor_s[run->floor_n++];
    }
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

static int timed_steps(struct run *run, struct worker *w, const struct reporter *r, struct err *e)
{
    double timed_s = 0;
    uint64_t start = clock_now_ns();
    float loss = NAN;
    for (double elapsed = 0; !enough(run, elapsed) && !stopped(run); elapsed = clock_seconds(start, clock_now_ns())) {
        report(r, "training", run->n, run->options.steps, elapsed, time_left(run, elapsed), loss);
        if (grow(run, e))
            return -1;
        if (run->n == run->options.poison_step)
            run->net.param[run->net.layout.params - 1] = NAN;
        struct run_sample s = one_step(run, w, run->n);
        if (!isfinite(s.loss))
            return err_set(e, ERR_WRONG_RESULT,
                           "the loss is %f in step %d: not a finite number, so the run is void from there",
                           (double)s.loss, run->n);
        run->sample[run->n++] = s;
        loss = s.loss;
        timed_s += s.step_s;
        floor_if_due(run, w, timed_s, false);
    }
    if (!run->interrupted)
        floor_if_due(run, w, timed_s, true);
    return 0;
}

static void validate(struct run *run, struct worker *w, const struct reporter *r)
{
    int n = run->options.eval_batches;
    double sum = 0;
    uint64_t start = clock_now_ns();
    for (int i = 0; i < n && !stopped(run); i++) {
        report(r, "validation", i, n, clock_seconds(start, clock_now_ns()), -1, NAN);
        data_val_batch(&run->data, (uint64_t)i, run->options.batch, run->options.seq, w->inputs, w->targets);
        sum += net_loss(&run->net, w->inputs, w->targets);
    }
    if (n > 0 && !run->interrupted)
        run->eval_loss = sum / n;
}

/* FNV-1a over the parameters' bits, one 32-bit word at a time. */
static uint64_t checksum(const float *x, size_t n)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        h = (h ^ bits) * 0x100000001b3u;
    }
    return h;
}

static uint64_t peak_rss(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_maxrss * 1024;
}

static int train(struct run *run, struct worker *w, const struct reporter *r, struct err *e)
{
    const struct run_options *o = &run->options;
    report(r, "preparing", 0, 1, 0, -1, NAN);
    if (o->checkpoint) {
        if (checkpoint_load(o->checkpoint, &run->spec, &run->net.layout, run->net.param, e))
            return -1;
    } else {
        net_init_params(&run->net, o->seed);
    }
    run->stamp_cost_ns = clock_cost_ns();
    if (warm_up(run, w, r, e) || timed_steps(run, w, r, e))
        return -1;
    validate(run, w, r);
    run->peak_rss_bytes = peak_rss();
    run->param_checksum = checksum(run->net.param, run->net.layout.params);
    if (o->save && !run->interrupted)
        return checkpoint_save(o->save, &run->spec, &run->net.layout, run->net.param, e);
    return 0;
}

int run_execute(struct run *run, void (*progress)(void *ctx, const struct run_progress *p), void *ctx,
                struct notes *notes, struct err *e)
{
    struct reporter r = {progress, ctx};
    struct worker *w = calloc(1, sizeof *w);
    if (!w)
        return err_set(e, ERR_MEMORY, "no memory to start the run");
    size_t bytes = plan_batch_bytes(run);
    w->inputs = malloc(bytes);
    if (run->spec.kind == MODEL_GPT && w->inputs)
        w->targets = (int32_t *)((char *)w->inputs + bytes / 2);
    rng_init(&w->rng, run->options.seed, (uint64_t)run->options.rank + 1000);
    int result =
        w->inputs ? net_take(&run->net, e) : err_set(e, ERR_MEMORY, "no memory for %zu bytes of batches", bytes);
    if (result == 0)
        result = train(run, w, &r, e);
    if (run->peak_rss_bytes == 0)
        run->peak_rss_bytes = peak_rss();
    if (run->options.steps < 0 && run->n >= STEPS_MAX_BY_TIME)
        notes_add(notes, "stopped after %d steps, before the time was up: a sample of every step is kept", run->n);
    free(w->inputs);
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
    memset(run, 0, sizeof *run);
}
