/*
 * ddp/timeline.c - see timeline.h. Start at timeline_end(), which decides what stays: a step enters the ring of the last
 * ones and pushes the oldest out of it, which becomes one of the first, one of those between, or is forgotten.
 */
#include "ddp/timeline.h"

#include <stdlib.h>
#include <string.h>

enum { LAYER_NUMBERS = 4, PART_NUMBERS = 3, BUCKET_NUMBERS = 12, STEPS_MIN = 4 };

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* ---- memory ---- */

/* The number of steps follows from a bound on the numbers that all of them have, which goes for what ranks tell each
 * other and for the size of the result as well. */
static void plan(struct timeline *t, const struct timeline_shape *s)
{
    t->layers_max =
        2 * (s->layers + s->slices) * smaller(s->accum, 2) + s->layers + s->buckets; /* one may end within a layer */
    t->passes_max = 2 * s->slices * smaller(s->accum, TIMELINE_MICRO_BATCHES) + 2;
    t->parts_max = t->passes_max + 2 * s->buckets + 4;
    t->buckets_max = s->buckets ? s->buckets + 1 : 0;
    int numbers = t->layers_max * LAYER_NUMBERS + t->parts_max * PART_NUMBERS + t->buckets_max * BUCKET_NUMBERS;
    int steps = smaller(TIMELINE_NUMBERS / numbers, TIMELINE_STEPS_MAX);
    steps = steps < STEPS_MIN ? STEPS_MIN : steps;
    t->ends = steps / 4;
    t->between_max = steps - 2 * t->ends;
    t->stride = 1;
}

static int slots(const struct timeline *t)
{
    return 2 * t->ends + t->between_max + 1;
}

int timeline_open(struct timeline *t, const struct timeline_shape *shape, struct err *e)
{
    *t = (struct timeline){0};
    plan(t, shape);
    size_t parts = (size_t)t->parts_max * sizeof(struct timeline_part);
    size_t layers = (size_t)t->layers_max * sizeof(struct phase);
    size_t buckets = (size_t)t->buckets_max * sizeof(struct timeline_bucket);
    int n = slots(t);
    t->step = calloc((size_t)n, sizeof *t->step);
    t->memory = malloc((size_t)n * (parts + layers + buckets));
    if (!t->step || !t->memory) {
        timeline_close(t);
        return err_set(e, ERR_MEMORY, "no memory for the timeline of %d steps", n);
    }
    memset(t->memory, 0, (size_t)n * (parts + layers + buckets)); /* its pages are there before the first step */
    char *at = t->memory;
    for (int i = 0; i < n; i++, at += parts + layers + buckets) {
        t->step[i].step = -1;
        t->step[i].part = (struct timeline_part *)(void *)at;
        t->step[i].layer = (struct phase *)(void *)(at + parts);
        t->step[i].bucket = (struct timeline_bucket *)(void *)(at + parts + layers);
    }
    return 0;
}

void timeline_close(struct timeline *t)
{
    free(t->step);
    free(t->memory);
    *t = (struct timeline){0};
}

/* ---- one step ---- */

void timeline_begin(struct timeline *t, int number, uint64_t start_ns)
{
    t->now = &t->step[slots(t) - 1];
    t->now->step = number;
    t->now->start_ns = t->at_ns = start_ns;
    t->now->parts_n = t->now->layers_n = t->now->buckets_n = 0;
}

/* Up to an instant. A part of no length is none; one that has no room left lengthens the last, which is of two kinds then. */
static void add_part(struct timeline *t, enum timeline_kind kind, uint64_t end_ns)
{
    struct timeline_step *s = t->now;
    if (end_ns <= t->at_ns)
        return;
    bool pass = kind == TIMELINE_FORWARD || kind == TIMELINE_BACKWARD;
    if (s->parts_n < (pass ? t->passes_max : t->parts_max)) {
        s->part[s->parts_n++] = (struct timeline_part){kind, t->at_ns, end_ns};
    } else {
        struct timeline_part *last = &s->part[s->parts_n - 1];
        last->kind = last->kind == kind ? kind : TIMELINE_MIXED;
        last->end_ns = end_ns;
    }
    t->at_ns = end_ns;
}

static void lengthen(struct timeline *t, uint64_t end_ns)
{
    struct timeline_step *s = t->now;
    if (s->parts_n && end_ns > t->at_ns) {
        s->part[s->parts_n - 1].end_ns = end_ns;
        t->at_ns = end_ns;
    }
}

void timeline_layers(struct timeline *t, const struct phase *phase, int n)
{
    struct timeline_step *s = t->now;
    for (int i = 0; s && i < n && s->layers_n < t->layers_max; i++)
        s->layer[s->layers_n++] = phase[i];
}

void timeline_micro_batch(struct timeline *t, const struct phase *phase, int n, int k, int of, bool communicates)
{
    bool last = k == of - 1;
    if (!t->now || n == 0)
        return;
    if (last && communicates)
        add_part(t, TIMELINE_EXPOSED, phase[0].start_ns);
    else
        lengthen(t, phase[0].start_ns);
    if (!last && k >= TIMELINE_MICRO_BATCHES - 2) {
        if (k == TIMELINE_MICRO_BATCHES - 2)
            add_part(t, TIMELINE_MIXED, phase[n - 1].end_ns);
        lengthen(t, phase[n - 1].end_ns);
        return;
    }
    for (int i = 0; i < n; i++)
        if (i == n - 1 || phase[i].kind != phase[i + 1].kind)
            add_part(t, phase[i].kind == PHASE_FORWARD ? TIMELINE_FORWARD : TIMELINE_BACKWARD, phase[i].end_ns);
    if (k == 0 || last)
        timeline_layers(t, phase, n);
}

void timeline_update(struct timeline *t, uint64_t from_ns, uint64_t to_ns, bool communicates)
{
    if (!t->now)
        return;
    if (communicates)
        add_part(t, TIMELINE_EXPOSED, from_ns);
    else
        lengthen(t, from_ns);
    add_part(t, TIMELINE_OPTIMIZER, to_ns);
}

void timeline_bucket(struct timeline *t, int bucket, uint64_t bytes, uint64_t ready_ns, const struct call *call)
{
    struct timeline_step *s = t->now;
    if (s && s->buckets_n < t->buckets_max)
        s->bucket[s->buckets_n++] = (struct timeline_bucket){bucket, bytes, ready_ns, *call};
}

/* ---- what is kept ---- */

static void swap(struct timeline_step *a, struct timeline_step *b)
{
    struct timeline_step was = *a;
    *a = *b;
    *b = was;
}

/* Every other one of those between makes room; which they are depends on the numbers of steps alone. */
static void thin_out(struct timeline *t)
{
    struct timeline_step *between = t->step + t->ends;
    int left = 0;
    t->stride *= 2;
    for (int i = 0; i < t->between; i++)
        if ((between[i].step - t->ends) % t->stride == 0)
            swap(&between[left++], &between[i]);
    t->between = left;
}

static void keep(struct timeline *t, struct timeline_step *old)
{
    if (old->step < 0)
        return;
    if (old->step < t->ends) {
        swap(&t->step[old->step], old);
        return;
    }
    if ((old->step - t->ends) % t->stride == 0 && t->between == t->between_max)
        thin_out(t);
    if ((old->step - t->ends) % t->stride == 0)
        swap(&t->step[t->ends + t->between++], old);
}

void timeline_end(struct timeline *t, uint64_t end_ns)
{
    if (!t->now)
        return;
    lengthen(t, end_ns);
    t->now->end_ns = end_ns;
    struct timeline_step *oldest = &t->step[t->ends + t->between_max + t->n % t->ends];
    keep(t, oldest);
    swap(oldest, t->now);
    t->n++;
    t->now = NULL;
}

int timeline_kept(const struct timeline *t, const struct timeline_step **kept)
{
    int n = 0;
    if (!t->step)
        return 0;
    for (int i = 0; i < t->ends && i < t->n - t->ends; i++)
        kept[n++] = &t->step[i];
    for (int i = 0; i < t->between; i++)
        kept[n++] = &t->step[t->ends + i];
    for (int i = t->n > t->ends ? t->n - t->ends : 0; i < t->n; i++)
        kept[n++] = &t->step[t->ends + t->between_max + i % t->ends];
    return n;
}
