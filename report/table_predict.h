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

/* What a run's `prediction` says of a twin node; for table.c. */
void table_twin(struct table_page *p);

#endif
