/*
 * report/page_parts.h - what pages share: everything around their contents, and how a number stands in them. For report/page*.c.
 */
#ifndef REPORT_PAGE_PARTS_H
#define REPORT_PAGE_PARTS_H

#include <stdio.h>

#include "base/json.h"

/* From the doctype to <body>, with a policy that lets nothing in from outside and no script run; title: any text. */
void page_head(FILE *f, const char *title);

/* Who made the page, what its numbers are, and the end. */
void page_foot(FILE *f, const char *version, const char *about);

/* The document's own digits for programs, text for people. */
void page_number(FILE *f, const json_t *value, const char *path, const char *text);

#endif
