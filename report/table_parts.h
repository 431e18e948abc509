/*
 * report/table_parts.h - what tables share: the page they are written on, and how a document is read and its values are written.
 * For report/table*.c and who else reads a document's figures; how figures look is table.h's.
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
    char *text; /* what f has become, once it is closed */
    size_t size;
    const json_t *d;
    const char *bold, *dim, *alert, *plain; /* "" without colours */
    struct table_unit unit;                 /* of all durations; a second's unless the table sets another */
};

/* Every table is written between these two, with colours if they are wanted. false: memory is out. */
bool table_open(struct table_page *p, const json_t *d, const struct table_style *style);
char *table_close(struct table_page *p); /* the text, to be freed; NULL: memory is out */

/* Follows a path of member names ("summary", "step_s", "median", NULL). */
json_t *table_at(const json_t *o, ...);

/* NaN for what is no number; num follows one or two member names. */
double table_value(const json_t *value);
double table_num(const json_t *o, const char *a, const char *b);

/* The member if it is a text; else what is given in its place. */
const char *table_text(const json_t *o, const char *key, const char *otherwise);

/* Text without what could steer a terminal. */
void table_put(struct table_page *p, const char *text);

void table_label(struct table_page *p, const char *text);

struct table_unit table_unit_for(double seconds);

/* A duration in the table's unit, right-aligned; a dash if unknown. */
void table_duration(struct table_page *p, double seconds, int width);

/* Communication, ranks and speed-up of a run with several ranks. */
void table_ranks(struct table_page *p);

/* Grades and marks of the nodes, and what a soak found. */
void table_health(struct table_page *p);

/* "4.229 s" or "571.7 ms", with a dash for what is unknown. buf holds TABLE_CELL. Returns buf. */
const char *table_time(char *buf, double seconds);

#endif
