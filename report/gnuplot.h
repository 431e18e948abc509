/*
 * report/gnuplot.h - gnuplot as a child process that may be missing, fail or hang without harm.
 *
 * Scripts are files NAME.gp in a folder, each of which writes NAME.svg or NAME.png there, by the variable `format`. All of
 * them go to one process, since starting it takes longer than a plot does; if it fails at one, the others go to a next one.
 * The child runs in the folder, in a process group of its own, with a C.UTF-8 locale, no initialisation file, nothing on its
 * standard input, and until the deadline at most; then the group is killed. What it says is kept: the first line becomes the
 * reason.
 *
 * gnuplot's status is checked and so is what it wrote: a picture that is not there or not complete is removed.
 */
#ifndef REPORT_GNUPLOT_H
#define REPORT_GNUPLOT_H

#include <stdbool.h>

struct gnuplot {
    const char *program; /* a name to be found in PATH, or a path; NULL: "gnuplot" */
    double deadline_s;   /* for one format, all plots together */
};

/* names: n of them; drawn[i] tells whether picture i is there and whole. why: "" or one sentence on what went wrong, without
 * a full stop. Returns how many were drawn. */
int gnuplot_draw(const struct gnuplot *g, const char *folder, const char *const *names, int n, const char *format,
                 bool *drawn, char *why, int why_size);

#endif
