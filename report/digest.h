/*
 * report/digest.h - what a result says that comparing and listing need, in a few hundred bytes.
 *
 * A digest has what has to be equal for two results to be comparable (digest_condition_name), the figures that are followed over
 * time (digest_metrics), and who, when and which version. It is a JSON object, so that it can be kept:
 *
 *     kind  status  started  label  version  model  world  steps  nodes[]  step_mad_s  conditions{name: text}  metrics{path: number}
 *
 * A metric that a result does not have is left out. Reads nothing but the document; nothing in a document makes it fail.
 */
#ifndef REPORT_DIGEST_H
#define REPORT_DIGEST_H

#include <stdbool.h>

#include "base/json.h"
#include "report/skim.h"

/* Name and unit are those of the list of figures, report/fields.h. */
struct digest_metric {
    const char *path;   /* members of the document, divided by points */
    const char *listed; /* the path of the same figure in that list; NULL: this one */
    const char *sample; /* the member of samples[] it is the median of; NULL: one figure per run */
    int worse;          /* 1: larger is worse, -1: smaller is */
};

/* End with a row whose path is NULL. Ratios, which a slower machine changes less, come first. */
extern const struct digest_metric digest_metrics[];

/* NULL: there is no metric of that path or name. */
const struct digest_metric *digest_metric_find(const char *name);

const char *digest_name(const struct digest_metric *m); /* for people: "step / floor" */
const char *digest_unit(const struct digest_metric *m); /* "s", "ratio", "bytes", or "per s" for rates of any kind */
bool digest_is_time(const struct digest_metric *m);

/* Names of the conditions, in the order in which they are told; NULL past the last one. */
const char *digest_condition_name(int i);

json_t *digest_make(const json_t *document);

/* What digest_make() looks at, for runs_skim(): a document of which nothing else was read has the same digest. */
enum skim_need digest_needs(const char *path);

/* The text of a condition of a digest; "" if it has none. */
const char *digest_condition(const json_t *digest, const char *name);

/* NaN: unknown. */
double digest_value(const json_t *digest, const char *path);

/* Whether a result may stand in a history: a run that ended well. NULL, or why not. */
const char *digest_unfit(const json_t *digest);

#endif
