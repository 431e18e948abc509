/*
 * cli/cmd_info.c - what a model is, without running it: parameters counted the ways people count them,
 * gradient bytes and the buckets they travel in, tensors, operations per token, memory for a batch.
 *
 * "124M" is ambiguous: a tied head may be counted twice, positions left out, the vocabulary padded. What travels
 * between nodes is the gradient of the unique parameters, so that is the number the others are shown beside.
 */
#include "config.h" /* _GNU_SOURCE, for the affinity mask */

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "ddp/reduce.h"
#include "model/net.h"
#include "report/table.h"

enum { VOCABULARY_MULTIPLE = 64 }; /* nanoGPT's and llm.c's 50304 */

struct counts { /* 0: does not apply */
    size_t unique, without_positions, untied, other_biases, padded;
    int padded_V;
};

static int params_of(const struct model_spec *spec, size_t *params, struct err *e)
{
    struct layout *l = malloc(sizeof *l);
    if (!l)
        return err_set(e, ERR_MEMORY, "out of memory");
    int result = layout_init(l, spec, e);
    *params = result == 0 ? l->params : 0;
    free(l);
    return result;
}

static int count(struct counts *c, const struct model_spec *spec, struct err *e)
{
    *c = (struct counts){0};
    if (params_of(spec, &c->unique, e))
        return -1;
    if (spec->kind != MODEL_GPT)
        return 0;
    struct model_spec other = *spec, padded = *spec;
    other.bias = !spec->bias;
    padded.V = (spec->V + VOCABULARY_MULTIPLE - 1) / VOCABULARY_MULTIPLE * VOCABULARY_MULTIPLE;
    c->padded_V = padded.V;
    c->without_positions = c->unique - (size_t)spec->context * (size_t)spec->C;
    c->untied = c->unique + (size_t)spec->V * (size_t)spec->C;
    return params_of(&other, &c->other_biases, e) || params_of(&padded, &c->padded, e) ? -1 : 0;
}

static void set_count(json_t *root, json_t *o, const char *key, size_t value)
{
    json_known(root, o, "model", key, value ? json_integer((json_int_t)value) : NULL, "only a GPT has this");
}

static void add_model(json_t *root, const struct net *net, const struct counts *c)
{
    const struct model_spec *s = &net->spec;
    json_t *o = json_object();
    json_object_set_new(root, "model", o);
    json_object_set_new(o, "name", json_string(s->name));
    set_count(root, o, "parameters", c->unique);
    set_count(root, o, "unique_parameters", c->unique);
    json_object_set_new(o, "gradient_bytes", json_integer((json_int_t)(c->unique * sizeof(float))));
    json_object_set_new(o, "tensors", json_integer(net->layout.n));
    set_count(root, o, "without_positions", c->without_positions);
    set_count(root, o, "untied", c->untied);
    set_count(root, o, s->bias ? "without_biases" : "with_biases", c->other_biases);
    set_count(root, o, "padded_vocabulary", (size_t)c->padded_V);
    set_count(root, o, "with_padded_vocabulary", c->padded);
    if (s->kind == MODEL_GPT) {
        set_count(root, o, "layers", (size_t)s->L);
        set_count(root, o, "heads", (size_t)s->NH);
        set_count(root, o, "width", (size_t)s->C);
        set_count(root, o, "vocabulary", (size_t)s->V);
        set_count(root, o, "context", (size_t)s->context);
    }
    json_object_set_new(o, "flops_per_token", json_num(model_flops_per_token(&net->layout)));
    json_object_set_new(o, "dtype", json_string("fp32"));
}

static json_t *tensors_json(const struct layout *l)
{
    json_t *list = json_array();
    for (int i = 0; i < l->n; i++) {
        const struct tensor *t = &l->tensor[i];
        json_array_append_new(list,
                              json_pack("{s:s, s:i, s:i, s:i, s:I}", "name", t->name, "layer", t->layer, "rows",
                                        t->rows, "cols", t->cols, "bytes", (json_int_t)(t->count * sizeof(float))));
    }
    return list;
}

/* What completes it. */
static const char *completed_by(const struct layout *l, const struct reduce_bucket *b)
{
    return b->last == REDUCE_HEAD_PART      ? "part of the head's gradient"
           : b->last == REDUCE_TOUCHED_ROWS ? "embedding rows of the batch's tokens"
                                            : l->tensor[b->last].name;
}

static json_t *buckets_json(json_t *root, const struct layout *l, const struct reduce *plan)
{
    json_t *list = json_array();
    for (int i = 0; i < plan->n; i++) {
        const struct reduce_bucket *b = &plan->bucket[i];
        json_t *o = json_object();
        char path[64];
        snprintf(path, sizeof path, "buckets[%d]", i);
        json_known(root, o, path, "bytes",
                   b->last == REDUCE_TOUCHED_ROWS ? NULL : json_integer((json_int_t)(b->count * sizeof(float))),
                   "as many as the batches of all ranks touch");
        json_object_set_new(o, "tensors", json_integer(b->tensors));
        json_object_set_new(o, "completed_by", json_string(completed_by(l, b)));
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *memory_json(const struct net *net)
{
    json_t *o = json_object(), *parts = json_array();
    json_object_set_new(o, "batch", json_integer(net->B));
    json_object_set_new(o, "seq", json_integer(net->T));
    json_object_set_new(o, "threads", json_integer(net->threads));
    json_object_set_new(o, "network_bytes", json_integer((json_int_t)net->memory.bytes));
    for (int i = 0; i < net->memory.n; i++)
        json_array_append_new(parts, json_pack("{s:s, s:I}", "name", net->memory.item[i].name, "bytes",
                                               (json_int_t)net->memory.item[i].bytes));
    json_object_set_new(o, "parts", parts);
    return o;
}

static void row(FILE *f, const char *label, size_t value, const char *remark)
{
    if (value)
        fprintf(f, "%-22s %13zu%s%s\n", label, value, *remark ? "  " : "", remark);
}

static void put_buckets(FILE *f, const struct layout *l, const struct reduce *plan)
{
    fprintf(f, "\ngradient buckets: %d, in the order in which they are sent\n", plan->n);
    for (int i = 0; i < plan->n; i++) {
        const struct reduce_bucket *b = &plan->bucket[i];
        char name[16], remark[96];
        snprintf(name, sizeof name, "  %d", i + 1);
        snprintf(remark, sizeof remark, "with %s", completed_by(l, b));
        if (b->last == REDUCE_TOUCHED_ROWS)
            fprintf(f, "%-22s %13s  %s\n", name, "-", completed_by(l, b));
        else
            row(f, name, b->count * sizeof(float), remark);
    }
}

static char *table(const struct net *net, const struct counts *c, const struct reduce *plan)
{
    char *text = NULL, b[48], remark[64];
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return NULL;
    const struct model_spec *s = &net->spec;
    fprintf(f, "%s", s->name);
    if (s->kind == MODEL_GPT)
        fprintf(f, "  %d layers, %d heads, width %d, vocabulary %d, context %d, %s biases, tied head", s->L, s->NH,
                s->C, s->V, s->context, s->bias ? "with" : "no");
    fprintf(f, "\n\n");
    row(f, "parameters", c->unique, "unique: what is trained and what travels");
    row(f, "  without positions", c->without_positions, "");
    row(f, "  head not tied", c->untied, "the head counted as a matrix of its own");
    row(f, s->bias ? "  without biases" : "  with biases", c->other_biases, "");
    snprintf(remark, sizeof remark, "vocabulary %d", c->padded_V);
    row(f, "  padded vocabulary", c->padded, remark);
    row(f, "gradient bytes", c->unique * sizeof(float), "fp32, all of them travel once per update");
    row(f, "tensors", (size_t)net->layout.n, "");
    row(f, "operations per token", (size_t)model_flops_per_token(&net->layout),
        "forward and backward, weight products");
    fprintf(f, "\nmemory for batch %d x %d on %d thread%s: %s\n", net->B, net->T, net->threads,
            net->threads == 1 ? "" : "s", table_bytes(b, sizeof b, (double)net->memory.bytes));
    for (int i = 0; i < net->memory.n; i++)
        fprintf(f, "  %-26s %12s\n", net->memory.item[i].name,
                table_bytes(b, sizeof b, (double)net->memory.item[i].bytes));
    put_buckets(f, &net->layout, plan);
    if (fclose(f) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

static int usable_cpus(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

static int show(const struct invocation *in, const struct net *net, const struct counts *c, const struct reduce *plan)
{
    if (in->json) {
        json_t *root = output_document();
        add_model(root, net, c);
        json_object_set_new(root, "memory", memory_json(net));
        json_object_set_new(root, "buckets", buckets_json(root, &net->layout, plan));
        json_object_set_new(root, "tensors", tensors_json(&net->layout));
        return output_json(in, root, ERR_OK);
    }
    char *text = table(net, c, plan);
    if (!text)
        return output_fail(in, &(struct err){ERR_MEMORY, "out of memory"});
    int code = output_text(in, text, ERR_OK);
    free(text);
    return code;
}

int cmd_info(const struct invocation *in)
{
    static struct net net;
    static struct reduce plan; /* too large for a stack */
    struct options o;
    struct model_spec spec;
    struct counts c;
    struct err e;
    if (options_parse(&o, OPTIONS_INFO, in->argc, in->argv, &e))
        return output_fail(in, &e);
    if (o.help || o.version)
        return output_help(in, &o, OPTIONS_INFO,
                           "What a model is: parameters, gradient bytes and buckets, operations, memory.\n");
    int B = o.run.batch, T = o.run.seq;
    if (model_spec_find(&spec, o.run.model, &e) || count(&c, &spec, &e) ||
        net_plan(&net, &spec, B ? B : spec.batch, T ? T : spec.seq, o.threads ? o.threads : usable_cpus(), &e))
        return output_fail(in, &e);
    if (o.run.schedule == SCHEDULE_SPLIT && net.layout.wte < 0) {
        net_fini(&net);
        err_set(&e, ERR_USAGE, "schedule split parts a tied embedding, and %s has none", spec.name);
        return output_fail(in, &e);
    }
    reduce_plan(&plan, &net.layout, o.run.schedule, o.run.bucket_mib);
    int code = show(in, &net, &c, &plan);
    net_fini(&net);
    return code;
}
