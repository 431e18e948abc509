/*
 * cli/record.h - one run as one JSON document: what was measured, on what, and why anything is unknown.
 *
 * results/README.md explains every field. Nothing is computed here that a reader could not compute from the
 * raw samples in the same document; what has no value is null and its reason stands under its path in
 * "reasons". The document is complete in itself: the table on the terminal is drawn from it alone.
 */
#ifndef CLI_RECORD_H
#define CLI_RECORD_H

#include <stdbool.h>

#include "base/err.h"
#include "base/json.h"
#include "base/notes.h"
#include "cli/compute.h"
#include "cli/judge.h"
#include "comm/clock_offset.h"
#include "comm/pacer.h"
#include "ddp/run.h"
#include "model/gemm.h"
#include "probe/watch.h"

struct record {
    int argc; /* the command line as it was given */
    char *const *argv;
    char started[21];  /* UTC, clock_utc() */
    const char *label; /* NULL: none */
    const struct run *run;
    bool executed;    /* run_execute() came to its end, perhaps an early one */
    const char *node; /* host name */
    const char *cpu;  /* NULL: unknown */
    const char *threads_reason;
    const char *blas_kernel;
    struct gemm_rate rate; /* measured right before the run on its threads */
    double rate_seconds;
    json_t *machine, *blas, *usable_cpus;          /* borrowed; NULL: unknown */
    double throttled_periods;                      /* growth during the run; NaN: unknown */
    const char *throttled_reason;                  /* why it is unknown */
    double throttled_s, stolen_s;                  /* during the run; NaN: unknown */
    int64_t core_heat_events, package_heat_events; /* during the run; -1: unknown */
    uint64_t start_ns;                             /* of the run, warm-up included: samples are told from there */
    const struct health *health;                   /* NULL: another rank of the node takes the readings */
    const struct watch *watch;                     /* what they cost; with health */
    const struct judgement *judgement;             /* NULL: the run did not come to steps */
    const int *cpu_of;                             /* [cpus_n] CPUs to which the threads are bound */
    int cpus_n;                                    /* 0: they are not */
    const char *cpus_reason;
    json_t *const *report;  /* what rank r said at [r - 1]: its record_report(), or NULL; NULL: there are no others */
    int here;               /* ranks that share this node */
    const char *local_addr; /* with other ranks: this node's on the way to them; and whether they are on this node */
    bool same_host;
    const struct clock_offset *clock; /* of rank r against this one at [r - 1]; NULL: ranks share a clock */
    const char *emulated;             /* --emulate's text; NULL: connections are as they are */
    const struct emulate *link;       /* what it says */
    struct pacer_cost pacer_cost;     /* what that cost here */
    const struct backend *backend;    /* what was asked for; NULL: tcp */
    const char *wire;                 /* "clear", "tls1.3 SUITE", or empty: it did not come to that */
    const struct compute *compute;    /* how computing was asked for */
    const struct notes *notes;
    const struct err *err; /* what ended the run; code 0: nothing did */
};

/* A float as the shortest decimal that reads back as the same float: 0.0003, not 0.00030000001424923539. */
double record_decimal(float x);

/* Medians of the first and the second half of the timed steps; the middle one of an odd number is in
 * neither. NaN, and steady, below four steps. The halves differ if their medians are more than 10 % apart (less
 * is what any machine does) and more than three standard errors of their difference, taken from the MADs. */
struct record_halves {
    double first_s, second_s;
    bool known, unsteady;
};
/* Steps that stood still: over twice the median and over a second more than it. limit_s is NaN below three steps, which have
 * no middle. */
struct record_stalls {
    double limit_s;
    int n, first;
};
struct record_stalls record_stalls(const struct run *run);

struct record_halves record_halves(const struct run *run);

/* What one of several ranks tells rank 0 at its end: node, warnings, reasons, and error if there is one; NULL if memory is
 * out. To be freed with json_decref(). */
json_t *record_report(const struct record *r);

/* The document, to be freed with json_decref(). */
json_t *record_json(const struct record *r);

#endif
