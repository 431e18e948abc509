/* predict/profile.c - see profile.h. */
#include "predict/profile.h"

#include <math.h>
#include <stdlib.h>

#include "base/stats.h"

int profile_init(struct profile *p, int n, struct err *e)
{
    *p = (struct profile){.n = n, .accum = 1};
    if (n < 1)
        return err_set(e, ERR_DATA, "a prediction needs at least one timed step");
    p->step = calloc((size_t)n, sizeof *p->step);
    if (!p->step)
        return err_set(e, ERR_MEMORY, "no memory for a profile of %d steps", n);
    return 0;
}

double profile_step_s(const struct profile *p)
{
    double *x = malloc((size_t)p->n * sizeof *x), median = NAN;
    for (int i = 0; x && i < p->n; i++)
        x[i] = p->step[i].forward_s + p->step[i].backward_s + p->step[i].optimizer_s;
    if (x)
        median = stats_median(x, (size_t)p->n);
    free(x);
    return median;
}

void profile_fini(struct profile *p)
{
    free(p->step);
    *p = (struct profile){0};
}

int plan_init(struct plan *p, int n, struct err *e)
{
    *p = (struct plan){.n = n};
    p->bucket = calloc((size_t)n + 1, sizeof *p->bucket);
    if (!p->bucket)
        return err_set(e, ERR_MEMORY, "no memory for a plan of %d buckets", n);
    return 0;
}

void plan_fini(struct plan *p)
{
    free(p->bucket);
    *p = (struct plan){0};
}

int plan_init_whole(struct plan *p, double bytes, struct err *e)
{
    if (plan_init(p, bytes > 0 ? 1 : 0, e))
        return -1;
    if (p->n)
        p->bucket[0] = (struct plan_bucket){.ready = 1, .bytes = bytes};
    p->parameter_bytes = bytes;
    return 0;
}

double plan_bucket_bytes(const struct plan_bucket *b, double tokens)
{
    return b->bytes_per_token > 0 ? fmin(b->bytes, b->bytes_per_token * tokens) : b->bytes;
}

double plan_bytes(const struct plan *p, double tokens)
{
    double sum = p->blocking_bytes_per_token * tokens;
    for (int i = 0; i < p->n; i++)
        sum += plan_bucket_bytes(&p->bucket[i], tokens);
    return sum;
}
