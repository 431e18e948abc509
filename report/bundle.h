/*
 * report/bundle.h - a report in a folder: report.html, and for each figure NAME.gp, NAME.dat and the pictures drawn from them.
 *
 * The page is what counts: if gnuplot is missing, fails or hangs, or a file of a figure cannot be written, that is one note each and
 * the page is there with its tables. It appears whole or not at all; older files of the same names are replaced.
 *
 * Errors: 73 if the folder cannot be made or written to, 74 if the disk is full, 71; 65 if the document is of no kind that has a
 * report. Nothing is left of a page that could not be finished.
 */
#ifndef REPORT_BUNDLE_H
#define REPORT_BUNDLE_H

#include <limits.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/json.h"
#include "base/notes.h"
#include "report/gnuplot.h"
#include "report/plot.h"

struct bundle {
    const char *run;     /* file of the document, for the page */
    const char *folder;  /* made if it is missing */
    const char *version; /* of this program */
    bool png;            /* pictures in pixels too */
    bool draw;           /* false: no gnuplot at all */
    struct gnuplot gnuplot;

    /* results */
    char page[PATH_MAX];
    int figures, drawn;      /* with data; of them as SVG */
    const char *name[PLOTS]; /* of all figures */
    bool has_svg[PLOTS], has_png[PLOTS];
};

int bundle_write(struct bundle *b, const json_t *document, struct notes *notes, struct err *e);

#endif
