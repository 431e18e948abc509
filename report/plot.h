/*
 * report/plot.h - the figures of a report as gnuplot scripts and data files.
 *
 * A figure is a script NAME.gp and a file of numbers NAME.dat that it draws; both are texts here and do not need gnuplot to exist.
 * Scripts stand for themselves: `gnuplot NAME.gp` writes NAME.svg beside them, -e "format='png'" NAME.png. All ranges are explicit, so
 * that no row, one row or equal rows draw as well as many; a figure without data says "no data" and why. Colours are told apart in
 * black and white by their lightness, hatching, dashes and markers. Numbers are written with a point.
 *
 *     plots_make(&plots, document, &outlook, e); ... plots_fini(&plots)
 *
 * Which figures there are depends on the kind of the document. Long data are thinned so that their extremes stay.
 */
#ifndef REPORT_PLOT_H
#define REPORT_PLOT_H

#include "base/err.h"
#include "base/json.h"
#include "report/outlook.h"

enum { PLOTS = 10, PLOT_CAPTION = 640, PLOT_WHY = 240 };

struct plot {
    const char *name;           /* of its files */
    const char *heading;        /* what it answers */
    int height;                 /* of 860 wide */
    char caption[PLOT_CAPTION]; /* how to read it, and what it rests on */
    char nothing[PLOT_WHY];     /* why it has no data; "" if it has */
    char *script, *data;
};

struct plots {
    int n;
    struct plot plot[PLOTS];
};

/* ERR_MEMORY is the only failure. */
int plots_make(struct plots *p, const json_t *document, const struct outlook *outlook, struct err *e);
void plots_fini(struct plots *p); /* accepts a zeroed object */

#endif
