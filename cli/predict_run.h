/*
 * cli/predict_run.h - the `prediction` of a run's own document.
 *
 * A run of one node ends with what a twin node would bring. A run with peers predicts before its first distributed step, from
 * what it has rehearsed, or, without that, from a saved run of this node and a measured link, so that the result can be
 * scored: `bench predict --score`.
 */
#ifndef CLI_PREDICT_RUN_H
#define CLI_PREDICT_RUN_H

#include "base/json.h"
#include "comm/peer_list.h"
#include "ddp/run.h"

/* Puts a prediction into the document: made if there is one (it is taken over), else of a twin if this was one node, else null
 * with why (NULL: nobody asked for one). Never fails: what cannot be predicted is null with a reason. */
void predict_run_add(json_t *document, json_t *made, const char *why);

/* On rank 0, once the run has rehearsed (ddp/rehearse.h). The other nodes are taken to be like the slowest of them. Returns
 * what predict_run_add() takes, or NULL with the reason in e. */
json_t *predict_run_rehearsed(const struct run *run, struct err *e);

/* Before a run with others, on rank 0. The profile is the newest saved run of this node (host) alone in folder that trained the same model
 * with the same batch, sequence, accumulation and threads; the link the slowest of those that were measured last to each of the
 * peers from this node's address local, for another address is another cable; backend carries the gradients. Returns what
 * predict_run_add() takes, or NULL with the reason in e. */
json_t *predict_run_before(const struct run *run, const char *folder, const struct peer_list *peers, const char *local,
                           const char *host, const char *backend, struct err *e);

#endif
