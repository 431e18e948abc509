/*
 * base/ranksum.h - do two groups of figures differ? The rank-sum test of Mann and Whitney.
 *
 * Only the order of the figures counts, so one wild figure weighs no more than a slightly large one. Under the hypothesis that
 * group a is a random part of all figures, the sum of a's ranks (figures that are equal share their mean rank) has a known
 * distribution; p is the share of all ways to choose the group whose sum is at least as far from its mean as the one seen.
 * Up to RANKSUM_EXACT figures in all it is counted, ties included: the number of subsets of each size and sum is built up figure by
 * figure. Beyond, the normal law with the variance that ties leave and a correction for continuity stands in for it.
 *
 * Figures are taken to be independent. Steps of one run are not: give medians of blocks, or of runs. Pure; a group that is
 * empty gives p = 1.
 */
#ifndef BASE_RANKSUM_H
#define BASE_RANKSUM_H

#include <stdbool.h>

enum { RANKSUM_EXACT = 50 };

struct ranksum {
    double sum;     /* of the ranks of a, from 1 */
    double p;       /* two-sided */
    double p_least; /* the smallest p that groups of these sizes can have: 2 / C(na + nb, na) */
    bool exact;
};

struct ranksum ranksum_test(const double *a, int na, const double *b, int nb);

/* Ranks from 1, equal figures share their mean; rank[] has n places. 0, or -1 if memory is out. */
int ranksum_ranks(const double *x, int n, double *rank);

#endif
