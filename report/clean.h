/*
 * report/clean.h - text of strangers (host names, processors, labels, paths) on its way into a file that something interprets.
 *
 * A result can come from another machine, so any of its texts may hold markup, quotes, escape sequences or marks that turn the
 * direction of writing. clean_text() makes a text that shows what it is and does nothing; the others write it in the way
 * that the target needs, cleaned first. Input is UTF-8 (jansson accepts nothing else); NULL is written as nothing. Texts are cut
 * at CLEAN_MAX bytes. None of them fails; errors of the stream stay with it.
 */
#ifndef REPORT_CLEAN_H
#define REPORT_CLEAN_H

#include <stddef.h>
#include <stdio.h>

enum { CLEAN_MAX = 1024 };

/* Controls (C0, C1, DEL), line and paragraph separators, marks of direction and what has no width become '?'. Cut at a
 * character's boundary. Returns buf. */
const char *clean_text(char *buf, size_t size, const char *text);

/* The same on its way to a stream, without a limit. Bytes that are no UTF-8 become '?' too. */
void clean_put(FILE *f, const char *text);

void clean_html(FILE *f, const char *text);     /* content of an element or of a quoted attribute */
void clean_csv(FILE *f, const char *text);      /* a quoted field that no spreadsheet takes for a formula */
void clean_markdown(FILE *f, const char *text); /* a table's cell: nothing in it is markup */
void clean_label(FILE *f, const char *text);    /* value of an OpenMetrics label, without its quotes */
void clean_gnuplot(FILE *f, const char *text);  /* a single-quoted string of a script, quotes included */
void clean_datum(FILE *f, const char *text);    /* a double-quoted column of a data file, quotes included */

#endif
