/* report/plot.c - see plot.h. Start at plots_make(); the figures are in plot_*.c. */
#include "report/plot.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "report/clean.h"
#include "report/plot_pen.h"
#include "report/verdict.h"

/* ---- a figure ---- */

static void prelude(struct pen *pen)
{
    const char *name = pen->plot->name;
    fprintf(pen->gp,
            "# %s.gp - draws %s.dat: gnuplot %s.gp writes %s.svg, with -e \"format='png'\" %s.png\n"
            "reset\n"
            "if (!exists(\"format\")) format = 'svg'\n"
            "set encoding utf8\n"
            "if (format eq 'png') {\n"
            "    if (strstrt(GPVAL_TERMINALS, 'pngcairo')) {\n"
            "        set terminal pngcairo size %d,%d noenhanced font 'sans,15' background rgb 'white'\n"
            "    } else {\n"
            "        set terminal png size %d,%d noenhanced\n"
            "    }\n"
            "} else {\n"
            "    set terminal svg size %d,%d noenhanced font 'sans-serif,15' background rgb 'white'\n"
            "}\n"
            "set output '%s.'.format\n"
            "set decimalsign '.'\n"
            "set datafile missing '?'\n"
            "set border 3 lw 1\n"
            "set tics nomirror\n"
            "set key above horizontal left samplen 1.5 spacing 1.1 font ',13'\n",
            name, name, name, name, name, PLOT_WIDTH, pen->plot->height, PLOT_WIDTH, pen->plot->height, PLOT_WIDTH,
            pen->plot->height, name);
}

bool pen_begin(struct pen *pen, struct plots *list, const char *name, const char *heading, int height,
               const char *columns)
{
    if (list->n == PLOTS)
        return false;
    *pen = (struct pen){.list = list, .plot = &list->plot[list->n]};
    *pen->plot = (struct plot){.name = name, .heading = heading, .height = height};
    pen->gp = open_memstream(&pen->plot->script, &pen->gp_size);
    pen->dat = open_memstream(&pen->plot->data, &pen->dat_size);
    if (!pen->gp || !pen->dat) {
        if (pen->gp)
            fclose(pen->gp);
        if (pen->dat)
            fclose(pen->dat);
        free(pen->plot->script);
        free(pen->plot->data);
        return false;
    }
    prelude(pen);
    fprintf(pen->dat, "# %s\n", columns);
    return true;
}

void pen_caption(struct pen *pen, const char *fmt, ...)
{
    size_t n = strlen(pen->plot->caption);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(pen->plot->caption + n, sizeof pen->plot->caption - n, fmt, ap);
    va_end(ap);
}

void pen_nothing(struct pen *pen, const char *why)
{
    snprintf(pen->plot->nothing, sizeof pen->plot->nothing, "%s", why);
    fprintf(pen->gp,
            "unset border\nunset tics\nunset key\nset label 1 'no data' at graph 0.5,0.6 center\nset label 2 ");
    clean_gnuplot(pen->gp, why);
    fprintf(pen->gp, " at graph 0.5,0.4 center\nplot [0:1] [0:1] 2 notitle\n");
}

void pen_number(struct pen *pen, double x)
{
    if (isfinite(x))
        fprintf(pen->dat, " %.9g", x);
    else
        fputs(" ?", pen->dat);
}

void pen_next_block(struct pen *pen)
{
    fputs("\n\n", pen->dat);
}

bool pen_end(struct pen *pen)
{
    fprintf(pen->gp, "set output\n");
    bool good = fclose(pen->gp) == 0;
    good = fclose(pen->dat) == 0 && good;
    if (!good) {
        free(pen->plot->script);
        free(pen->plot->data);
        pen->plot->script = pen->plot->data = NULL;
    }
    pen->list->n += good;
    return good;
}

/* ---- scales ---- */

struct pen_unit pen_unit_for(double largest_s)
{
    if (largest_s >= 1)
        return (struct pen_unit){"s", 1};
    if (largest_s >= 1e-3)
        return (struct pen_unit){"ms", 1e3};
    return (struct pen_unit){"µs", 1e6};
}

double pen_above(double x)
{
    if (!(x > 0) || !isfinite(x))
        return 1;
    double power = pow(10, floor(log10(x))), tenths = ceil(x * 1.04 / power * 10);
    return tenths / 10 * power;
}

void pen_log_tics(struct pen *pen, char axis, double low, double high)
{
    static const double digit[] = {1, 2, 5};
    int digits = high > 300 * low ? 1 : 3;
    const char *between = "";
    fprintf(pen->gp, "set %ctics (", axis);
    for (int power = (int)floor(log10(low)); power <= (int)ceil(log10(high)); power++)
        for (int i = 0; i < digits; i++) {
            double x = digit[i] * pow(10, power);
            if (x < low || x > high)
                continue;
            fprintf(pen->gp, "%s%.9g", between, x);
            between = ", ";
        }
    fprintf(pen->gp, ")\n");
}

const char *pen_name(char *buf, const char *text)
{
    char clean[CLEAN_MAX];
    clean_text(clean, sizeof clean, text ? text : "?");
    size_t cut = strlen(clean), limit = PEN_NAME - 16;
    if (cut > limit) {
        for (cut = limit; cut > 0 && ((unsigned char)clean[cut] & 0xc0) == 0x80;) /* not within a character */
            cut--;
        snprintf(buf, PEN_NAME, "%.*s...", (int)cut, clean);
    } else {
        snprintf(buf, PEN_NAME, "%s", clean);
    }
    return buf;
}

/* ---- all of them ---- */

int plots_make(struct plots *p, const json_t *d, const struct outlook *o, struct err *e)
{
    bool good = true;
    *p = (struct plots){0};
    switch (document_kind(d)) {
    case DOCUMENT_RUN:
        good = plot_breakdown(p, d) && plot_buckets(p, d) && plot_scaling(p, d, o) && plot_bandwidth(p, d, o) &&
               plot_health(p, d) && plot_distribution(p, d) && plot_layers(p, d);
        break;
    case DOCUMENT_LINK:
        good = plot_messages(p, d) && plot_latency(p, d) && plot_slowdown(p, d);
        break;
    case DOCUMENT_PREDICTION:
        good = plot_scaling(p, d, o) && plot_tokens(p, d);
        break;
    case DOCUMENT_OTHER:
        break;
    }
    if (good)
        return 0;
    plots_fini(p);
    return err_set(e, ERR_MEMORY, "no memory for the figures");
}

void plots_fini(struct plots *p)
{
    for (int i = 0; i < p->n; i++) {
        free(p->plot[i].script);
        free(p->plot[i].data);
    }
    *p = (struct plots){0};
}
