/*
 * report/outlook.h - what a run says about more nodes, other links and single changes: predict/, fed from a saved run.
 *
 * Of a run of one node the steps are as they were timed, and the buckets those that PyTorch's rule makes of the gradients in
 * the order in which they became ready. Of a run of several ranks the steps are rank 0's own work, scaled so that their
 * median is rank 0's step alone if that was measured (work beside communication is slower); buckets are those that were sent.
 * The link is the one in the run's prediction, else the emulated one, else what the run saw, else 1G-eth, assumed; `link` says
 * which. A document of `predict` has its own numbers, which are taken over and nothing is computed.
 *
 * Where nothing can be computed n is 0 and `why` says why. Numbers of nodes are those of outlook_nodes[].
 */
#ifndef REPORT_OUTLOOK_H
#define REPORT_OUTLOOK_H

#include <stdbool.h>

#include "base/err.h"
#include "base/json.h"
#include "predict/scenario.h"

enum { OUTLOOK_NODES = 16, OUTLOOK_RATES = 9, OUTLOOK_CHANGES = 12, OUTLOOK_TEXT = 200 };

struct outlook_point {
    double x; /* nodes, or bytes per second */
    struct estimate speedup, efficiency;
};

struct outlook_change {
    char name[48]; /* as --what-if takes it */
    struct estimate speedup;
    char verdict[16];
    bool flips;
};

struct outlook {
    int n, rates, changes;
    struct outlook_point node[64]; /* ascending */
    struct outlook_point rate[OUTLOOK_RATES];
    struct outlook_change change[OUTLOOK_CHANGES]; /* the most helpful first */
    int pair;                                      /* nodes that rate[], change[] and even_* are about */
    double now;                                    /* their speed-up as things are */
    double even_bytes_per_s, even_tokens;          /* break-even; NaN: none, or not known */
    double link_bytes_per_s;                       /* NaN: none */
    char link[OUTLOOK_TEXT], basis[OUTLOOK_TEXT], why[OUTLOOK_TEXT];
};

/* Only out of memory fails. */
int outlook_make(struct outlook *o, const json_t *document, struct err *e);

#endif
