/*
 * report/table_compare.h - comparisons and histories for the terminal; see table.h for what holds of a table.
 */
#ifndef REPORT_TABLE_COMPARE_H
#define REPORT_TABLE_COMPARE_H

#include "base/json.h"
#include "report/table.h"

/* To be freed; NULL if memory is out. */
char *table_compare_render(const json_t *document, const struct table_style *style);
char *table_history_render(const json_t *document, const struct table_style *style); /* the list */
char *table_check_render(const json_t *document, const struct table_style *style);   /* --check */

/* A figure of metrics[] in its unit; buf holds TABLE_CELL. Returns buf. */
const char *table_compare_figure(char *buf, const json_t *metric, const char *key);

#endif
