/*
 * cli/predict_whatif.h - `--what-if KEY=VALUE,...`: which things of a scenario may be changed by name.
 *
 * One table serves parsing, help and errors. Errors: ERR_USAGE naming the key and what it takes.
 */
#ifndef CLI_PREDICT_WHATIF_H
#define CLI_PREDICT_WHATIF_H

#include "cli/predict_source.h"
#include "predict/scenario.h"

/* Changes the scenario; plan is where a plan for another schedule or bucket size is put (plan_fini() is the caller's) and
 * then pointed to by the scenario. */
int predict_whatif(struct scenario *s, const struct predict_source *source, struct plan *plan, const char *text,
                   struct err *e);

/* The keys with their values, one line. */
extern const char predict_whatif_keys[];

#endif
