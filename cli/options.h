/*
 * cli/options.h - the command line's options: one table, strict values, errors that say what is accepted.
 *
 * options_parse() fills a struct options with defaults and then with what the arguments say. Names must be
 * spelled out (an abbreviation that is unique today breaks a script tomorrow), numbers are plain decimal
 * with a point whatever the locale, and anything else is ERR_USAGE in one sentence that names the option, the
 * value and what would be accepted. Strings are borrowed from the arguments. A new option is a row in
 * options.c and a member here.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>

#include "base/err.h"
#include "cli/compute.h"
#include "comm/emulate.h"
#include "ddp/run.h"

/* Which commands an option belongs to. */
enum options_of {
    OPTIONS_RUN = 1,
    OPTIONS_PROBE = 2,
    OPTIONS_INFO = 4,
    OPTIONS_SERVE = 8,
    OPTIONS_PEERS = 16,
    OPTIONS_LINK = 64,
    OPTIONS_PREDICT = 128,
    OPTIONS_TRACE = 1024,
    OPTIONS_REPORT = 2048,
    OPTIONS_SOAK = 16384,
    OPTIONS_COMPARE = 1 << 20,
    OPTIONS_HISTORY = 1 << 21,
    OPTIONS_DOCTOR = 1 << 22,
    OPTIONS_COMPLETION = 1 << 23,
    OPTIONS_DEMO = 1 << 24
};

/* What is to be predicted. */
struct predict_options {
    const char *model, *nodes, *link, *rtt, *link_run, *what_if, *step_s, *overlap, *partner, *profile, *heat,
        *soak;    /* NULL: not given */
    double bytes; /* NaN: not given */
    double target;
    int goal_steps, steps; /* 0: not given */
    bool score;
};

/* What a report is made into. */
struct report_options {
    const char *format, *plot;
    double deadline_s; /* of gnuplot */
};

/* How a link is measured. */
struct link_wishes {
    double duration_s, warmup_s, window_s; /* NaN: chosen by the program */
    bool allreduce, compute;
    int alter; /* for tests: an element of a sum; -1: none */
};

/* Which runs, and what is made of them. */
struct history_options {
    const char *model, *node, *format, *plot, *metric; /* NULL: not given */
    int last;                                          /* 0: all */
    bool check, require_baseline, force;
    double noise_floor; /* NaN: chosen by the program */
};

struct options {
    struct run_options run;                    /* threads, memory_limit_*, stop, rank and team are the caller's */
    int threads;                               /* 0: not given */
    const char *dtype;                         /* "fp32" */
    const char *schedule, *comm;               /* "ddp" or "split"; a back-end */
    const struct backend *backend;             /* that one; it can be opened */
    const char *emulate;                       /* as given; NULL: connections are left as they are */
    struct emulate link;                       /* what it says */
    const char *optimizer_per_bucket;          /* "auto", "yes" or "no" */
    const char *compute_text;                  /* as given */
    struct compute compute;                    /* what it says */
    const char *worker;                        /* a rank's place, set by this program; NULL: this is rank 0 */
    const char *peers;                         /* a list; NULL: not given */
    bool predict_first;                        /* with peers: on unless told otherwise */
    const char *results_dir, *label, *sysroot; /* NULL: not given */
    double minutes;                            /* soak */
    double seconds;                            /* probe: time for each of its measurements */
    int port;                                  /* serve */
    bool once, any_source, test_this_host;     /* serve; peers */
    double wait_s;                             /* serve: 0: for ever */
    const char *key_file, *iface, *test_plan;  /* NULL: not given */
    double peer_timeout_s;
    struct predict_options predict;
    struct link_wishes survey;
    struct history_options history;
    const char *output; /* trace, report; NULL: not given */
    struct report_options report;
    int live;             /* run: a descriptor that takes live.h's lines; -1: none */
    double test_scale;    /* demo: how long it takes, of what it is meant to take */
    bool encrypt, clear;  /* gradients of peers */
    bool require_encrypt; /* serve */
    bool key_stdin;       /* serve */
    const char *remote;   /* NULL: in the other node's PATH */
    bool no_ssh;
    bool json;
    bool help, version; /* asked for; the other members are then meaningless */
};

/* argv[0] is the command and is not looked at; argv is left in its order. */
int options_parse(struct options *o, enum options_of command, int argc, char *const *argv, struct err *e);

/* Divides arguments into words, at most max of them, and options with their values: words[] gets the former, NULL after the last
 * if there is room. Returns the latter with argv[0] before and NULL behind them, to be freed; NULL if memory is out. */
char **options_words(enum options_of command, int argc, char *const *argv, const char **words, int max);

/* Calls visit() for every option of a command that --help lists; takes_value: it is followed by one. */
void options_each(enum options_of command, void (*visit)(void *ctx, const char *name, bool takes_value), void *ctx);

/* The options of a command with their explanations, as text to be freed; NULL if memory is out. synopsis
 * stands behind "Usage: ", before and after around the list of options. */
char *options_help(enum options_of command, const char *synopsis, const char *before, const char *after);

#endif
