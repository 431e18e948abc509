/*
 * report/term.h - the figures that make sense in a terminal: where a step goes, when buckets travel, how steps differ, and
 * what more nodes would bring.
 *
 * Drawn with characters: blocks of Unicode, or ASCII alone. What colours tell in the other figures is told by letters here, so
 * they are an addition only.
 */
#ifndef REPORT_TERM_H
#define REPORT_TERM_H

#include <stdbool.h>

#include "base/json.h"
#include "report/outlook.h"

struct term_style {
    bool colour, ascii;
    int width; /* of a line, at least 40 */
};

/* The text, to be freed; NULL if memory is out. */
char *term_render(const json_t *document, const struct outlook *outlook, const struct term_style *style);

#endif
