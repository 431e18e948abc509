/*
 * cli/predict_score.h - the ledger: every saved run that holds both a prediction and a measurement of several nodes.
 *
 * The prediction in a run's document was made before the run; nothing is predicted here. Adds `ledger` (one entry per run, the
 * newest first) and `score` (how far off, how often inside the interval, how often right) to the document.
 */
#ifndef CLI_PREDICT_SCORE_H
#define CLI_PREDICT_SCORE_H

#include "base/err.h"
#include "base/json.h"

int predict_score(json_t *document, const char *folder, struct err *e);

#endif
