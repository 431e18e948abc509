/*
 * ddp/patience.h - how long ranks may stand still before one of them gives up: ten times the usual step, at least a minute.
 *
 * Liveness is told by heartbeats; this is about progress. Bytes that no longer move between ranks which both say that they live
 * end a run only here, so the limit has to be far beyond the slowest step, and one that stood still must not raise it: the usual
 * step is the median of the last ones. A step contains waiting for the slowest rank, so all ranks come to the same.
 *
 *     patience_expect(&p, step_s)        before the first step: what the slowest rank needs alone
 *     patience_note(&p, step_s)          after every step
 *     patience_s(&p)
 *
 * A zeroed object knows nothing. Any one thread; cannot fail.
 */
#ifndef DDP_PATIENCE_H
#define DDP_PATIENCE_H

enum { PATIENCE_STEPS = 10, PATIENCE_MEMORY = 15 };

#define PATIENCE_LEAST_S 60.0
#define PATIENCE_FIRST_S 600.0 /* before anything is known: other ranks may still read their data */

struct patience {
    double least_s; /* 0: PATIENCE_LEAST_S */
    int n;          /* steps noted */
    double step_s[PATIENCE_MEMORY];
};

void patience_expect(struct patience *p, double step_s);
void patience_note(struct patience *p, double step_s);
double patience_s(const struct patience *p);

#endif
