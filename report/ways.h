/*
 * report/ways.h - the figures of two interfaces side by side, as compare --iface measures them: one list for terminal and page.
 */
#ifndef REPORT_WAYS_H
#define REPORT_WAYS_H

#include "base/json.h"

enum { WAYS_CELL = 96 };

struct way_figure {
    const char *key; /* of a number in ways[] */
    const char *title;
    const char *(*format)(char *buf, double x); /* buf has WAYS_CELL; "-" for what is unknown. Returns the text */
    const char *note;                           /* what it is; NULL: the title says it */
};

extern const struct way_figure way_figures[]; /* ends with a row of NULLs */

/* As lines for the terminal, before the comparison of the runs; to be freed, NULL if memory is out. */
char *ways_render(const json_t *document);

#endif
