/* base/clock.c - see clock.h. */
#include "base/clock.h"

double clock_cost_ns(void)
{
    enum { CALLS = 10000, ROUNDS = 5 };
    double best = 1e9;
    for (int r = 0; r < ROUNDS; r++) {
        uint64_t start = clock_now_ns(), last = start;
        for (int i = 0; i < CALLS; i++)
            last = clock_now_ns();
        double cost = (double)(last - start) / CALLS;
        if (cost < best)
            best = cost;
    }
    return best;
}

void clock_utc(char buf[static 21])
{
    time_t now = time(NULL);
    struct tm tm;
    gmtime_r(&now, &tm);
    strftime(buf, 21, "%Y-%m-%dT%H:%M:%SZ", &tm);
}
