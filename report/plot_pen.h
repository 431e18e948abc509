/*
 * report/plot_pen.h - what the figures share: begin one, write its two files, end it. Private to report/plot*.c; see plot.h.
 */
#ifndef REPORT_PLOT_PEN_H
#define REPORT_PLOT_PEN_H

#include <stdbool.h>
#include <stdio.h>

#include "report/plot.h"

enum { PLOT_WIDTH = 860 };

/* Fills: light, dark, hatched, middle; see plot.h for why. Used in "with boxxyerror PLOT_..." and so on. */
#define PLOT_FORWARD "fs solid 1 border lc rgb '#4a6f8f' fc rgb '#9ec5e8'"
#define PLOT_BACKWARD "fs solid 1 border lc rgb '#1f4f7a' fc rgb '#2f6ea5'"
#define PLOT_BOTH "fs solid 1 border lc rgb '#1f4f7a' fc rgb '#5f97c9'"
#define PLOT_EXPOSED "fs pattern 4 border lc rgb '#c23b4e' fc rgb '#c23b4e'"
#define PLOT_OPTIMIZER "fs solid 1 border lc rgb '#6f6f6f' fc rgb '#ececec'"
#define PLOT_WAITING "fs pattern 5 border lc rgb '#b07a1c' fc rgb '#b07a1c'"
#define PLOT_MOVING "fs solid 1 border lc rgb '#2c6b45' fc rgb '#3f9a63'"
#define PLOT_SUMMING "fs solid 1 border lc rgb '#5a3d80' fc rgb '#c3a8e6'"

struct pen {
    struct plots *list;
    struct plot *plot; /* becomes one of the list when it ends */
    FILE *gp, *dat;
    size_t gp_size, dat_size;
};

/* A new figure; false if memory is out, and then the list is as it was. columns: the first line of the data file. */
bool pen_begin(struct pen *pen, struct plots *list, const char *name, const char *heading, int height,
               const char *columns);
void pen_caption(struct pen *pen, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The figure has no data: its script says so. Takes the place of drawing. */
void pen_nothing(struct pen *pen, const char *why);
/* A number of the data file with a blank before it; "?" if it is unknown. */
void pen_number(struct pen *pen, double x);
void pen_next_block(struct pen *pen); /* what follows is the data file's next index */
bool pen_end(struct pen *pen);

/* Seconds as they are best shown up to a largest value. */
struct pen_unit {
    const char *name;
    double per_second;
};
struct pen_unit pen_unit_for(double largest_s);

/* Above x, round, for the end of an axis; 1 if x is not positive. */
double pen_above(double x);

/* Labels of a logarithmic axis, 'x' or 'y': powers of ten, and their doubles and halves if that would leave few. */
void pen_log_tics(struct pen *pen, char axis, double low, double high);

/* A name cut to what fits beside an axis. buf holds PEN_NAME. */
enum { PEN_NAME = 40 };
const char *pen_name(char *buf, const char *text);

/* The figures, in their files. */
bool plot_breakdown(struct plots *list, const json_t *d);
bool plot_buckets(struct plots *list, const json_t *d);
bool plot_scaling(struct plots *list, const json_t *d, const struct outlook *o);
bool plot_bandwidth(struct plots *list, const json_t *d, const struct outlook *o);
bool plot_health(struct plots *list, const json_t *d);
bool plot_distribution(struct plots *list, const json_t *d);
bool plot_layers(struct plots *list, const json_t *d);
bool plot_messages(struct plots *list, const json_t *d);
bool plot_latency(struct plots *list, const json_t *d);
bool plot_slowdown(struct plots *list, const json_t *d);
bool plot_tokens(struct plots *list, const json_t *d);

#endif
