/*
 * ddp/step.c - see step.h. Start at step_take(): micro-batches, the wait for the reduction, the optimizer.
 */
#include "config.h" /* sched_getaffinity */

#include "ddp/step.h"

#include <malloc.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "ddp/plan.h"
#include "model/kernels.h"

/* ---- batches ---- */

static size_t batch_positions(const struct run *run)
{
    return (size_t)run->options.batch * (size_t)run->options.seq;
}

/* Vectors come from one stream for all ranks, so that N ranks together draw what one rank with their batch would. */
static void draw_vectors(struct step_worker *w, float *x)
{
    const struct run *run = w->run;
    size_t dim = (size_t)run->spec.dim[0];
    for (int k = 0; k < run->options.accum; k++)
        for (int b = 0; b < run->batch_all; b++) {
            int own = b - run->batch_before;
            for (size_t i = 0; i < dim; i++) {
                float value = (float)rng_normal(&w->rng);
                if (own >= 0 && own < run->options.batch)
                    *x++ = value;
            }
        }
}

/* With equal batches a rank takes every world-th window, as the sampler was told. With unequal ones all ranks walk through
 * the same order, and each takes its part of every global batch. */
static int fetch(struct step_worker *w, struct err *e)
{
    struct run *run = w->run;
    const struct run_options *o = &run->options;
    if (w->peeked) {
        w->peeked = false;
        return 0;
    }
    if (run->spec.kind == MODEL_MLP) {
        if (!o->replay || o->replay->n == 0) /* vectors that are slept through need not be drawn, which takes long */
            draw_vectors(w, w->inputs);
        return 0;
    }
    if (w->feed)
        return feed_take(w->feed, run, w->inputs, w->targets, e);
    for (int k = 0; k < o->accum; k++) {
        size_t at = (size_t)k * batch_positions(run);
        if (run->unequal)
            sampler_skip(&run->sampler, (uint64_t)run->batch_before);
        data_next_batch(&run->data, &run->sampler, o->batch, o->seq, (int32_t *)w->inputs + at, w->targets + at);
        if (run->unequal)
            sampler_skip(&run->sampler, (uint64_t)(run->batch_all - run->batch_before - o->batch));
    }
    return 0;
}

static const void *micro_inputs(const struct step_worker *w, int k)
{
    const struct run *run = w->run;
    size_t at = (size_t)k * batch_positions(run);
    if (run->spec.kind == MODEL_MLP)
        return (const float *)w->inputs + at * (size_t)run->spec.dim[0];
    return (const int32_t *)w->inputs + at;
}

/* ---- life ---- */

/* More than 1024 CPUs do not fit in the set, and then there is one to spare. Of a quota a whole one has to be left. */
static bool has_spare_cpu(const struct run_options *o)
{
    cpu_set_t set;
    if (o->quota_cpus > 0 && o->quota_cpus < o->threads + 1)
        return false;
    return sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) > o->threads;
}

static int open_reduction(struct step_worker *w, struct err *e)
{
    struct run *run = w->run;
    const struct run_options *o = &run->options;
    struct reduce_options options = {o->schedule, o->bucket_mib, run->batch_of};
    w->reduce = calloc(1, sizeof *w->reduce);
    if (!w->reduce)
        return err_set(e, ERR_MEMORY, "no memory for the plan of the buckets");
    if (o->roam)
        o->roam(o->roam_ctx, true); /* the communication thread inherits where it may run */
    run->shares_processor = !has_spare_cpu(o);
    int result = team_open_gradients(o->team, e);
    if (result == 0)
        result = reduce_init(w->reduce, &run->net, o->team->gradients, &options, e);
    if (o->roam)
        o->roam(o->roam_ctx, false);
    if (result)
        return -1;
    run->transport = o->team->gradients->ops->name;
    run->why_opaque = o->team->gradients->ops->why_opaque;
    run->buckets = w->reduce->n;
    run->bucket = calloc((size_t)run->buckets, sizeof *run->bucket);
    run->alone_ready_s = calloc((size_t)run->buckets * RUN_ALONE_MAX, sizeof *run->alone_ready_s);
    if (!run->bucket || !run->alone_ready_s)
        return err_set(e, ERR_MEMORY, "no memory for the plan of the buckets");
    memcpy(run->bucket, w->reduce->bucket, (size_t)run->buckets * sizeof *run->bucket);
    return 0;
}

int step_open(struct step_worker *w, struct run *run, struct err *e)
{
    size_t bytes = plan_batch_bytes(run);
    *w = (struct step_worker){.run = run, .inputs = malloc(bytes)};
    if (!w->inputs)
        return err_set(e, ERR_MEMORY, "no memory for %zu bytes of batches", bytes);
    if (run->spec.kind == MODEL_GPT)
        w->targets = (int32_t *)((char *)w->inputs + bytes / 2);
    rng_init(&w->rng, run->options.seed, 1000);
    if (run->options.team && open_reduction(w, e))
        return -1;
    struct timeline_shape shape = {(int)plan_layers(&run->spec), run->options.accum, run->buckets,
                                   net_head_slices(&run->net)};
    return timeline_open(&run->timeline, &shape, e);
}

void step_close(struct step_worker *w)
{
    if (w->reduce)
        reduce_fini(w->reduce);
    free(w->reduce);
    free(w->inputs);
    *w = (struct step_worker){0};
}

/* ---- forward, backward, reduction ---- */

static void harvest(struct step_worker *w)
{
    struct net_trace *trace = &w->run->net.trace;
    for (int i = 0; i < trace->n; i++) {
        const struct phase *p = &trace->phase[i];
        w->layer_s[p->layer + 1][p->kind] += clock_seconds(p->start_ns, p->end_ns);
    }
    w->run->stamps_per_step += trace->n;
    trace->n = 0;
}

/* The mean loss of the micro-batches; with a reduction net.grad is then the mean gradient of all ranks, and, given an
 * update, the parameters are updated. */
static int all_micro_batches(struct step_worker *w, struct reduce *reduce, const struct reduce_update *update,
                             int number, float *loss, struct err *e)
{
    struct run *run = w->run;
    int K = run->options.accum;
    float scale = (reduce ? reduce_scale(reduce) : 1) / (float)K;
    *loss = 0;
    for (int k = 0; k < K; k++) {
        size_t at = (size_t)k * batch_positions(run);
        const int32_t *targets = w->targets ? w->targets + at : NULL;
        if (k == K - 1) {
            net_trace_reset(&run->net);
            if (reduce && reduce_begin(reduce, (uint32_t)number, micro_inputs(w, k), e))
                return -1;
        }
        *loss += net_step(&run->net, micro_inputs(w, k), targets, scale, k > 0) / (float)K;
        if (net_abandoned(&run->net))
            return err_set(e, ERR_PEER_LOST, "another rank was lost at step %d", number);
        timeline_micro_batch(&run->timeline, run->net.trace.phase, run->net.trace.n, k, K, reduce != NULL);
        harvest(w);
    }
    return reduce ? reduce_finish(reduce, update, e) : 0;
}

/* ---- what a step cost ---- */

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

/* Seconds from start to an instant, NaN for one that never came. */
static double since(uint64_t start_ns, uint64_t at_ns)
{
    return at_ns ? ((double)at_ns - (double)start_ns) * 1e-9 : NAN;
}

/* Of a call's duration; NaN if its transport does not tell. */
static double part(const struct call *call, uint64_t ns)
{
    return call->opaque ? NAN : (double)ns * 1e-9;
}

static void add_call(struct run_sample *s, const struct call *call)
{
    s->communication_s += clock_seconds(call->start_ns, call->end_ns);
    s->seal_s += part(call, call->seal_ns);
    s->payload_bytes += call->opaque ? NAN : (double)call->sent_bytes;
    s->wait_s += part(call, call->wait_ns);
    s->cpu_s += part(call, call->cpu_ns);
}

static void keep_buckets(const struct step_worker *w, uint64_t start_ns, int row, struct run_sample *s)
{
    const struct reduce *r = w->reduce;
    w->run->slice_ns = r->overlap.slice_ns;
    if (r->transport == &w->run->options.team->ring)
        memcpy(w->run->congestion, r->transport->ring.data.congestion, sizeof w->run->congestion);
    if (r->ids_call.end_ns)
        add_call(s, &r->ids_call);
    for (int b = 0; b < r->n; b++) {
        const struct overlap_record *record = &r->overlap.record[b];
        const struct call *call = &record->call;
        add_call(s, call);
        if (row < 0)
            continue;
        double *to = w->run->bucket_s + ((size_t)row * (size_t)r->n + (size_t)b) * RUN_BUCKET_COLUMNS;
        to[RUN_BUCKET_READY] = since(start_ns, record->ready_ns);
        to[RUN_BUCKET_START] = since(start_ns, call->start_ns);
        to[RUN_BUCKET_FIRST_BYTE] = since(start_ns, call->first_byte_ns);
        to[RUN_BUCKET_END] = since(start_ns, call->end_ns);
        to[RUN_BUCKET_WAIT] = part(call, call->wait_ns);
        to[RUN_BUCKET_MOVE] = part(call, call->move_ns);
        to[RUN_BUCKET_SUM] = part(call, call->sum_ns);
        to[RUN_BUCKET_CHECK] = part(call, call->check_ns);
        to[RUN_BUCKET_SEAL] = part(call, call->seal_ns);
        to[RUN_BUCKET_BYTES] = (double)(r->span[b].n * sizeof(float));
    }
}

/* The step's layers and micro-batches are there already. */
static void keep_timeline(const struct step_worker *w, bool per_bucket, uint64_t middle_ns, uint64_t end_ns)
{
    struct run *run = w->run;
    struct timeline *t = &run->timeline;
    const struct reduce *r = w->reduce;
    timeline_layers(t, run->net.trace.phase, run->net.trace.n);
    for (int b = 0; per_bucket && b < r->n; b++)
        timeline_update(t, r->update_start_ns[b], r->update_end_ns[b], true);
    if (!per_bucket)
        timeline_update(t, middle_ns, end_ns, r != NULL);
    if (r && r->ids_call.end_ns)
        timeline_bucket(t, -1, (uint64_t)r->positions_all * sizeof *r->ids, 0, &r->ids_call);
    for (int b = 0; r && b < r->n; b++)
        timeline_bucket(t, b, r->span[b].n * sizeof(float), r->overlap.record[b].ready_ns, &r->overlap.record[b].call);
    timeline_end(t, end_ns);
}

static void keep_layers(const struct step_worker *w, uint64_t start_ns, int row)
{
    struct run *run = w->run;
    size_t layers = plan_layers(&run->spec), tensors = (size_t)run->net.layout.n;
    memcpy(run->layer_s + (size_t)row * layers * 3, w->layer_s, layers * 3 * sizeof(double));
    for (size_t i = 0; i < tensors; i++)
        run->ready_s[(size_t)row * tensors + i] = clock_seconds(start_ns, run->net.trace.ready_ns[i]);
}

int step_take(struct step_worker *w, int number, int row, struct run_sample *s, struct err *e)
{
    struct run *run = w->run;
    const struct run_options *o = &run->options;
    *s = (struct run_sample){.sent_bytes = NAN};
    uint64_t t0 = clock_now_ns();
    if (fetch(w, e))
        return -1;
    memset(w->layer_s, 0, sizeof w->layer_s);
    run->stamps_per_step = 0;
    s->data_s = clock_seconds(t0, clock_now_ns());

    int64_t sent = o->team ? team_sent_bytes(o->team) : -1;
    size_t heap = heap_bytes();
    s->minor_faults = minor_faults();
    if (o->replay)
        replay_begin(o->replay, w->reduce != NULL);
    uint64_t start = s->start_ns = clock_now_ns();
    if (row >= 0)
        timeline_begin(&run->timeline, row, start);
    struct reduce_update update = {&run->optimizer, ++w->update};
    bool per_bucket = w->reduce && o->update == RUN_UPDATE_BUCKET;
    if (all_micro_batches(w, w->reduce, per_bucket ? &update : NULL, number, &s->loss, e)) {
        timeline_drop(&run->timeline);
        return -1;
    }
    uint64_t middle = clock_now_ns();
    if (o->clip > 0 && !o->replay) /* its time is part of the recorded optimizer's */
        net_clip(&run->net, (float)o->clip);
    if (!per_bucket)
        net_update(&run->net, update.optimizer, update.t);
    uint64_t end = clock_now_ns();
    s->minor_faults = minor_faults() - s->minor_faults;
    if (row >= 0)
        run->allocated_in_timed_region += (int64_t)heap_bytes() - (int64_t)heap;
    if (sent >= 0)
        s->sent_bytes = (double)(team_sent_bytes(o->team) - sent);

    keep_timeline(w, per_bucket, middle, end);
    harvest(w);
    run->stamps_per_step += run->net.trace.ready_n * o->accum;
    s->step_s = clock_seconds(start, end);
    s->optimizer_s = clock_seconds(middle, end);
    for (int l = 0; l < STEP_LAYERS_MAX; l++)
        s->forward_s += w->layer_s[l][PHASE_FORWARD];
    double updated_s = 0;
    if (w->reduce) {
        const struct reduce_times *times = &w->reduce->times;
        s->exposed_s = (double)(times->begin_ns + times->exposed_ns) * 1e-9;
        s->hidden_update_s = (double)times->hidden_ns * 1e-9;
        updated_s = (double)times->update_ns * 1e-9;
    }
    s->optimizer_s += updated_s;
    s->backward_s = clock_seconds(start, middle) - s->forward_s - s->exposed_s - updated_s;
    if (w->reduce)
        keep_buckets(w, start, row, s);
    if (row >= 0)
        keep_layers(w, start, row);
    return o->replay ? replay_wrong(o->replay, e) : 0;
}

int step_peek(struct step_worker *w, struct err *e)
{
    if (fetch(w, e))
        return -1;
    w->peeked = true;
    return 0;
}

static double forward_of(const struct step_worker *w)
{
    double sum = 0;
    for (int l = 0; l < STEP_LAYERS_MAX; l++)
        sum += w->layer_s[l][PHASE_FORWARD];
    return sum;
}

/* A learning rate of 0 does all the work of an update and changes no parameter: p x 1 - 0 x anything finite. */
struct step_alone step_alone(struct step_worker *w)
{
    struct run *run = w->run;
    int stamps = run->stamps_per_step; /* of a step of training */
    struct optimizer_spec still = run->optimizer;
    struct step_alone alone = {.step_s = -1, .start_ns = clock_now_ns()};
    if (run->options.replay)
        replay_begin(run->options.replay, false);
    memset(w->layer_s, 0, sizeof w->layer_s);
    still.lr = 0;
    float loss;
    if (w->reduce)
        reduce_watch(w->reduce, true);
    int result = all_micro_batches(w, NULL, NULL, 0, &loss, NULL);
    if (w->reduce)
        reduce_watch(w->reduce, false);
    run->stamps_per_step = stamps;
    if (result)
        return alone;
    alone.backward_s = clock_seconds(alone.start_ns, clock_now_ns());
    alone.forward_s = forward_of(w);
    if (run->options.clip > 0 && !run->net.stand_in)
        net_clip(&run->net, (float)run->options.clip);
    net_update(&run->net, &still, 1);
    alone.step_s = clock_seconds(alone.start_ns, clock_now_ns());
    run->net.trace.n = 0;
    return alone;
}

int step_record(struct step_worker *w, struct replay_step *segments, double *ready_s)
{
    struct run *run = w->run;
    struct optimizer_spec still = run->optimizer;
    int stamps = run->stamps_per_step;
    still.lr = 0;
    float loss;
    memset(w->layer_s, 0, sizeof w->layer_s);
    uint64_t start = clock_now_ns();
    int result = all_micro_batches(w, NULL, NULL, 0, &loss, NULL);
    run->stamps_per_step = stamps;
    if (result)
        return -1;
    uint64_t middle = clock_now_ns();
    if (run->options.clip > 0)
        net_clip(&run->net, (float)run->options.clip);
    net_update(&run->net, &still, 1);
    segments->optimizer_s = clock_seconds(middle, clock_now_ns());
    segments->forward_s = forward_of(w);
    segments->backward_s = clock_seconds(start, middle) - segments->forward_s;
    for (int i = 0; i < run->net.layout.n; i++)
        ready_s[i] = clock_seconds(start, run->net.trace.ready_ns[i]);
    run->net.trace.n = 0;
    return 0;
}

double step_floor(struct step_worker *w)
{
    struct run *run = w->run;
    const struct kernels *real = run->net.k;
    float loss;
    net_use_kernels(&run->net, &kernels_null);
    int stamps = run->stamps_per_step;
    uint64_t start = clock_now_ns();
    all_micro_batches(w, NULL, NULL, 0, &loss, NULL);
    double took = clock_seconds(start, clock_now_ns());
    run->stamps_per_step = stamps;
    net_use_kernels(&run->net, real);
    return took;
}
