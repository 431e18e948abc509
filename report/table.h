/*
 * report/table.h - a run's document as a table for the terminal.
 *
 * Reads nothing but the document (results/README.md), so a saved run is shown exactly as it was when it ended.
 * Members that are null or missing leave their row out or show their reason; no document makes it fail.
 * Strings are stripped of control characters before they reach a terminal. Text is UTF-8.
 */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H

#include <stdbool.h>

#include "base/json.h"

struct table_style {
    bool colour;   /* escape sequences */
    bool warnings; /* list the run's warnings too; a live run has already told them */
};

/* The table, to be freed; NULL if memory is out. */
char *table_render(const json_t *document, const struct table_style *style);

/* x with four significant digits and no exponent: "0.01235", "12.35", "12346". Returns buf. */
const char *table_number(char *buf, size_t size, double x);

/* Bytes in the decimal unit that suits: "497.8 MB". Returns buf. */
const char *table_bytes(char *buf, size_t size, double bytes);

/* Seconds in the unit that suits: "182.4 ms", "1 min 5 s". Returns buf. */
const char *table_seconds(char *buf, size_t size, double seconds);

/* A rate as people say it, "941.5 Mbit/s (117.7 MB/s)": decimal prefixes, bits for links. Four digits even if they are 0, for
 * what was measured has them; units_format_rate() writes what somebody has stated, "1 Gbit/s (125 MB/s)". Returns buf. */
const char *table_rate(char *buf, size_t size, double bytes_per_s);

#endif
