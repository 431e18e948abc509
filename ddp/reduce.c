/*
 * ddp/reduce.c - see reduce.h. A bucket is one span of the flat gradient: tensors become complete in reverse registration
 * order, which model/gpt.c and model/mlp.c follow and the plan relies on, so consecutive ones lie side by side.
 */
#include "ddp/reduce.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "model/kernels.h"

/* ---- plan ---- */

static void add_bucket(struct reduce *r, const struct layout *l, int from, int to)
{
    /* tensors from .. to in registration order, to complete first */
    struct reduce_bucket *b = &r->bucket[r->n];
    b->last = from;
    b->tensors = to - from + 1;
    b->offset = l->tensor[from].offset;
    b->count = l->tensor[to].offset + l->tensor[to].count - b->offset;
    r->bucket_of[from] = r->n++;
}

/* Tensors n-1 down to first, cut by PyTorch's rule. */
static void add_reversed(struct reduce *r, const struct layout *l, int first, double bucket_mib)
{
    size_t bytes[TENSORS_MAX];
    struct bucket cut[TENSORS_MAX];
    int n = l->n - first;
    for (int i = 0; i < n; i++)
        bytes[i] = l->tensor[l->n - 1 - i].count * sizeof(float);
    int buckets = bucket_split(bytes, n, bucket_caps_for(bucket_mib), cut);
    for (int i = 0; i < buckets; i++)
        add_bucket(r, l, l->n - 1 - (cut[i].first + cut[i].n - 1), l->n - 1 - cut[i].first);
}

/* The head's rows in parts of at most a quarter of a bucket's size, each its own bucket: the first byte leaves when the first
 * part is done, and a link that is the bottleneck never catches up with what it waited before. */
static void add_head(struct reduce *r, const struct tensor *wte, double bucket_mib)
{
    size_t cap = bucket_caps_for(bucket_mib).other_bytes / 4 + 1, cols = (size_t)wte->cols;
    size_t parts = (wte->count * sizeof(float) - 1) / cap + 1;
    r->head_parts = parts < REDUCE_HEAD_PARTS_MAX ? (int)parts : REDUCE_HEAD_PARTS_MAX;
    r->head_bucket = r->n;
    for (int p = 0; p < r->head_parts; p++) {
        size_t first = (size_t)net_head_row(wte->rows, r->head_parts, p) * cols;
        size_t end = (size_t)net_head_row(wte->rows, r->head_parts, p + 1) * cols;
        r->bucket[r->n++] = (struct reduce_bucket){REDUCE_HEAD_PART, 1, wte->offset + first, end - first};
    }
}

void reduce_plan(struct reduce *r, const struct layout *layout, enum reduce_schedule schedule, double bucket_mib)
{
    r->schedule = schedule;
    r->n = 0;
    r->head_bucket = r->rows_bucket = -1;
    r->head_parts = 0;
    memset(r->bucket_of, -1, sizeof r->bucket_of);
    if (schedule == SCHEDULE_DDP) {
        add_reversed(r, layout, 0, bucket_mib);
        return;
    }
    const struct tensor *wte = &layout->tensor[layout->wte];
    add_head(r, wte, bucket_mib);
    add_reversed(r, layout, layout->wte + 1, bucket_mib);
    r->rows_bucket = r->n;
    r->bucket[r->n++] = (struct reduce_bucket){REDUCE_TOUCHED_ROWS, 1, wte->offset, 0};
}

/* ---- life ---- */

static int take_rows(struct reduce *r, struct err *e)
{
    const struct net *net = r->net;
    size_t all = (size_t)r->positions_all, own = (size_t)net->B * (size_t)net->T;
    r->ids = calloc(all, sizeof *r->ids);
    r->row_of_id = calloc((size_t)net->spec.V, sizeof *r->row_of_id);
    r->id_of_row = calloc(all, sizeof *r->id_of_row);
    r->row = calloc(own, sizeof *r->row);
    r->rows = calloc(all * (size_t)net->spec.C, sizeof *r->rows);
    if (!r->ids || !r->row_of_id || !r->id_of_row || !r->row || !r->rows)
        return err_set(e, ERR_MEMORY, "no memory for the touched embedding rows of %d positions", r->positions_all);
    return 0;
}

static void ready(void *ctx, const struct tensor *tensor, uint64_t now_ns)
{
    struct reduce *r = ctx;
    (void)now_ns;
    int index = (int)(tensor - r->net->layout.tensor);
    if (r->bucket_of[index] >= 0)
        overlap_ready(&r->overlap, r->bucket_of[index]);
}

static void head_part(void *ctx, int part, uint64_t now_ns)
{
    struct reduce *r = ctx;
    (void)now_ns;
    overlap_ready(&r->overlap, r->head_bucket + part);
}

static void see(void *ctx, const struct tensor *tensor, uint64_t now_ns)
{
    struct reduce *r = ctx;
    int index = (int)(tensor - r->net->layout.tensor);
    if (r->bucket_of[index] >= 0)
        r->seen_ns[r->bucket_of[index]] = now_ns;
    if (r->rows_bucket >= 0 && index == r->net->layout.wte)
        r->seen_ns[r->rows_bucket] = now_ns;
}

static void see_head(void *ctx, int part, uint64_t now_ns)
{
    struct reduce *r = ctx;
    r->seen_ns[r->head_bucket + part] = now_ns;
}

static void listen(struct reduce *r, void (*tensor)(void *, const struct tensor *, uint64_t),
                   void (*part)(void *, int, uint64_t))
{
    r->net->ready = tensor;
    r->net->head_part = r->head_parts ? part : NULL;
    r->net->head_parts = r->head_parts;
    r->net->ready_ctx = r;
}

void reduce_watch(struct reduce *r, bool on)
{
    listen(r, on ? see : NULL, on ? see_head : NULL);
}

int reduce_init(struct reduce *r, struct net *net, struct transport *transport, const struct reduce_options *options,
                struct err *e)
{
    memset(r, 0, sizeof *r);
    r->net = net;
    r->transport = transport;
    if (options->schedule == SCHEDULE_SPLIT && net->spec.kind != MODEL_GPT)
        return err_set(e, ERR_USAGE, "schedule split parts a tied embedding, and %s has none", net->spec.name);
    reduce_plan(r, &net->layout, options->schedule, options->bucket_mib);
    for (int i = 0; i < transport->world; i++) {
        int positions = (options->batch_of ? options->batch_of[i] : net->B) * net->T;
        if (i < transport->rank)
            r->position0 += positions;
        r->positions_all += positions;
    }
    r->scale = (float)((double)(net->B * net->T) / (double)r->positions_all);
    if (options->schedule == SCHEDULE_SPLIT && take_rows(r, e))
        return -1;
    if (overlap_start(&r->overlap, transport, r->n, e))
        return -1;
    r->overlap_running = true;
    return 0;
}

void reduce_fini(struct reduce *r)
{
    if (r->overlap_running)
        overlap_stop(&r->overlap);
    if (!r->transport || !r->transport->unfinished) {
        free(r->ids);
        free(r->rows);
    }
    free(r->row_of_id);
    free(r->id_of_row);
    free(r->row);
    memset(r, 0, sizeof *r);
}

/* ---- one update ---- */

/* Every rank learns every id: each fills in its own and the sum is all of them. Rows are numbered in order of id, which
 * is the same on all ranks. */
static int agree_on_rows(struct reduce *r, uint32_t step, const int32_t *tokens, struct err *e)
{
    struct net *net = r->net;
    r->ids_call = (struct call){.step = step};
    int own = net->B * net->T, V = net->spec.V;
    memset(r->ids, 0, (size_t)r->positions_all * sizeof *r->ids);
    for (int i = 0; i < own; i++)
        r->ids[r->position0 + i] = (float)tokens[i];
    if (transport_allreduce(r->transport, r->ids, (size_t)r->positions_all, &r->ids_call, e))
        return -1;
    memset(r->row_of_id, -1, (size_t)V * sizeof *r->row_of_id);
    for (int i = 0; i < r->positions_all; i++) {
        if (!(r->ids[i] >= 0 && r->ids[i] < (float)V))
            return err_set(e, ERR_PROTOCOL, "step %u: a peer's token id %.0f is not below the vocabulary of %d", step,
                           (double)r->ids[i], V);
        r->row_of_id[(int)r->ids[i]] = 0;
    }
    r->rows_n = 0;
    for (int id = 0; id < V; id++)
        if (r->row_of_id[id] == 0) {
            r->id_of_row[r->rows_n] = id;
            r->row_of_id[id] = r->rows_n++;
        }
    for (int i = 0; i < own; i++)
        r->row[i] = r->row_of_id[tokens[i]];
    memset(r->rows, 0, (size_t)r->rows_n * (size_t)net->spec.C * sizeof *r->rows);
    return 0;
}

int reduce_begin(struct reduce *r, uint32_t step, const int32_t *tokens, struct err *e)
{
    struct net *net = r->net;
    r->times = (struct reduce_times){.begin_ns = clock_now_ns()};
    if (r->schedule == SCHEDULE_SPLIT && agree_on_rows(r, step, tokens, e))
        return -1;
    r->times.begin_ns = clock_now_ns() - r->times.begin_ns;
    for (int b = 0; b < r->n; b++)
        r->span[b] = (struct overlap_bucket){net->grad + r->bucket[b].offset, r->bucket[b].count};
    if (r->schedule == SCHEDULE_SPLIT) {
        r->span[r->rows_bucket] = (struct overlap_bucket){r->rows, (size_t)r->rows_n * (size_t)net->spec.C};
        net->apart = r->rows;
        net->apart_row = r->row;
    }
    listen(r, ready, head_part);
    return overlap_begin(&r->overlap, step, r->span, r->n, e);
}

static void add_touched_rows(struct reduce *r)
{
    struct net *net = r->net;
    size_t C = (size_t)net->spec.C;
    float *wte = net->grad + net->layout.tensor[net->layout.wte].offset;
    for (int i = 0; i < r->rows_n; i++)
        net->k->add(wte + (size_t)r->id_of_row[i] * C, r->rows + (size_t)i * C, C);
}

/* A row of the embedding that somebody's tokens touched has its gradient only when the touched rows are here, too. */
static void update_bucket(struct reduce *r, int b, const struct reduce_update *update)
{
    struct net *net = r->net;
    int wte = net->layout.wte, part = b - r->head_bucket;
    struct net_rows rows = {.end = net->spec.V, .mark = r->row_of_id, .marked = true};
    if (r->bucket[b].last >= 0) {
        net_update_span(net, update->optimizer, update->t, r->bucket[b].offset, r->bucket[b].count);
        return;
    }
    if (r->bucket[b].last == REDUCE_HEAD_PART) {
        rows.first = net_head_row(net->spec.V, r->head_parts, part);
        rows.end = net_head_row(net->spec.V, r->head_parts, part + 1);
        rows.marked = false;
    }
    net_update_rows(net, update->optimizer, update->t, wte, &rows);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* What of the updates lay before the end of the last bucket. */
static uint64_t hidden_ns(const struct reduce *r)
{
    uint64_t end = r->overlap.record[r->n - 1].call.end_ns, sum = 0;
    for (int b = 0; b < r->n; b++)
        sum += earlier(r->update_end_ns[b], end) - earlier(r->update_start_ns[b], end);
    return sum;
}

int reduce_finish(struct reduce *r, const struct reduce_update *update, struct err *e)
{
    struct reduce_times *times = &r->times;
    if (r->schedule == SCHEDULE_SPLIT)
        overlap_ready(&r->overlap, r->rows_bucket);
    listen(r, NULL, NULL);
    r->net->apart = NULL;
    for (int b = update ? 0 : r->n - 1; b < r->n; b++) {
        uint64_t from = clock_now_ns();
        if (overlap_wait(&r->overlap, b + 1, e))
            return -1;
        if (b == r->rows_bucket)
            add_touched_rows(r);
        uint64_t here = clock_now_ns();
        times->exposed_ns += here - from;
        if (!update)
            continue;
        update_bucket(r, b, update);
        r->update_start_ns[b] = here;
        r->update_end_ns[b] = clock_now_ns();
        times->update_ns += r->update_end_ns[b] - here;
    }
    times->hidden_ns = update ? hidden_ns(r) : 0;
    return 0;
}
