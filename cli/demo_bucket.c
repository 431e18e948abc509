/* cli/demo_bucket.c - bucket sizes from one tensor to everything: small ones pay latency for each, one large one cannot be
 * sent before backward ends. */
#include <stdio.h>

#include "cli/demo.h"

#define ALONE_S 0.8

enum { SEQ = 64, LOW = 1, HIGH = 128, STEPS = 10, STEPS_LEAST = 3, SIZES = 4 };

static const struct {
    double mib;
    const char *name;
} sizes[SIZES] = {{1e-6, "one tensor"}, {1, "1 MiB"}, {10, "10 MiB"}, {1e6, "everything at once"}};

static int fastest(const struct demo_row row[SIZES])
{
    int best = 0;
    for (int i = 1; i < SIZES; i++)
        if (row[i].step_s < row[best].step_s)
            best = i;
    return best;
}

/* Half a millisecond each way makes the number of messages matter, as it does between laptops through a busy switch. */
static struct demo_link link_of(const struct demo *d)
{
    struct demo_link link = d->wire;
    if (d->options->peers)
        return link;
    link.emulate = "rate=941.5Mbit,rtt=1ms";
    link_model_state(&link.model, 941.5e6 / 8, 1e-3, COST_DUPLEX);
    return link;
}

static int take(struct demo *d, struct demo_run *run, double alone_s, struct demo_row row[SIZES], int buckets[SIZES],
                struct err *e)
{
    for (int i = 0; i < SIZES; i++) {
        struct outcome out;
        run->name = sizes[i].name;
        run->bucket_mib = sizes[i].mib;
        if (demo_predict(d, run, NULL, &out, e))
            return -1;
        json_t *doc = demo_train(d, run, e);
        if (!doc)
            return -1;
        row[i] = demo_row(d, run->name, doc, &out, alone_s);
        buckets[i] = (int)json_array_size(json_object_get(json_object_get(doc, "communication"), "buckets"));
        json_decref(doc);
    }
    return 0;
}

int demo_bucket(struct demo *d, struct err *e)
{
    static const char question[] =
        "Gradients are sent in buckets while backward goes on. Which size makes the shortest step?";
    const char *choices[SIZES + 1] = {NULL};
    struct demo_link link = link_of(d);
    struct demo_row row[SIZES];
    int batch, answer, buckets[SIZES];
    d->model = "shakespeare-char";
    d->seq = SEQ;
    d->unit = "sequences of 64 tokens";
    for (int i = 0; i < SIZES; i++)
        choices[i] = sizes[i].name;
    json_t *alone;
    if (demo_size(d, ALONE_S, LOW, HIGH, &batch, e) || !(alone = demo_alone(d, batch, e)))
        return -1;
    double alone_s = demo_number(alone, "summary.step_s.median");
    demo_row(d, "this node alone", alone, NULL, alone_s);
    struct demo_run run = {.link = &link, .alone = alone, .batch = batch};
    run.steps = demo_count(d, STEPS, STEPS_LEAST);
    int result = demo_ask(d, question, choices, &answer, e) || take(d, &run, alone_s, row, buckets, e) ? -1 : 0;
    json_decref(alone);
    if (result)
        return -1;
    char all[32], best[32];
    int right = fastest(row);
    demo_judge(d, question, choices, answer, right);
    demo_tell(d,
              "In one bucket nothing can leave before backward has ended, so all of the communication is waited for: a "
              "step stands still for %s. In buckets of %s it is %s, for the rest travels while backward goes on.",
              demo_seconds(all, sizeof all, row[SIZES - 1].exposed_s), sizes[right].name,
              demo_seconds(best, sizeof best, row[right].exposed_s));
    demo_tell(d,
              "One tensor at a time makes %d messages in place of %d with 10 MiB, and each costs its latency: the step "
              "takes %.2f of the shortest one.",
              buckets[0], buckets[2], row[0].step_s / row[right].step_s);
    return 0;
}
