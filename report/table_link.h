/*
 * report/table_link.h - the document of a link's measurement as a table for the terminal; see table.h for what holds of it.
 */
#ifndef REPORT_TABLE_LINK_H
#define REPORT_TABLE_LINK_H

#include "report/table.h"

/* The table, to be freed; NULL if memory is out. */
char *table_link_render(const json_t *document, const struct table_style *style);

#endif
