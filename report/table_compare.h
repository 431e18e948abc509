/*
 * report/table_compare.h - comparisons and histories for the terminal; see table.h for what holds of a table.
 */
#ifndef REPORT_TABLE_COMPARE_H
#define REPORT_TABLE_COMPARE_H

#include "report/table.h"

/* To be freed; NULL if memory is out. */
char *table_compare_render(const json_t *document, const struct table_style *style);
char *table_history_render(const json_t *document, const struct table_style *style); /* the list */
char *table_check_render(const json_t *document, const struct table_style *style);   /* --check */

#endif
