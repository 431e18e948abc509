/*
 * cli/record_parts.h - what the two halves of record.h share: record.c says what was asked for and on what
 * machine, record_steps.c what the steps measured. Private to them.
 */
#ifndef CLI_RECORD_PARTS_H
#define CLI_RECORD_PARTS_H

#include "cli/record.h"

extern const char record_no_steps[]; /* the reason for most nulls of a run without steps */

void record_set(json_t *o, const char *key, json_t *value);

/* A column of the samples: n values, each `stride` doubles after the one before. value is NULL if memory is out. */
struct record_column {
    double *value, *scratch;
};
struct record_column record_column_make(int n);
struct summary record_column_summary(const struct record_column *c, int n);
struct summary record_strided(const struct record_column *c, const double *x, size_t stride, int n);

/* Steps on which the summaries rest: a step whose loss is not finite computed nothing worth a rate. */
int record_good_steps(const struct run *run);

/* Of all ranks. */
int64_t record_tokens_per_step(const struct run *run);

/* summary, unsteady, halves, floor, loss, layers, gradients, stamps; -1 if memory is out. */
int record_add_measured(json_t *root, const struct record *r);

void record_add_samples(json_t *root, const struct record *r);

/* nodes, communication, speedup and what else several ranks have; for one rank nodes and the nulls. -1 if memory is
 * out. nodes must be added before the others. */
int record_add_nodes(json_t *root, const struct record *r);
int record_add_ranks(json_t *root, const struct record *r);

/* nodes[rank].health. */
void record_add_health(json_t *root, json_t *node, const struct record *r, int rank);

/* What this rank did when in the steps that are kept; and of all ranks, as timeline, with nodes[].holds_up_s. After nodes.
 * -1 if memory is out. */
json_t *record_timeline(const struct run *run);
int record_add_timeline(json_t *root, const struct record *r);

/* communication.arithmetic, over n steps. */
void record_add_arithmetic(json_t *root, json_t *communication, const struct run *run, int n);

#endif
