/*
 * cli/predict_answer.h - what comes out of scenarios, as members of a document. Private to cli/predict*.c.
 *
 * root takes the reasons of what is null, under paths that begin with the path given. Failures are those of
 * predict/scenario.h.
 */
#ifndef CLI_PREDICT_ANSWER_H
#define CLI_PREDICT_ANSWER_H

#include "cli/predict_ask.h"
#include "cli/predict_whatif.h"

/* One number of nodes: step_s, speedup, ... into o; out is what it rests on. */
int predict_add_outcome(json_t *root, json_t *o, const char *path, const struct scenario *s, struct outcome *out,
                        struct err *e);

/* owner.nodes: all that were asked for. changed: with the ask's what_if applied, and where what it points to is kept;
 * NULL: without. name: the path of owner with a point behind it, "" for root. */
int predict_add_nodes(json_t *root, json_t *owner, const char *name, const struct predict_ask *ask,
                      struct predict_changed *changed, struct err *e);

/* inverse, changes, shares, goal, curve, variance, heat: of the smallest number of nodes above one. */
int predict_add_details(json_t *root, const struct predict_ask *ask, struct err *e);

#endif
