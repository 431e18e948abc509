/* comm/clock_offset.c - see clock_offset.h. Differences are taken in whole nanoseconds before anything is a double. */
#include "comm/clock_offset.h"

#include <math.h>

/* What is between two clocks is any number; what is between two instants of one is small. */
static int64_t between(uint64_t from_ns, uint64_t to_ns)
{
    return (int64_t)(to_ns - from_ns);
}

bool clock_reading_add(struct clock_reading *reading, const struct clock_exchange *x)
{
    int64_t all = between(x->sent_ns, x->back_ns), there = between(x->arrived_ns, x->answered_ns);
    if (all < 0 || there < 0 || there > all)
        return false;
    double error_ns = (double)(all - there) / 2;
    if (reading->known && error_ns >= reading->error_ns)
        return true;
    *reading = (struct clock_reading){
        .known = true,
        .at_ns = x->sent_ns + (uint64_t)all / 2,
        .offset_ns = (double)between(x->sent_ns, x->arrived_ns) / 2 + (double)between(x->back_ns, x->answered_ns) / 2,
        .error_ns = error_ns,
    };
    return true;
}

bool clock_offset_drift(const struct clock_offset *o, double *drift, double *error)
{
    if (!o->before.known || !o->after.known || o->after.at_ns <= o->before.at_ns)
        return false;
    double apart_ns = (double)(o->after.at_ns - o->before.at_ns);
    *drift = (o->after.offset_ns - o->before.offset_ns) / apart_ns;
    *error = (o->after.error_ns + o->before.error_ns) / apart_ns;
    return true;
}

double clock_offset_error_ns(const struct clock_offset *o)
{
    double before = o->before.known ? o->before.error_ns : 0, after = o->after.known ? o->after.error_ns : 0;
    return fmax(before, after);
}
