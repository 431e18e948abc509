/* ddp/patience.c - see patience.h. */
#include "ddp/patience.h"

#include <math.h>
#include <string.h>

#include "base/stats.h"

void patience_expect(struct patience *p, double step_s)
{
    p->n = 0;
    patience_note(p, step_s);
}

void patience_note(struct patience *p, double step_s)
{
    p->step_s[p->n % PATIENCE_MEMORY] = step_s;
    p->n = p->n + 1 < 2 * PATIENCE_MEMORY ? p->n + 1 : PATIENCE_MEMORY; /* the place of the oldest stays n % memory */
}

double patience_s(const struct patience *p)
{
    double sorted[PATIENCE_MEMORY], least_s = p->least_s > 0 ? p->least_s : PATIENCE_LEAST_S;
    int n = p->n < PATIENCE_MEMORY ? p->n : PATIENCE_MEMORY;
    if (n == 0)
        return PATIENCE_FIRST_S;
    memcpy(sorted, p->step_s, (size_t)n * sizeof *sorted);
    return fmax(least_s, PATIENCE_STEPS * stats_median(sorted, (size_t)n));
}
