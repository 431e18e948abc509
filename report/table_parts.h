/*
 * report/table_parts.h - what the sections of the table share. Private to report/table*.c; see table.h.
 */
#ifndef REPORT_TABLE_PARTS_H
#define REPORT_TABLE_PARTS_H

#include <stdio.h>

#include "base/json.h"
#include "report/table.h"

enum { TABLE_CELL = 48 }; /* room for a figure with its unit */

enum { TABLE_LABEL_WIDTH = 12, TABLE_VALUE_WIDTH = 10 };

struct table_unit {
    const char *name;
    double per_second;
    int decimals;
};

struct table_page {
    FILE *f;
    const json_t *d;
    const char *bold, *dim, *alert, *plain; /* "" without colours */
    struct table_unit unit;                 /* of all durations */
};

/* Follows a path of member names ("summary", "step_s", "median", NULL). */
json_t *table_at(const json_t *o, ...);

/* NaN for what is no number; num follows one or two member names. */
double table_value(const json_t *value);
double table_num(const json_t *o, const char *a, const char *b);

/* Text without what could steer a terminal. */
void table_put(struct table_page *p, const char *text);

void table_label(struct table_page *p, const char *text);

/* A duration in the table's unit, right-aligned; a dash if unknown. */
void table_duration(struct table_page *p, double seconds, int width);

/* Communication, ranks and speed-up of a run with several ranks. */
void table_ranks(struct table_page *p);

/* Grades and marks of the nodes, and what a soak found. */
void table_health(struct table_page *p);

/* "4.229 s" or "571.7 ms", with a dash for what is unknown. buf holds TABLE_CELL. Returns buf. */
const char *table_time(char *buf, double seconds);

/* A page of its own, with colours if they are wanted; false if memory is out. */
bool table_open(struct table_page *p, const json_t *d, const struct table_style *style, char **text, size_t *size);
char *table_close(struct table_page *p, char **text); /* the text, or NULL */

#endif
