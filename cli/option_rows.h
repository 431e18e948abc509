/*
 * cli/option_rows.h - every option of every command, as a row of one table: where its value goes, what is accepted, what --help
 * prints. Private to cli/options.c, which parses by it, and cli/option_rows.c.
 */
#ifndef CLI_OPTION_ROWS_H
#define CLI_OPTION_ROWS_H

#include <stddef.h>

#include "cli/options.h"

enum option_kind { INT, U64, REAL, TEXT, ON, OFF };
enum option_group { PREDICT = 1, NETWORK, DURATION, DATA, RANKS, NODE, OUTPUT, OTHER };

struct option_row {
    const char *name, *argument; /* argument NULL: a switch */
    enum option_kind kind;
    size_t offset;
    double low, high; /* accepted range of a number, ends included */
    int commands;
    enum option_group group;
    const char *help; /* NULL: not listed */
};

enum { OPTION_ROWS_MAX = 256 };
extern const struct option_row option_rows[];
extern const int option_rows_n;

/* What a group is headed with; NULL: see heading() in cli/options.c. */
extern const char *const option_headings[OTHER + 1];

extern const struct options option_defaults;

#endif
