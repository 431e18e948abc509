/*
 * ddp/arithmetic.h - what a plan of buckets allows: the step that one pass over the buckets gives when each is sent as soon
 * as it is complete and those before it are done, at a given rate, and nothing else is ever waited for.
 *
 * Work instants (`complete_s`, `backward_s`) are seconds of computing from the start of the step. While a bucket is on the
 * way computing may be slower: a rank whose communication thread has no processor of its own loses the share that moving
 * bytes takes. So, with w the work done and t the time, dw/dt = 1 - stolen while bytes move and 1 else, and
 *
 *     start_b = max(end_{b-1}, time at which complete_b of work is done)
 *     end_b   = start_b + latency + bytes_b x 2 (N - 1) / N / rate
 *
 * From the end of backward on, updating per bucket takes them in order: each is waited for and then updated, t = max(t, end_b)
 * + update_b; else t = end_last + all updates. What is waited is exposed. Updates are not slowed down.
 *
 * Pure, any thread.
 */
#ifndef DDP_ARITHMETIC_H
#define DDP_ARITHMETIC_H

#include <stdbool.h>

struct arithmetic_bucket {
    double complete_s; /* work done when its gradient is complete */
    double bytes;      /* of gradient */
    double update_s;   /* to update its parameters */
};

struct arithmetic {
    int n, world;
    const struct arithmetic_bucket *bucket; /* [n] in order of sending */
    double backward_s;                      /* work done when backward ends */
    double rate_bytes_per_s;                /* of the link, each way at once */
    double latency_s;                       /* of a bucket of no size */
    double stolen;                          /* 0 .. 1 */
    bool update_per_bucket;
};

struct arithmetic_step {
    double step_s, backward_end_s, exposed_s;
    double end_s; /* of the last bucket */
};

struct arithmetic_step arithmetic_step(const struct arithmetic *a);

#endif
