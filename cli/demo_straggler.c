/* cli/demo_straggler.c - one rank at half the speed: all take its time, the split of work and standing still names it, and
 * shares that fit mend it. */
#include <math.h>
#include <stdio.h>

#include "cli/demo.h"

#define ALONE_S 0.5
#define DRIFT 0.1

enum { LOW = 256, HIGH = 8192, STEPS = 12, STEPS_LEAST = 4 };

struct straggler {
    struct demo *d;
    json_t *alone;
    double alone_s;
    int batch;
};

/* Predicted, measured, added to the table. divided: in shares that fit. The document is the caller's. */
static json_t *take(struct straggler *s, struct demo_run *run, bool divided, struct demo_row *row, struct err *e)
{
    struct outcome out;
    int count[DEMO_RANKS_MAX] = {0};
    run->link = &s->d->wire;
    run->alone = s->alone;
    run->batch = s->batch;
    run->steps = demo_count(s->d, STEPS, STEPS_LEAST);
    if (demo_predict(s->d, run, divided ? count : NULL, &out, e))
        return NULL;
    run->count = divided ? count : NULL;
    json_t *doc = demo_train(s->d, run, e);
    run->count = NULL;
    if (doc)
        *row = demo_row(s->d, run->name, doc, &out, s->alone_s);
    return doc;
}

/* Which of the three expectations the measured ratio is nearest to. */
static int nearest(const struct straggler *s, const struct demo_row *alike, const struct demo_row *slow)
{
    double ratio = slow->step_s / alike->step_s, n = s->d->nodes;
    double expected[] = {1, 1 + s->alone_s / n / alike->step_s, 1 + s->alone_s / alike->step_s};
    int best = 0;
    for (int i = 1; i < 3; i++)
        if (fabs(ratio - expected[i]) < fabs(ratio - expected[best]))
            best = i;
    return best;
}

static void explain(struct demo *d, const json_t *slow)
{
    char own[32], other[32], still[32];
    const json_t *nodes = json_object_get(slow, "nodes");
    const json_t *first = json_array_get(nodes, 0), *last = json_array_get(nodes, (size_t)d->nodes - 1);
    demo_tell(d,
              "All ranks end a step together, because none can go on without the gradients of all. Rank %d works %s in "
              "a step; rank 0 works %s and stands still for %s.",
              d->nodes - 1, demo_seconds(own, sizeof own, demo_number(last, "summary.compute_s.median")),
              demo_seconds(other, sizeof other, demo_number(first, "summary.compute_s.median")),
              demo_seconds(still, sizeof still, demo_number(first, "summary.exposed_s.median")));
    double named = demo_number(slow, "communication.straggler.rank");
    if (isfinite(named))
        demo_tell(
            d,
            "From outside every rank's step looks equally long. The split of work and standing still names rank %.0f.",
            named);
    else
        demo_tell(d, "No rank was found to work 5 %% longer than the others.");
}

/* Fitting shares are other batches than the one that was recorded, so each rank has recorded its own, later. If this node's speed
 * has changed since, the last row is not comparable with the others. */
static void doubt(const struct straggler *s, const json_t *shared)
{
    const json_t *first = json_array_get(json_object_get(shared, "nodes"), 0);
    double fixed_s = demo_number(s->alone, "summary.optimizer_s.median");
    double expected_s = fixed_s + (s->alone_s - fixed_s) * demo_number(first, "batch") / s->batch;
    double ratio = demo_number(first, "summary.compute_s.median") / expected_s;
    if (fabs(ratio - 1) > DRIFT)
        demo_tell(
            s->d,
            "Compare that with care: while shares were recorded this node took %.2f of the time for a vector that "
            "it took before, because something else ran before or then, or the clock changed.",
            ratio);
}

int demo_straggler(struct demo *d, struct err *e)
{
    struct straggler s = {.d = d};
    struct demo_row alike, slow, shared;
    char who[96], average[112], worst[80], name[64];
    int answer, result = -1;
    json_t *doc = NULL;
    d->model = "mlp-768";
    d->unit = "vectors";
    if (demo_size(d, ALONE_S, LOW, HIGH, &s.batch, e) || !(s.alone = demo_alone(d, s.batch, e)))
        return -1;
    s.alone_s = demo_number(s.alone, "summary.step_s.median");
    demo_row(d, "this node alone", s.alone, NULL, s.alone_s);
    snprintf(who, sizeof who, "Rank %d will compute at half the speed. How long will a step take?", d->nodes - 1);
    snprintf(average, sizeof average, "longer by the average over the ranks: a part in %d of what rank %d loses",
             d->nodes, d->nodes - 1);
    snprintf(worst, sizeof worst, "as much longer as rank %d computes longer", d->nodes - 1);
    const char *const choices[] = {"about as long as before: the others go on", average, worst, NULL};
    struct demo_run run = {.name = "all alike"};
    if (!(doc = take(&s, &run, false, &alike, e)) || demo_ask(d, who, choices, &answer, e))
        goto out;
    json_decref(doc);
    snprintf(name, sizeof name, "rank %d at half speed", d->nodes - 1);
    run = (struct demo_run){.name = name, .slow = 2};
    if (!(doc = take(&s, &run, false, &slow, e)))
        goto out;
    demo_judge(d, who, choices, answer, nearest(&s, &alike, &slow));
    explain(d, doc);
    json_decref(doc);
    run = (struct demo_run){.name = "half speed, fitting shares", .slow = 2};
    if (!(doc = take(&s, &run, true, &shared, e)))
        goto out;
    demo_tell(d,
              "With a smaller share for the slow rank the same number of vectors takes %.2f of the time that equal "
              "shares take (speed-up %.2f after %.2f).",
              shared.step_s / slow.step_s, shared.speedup, slow.speedup);
    doubt(&s, doc);
    result = 0;
out:
    json_decref(doc);
    json_decref(s.alone);
    return result;
}
