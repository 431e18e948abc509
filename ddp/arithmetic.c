/* ddp/arithmetic.c - see arithmetic.h. */
#include "ddp/arithmetic.h"

#include <math.h>

struct progress { /* of computing */
    double time_s, work_s;
};

/* Computes until that much work is done or that time is reached, at a speed. */
static void compute(struct progress *p, double work_s, double until_s, double speed)
{
    double left_s = fmax(0, work_s - p->work_s), there_s = left_s > 0 ? p->time_s + left_s / speed : p->time_s;
    if (there_s <= until_s) {
        p->time_s = there_s;
        p->work_s += left_s;
    } else if (until_s > p->time_s) {
        p->work_s += (until_s - p->time_s) * speed;
        p->time_s = until_s;
    }
}

/* Bucket b from when it may start to its end, computing meanwhile. Bytes move without a pause in between. */
static double send(const struct arithmetic *a, int b, struct progress *computing, double before_s)
{
    const struct arithmetic_bucket *bucket = &a->bucket[b];
    double share = 2.0 * (a->world - 1) / a->world;
    compute(computing, bucket->complete_s, INFINITY, 1);
    double start_s = fmax(before_s, computing->time_s);
    double end_s = start_s + a->latency_s + bucket->bytes * share / a->rate_bytes_per_s;
    compute(computing, a->backward_s, end_s, 1 - a->stolen);
    return end_s;
}

struct arithmetic_step arithmetic_step(const struct arithmetic *a)
{
    struct arithmetic_step out = {0};
    struct progress computing = {0, 0};
    double updates_s = 0;
    for (int b = 0; b < a->n; b++) {
        out.end_s = send(a, b, &computing, out.end_s);
        updates_s += a->bucket[b].update_s;
    }
    compute(&computing, a->backward_s, INFINITY, 1);
    out.backward_end_s = computing.time_s;
    if (!a->update_per_bucket) {
        out.exposed_s = fmax(0, out.end_s - out.backward_end_s);
        out.step_s = out.backward_end_s + out.exposed_s + updates_s;
        return out;
    }
    /* the same once more, now that it is known when the updates begin */
    double now_s = out.backward_end_s, end_s = 0;
    computing = (struct progress){0, 0};
    for (int b = 0; b < a->n; b++) {
        end_s = send(a, b, &computing, end_s);
        out.exposed_s += fmax(0, end_s - now_s);
        now_s = fmax(now_s, end_s) + a->bucket[b].update_s;
    }
    out.step_s = now_s;
    return out;
}
