/*
 * cli/demo.h - demonstrations: a script of a few short runs of this program, each predicted before and measured after.
 *
 * cmd_demo.c parses, makes a folder for the results and hands a struct demo to one script (demo_straggler.c, demo_wifi.c,
 * demo_bucket.c, demo_batch.c). A script asks (demo_ask), runs (demo_alone, demo_train), predicts (demo_predict), adds rows
 * (demo_row) and says what they mean (demo_tell). Every run is a child process that trains as `run` does and saves its own
 * document; a demonstration measures nothing itself, and its rows are numbers out of those documents.
 *
 * With --spawn computing is replayed, so that ranks on one machine do not disturb each other, and the connections are paced
 * (--emulate). With --peers the link is the real one, measured first, and computing is real unless a rank has to be slow.
 *
 * Talk is on stderr; questions only if stdin and stderr are a terminal. Owner: the main thread.
 */
#ifndef CLI_DEMO_H
#define CLI_DEMO_H

#include <limits.h>
#include <signal.h>
#include <stdio.h>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/demo_show.h"
#include "cli/options.h"
#include "predict/scenario.h"

struct demo_link { /* what ranks are connected by */
    const char *name;
    const char *emulate; /* NULL: as it is */
    struct link_model model;
};

struct demo {
    const struct invocation *in;
    const struct options *options;
    const char *name;  /* of the script */
    const char *model; /* set by the script, as are seq and unit */
    int seq;           /* 0: the model has none */
    const char *unit;  /* of a batch: "sequences of 64 tokens" */
    int nodes;
    int threads; /* of this node's run alone; 0: not known yet */
    bool asks;
    char folder[PATH_MAX];
    struct demo_link wire; /* 1G-eth, or the real one */
    struct demo_show show;
    json_t *document, *parts, *warnings;
    char last[PATH_MAX]; /* the newest document of several ranks */
    FILE *out, *said;    /* what is printed on stdout at the end: the table, then what follows from it */
};

/* How many signals have asked for an end; they come only while demo_wait_mask() is in force. */
extern volatile sig_atomic_t demo_stop;
const sigset_t *demo_wait_mask(void); /* for ppoll() */
int demo_stopped(struct err *e);      /* ERR_INTERRUPTED if it came */

/* ---- talk ---- */

void demo_say(const struct demo *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A sentence of the result, wrapped; blank line before. */
void demo_tell(struct demo *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The index of what was chosen in *answer, -1 if nobody was asked or nothing was chosen. choices ends with NULL. */
int demo_ask(struct demo *d, const char *question, const char *const *choices, int *answer, struct err *e);

/* What the one who was asked had chosen, beside the right one; nothing if nobody was asked. */
void demo_judge(struct demo *d, const char *question, const char *const *choices, int answer, int right);

/* ---- runs ---- */

/* of full, at least least: --test-scale */
int demo_count(const struct demo *d, int full, int least);

/* A batch that takes about target_s (--test-scale applies) on this node alone, low and high included. */
int demo_size(struct demo *d, double target_s, int low, int high, int *batch, struct err *e);

/* This node alone. The document is the caller's. */
json_t *demo_alone(struct demo *d, int batch, struct err *e);

struct demo_run {
    const char *name; /* of the row */
    const struct demo_link *link;
    json_t *alone;      /* this node's, with this batch; predicted from */
    int batch;          /* of each rank */
    const int *count;   /* [nodes], in place of batch; NULL: batch */
    double slow;        /* the last rank takes so many times as long; 0: 1 */
    double bucket_mib;  /* 0: the default */
    double token_scale; /* for demo_predict: the batch is so many times that of `alone`; 0: 1 */
    int steps;
};

/* All ranks. The document is the caller's. */
json_t *demo_train(struct demo *d, const struct demo_run *run, struct err *e);

/* The link to --peers, measured, the slowest of several. */
int demo_measure_link(struct demo *d, struct err *e);

/* A page about the newest run of several ranks, in the folder; what cannot be made is null with the reason. */
void demo_report(struct demo *d);

/* ---- numbers ---- */

double demo_number(const json_t *document, const char *path); /* "summary.step_s.median"; NaN if it is none */

/* From run->alone and run->link only. count: NULL for equal batches; else [nodes] becomes the whole batches that let all ranks end
 * together, and the outcome is theirs. */
int demo_predict(const struct demo *d, const struct demo_run *run, int *count, struct outcome *out, struct err *e);

struct demo_row { /* one line of the table, as measured */
    double step_s, exposed_s, speedup;
};

/* document: of several ranks, or of this node alone. predicted: NULL: nothing. alone_s: the step that speed-up counts from. */
struct demo_row demo_row(struct demo *d, const char *name, const json_t *document, const struct outcome *predicted,
                         double alone_s);

/* "0.612 s" */
const char *demo_seconds(char *buf, size_t size, double seconds);

/* ---- scripts ---- */

int demo_straggler(struct demo *d, struct err *e);
int demo_wifi(struct demo *d, struct err *e);
int demo_bucket(struct demo *d, struct err *e);
int demo_batch(struct demo *d, struct err *e);

#endif
