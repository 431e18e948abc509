/* cli/demo_wifi.c - the same step over a cable and over a medium that all stations and both directions share. */
#include <math.h>
#include <stdio.h>

#include "cli/demo.h"

#define ALONE_S 0.8

enum { SEQ = 64, LOW = 1, HIGH = 128, STEPS = 8, STEPS_LEAST = 3 };

/* What a radio cell at home is assumed to carry (predict/link_model.h). */
static const char wifi_emulated[] = "rate=240Mbit,rtt=3ms,half-duplex";

static int right_of(const struct demo_row *wired, const struct demo_row *radio)
{
    if (radio->speedup > 0.9 * wired->speedup)
        return 0;
    return radio->speedup > 1 ? 1 : 2;
}

static json_t *take(struct demo *d, struct demo_run *run, double alone_s, struct demo_row *row, struct err *e)
{
    struct outcome out;
    if (demo_predict(d, run, NULL, &out, e))
        return NULL;
    json_t *doc = demo_train(d, run, e);
    if (doc)
        *row = demo_row(d, run->name, doc, &out, alone_s);
    return doc;
}

int demo_wifi(struct demo *d, struct err *e)
{
    static const char question[] = "The same step over Wi-Fi: 240 Mbit/s that both directions and all stations share. "
                                   "What are the nodes worth together?";
    static const char *const choices[] = {"about as much as on the cable", "less, but more than one node",
                                          "less than one node alone", NULL};
    struct demo_link radio = {.name = "Wi-Fi", .emulate = wifi_emulated};
    struct demo_row cable, air;
    int batch, answer, result = -1;
    json_t *doc = NULL, *alone = NULL;
    d->model = "shakespeare-char";
    d->seq = SEQ;
    d->unit = "sequences of 64 tokens";
    link_model_state(&radio.model, LINK_WIFI_BYTES_PER_S, LINK_WIFI_RTT_S, COST_SHARED);
    if (demo_size(d, ALONE_S, LOW, HIGH, &batch, e) || !(alone = demo_alone(d, batch, e)))
        return -1;
    double alone_s = demo_number(alone, "summary.step_s.median");
    demo_row(d, "this node alone", alone, NULL, alone_s);
    struct demo_run run = {.name = d->wire.name, .link = &d->wire, .alone = alone, .batch = batch};
    run.steps = demo_count(d, STEPS, STEPS_LEAST);
    if (!(doc = take(d, &run, alone_s, &cable, e)) || demo_ask(d, question, choices, &answer, e))
        goto out;
    json_decref(doc);
    run.name = radio.name;
    run.link = &radio;
    if (!(doc = take(d, &run, alone_s, &air, e)))
        goto out;
    demo_judge(d, question, choices, answer, right_of(&cable, &air));
    char a[32], b[32];
    demo_tell(d,
              "Both steps compute the same and send the same bytes. Over %s a step stands still for %s, over Wi-Fi for "
              "%s: %s",
              d->wire.name, demo_seconds(a, sizeof a, cable.exposed_s), demo_seconds(b, sizeof b, air.exposed_s),
              air.speedup > 1 ? "the nodes are still worth more than one." : "one node alone would train faster.");
    demo_tell(d,
              "Wi-Fi's rate is not the only reason: it is divided. Each of %d ranks sends %.2f times the gradient, and "
              "all of it passes one medium; a switch gives every cable and direction its own.",
              d->nodes, 2.0 * (d->nodes - 1) / d->nodes);
    result = 0;
out:
    json_decref(doc);
    json_decref(alone);
    return result;
}
