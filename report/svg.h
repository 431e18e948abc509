/*
 * report/svg.h - a picture that gnuplot drew, made fit to stand in a page beside others.
 *
 * Names (id) get a prefix, so that pictures do not refer into each other; the size becomes the page's business; the white
 * background goes and black becomes the colour of the text around, so that a dark page has light axes. What a picture of ours
 * never holds (scripts, foreign content, events, references to anything outside) makes the whole picture be refused.
 */
#ifndef REPORT_SVG_H
#define REPORT_SVG_H

#include "base/err.h"

/* The picture as an element, to be freed; label says in words what it shows. NULL with ERR_DATA if it is none of gnuplot's or
 * not harmless, or ERR_MEMORY. */
char *svg_inline(const char *svg, const char *prefix, const char *label, struct err *e);

#endif
