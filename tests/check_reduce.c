/*
 * tests/check_reduce.c - N ranks x B/N equal one rank x B.
 *
 * Ranks are threads with a net of one thread each, joined by a ring of sockets. The right values are those of one net
 * that sees all sequences in one batch: the gradient of the mean loss over all tokens, whatever the number of ranks, the
 * schedule, the bucket size and the ranks' shares. Tolerances: the sums differ in order only, so 1e-5 of a tensor's
 * largest element; two ranks have only one order, so there any bucket size gives the same bits.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ddp/reduce.h"
#include "tests/kit.h"
#include "tests/ring_kit.h"

enum { SEQ = 19, BATCH = 12, V = 61, STEPS = 3, RANKS = KIT_RANKS_MAX };

static const struct model_spec spec = {.name = "small",
                                       .kind = MODEL_GPT,
                                       .L = 2,
                                       .NH = 2,
                                       .C = 32,
                                       .V = V,
                                       .context = 24,
                                       .bias = true,
                                       .optimizer = {OPTIMIZER_ADAMW, 1e-3f, 0.9f, 0.95f, 1e-8f, 0.1f},
                                       .batch = BATCH,
                                       .seq = SEQ};

struct result {
    size_t n;
    float *grad, *param; /* of the first update; after the last */
    double loss[STEPS];
};

struct world {
    int ranks;
    int batch[RANKS];
    enum reduce_schedule schedule;
    double bucket_mib;
    struct optimizer_spec optimizer;
    bool per_bucket;
    const int32_t *tokens, *targets; /* [STEPS][BATCH][SEQ] */
    struct transport transport[RANKS];
    struct result result[RANKS];
};

static void open_net(struct net *net, int batch)
{
    struct err e;
    ck_assert_int_eq(net_plan(net, &spec, batch, SEQ, 1, &e), 0);
    ck_assert_int_eq(net_take(net, &e), 0);
    net_init_params(net, 5);
}

static float *copy_of(const float *x, size_t n)
{
    float *c = malloc(n * sizeof *c);
    memcpy(c, x, n * sizeof *c);
    return c;
}

static void train_rank(int rank, void *ctx)
{
    struct world *w = ctx;
    struct result *out = &w->result[rank];
    struct net *net = calloc(1, sizeof *net);
    struct reduce *r = calloc(1, sizeof *r);
    struct err e = {0};
    int before = 0;
    for (int i = 0; i < rank; i++)
        before += w->batch[i];
    open_net(net, w->batch[rank]);
    struct reduce_options options = {w->schedule, w->bucket_mib, w->batch};
    if (reduce_init(r, net, &w->transport[rank], &options, &e))
        ck_abort_msg("%s", e.text);
    for (int s = 0; s < STEPS; s++) {
        size_t at = (size_t)(s * BATCH + before) * SEQ;
        if (reduce_begin(r, (uint32_t)s, w->tokens + at, &e))
            ck_abort_msg("%s", e.text);
        out->loss[s] = net_step(net, w->tokens + at, w->targets + at, reduce_scale(r), false);
        struct reduce_update update = {&w->optimizer, s + 1};
        if (reduce_finish(r, w->per_bucket ? &update : NULL, &e))
            ck_abort_msg("%s", e.text);
        if (s == 0)
            out->grad = copy_of(net->grad, net->layout.params);
        if (!w->per_bucket)
            net_update(net, &w->optimizer, s + 1);
    }
    out->n = net->layout.params;
    out->param = copy_of(net->param, net->layout.params);
    reduce_fini(r);
    net_fini(net);
    free(r);
    free(net);
}

static void train_world(struct world *w)
{
    int next[RANKS], prev[RANKS];
    for (int i = 0; i < w->ranks && w->ranks > 1; i++) {
        int fds[2];
        kit_connect(KIT_UNIX, 0, fds);
        next[i] = fds[0];
        prev[(i + 1) % w->ranks] = fds[1];
    }
    for (int i = 0; i < w->ranks; i++) {
        struct err e;
        struct kit_options link = {.link = KIT_UNIX};
        struct ring_options options =
            kit_ring_options(i, w->ranks, w->ranks > 1 ? next[i] : -1, w->ranks > 1 ? prev[i] : -1, &link);
        ck_assert_int_eq(transport_open_tcp(&w->transport[i], &options, &e), 0);
    }
    kit_each_rank(w->ranks, train_rank, w);
    for (int i = 0; i < w->ranks; i++)
        transport_close(&w->transport[i]);
}

static struct world make_world(int ranks, const int *batch, enum reduce_schedule schedule, double bucket_mib,
                               enum optimizer_kind kind)
{
    struct world w = {.ranks = ranks, .schedule = schedule, .bucket_mib = bucket_mib, .optimizer = spec.optimizer};
    for (int i = 0; i < ranks; i++)
        w.batch[i] = batch ? batch[i] : BATCH / ranks;
    if (kind == OPTIMIZER_SGD)
        w.optimizer = (struct optimizer_spec){OPTIMIZER_SGD, 0.05f, 0, 0, 0, 0};
    w.tokens = kit_tokens(STEPS * BATCH * SEQ, V, 11);
    w.targets = kit_tokens(STEPS * BATCH * SEQ, V, 12);
    return w;
}

static void free_world(struct world *w)
{
    for (int i = 0; i < w->ranks; i++) {
        free(w->result[i].grad);
        free(w->result[i].param);
    }
}

/* Relative 2-norm of the difference. Key biases are left out: their true gradient is 0, and Adam makes steps of rounding. */
static double distance(const struct layout *l, const float *x, const float *y)
{
    double difference = 0, size = 0;
    for (int i = 0; i < l->n; i++) {
        const struct tensor *t = &l->tensor[i];
        bool qkv_bias = strstr(t->name, "qkv.bias") != NULL;
        for (size_t j = 0; j < t->count; j++) {
            if (qkv_bias && j >= t->count / 3 && j < 2 * t->count / 3)
                continue;
            double d = (double)x[t->offset + j] - y[t->offset + j];
            difference += d * d;
            size += (double)y[t->offset + j] * y[t->offset + j];
        }
    }
    return sqrt(difference / size);
}

static void compare(const struct world *w, const struct world *one)
{
    static struct layout layout;
    struct err e;
    ck_assert_int_eq(layout_init(&layout, &spec, &e), 0);
    for (int s = 0; s < STEPS; s++) {
        double loss = 0;
        for (int i = 0; i < w->ranks; i++)
            loss += w->result[i].loss[s] * w->batch[i] / BATCH;
        ck_assert_double_eq_tol(loss, one->result[0].loss[s], 1e-5 * one->result[0].loss[s]);
    }
    for (int i = 0; i < layout.n; i++) {
        const struct tensor *t = &layout.tensor[i];
        kit_close(t->name, w->result[0].grad + t->offset, one->result[0].grad + t->offset, t->count, 1e-5);
    }
    double d = distance(&layout, w->result[0].param, one->result[0].param);
    if (!(d <= 1e-5))
        ck_abort_msg("parameters after %d updates differ by %g of their norm", STEPS, d);
    for (int i = 1; i < w->ranks; i++) { /* the same bits on every rank */
        ck_assert_mem_eq(w->result[i].grad, w->result[0].grad, layout.params * sizeof(float));
        ck_assert_mem_eq(w->result[i].param, w->result[0].param, layout.params * sizeof(float));
    }
}

static const struct {
    int ranks;
    int batch[RANKS];
} shares[] = {{1, {12}},   {2, {6, 6}},    {3, {4, 4, 4}},   {4, {3, 3, 3, 3}},
              {2, {9, 3}}, {3, {7, 1, 4}}, {4, {1, 2, 4, 5}}};

enum { SHARES = sizeof shares / sizeof *shares };

/* _i: schedule, optimizer and shares */
START_TEST(ranks_equal_one_big_batch)
{
    int share = _i / 4;
    enum reduce_schedule schedule = _i % 2 ? SCHEDULE_SPLIT : SCHEDULE_DDP;
    enum optimizer_kind kind = _i / 2 % 2 ? OPTIMIZER_SGD : OPTIMIZER_ADAMW;
    int all[] = {BATCH};
    struct world one = make_world(1, all, SCHEDULE_DDP, 0, kind);
    struct world many = make_world(shares[share].ranks, shares[share].batch, schedule, 0.02, kind);
    train_world(&one);
    train_world(&many);
    compare(&many, &one);
    free_world(&one);
    free_world(&many);
    kit_release();
}
END_TEST

/* Two ranks add two numbers, and a + b = b + a: buckets cannot matter. With three the ring's order depends on where a
 * bucket's chunks begin: rounding, 1e-6 of the tensor's largest element. */
START_TEST(bucket_size_does_not_matter)
{
    int ranks = 2 + _i;
    struct world small = make_world(ranks, NULL, SCHEDULE_DDP, 0.001, OPTIMIZER_ADAMW);
    struct world large = make_world(ranks, NULL, SCHEDULE_DDP, 25, OPTIMIZER_ADAMW);
    train_world(&small);
    train_world(&large);
    size_t n = small.result[0].n;
    if (ranks == 2)
        ck_assert_mem_eq(small.result[0].param, large.result[0].param, n * sizeof(float));
    else
        kit_close("gradient", small.result[0].grad, large.result[0].grad, n, 1e-6);
    free_world(&small);
    free_world(&large);
    kit_release();
}
END_TEST

/* Every element is updated by itself from the same gradient, so when it happens cannot matter: the bits of the update at
 * the end, whatever the schedule, the bucket size, the optimizer and the ranks. _i: schedule, optimizer, bucket size. */
START_TEST(update_per_bucket_is_the_update_at_the_end)
{
    enum reduce_schedule schedule = _i % 2 ? SCHEDULE_SPLIT : SCHEDULE_DDP;
    enum optimizer_kind kind = _i / 2 % 2 ? OPTIMIZER_SGD : OPTIMIZER_ADAMW;
    double bucket_mib = _i / 4 ? 0.002 : 25; /* the head in many parts, in one */
    int batch[] = {7, 1, 4};
    struct world end = make_world(3, batch, schedule, bucket_mib, kind);
    struct world bucket = make_world(3, batch, schedule, bucket_mib, kind);
    bucket.per_bucket = true;
    train_world(&end);
    train_world(&bucket);
    for (int i = 0; i < 3; i++)
        ck_assert_mem_eq(bucket.result[i].param, end.result[i].param, end.result[i].n * sizeof(float));
    free_world(&end);
    free_world(&bucket);
    kit_release();
}
END_TEST

/* Rank A has 3 sequences whose mean gradient is 2, rank B one with 6: the mean over all is (3 x 2 + 1 x 6) / 4 = 3. */
START_TEST(mean_is_weighted_by_tokens)
{
    int batch[] = {3, 1};
    struct world w = make_world(2, batch, SCHEDULE_DDP, 0, OPTIMIZER_ADAMW);
    float mean[] = {2, 6}, sum = 0;
    int next[2];
    kit_connect(KIT_UNIX, 0, next);
    for (int i = 0; i < 2; i++) {
        static struct net net;
        static struct reduce r;
        struct err e;
        struct kit_options link = {.link = KIT_DUPLEX};
        struct ring_options options = kit_ring_options(i, 2, next[i], next[i], &link);
        struct reduce_options reduce = {SCHEDULE_DDP, 0, batch};
        ck_assert_int_eq(transport_open_tcp(&w.transport[i], &options, &e), 0);
        open_net(&net, batch[i]);
        ck_assert_int_eq(reduce_init(&r, &net, &w.transport[i], &reduce, &e), 0);
        sum += reduce_scale(&r) * mean[i];
        reduce_fini(&r);
        net_fini(&net);
    }
    for (int i = 0; i < 2; i++)
        transport_close(&w.transport[i]);
    ck_assert_float_eq(sum, 3);
    kit_release();
}
END_TEST

/* GPT-2's plan: PyTorch's 13 buckets, as published in its own logs; the whole gradient is in them once. */
START_TEST(plan_of_gpt2)
{
    static struct reduce r;
    static struct layout layout;
    struct model_spec gpt2;
    struct err e;
    size_t sum_of_head = 0;
    ck_assert_int_eq(model_spec_find(&gpt2, "gpt2-124m", &e), 0);
    ck_assert_int_eq(layout_init(&layout, &gpt2, &e), 0);
    reduce_plan(&r, &layout, SCHEDULE_DDP, 0);
    ck_assert_int_eq(r.n, 13);
    ck_assert_uint_eq(r.bucket[0].count * 4, 9446400);
    ck_assert_uint_eq(r.bucket[1].count * 4, 28351488);
    ck_assert_uint_eq(r.bucket[12].count * 4, 176446464);
    size_t sum = 0;
    for (int i = 0; i < r.n; i++)
        sum += r.bucket[i].count;
    ck_assert_uint_eq(sum, 124439808);
    reduce_plan(&r, &layout, SCHEDULE_SPLIT, 0);
    ck_assert_int_eq(r.head_bucket, 0);
    ck_assert_int_eq(r.head_parts, 24); /* 154,389,504 bytes, at most 6,553,601 each, of whole rows */
    for (int p = 0; p < r.head_parts; p++) {
        ck_assert_uint_eq(r.bucket[p].offset, sum_of_head);
        ck_assert_uint_eq(r.bucket[p].count % 768, 0);
        ck_assert_uint_le(r.bucket[p].count * 4, 6553601);
        sum_of_head += r.bucket[p].count;
    }
    ck_assert_uint_eq(sum_of_head * 4, 154389504);
    ck_assert_int_eq(r.rows_bucket, r.n - 1);
    for (sum = 0, r.n--; r.n >= 0; r.n--)
        sum += r.bucket[r.n].count;
    ck_assert_uint_eq(sum, 124439808);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reduce");
    TCase *tc = tcase_create("reduce");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, ranks_equal_one_big_batch, 0, 4 * SHARES);
    tcase_add_loop_test(tc, bucket_size_does_not_matter, 0, 2);
    tcase_add_loop_test(tc, update_per_bucket_is_the_update_at_the_end, 0, 8);
    tcase_add_test(tc, mean_is_weighted_by_tokens);
    tcase_add_test(tc, plan_of_gpt2);
    suite_add_tcase(suite, tc);
    return kit_main(suite);
}
