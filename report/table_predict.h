/*
 * report/table_predict.h - predictions for the terminal: the document of `predict`, the ledger, and the few lines that end a
 * run of one node. Like table.h they read nothing but the document and do not fail on what is missing.
 */
#ifndef REPORT_TABLE_PREDICT_H
#define REPORT_TABLE_PREDICT_H

#include "report/table.h"

struct table_page;

/* To be freed; NULL if memory is out. */
char *table_predict_render(const json_t *document, const struct table_style *style);
char *table_score_render(const json_t *document, const struct table_style *style);

/* A prediction in one line: step and speed-up with their intervals, verdict. To be freed. */
char *table_prediction_line(const json_t *prediction);

/* What a run's `prediction` says of a twin node, or, of a run of several, beside what was measured; for table.c. */
void table_prediction(struct table_page *p);

#endif
