/*
 * cli/link_load.h - what is computed beside a link under measurement: the two kinds of work that training consists of.
 *
 *     gemm      matrix products that fit the caches: bound by the cores
 *     memory    a triad over arrays that do not: bound by memory
 *
 * Computes on the OpenMP pool of the calling thread, bound as a run's threads are. One computing thread at a time; the
 * arrays are taken at the first use and kept until link_load_fini().
 */
#ifndef CLI_LINK_LOAD_H
#define CLI_LINK_LOAD_H

#include "comm/link.h"
#include "probe/probe.h"

struct link_load {
    struct probe *probe;       /* borrowed */
    struct notes *notes;       /* of the binding; borrowed */
    float *matrices;           /* a, b and c of the product */
    double *arrays;            /* a, b and c of the triad */
    size_t array_n;            /* elements of one of those */
    struct link_work works[3]; /* for link.works */
};

void link_load_init(struct link_load *load, struct probe *probe, struct notes *notes);
void link_load_fini(struct link_load *load); /* accepts a zeroed load */

#endif
