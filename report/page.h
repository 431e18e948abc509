/*
 * report/page.h - a report as one HTML page that needs nothing else: no script, no network, its pictures within.
 *
 * The verdict comes first, then what to change, the figures, all numbers, and what is not known with its reason. Each number
 * stands in <span data-value="..." data-path="...">: data-value has the digits of the document and data-path where it is there, so that a
 * program can hold the page against the document. Texts of strangers are inert. The page follows the reader's light or dark
 * scheme, a narrow window and paper.
 */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include "base/err.h"
#include "base/json.h"
#include "report/outlook.h"
#include "report/plot.h"

struct page {
    const json_t *document;
    const char *run; /* file it was made from */
    const struct outlook *outlook;
    const struct plots *plots;
    char *const *svg;    /* an element (svg.h) for each figure; NULL: not drawn */
    const char *undrawn; /* why those were not */
    const char *version; /* of this program */
};

/* The text, to be freed; NULL with ERR_MEMORY. */
char *page_render(const struct page *p, struct err *e);

#endif
