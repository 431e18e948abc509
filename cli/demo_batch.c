/* cli/demo_batch.c - tokens per step at which more nodes start to pay: the exchange takes as long whatever the batch, so it has to
 * be earned by computing. */
#include <math.h>
#include <stdio.h>

#include "cli/demo.h"

#define BYTES 42980352 /* of the model's gradient */

enum { SEQ = 64, LOW = 1, HIGH = 128, STEPS = 8, STEPS_LEAST = 3, SIZES = 5, FEW = 3 };

struct sweep {
    int n, batch[SIZES];
    struct outcome out[SIZES];
    struct demo_row row[SIZES];
    char name[SIZES][32];
    json_t *middle; /* the run alone that all predictions start from */
    int middle_batch;
};

/* Around the batch that computes as long as the exchange takes. A short test takes three of them. */
static void choose(struct sweep *s, const struct demo *d)
{
    static const double factor[SIZES] = {0.25, 0.5, 1, 2, 4}, few[FEW] = {0.5, 1, 2};
    bool shorter = d->options->test_scale < 0.5;
    for (int i = 0; i < (shorter ? FEW : SIZES); i++) {
        int least = s->n ? s->batch[s->n - 1] + 1 : LOW;
        s->batch[s->n++] = (int)fmax(least, round((shorter ? few : factor)[i] * s->middle_batch));
    }
    for (int i = 0; i < s->n; i++)
        snprintf(s->name[i], sizeof s->name[i], "%d tokens per step", s->batch[i] * SEQ);
}

static int predict(struct sweep *s, struct demo *d, struct err *e)
{
    for (int i = 0; i < s->n; i++) {
        struct demo_run run = {.link = &d->wire,
                               .alone = s->middle,
                               .batch = s->batch[i],
                               .token_scale = (double)s->batch[i] / s->middle_batch};
        if (demo_predict(d, &run, NULL, &s->out[i], e))
            return -1;
    }
    return 0;
}

static int take(struct sweep *s, struct demo *d, int i, struct err *e)
{
    struct demo_run run = {.name = s->name[i], .link = &d->wire, .batch = s->batch[i]};
    run.steps = demo_count(d, STEPS, STEPS_LEAST);
    run.alone = s->batch[i] == s->middle_batch ? json_incref(s->middle) : demo_alone(d, s->batch[i], e);
    if (!run.alone)
        return -1;
    json_t *doc = demo_train(d, &run, e);
    double alone_s = demo_number(run.alone, "summary.step_s.median");
    json_decref(run.alone);
    if (!doc)
        return -1;
    s->row[i] = demo_row(d, s->name[i], doc, &s->out[i], alone_s);
    json_decref(doc);
    return 0;
}

/* Tokens at which a speed-up crosses 1, between two neighbours, along the logarithm; NaN if it does not. */
static double crossing(const struct sweep *s, const double *speedup)
{
    for (int i = 1; i < s->n; i++) {
        if (!(speedup[i - 1] < 1 && speedup[i] >= 1))
            continue;
        double part = (1 - speedup[i - 1]) / (speedup[i] - speedup[i - 1]);
        return SEQ * s->batch[i - 1] * pow((double)s->batch[i] / s->batch[i - 1], part);
    }
    return NAN;
}

static void conclude(const struct sweep *s, struct demo *d)
{
    double measured[SIZES], predicted[SIZES];
    int worth = 0;
    for (int i = 0; i < s->n; i++) {
        measured[i] = s->row[i].speedup;
        worth += measured[i] >= 1;
        predicted[i] = s->out[i].speedup.median;
    }
    double at = crossing(s, measured), expected = crossing(s, predicted);
    json_object_set_new(d->document, "even_at_tokens",
                        json_pack("{s:o, s:o}", "measured", json_num(at), "predicted", json_num(expected)));
    if (isfinite(at) && isfinite(expected))
        demo_tell(d,
                  "%d nodes are worth more than one from about %.0f tokens per step and node on; predicted from one "
                  "run of this node: %.0f.",
                  d->nodes, at, expected);
    else if (isfinite(at))
        demo_tell(d,
                  "%d nodes are worth more than one from about %.0f tokens per step and node on; the prediction saw no "
                  "such point between these.",
                  d->nodes, at);
    else
        demo_tell(d, "%s",
                  worth == s->n ? "More nodes are worth more than one at each of these sizes."
                  : worth == 0
                      ? "At none of these sizes are more nodes worth more than one."
                      : "They are too near to one another for a clear point from which on more nodes are worth "
                        "more than one.");
    demo_tell(d, "The exchange takes as long whatever the batch: as many bytes as there are parameters. Only computing "
                 "grows with the tokens, so a larger batch hides more of it. A larger batch is not the same training: "
                 "steps to a given loss do not halve.");
}

int demo_batch(struct demo *d, struct err *e)
{
    static const char question[] = "From how many tokens per step and node on are more nodes faster than one?";
    static const char none[] = "at none of these";
    struct sweep s = {0};
    const char *choices[SIZES + 2] = {NULL};
    int answer, right, result = -1;
    d->model = "shakespeare-char";
    d->seq = SEQ;
    d->unit = "sequences of 64 tokens";
    double exchange_s = cost_floor_s(BYTES, d->nodes, link_model_rate(&d->wire.model), d->wire.model.medium);
    if (demo_size(d, exchange_s, LOW, HIGH, &s.middle_batch, e) || !(s.middle = demo_alone(d, s.middle_batch, e)))
        return -1;
    choose(&s, d);
    for (int i = 0; i < s.n; i++)
        choices[i] = s.name[i];
    choices[s.n] = none;
    if (predict(&s, d, e) || demo_ask(d, question, choices, &answer, e))
        goto out;
    for (int i = 0; i < s.n; i++)
        if (take(&s, d, i, e))
            goto out;
    for (right = 0; right < s.n && s.row[right].speedup <= 1; right++)
        ;
    demo_judge(d, question, choices, answer, right);
    conclude(&s, d);
    result = 0;
out:
    json_decref(s.middle);
    return result;
}
