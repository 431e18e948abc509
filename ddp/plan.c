/* ddp/plan.c - from options to a plan: the model, the data, files, memory. See run.h, run_plan(). */
#include "ddp/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ddp/feed.h"
#include "ddp/shares.h"
#include "model/checkpoint.h"

/* What one OpenBLAS thread touches of its packing buffer; measured: under 20 MB. */
enum { BLAS_BUFFER_BYTES = 32 << 20 };

size_t plan_layers(const struct model_spec *spec)
{
    return (size_t)(spec->kind == MODEL_GPT ? spec->L + 2 : spec->layers + 1);
}

/* All of 1024 positions of GPT-2: a second chunk of logits would hold up the first part of the head. */
enum { SPLIT_LOGITS_BYTES = 224 << 20 };

static int plan_spec(struct run *run, struct err *e)
{
    struct run_options *o = &run->options;
    if (model_spec_find(&run->spec, o->model, e))
        return -1;
    if (o->batch == 0)
        o->batch = run->spec.batch;
    if (o->seq == 0)
        o->seq = run->spec.seq;
    run->optimizer = run->spec.optimizer;
    if (o->lr >= 0)
        run->optimizer.lr = (float)o->lr;
    if (run->spec.kind == MODEL_GPT && o->seq > run->spec.context)
        return err_set(e, ERR_USAGE, "--seq %d exceeds the context of %s, which is %d", o->seq, o->model,
                       run->spec.context);
    return 0;
}

/* Whose sequences are whose, the same on every rank. */
static int plan_batches(struct run *run, struct err *e)
{
    struct run_options *o = &run->options;
    int world = o->world, all = o->global_batch / o->accum;
    run->batch_of = calloc((size_t)world, sizeof *run->batch_of);
    int *weight = calloc((size_t)world, sizeof *weight);
    if (!run->batch_of || !weight) {
        free(weight);
        return err_set(e, ERR_MEMORY, "no memory for %d ranks", world);
    }
    int result = shares_parse(o->shares, world, weight, e) ? err_context(e, "option --shares") : 0;
    if (result == 0 && o->global_batch % o->accum)
        result = err_set(e, ERR_USAGE, "--global-batch %d is not a multiple of --accum %d", o->global_batch, o->accum);
    if (result == 0 && o->global_batch == 0 && (int64_t)o->batch * world > 1 << 20)
        result = err_set(e, ERR_USAGE, "batch %d on %d ranks is more than 1,048,576 sequences", o->batch, world);
    if (result == 0)
        result = shares_divide(o->global_batch ? all : o->batch * world, weight, world, run->batch_of, e);
    free(weight);
    if (result)
        return -1;
    for (int r = 0; r < world; r++) {
        run->batch_before += r < o->rank ? run->batch_of[r] : 0;
        run->batch_all += run->batch_of[r];
        run->unequal |= run->batch_of[r] != run->batch_of[0];
    }
    o->batch = run->batch_of[o->rank];
    return 0;
}

static int plan_update(struct run_options *o, struct err *e)
{
    if (o->update == RUN_UPDATE_BUCKET && o->clip > 0)
        return err_set(e, ERR_USAGE,
                       "--optimizer-per-bucket yes with --clip %g: the norm is known only when every bucket is there",
                       o->clip);
    if (o->update == RUN_UPDATE_AUTO)
        o->update = o->schedule == SCHEDULE_SPLIT && o->clip <= 0 ? RUN_UPDATE_BUCKET : RUN_UPDATE_END;
    return 0;
}

static int plan_data(struct run *run, struct notes *notes, struct err *e)
{
    const struct run_options *o = &run->options;
    if (run->spec.kind == MODEL_MLP) {
        if (o->data || o->data_tokens)
            return err_set(e, ERR_USAGE, "%s trains on random vectors: --data does not apply", o->model);
        if (o->eval_batches)
            return err_set(e, ERR_USAGE, "%s trains on random vectors: --eval does not apply", o->model);
        return 0;
    }
    if (o->data_tokens && !o->data) {
        if (data_describe(&run->data, &run->spec, o->data_tokens, o->data_vocabulary, o->seq, o->split, e))
            return -1;
    } else if (data_open(&run->data, o->data, &run->spec, o->seq, o->split, o->eval_batches > 0, o->seed,
                         o->memory_limit_bytes, e)) {
        return -1;
    }
    if (o->data_tokens && (run->data.n != o->data_tokens || run->data.V != o->data_vocabulary))
        return err_set(e, ERR_PROTOCOL, "%s has changed since rank 0 asked about it", o->data);
    if (run->data.V != run->spec.V)
        notes_add(notes, "the text has %d different characters; the model's vocabulary is %d instead of %d",
                  run->data.V, run->data.V, run->spec.V);
    run->spec.V = run->data.V;
    return sampler_init(&run->sampler, run->data.train_n - (uint64_t)o->seq, run->unequal ? 0 : o->rank,
                        run->unequal ? 1 : o->world, o->drop_last, o->seed, e);
}

size_t plan_batch_bytes(const struct run *run)
{
    size_t positions = (size_t)run->options.batch * (size_t)run->options.seq * (size_t)run->options.accum;
    if (run->spec.kind == MODEL_MLP)
        return positions * (size_t)run->spec.dim[0] * sizeof(float);
    return 2 * positions * sizeof(int32_t);
}

static int plan_memory(struct run *run, struct err *e)
{
    const struct run_options *o = &run->options;
    run->planned_bytes = run->net.memory.bytes + plan_batch_bytes(run) + (run->data.token ? 2 * run->data.n : 0) +
                         (uint64_t)o->threads * BLAS_BUFFER_BYTES;
    if (o->world > 1 && run->spec.kind == MODEL_GPT && (o->data || o->data_tokens))
        run->planned_bytes += feed_bytes(run);
    if (o->world > 1 && o->schedule == SCHEDULE_SPLIT) /* the embedding's touched rows, at most one per position */
        run->planned_bytes += (uint64_t)run->batch_all * (uint64_t)o->seq * (uint64_t)run->spec.C * sizeof(float);
    if (o->memory_limit_bytes <= 0 || (double)run->planned_bytes <= o->memory_limit_bytes)
        return 0;
    return err_set(
        e, ERR_MEMORY,
        "%s with batch %d x sequence %d needs %.0f MB (%.0f MB of it weights, gradients and moments), but only "
        "%.0f MB are there (%s); lower --batch or --seq, or take a smaller model",
        o->model, o->batch, o->seq, (double)run->planned_bytes * 1e-6,
        (double)run->net.layout.params * (run->net.spec.optimizer.kind == OPTIMIZER_ADAMW ? 16 : 8) * 1e-6,
        o->memory_limit_bytes * 1e-6, o->memory_limit_source ? o->memory_limit_source : "free memory");
}

int run_plan(struct run *run, const struct run_options *options, struct notes *notes, struct err *e)
{
    memset(run, 0, sizeof *run);
    run->options = *options;
    run->patience.least_s = options->patience_s;
    run->eval_loss = run->agree_s = NAN;
    run->stage = "preparing";
    if (plan_spec(run, e) || plan_batches(run, e) || plan_data(run, notes, e))
        return -1;
    if (options->schedule == SCHEDULE_SPLIT && run->spec.kind != MODEL_GPT)
        return err_set(e, ERR_USAGE, "schedule split parts a tied embedding, and %s has none", run->spec.name);
    if (options->schedule == SCHEDULE_SPLIT && options->world > 1)
        run->spec.logits_bytes = SPLIT_LOGITS_BYTES;
    if (plan_update(&run->options, e))
        return -1;
    if (options->checkpoint && checkpoint_check(options->checkpoint, &run->spec, e))
        return -1;
    if (options->save && checkpoint_save_check(options->save, &run->spec, e))
        return -1;
    if (net_plan(&run->net, &run->spec, run->options.batch, run->options.seq, options->threads, e))
        return -1;
    return plan_memory(run, e);
}
