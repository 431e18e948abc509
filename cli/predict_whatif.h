/*
 * cli/predict_whatif.h - `--what-if KEY=VALUE,...`: which things of a scenario may be changed by name.
 *
 * One table serves parsing, help and errors. Errors: ERR_USAGE naming the key and what it takes.
 */
#ifndef CLI_PREDICT_WHATIF_H
#define CLI_PREDICT_WHATIF_H

#include "cli/predict_source.h"
#include "predict/scenario.h"
#include "predict/simulate.h"

/* What a changed scenario points to; zeroed by the caller, who keeps it as long as the scenario and calls plan_fini(). */
struct predict_changed {
    struct plan plan;            /* for another schedule or bucket size */
    double share[SIM_NODES_MAX]; /* of each node, relative to an equal one */
};

int predict_whatif(struct scenario *s, const struct predict_source *source, struct predict_changed *changed,
                   const char *text, struct err *e);

/* The keys with their values, one line. */
extern const char predict_whatif_keys[];

#endif
