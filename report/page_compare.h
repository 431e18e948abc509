/*
 * report/page_compare.h - a comparison as one HTML page that needs nothing else: two sides, or two interfaces measured in turns.
 *
 * The verdict comes first, then the interfaces side by side with what a step is made of over each, then all figures with the interval of
 * their ratio. Numbers and texts of strangers are as in page.h. The pictures are drawn here: no program is needed for them.
 */
#ifndef REPORT_PAGE_COMPARE_H
#define REPORT_PAGE_COMPARE_H

#include "base/err.h"
#include "base/json.h"

/* document: as compare prints it. The text, to be freed; NULL with ERR_MEMORY. */
char *page_compare_render(const json_t *document, const char *version, struct err *e);

#endif
