/* report/verdict.c - see verdict.h. Start at report_verdict(). */
#include "report/verdict.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "report/clean.h"
#include "report/fields.h"
#include "report/table.h"
#include "report/table_parts.h"

/* A measured speed-up this near to 1 decides nothing; the same as in the ledger of predictions. */
#define DEAD_BAND 0.03

enum document_kind document_kind(const json_t *d)
{
    const char *kind = json_string_value(json_object_get(d, "kind"));
    if (kind && strcmp(kind, "link") == 0)
        return json_is_object(json_object_get(d, "link")) ? DOCUMENT_LINK : DOCUMENT_OTHER;
    if (json_is_object(json_object_get(d, "model")) && json_is_object(json_object_get(d, "summary")))
        return DOCUMENT_RUN;
    if (json_is_object(json_object_get(d, "source")) && json_is_array(json_object_get(d, "nodes")))
        return DOCUMENT_PREDICTION;
    return DOCUMENT_OTHER;
}

static void add(struct report_verdict *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void add(struct report_verdict *v, const char *fmt, ...)
{
    size_t n = strlen(v->detail);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(v->detail + n, sizeof v->detail - n, fmt, ap);
    va_end(ap);
}

static const char *text_at(char *buf, size_t size, const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return clean_text(buf, size, s ? s : "?");
}

/* "1.42 times [1.35 .. 1.50]" */
static const char *times(char *buf, size_t size, const json_t *estimate)
{
    double m = table_num(estimate, "median", NULL), lo = table_num(estimate, "lo", NULL);
    if (isfinite(lo))
        snprintf(buf, size, "%.2f times [%.2f .. %.2f]", m, lo, table_num(estimate, "hi", NULL));
    else
        snprintf(buf, size, "%.2f times", m);
    return buf;
}

static void from_prediction(struct report_verdict *v, const json_t *o, const json_t *link, const char *who)
{
    char ratio[96], rate[96], name[96];
    const char *verdict = json_string_value(json_object_get(o, "verdict"));
    const char *limit = json_string_value(json_object_get(o, "limit"));
    double p = table_num(o, "p_faster", NULL);
    snprintf(v->word, sizeof v->word, "%.40s", verdict ? verdict : "not known");
    v->tone = verdict && strcmp(verdict, "helps") == 0   ? TONE_GOOD
              : verdict && strcmp(verdict, "hurts") == 0 ? TONE_BAD
                                                         : TONE_OPEN;
    snprintf(v->head, sizeof v->head, "%s predicted to be %s as fast as the fastest node alone%s", who,
             times(ratio, sizeof ratio, json_object_get(o, "speedup")), isfinite(p) ? "" : ".");
    if (isfinite(p)) {
        size_t n = strlen(v->head);
        snprintf(v->head + n, sizeof v->head - n, ", faster with a probability of %.0f %%.", 100 * p);
    }
    add(v, "Predicted, not measured, over %s", text_at(name, sizeof name, link, "name"));
    double bytes_per_s = table_num(link, "rate_bytes_per_s", NULL);
    if (isfinite(bytes_per_s))
        add(v, ": %s", table_rate(rate, sizeof rate, bytes_per_s));
    add(v, ".");
    if (limit && strcmp(limit, "compute") != 0)
        add(v, " It is held back by %s.", clean_text(name, sizeof name, limit));
}

/* ---- a run ---- */

static bool emulated(const json_t *d)
{
    return json_is_object(json_object_get(d, "emulated"));
}

/* What takes meaning from a measured speed-up. */
static void caveats(struct report_verdict *v, const json_t *d)
{
    const char *compute = json_string_value(json_object_get(d, "compute"));
    char option[160];
    if (compute && strcmp(compute, "replay") == 0)
        add(v, "Nothing was computed: recorded steps were slept through. ");
    if (emulated(d))
        add(v, "The link was emulated (%s). ",
            text_at(option, sizeof option, json_object_get(d, "emulated"), "option"));
    if (json_is_true(json_object_get(d, "same_host")))
        add(v, "All ranks share one host and its processors, so this says nothing about a second machine. ");
}

static void measured(struct report_verdict *v, const json_t *d, double x)
{
    char name[96], alone[48], step[48];
    const json_t *s = json_object_get(d, "speedup");
    bool shared = json_is_true(json_object_get(d, "same_host"));
    double world = table_num(d, "world", NULL);
    const char *word = x > 1 + DEAD_BAND ? "helps" : x < 1 - DEAD_BAND ? "hurts" : "undecided";
    v->tone = shared ? TONE_OPEN : x > 1 + DEAD_BAND ? TONE_GOOD : x < 1 - DEAD_BAND ? TONE_BAD : TONE_OPEN;
    snprintf(v->word, sizeof v->word, "%s", shared ? "one host" : word);
    snprintf(v->head, sizeof v->head,
             "%.0f ranks together were measured to be %.2f times as fast as the fastest of them alone.", world, x);
    caveats(v, d);
    add(v, "A step took %s; alone one took %s (%s). ",
        field_format(step, sizeof step, UNIT_SECONDS, table_value(table_at(d, "summary", "step_s", "median", NULL))),
        field_format(alone, sizeof alone, UNIT_SECONDS, table_num(s, "baseline_step_s", NULL)),
        text_at(name, sizeof name, s, "baseline_node"));
    const json_t *p = json_object_get(d, "prediction");
    double before = table_num(p, "speedup", "median");
    if (isfinite(before)) {
        char ratio[96];
        double lo = table_num(p, "speedup", "lo"), hi = table_num(p, "speedup", "hi");
        add(v, "Predicted before the run: %s%s. ", times(ratio, sizeof ratio, json_object_get(p, "speedup")),
            !isfinite(lo)        ? ""
            : x >= lo && x <= hi ? ", which holds"
                                 : ", which does not hold");
    }
}

static void of_run(struct report_verdict *v, const json_t *d)
{
    double world = table_num(d, "world", NULL), x = table_num(d, "speedup", "measured");
    const json_t *p = json_object_get(d, "prediction");
    if (isfinite(x)) {
        measured(v, d, x);
        return;
    }
    if (world > 1)
        caveats(v, d);
    if (isfinite(table_num(p, "speedup", "median"))) {
        double nodes = table_num(p, "nodes", NULL);
        char who[96];
        if (world > 1)
            snprintf(who, sizeof who, "The speed-up was not measured; %.0f nodes were", nodes);
        else
            snprintf(who, sizeof who, "%s like this one %s", nodes > 2 ? "More nodes" : "A second node",
                     nodes > 2 ? "are" : "is");
        from_prediction(v, p, json_object_get(p, "link"), who);
        return;
    }
    char why[320];
    const char *reason = field_reason(d, world > 1 ? "speedup.measured" : "prediction", "the result does not say why");
    v->tone = TONE_OPEN;
    snprintf(v->word, sizeof v->word, "not known");
    if (world > 1)
        snprintf(v->head, sizeof v->head, "Whether these %.0f ranks are faster than one alone was not measured.",
                 world);
    else
        snprintf(v->head, sizeof v->head, "Whether a second node would help is not known.");
    add(v, "%s.", clean_text(why, sizeof why, reason));
}

/* ---- others ---- */

static void of_link(struct report_verdict *v, const json_t *d)
{
    char rate[96], rtt[48];
    double x = table_num(d, "link", "rate_bytes_per_s"), s = table_num(d, "link", "rtt_s");
    v->tone = TONE_OPEN;
    snprintf(v->word, sizeof v->word, "link");
    if (isfinite(x))
        snprintf(v->head, sizeof v->head, "%s both ways at once, round trip %s.", table_rate(rate, sizeof rate, x),
                 field_format(rtt, sizeof rtt, UNIT_SECONDS, s));
    else
        snprintf(v->head, sizeof v->head, "The rate of both ways at once was not measured; round trip %s.",
                 field_format(rtt, sizeof rtt, UNIT_SECONDS, s));
    if (json_is_true(json_object_get(d, "same_host")))
        add(v, "Both ends are one machine and share its processors: this is no link between machines. ");
    const json_t *c = json_object_get(d, "comparison");
    if (json_is_object(c)) {
        char name[96];
        const char *faster = json_string_value(json_object_get(c, "faster"));
        if (faster)
            add(v, "%s is faster of the two. ", clean_text(name, sizeof name, faster));
        else
            add(v, "No difference was seen between the two interfaces. ");
    }
    add(v, "What it brings to training depends on the model: 'predict --link-run' with this file tells.");
}

static void of_prediction(struct report_verdict *v, const json_t *d)
{
    const json_t *list = json_object_get(d, "nodes"), *o = NULL;
    for (size_t i = 0; i < json_array_size(list) && !o; i++)
        if (table_num(json_array_get(list, i), "nodes", NULL) > 1)
            o = json_array_get(list, i);
    if (o && isfinite(table_num(o, "speedup", "median"))) {
        char who[64];
        snprintf(who, sizeof who, "%.0f nodes are", table_num(o, "nodes", NULL));
        from_prediction(v, o, json_object_get(d, "link"), who);
        return;
    }
    const char *why = field_reason(d, o ? "nodes[0].speedup" : "inverse", "only one node was asked about");
    char clean[320];
    v->tone = TONE_OPEN;
    snprintf(v->word, sizeof v->word, "not known");
    snprintf(v->head, sizeof v->head, "The speed-up cannot be told.");
    add(v, "%s.", clean_text(clean, sizeof clean, why));
}

/* A run that did not end well is told so before anything else. */
static void state(struct report_verdict *v, const json_t *d)
{
    const char *status = json_string_value(json_object_get(d, "status"));
    const char *message = json_string_value(table_at(d, "error", "message", NULL));
    char why[320], rest[sizeof v->detail];
    if (!status || strcmp(status, "complete") == 0)
        return;
    snprintf(rest, sizeof rest, "%s", v->detail);
    v->detail[0] = '\0';
    v->tone = TONE_OPEN;
    add(v, "The run did not end well (%s%s%s); figures are of the steps until then. ", clean_text(why, 40, status),
        message ? ": " : "", message ? clean_text(why + 40, sizeof why - 40, message) : "");
    add(v, "%s", rest);
}

void report_verdict(struct report_verdict *v, const json_t *d)
{
    *v = (struct report_verdict){.tone = TONE_OPEN};
    switch (document_kind(d)) {
    case DOCUMENT_RUN:
        of_run(v, d);
        break;
    case DOCUMENT_LINK:
        of_link(v, d);
        break;
    case DOCUMENT_PREDICTION:
        of_prediction(v, d);
        break;
    default:
        snprintf(v->word, sizeof v->word, "nothing");
        snprintf(v->head, sizeof v->head, "This document holds nothing to report on.");
    }
    state(v, d);
}
