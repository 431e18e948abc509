/*
 * tests/trace_look.c - trace_look FILE reads a trace as a viewer does and checks what a viewer relies on; for tests.
 *
 * The format: strict JSON, events in order of time, slices of at least no length, every lane named, slices of a lane nested
 * or apart, each arrow with one tail and one head that does not come before it, both on a slice. The figures: in every step
 * of every rank the parts (forward, backward, exposed, optimizer), on whichever lane, follow each other without overlap and
 * are the step within 1 %, and a bucket's wait + move + sum + check + seal is its slice within 1 % or 2 us. Prints counts in one
 * line; 1 and a sentence if something is not so, 2 if it is no JSON.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

enum { EVENTS_MAX = 400000 };

struct slice {
    long pid, tid;
    double at, end;
    const char *category;
    const json_t *event;
};

static struct slice slices[EVENTS_MAX];
static size_t n_slices;
static int failures;

static void wrong(const char *what, const json_t *event)
{
    char *text = json_dumps(event, JSON_COMPACT);
    if (failures++ < 10)
        printf("%s: %.300s\n", what, text ? text : "?");
    free(text);
}

static const char *word(const json_t *event, const char *name)
{
    const char *text = json_string_value(json_object_get(event, name));
    return text ? text : "";
}

static double num(const json_t *o, const char *name)
{
    const json_t *x = json_object_get(o, name);
    return json_is_number(x) ? json_number_value(x) : NAN;
}

static long id(const json_t *event, const char *name)
{
    return (long)json_integer_value(json_object_get(event, name));
}

static int is_named(const json_t *events, long pid, long tid)
{
    const json_t *event;
    size_t i;
    json_array_foreach((json_t *)events, i, event)
    {
        if (strcmp(word(event, "ph"), "M") != 0)
            return 0;
        if (strcmp(word(event, "name"), "thread_name") == 0 && id(event, "pid") == pid && id(event, "tid") == tid)
            return 1;
    }
    return 0;
}

/* Timestamps have three decimals, so what touches may overlap by as much. */
#define TOUCH 0.0015

static void check_nesting(void)
{
    for (size_t i = 0; i < n_slices; i++)
        for (size_t k = i + 1; k < n_slices && slices[k].at < slices[i].end - TOUCH; k++)
            if (slices[k].pid == slices[i].pid && slices[k].tid == slices[i].tid &&
                slices[k].end > slices[i].end + TOUCH)
                wrong("neither inside nor after the slice before", slices[k].event);
}

static void check_step(const struct slice *step, double *worst)
{
    double at = step->at, sum = 0;
    int parts = 0;
    for (size_t i = 0; i < n_slices; i++) {
        const struct slice *s = &slices[i];
        if (s->pid != step->pid || strcmp(s->category, "part") != 0 || s->at < step->at - TOUCH ||
            s->at > step->end - TOUCH)
            continue;
        if (s->at < at - TOUCH)
            wrong("overlaps the part before", s->event);
        at = s->end;
        sum += s->end - s->at;
        parts++;
    }
    double off = fabs(sum - (step->end - step->at)) / (step->end - step->at);
    *worst = off > *worst ? off : *worst;
    if (!(off <= 0.01) || parts == 0)
        wrong("its parts are not the step", step->event);
}

static void check_bucket(const struct slice *s)
{
    const json_t *args = json_object_get(s->event, "args");
    double sum = num(args, "wait_us") + num(args, "move_us") + num(args, "sum_us") + num(args, "check_us") +
                 num(args, "seal_us");
    double took = s->end - s->at;
    if (!json_object_get(args, "move_us"))
        return; /* a foreign library does not tell */
    if (!(fabs(sum - took) <= 0.01 * took + 2) || !(num(args, "bytes") >= 0))
        wrong("its times are not the bucket", s->event);
}

static int on_a_slice(const json_t *event)
{
    double at = num(event, "ts");
    for (size_t i = 0; i < n_slices && slices[i].at <= at + TOUCH; i++)
        if (slices[i].pid == id(event, "pid") && slices[i].tid == id(event, "tid") && slices[i].end >= at - TOUCH)
            return 1;
    return 0;
}

static size_t check_arrows(const json_t *events)
{
    json_t *tails = json_object(), *event, *tail;
    size_t i, n = 0;
    const char *name;
    json_array_foreach((json_t *)events, i, event)
    {
        const char *ph = word(event, "ph"), *key = word(event, "id");
        if (strcmp(ph, "s") != 0 && strcmp(ph, "f") != 0)
            continue;
        if (!on_a_slice(event))
            wrong("an arrow from or to nothing", event);
        if (*ph == 's') {
            if (json_object_get(tails, key))
                wrong("an arrow with two tails", event);
            json_object_set(tails, key, event);
            continue;
        }
        tail = json_object_get(tails, key);
        if (!tail || !(num(event, "ts") >= num(tail, "ts")) || strcmp(word(event, "bp"), "e") != 0)
            wrong("an arrow without a tail before it", event);
        json_object_del(tails, key);
        n++;
    }
    json_object_foreach(tails, name, event)
    {
        wrong("an arrow without a head", event);
    }
    json_decref(tails);
    return n;
}

int main(int argc, char **argv)
{
    json_error_t e;
    json_t *root = argc == 2 ? json_load_file(argv[1], JSON_REJECT_DUPLICATES, &e) : NULL, *event;
    if (!root) {
        fprintf(stderr, "%s\n", argc == 2 ? e.text : "trace_look FILE");
        return 2;
    }
    const json_t *events = json_object_get(root, "traceEvents");
    size_t i, steps = 0, buckets = 0, layers = 0;
    double before = -1, worst = 0;
    long ranks = 0;
    json_array_foreach((json_t *)events, i, event)
    {
        const char *ph = word(event, "ph");
        ranks = id(event, "pid") > ranks ? id(event, "pid") : ranks;
        if (*ph == 'M')
            continue;
        double at = num(event, "ts");
        if (!(at >= before))
            wrong("out of order", event);
        before = at;
        if (!is_named(events, id(event, "pid"), id(event, "tid")))
            wrong("on a lane without a name", event);
        if (*ph != 'X' || n_slices == EVENTS_MAX)
            continue;
        double duration = num(event, "dur");
        if (!(duration >= 0) || !*word(event, "name"))
            wrong("a slice without length or name", event);
        slices[n_slices++] =
            (struct slice){id(event, "pid"), id(event, "tid"), at, at + duration, word(event, "cat"), event};
    }
    check_nesting();
    for (i = 0; i < n_slices; i++) {
        layers += strcmp(slices[i].category, "layer") == 0;
        if (strcmp(slices[i].category, "step") == 0) {
            check_step(&slices[i], &worst);
            steps++;
        } else if (strcmp(slices[i].category, "bucket") == 0) {
            check_bucket(&slices[i]);
            buckets++;
        }
    }
    size_t arrows = check_arrows(events);
    if (failures == 0)
        printf("ranks %ld steps %zu layers %zu buckets %zu arrows %zu worst %.6f\n", ranks, steps, layers, buckets,
               arrows, worst);
    json_decref(root);
    return failures != 0;
}
