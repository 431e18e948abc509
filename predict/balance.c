/* predict/balance.c - see balance.h. */
#include "predict/balance.h"

#include <math.h>
#include <stdbool.h>

#include "predict/simulate.h"

double balance_shares(const double *fixed_s, const double *per_share_s, int n, double *share)
{
    double T = 0;
    for (int i = 0; i < n; i++)
        share[i] = 1; /* takes part */
    for (bool again = true; again;) {
        double rate = 0, fixed = 0; /* sum of 1/m and of a/m: T = (N + fixed) / rate */
        for (int i = 0; i < n; i++)
            if (share[i] > 0) {
                rate += 1 / per_share_s[i];
                fixed += fixed_s[i] / per_share_s[i];
            }
        T = (n + fixed) / rate;
        again = false;
        for (int i = 0; i < n; i++)
            if (share[i] > 0 && fixed_s[i] >= T) {
                share[i] = 0;
                again = true;
            }
    }
    for (int i = 0; i < n; i++)
        if (share[i] > 0)
            share[i] = (T - fixed_s[i]) / per_share_s[i];
    return T;
}

double balance_scenario(const struct scenario *s, double *share)
{
    double fixed[SIM_NODES_MAX], per[SIM_NODES_MAX];
    struct scenario equal = *s;
    equal.share = NULL;
    for (int i = 0; i < s->nodes; i++) {
        struct profile_step t = scenario_typical(&equal, i);
        fixed[i] = t.optimizer_s;
        per[i] = t.forward_s + t.backward_s;
    }
    return balance_shares(fixed, per, s->nodes, share);
}

void balance_whole(const double *share, int n, int total, int *count)
{
    int given = 0;
    double all = 0;
    for (int i = 0; i < n; i++)
        all += share[i];
    for (int i = 0; i < n; i++) {
        count[i] = (int)fmax(1, floor(share[i] / all * total));
        given += count[i];
    }
    while (given != total) { /* to the one that lacks most, from the one that has most too many */
        int best = -1;
        double most = -INFINITY;
        for (int i = 0; i < n; i++) {
            double lacks = share[i] / all * total - count[i];
            if (given > total)
                lacks = count[i] > 1 ? -lacks : -INFINITY;
            if (lacks > most) {
                most = lacks;
                best = i;
            }
        }
        count[best] += given < total ? 1 : -1;
        given += given < total ? 1 : -1;
    }
}
