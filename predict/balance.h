/*
 * predict/balance.h - how to divide a batch among unequal nodes.
 *
 * Node i needs a_i + m_i x for a share x (a_i: what does not depend on it, the optimizer). An update ends when the slowest
 * node is done, so the best shares make all of them end together: a_i + m_i x_i = T for all that get anything, with
 * sum x_i = N. Communication comes after that for all of them alike. Pure functions.
 */
#ifndef PREDICT_BALANCE_H
#define PREDICT_BALANCE_H

#include "predict/scenario.h"

/* share[n], summing to n, from fixed_s[n] and per_share_s[n] (> 0); T is returned. A node whose fixed part alone exceeds
 * T gets 0. */
double balance_shares(const double *fixed_s, const double *per_share_s, int n, double *share);

/* The shares for this scenario's nodes: share[nodes]. */
double balance_scenario(const struct scenario *s, double *share);

/* Whole sequences: count[n] summing to total, by largest remainder, at least 1 each (total >= n). */
void balance_whole(const double *share, int n, int total, int *count);

#endif
