/* comm/throttle.c - see throttle.h. Permits grow with time up to the burst; they are counted when somebody asks. */
#include "comm/throttle.h"

#include <stddef.h>

#define PERIOD_NS ((double)THROTTLE_PERIOD_MS * 1e6)

static void grow(struct throttle *t, int i, uint64_t now_ns)
{
    double more = (double)(now_ns - t->entry[i].at_ns) / PERIOD_NS, all = t->entry[i].permits + more;
    t->entry[i].permits = all < THROTTLE_BURST ? all : THROTTLE_BURST;
    t->entry[i].at_ns = now_ns;
}

static int find(const struct throttle *t, const struct address *from)
{
    for (int i = 0; i < THROTTLE_ADDRESSES; i++)
        if (t->entry[i].from.bytes && address_same_host(&t->entry[i].from, from))
            return i;
    return -1;
}

static int place(const struct throttle *t)
{
    int oldest = 0;
    for (int i = 0; i < THROTTLE_ADDRESSES; i++) {
        if (!t->entry[i].from.bytes)
            return i;
        if (t->entry[i].at_ns < t->entry[oldest].at_ns)
            oldest = i;
    }
    return oldest;
}

bool throttle_take(struct throttle *throttle, const struct address *from, uint64_t now_ns, uint64_t *again_ns)
{
    int i = find(throttle, from);
    if (i < 0) {
        i = place(throttle);
        throttle->entry[i].from = *from;
        throttle->entry[i].permits = THROTTLE_BURST;
        throttle->entry[i].at_ns = now_ns;
    }
    grow(throttle, i, now_ns);
    if (throttle->entry[i].permits >= 1) {
        throttle->entry[i].permits -= 1;
        return true;
    }
    *again_ns = now_ns + (uint64_t)((1 - throttle->entry[i].permits) * PERIOD_NS) + 1;
    return false;
}

void throttle_return(struct throttle *throttle, const struct address *from, uint64_t now_ns)
{
    int i = find(throttle, from);
    if (i < 0)
        return;
    grow(throttle, i, now_ns);
    throttle->entry[i].permits =
        throttle->entry[i].permits < THROTTLE_BURST - 1 ? throttle->entry[i].permits + 1 : THROTTLE_BURST;
}
