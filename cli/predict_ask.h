/*
 * cli/predict_ask.h - a prediction as a document: what was asked, what is assumed, what comes out.
 *
 * The one place that turns scenarios into JSON; results/README.md explains the members. Used by `predict`, at the end of a
 * run of one node, and before a run with peers. Owner: the main thread.
 */
#ifndef CLI_PREDICT_ASK_H
#define CLI_PREDICT_ASK_H

#include "base/json.h"
#include "cli/predict_source.h"
#include "predict/heat.h"
#include "predict/scenario.h"

enum { PREDICT_COUNTS_MAX = 64 };

struct predict_link { /* a link and where it comes from */
    struct link_model model;
    const char *origin; /* "stated", "medium", "assumed", "measured" */
    char name[128];     /* as given: "941.5Mbit", "1G-eth", a file */
    bool rtt_assumed;
};

/* A rate or medium as given, wifi included; rtt: text or NULL. exact: nothing on top, latency 0 unless stated. */
int predict_link_parse(struct predict_link *link, const char *rate, const char *rtt, bool exact, struct err *e);

struct predict_ask {
    const struct predict_source *source, *partner; /* partner NULL: nodes like this one */
    struct predict_link link;
    int count[PREDICT_COUNTS_MAX], counts; /* numbers of nodes */
    double partner_scale;                  /* stated steps of two nodes; 1 */
    const double *share, *pace;            /* of each node, as in struct scenario; NULL: equal, as in its profile */
    int steps;                             /* of the run that is predicted; 0: ten */
    const char *what_if;                   /* NULL: none */
    double target;                         /* speed-up of the inverse answers; 1: break-even */
    long goal_steps;                       /* 0: none */
    const struct heat_path *heat;          /* NULL: none */
    uint64_t seed;
    int optimizer_by_bucket; /* 1 yes, -1 no, 0: as a run with this schedule does */
    bool brief;              /* nodes only: no inverse answers, changes, curve, variance */
};

/* Adds to document: source, link, plan, assumptions, nodes and what else was asked. */
int predict_ask(json_t *document, const struct predict_ask *ask, struct err *e);

/* The scenario of an ask at a number of nodes. */
void predict_scenario(struct scenario *s, const struct predict_ask *ask, int nodes);

/* What a run's document holds as `prediction`: step_s, speedup, p_faster, verdict, limit for `nodes` nodes, with link and
 * assumptions. NULL with e if it cannot be made. */
json_t *predict_member(const struct predict_ask *ask, int nodes, struct err *e);

/* What a twin node would bring to a run of one node, over three usual media: the same members for the first, and `media`.
 * NULL with e if it cannot be made. */
json_t *predict_twin(json_t *run_document, struct err *e);

#endif
