/* cli/demo_part.c - the runs of a demonstration, and the rows they become; see demo.h. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/demo.h"
#include "cli/demo_child.h"
#include "cli/output.h"
#include "cli/predict_source.h"
#include "comm/peer_list.h"
#include "report/table.h"

/* ---- arguments ---- */

enum { ARGS_MAX = 64, ARGS_BYTES = 4 * PATH_MAX };

struct args {
    int n;
    char *argv[ARGS_MAX + 1];
    size_t used;
    char text[ARGS_BYTES];
};

static void add(struct args *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void add(struct args *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(a->text + a->used, sizeof a->text - a->used, fmt, ap);
    va_end(ap);
    if (n < 0 || (size_t)n >= sizeof a->text - a->used || a->n == ARGS_MAX)
        return; /* cannot be: texts are paths and names of bounded length */
    a->argv[a->n++] = a->text + a->used;
    a->used += (size_t)n + 1;
}

static void add_pair(struct args *a, const char *name, const char *value)
{
    if (!value)
        return;
    add(a, "%s", name);
    add(a, "%s", value);
}

/* what: stands right behind the command; NULL: nothing does. */
static void begin(struct args *a, const struct demo *d, const char *command, const char *what, const char *label)
{
    a->n = 0;
    a->used = 0;
    add(a, "%s", d->in->full_argv[0]);
    add(a, "%s", command);
    if (what)
        add(a, "%s", what);
    add(a, "--json");
    add_pair(a, "--results-dir", d->folder);
    add(a, "--label");
    add(a, "demo %s: %s", d->name, label);
}

static void begin_run(struct args *a, const struct demo *d, const char *label, int steps)
{
    begin(a, d, "run", NULL, label);
    add_pair(a, "--model", d->model);
    if (d->seq) {
        add(a, "--seq");
        add(a, "%d", d->seq);
    }
    add(a, "--steps");
    add(a, "%d", steps);
    add(a, "--warmup");
    add(a, "1");
    add(a, "--no-floor");
    int threads = d->threads ? d->threads : d->options->threads;
    if (threads) {
        add(a, "--threads");
        add(a, "%d", threads);
    }
}

static void add_peer_options(struct args *a, const struct demo *d)
{
    const struct options *o = d->options;
    add_pair(a, "--key-file", o->key_file);
    add_pair(a, "--iface", o->iface);
    if (o->test_this_host)
        add(a, "--test-this-host");
}

/* Warnings of all runs, with the row that they are about; but for the one that a demonstration says in its own words, and those of
 * other ranks, whose documents have them. */
static void keep_warnings(struct demo *d, const char *name, const json_t *document)
{
    size_t i;
    const json_t *text;
    json_array_foreach(json_object_get(document, "warnings"), i, text)
    {
        char line[640];
        const char *s = json_string_value(text);
        if (!s || strncmp(s, "--compute replay", 16) == 0 || strncmp(s, "rank ", 5) == 0)
            continue;
        snprintf(line, sizeof line, "%s: %.512s", name, s);
        json_array_append_new(d->warnings, output_string(line));
    }
}

static json_t *run(struct demo *d, const char *name, struct args *a, bool show, struct err *e)
{
    a->argv[a->n] = NULL;
    json_t *document = demo_child(a->argv, show ? &d->show : NULL, e);
    keep_warnings(d, name, document);
    return document;
}

/* ---- runs ---- */

int demo_count(const struct demo *d, int full, int least)
{
    return (int)fmax(least, round(full * d->options->test_scale));
}

double demo_number(const json_t *document, const char *path)
{
    char key[64];
    while (*path) {
        size_t n = strcspn(path, ".");
        snprintf(key, sizeof key, "%.*s", (int)n, path);
        document = json_object_get(document, key);
        path += n + (path[n] == '.');
    }
    return json_is_number(document) ? json_number_value(document) : NAN;
}

int demo_size(struct demo *d, double target_s, int low, int high, int *batch, struct err *e)
{
    struct args a;
    int first = low > 4 ? low : 4;
    demo_say(d, "A short run, to choose a size that suits this node.");
    begin_run(&a, d, "how fast this node is", 3);
    add(&a, "--batch");
    add(&a, "%d", first);
    json_t *doc = run(d, "how fast this node is", &a, false, e);
    if (!doc)
        return -1;
    double step_s = demo_number(doc, "summary.step_s.median");
    double fixed_s = demo_number(doc, "summary.optimizer_s.median"); /* the same whatever the batch */
    json_decref(doc);
    if (!(step_s > 0 && fixed_s >= 0 && fixed_s < step_s))
        return err_set(e, ERR_DATA, "the first run has no step times");
    double fits = (target_s * d->options->test_scale - fixed_s) / (step_s - fixed_s) * first;
    *batch = (int)fmin(high, fmax(low, round(fits)));
    return 0;
}

json_t *demo_alone(struct demo *d, int batch, struct err *e)
{
    struct args a;
    demo_say(d, "This node alone, %d %s in a step.", batch, d->unit);
    begin_run(&a, d, "this node alone", demo_count(d, 10, 5));
    add(&a, "--batch");
    add(&a, "%d", batch);
    add_pair(&a, "--live", "");
    demo_show_begin(&d->show, 1);
    json_t *doc = run(d, "this node alone", &a, true, e);
    if (!doc)
        return NULL;
    demo_show_end(&d->show, doc);
    const json_t *node = json_array_get(json_object_get(doc, "nodes"), 0);
    d->threads = (int)demo_number(node, "threads");
    return doc;
}

static void add_batch(struct args *a, const struct demo *d, const struct demo_run *r)
{
    char shares[DEMO_RANKS_MAX * 12] = "";
    int total = 0;
    if (!r->count) {
        add(a, "--batch");
        add(a, "%d", r->batch);
        return;
    }
    for (int i = 0; i < d->nodes; i++) {
        size_t used = strlen(shares);
        snprintf(shares + used, sizeof shares - used, "%s%d", i ? ":" : "", r->count[i]);
        total += r->count[i];
    }
    add(a, "--global-batch");
    add(a, "%d", total);
    add_pair(a, "--shares", shares);
}

/* Replayed on one machine; with peers only if a rank has to be slow, and then each records its own. */
static void add_compute(struct args *a, const struct demo *d, const struct demo_run *r)
{
    const char *file = json_string_value(json_object_get(r->alone, "saved"));
    char slow[32] = "";
    if (d->options->peers && !(r->slow > 0))
        return;
    if (r->slow > 0)
        snprintf(slow, sizeof slow, ",slow=%d:%g", d->nodes - 1, r->slow);
    add(a, "--compute");
    if (d->options->peers || r->count || !file)
        add(a, "replay%s", slow);
    else
        add(a, "replay:%s%s", file, slow);
}

json_t *demo_train(struct demo *d, const struct demo_run *r, struct err *e)
{
    struct args a;
    demo_say(d, "\n%d ranks: %s.", d->nodes, r->name);
    begin_run(&a, d, r->name, r->steps);
    add_batch(&a, d, r);
    add_compute(&a, d, r);
    add(&a, "--no-baseline");
    if (d->options->peers) {
        add_pair(&a, "--peers", d->options->peers);
        add(&a, "--no-predict"); /* it was, from the same run alone as all other rows */
        add_peer_options(&a, d);
    } else {
        add(&a, "--spawn");
        add(&a, "%d", d->nodes);
    }
    add_pair(&a, "--emulate", r->link->emulate);
    if (r->bucket_mib > 0) {
        add(&a, "--bucket-mb");
        add(&a, "%g", r->bucket_mib);
    }
    add_pair(&a, "--live", "");
    demo_show_begin(&d->show, d->nodes);
    json_t *doc = run(d, r->name, &a, true, e);
    if (!doc)
        return NULL;
    demo_show_end(&d->show, doc);
    const char *path = json_string_value(json_object_get(doc, "saved"));
    snprintf(d->last, sizeof d->last, "%s", path ? path : "");
    return doc;
}

int demo_measure_link(struct demo *d, struct err *e)
{
    struct peer_list list;
    double slowest = INFINITY;
    if (peer_list_parse(&list, d->options->peers, d->options->test_this_host, e))
        return -1;
    for (int i = 0; i < list.n; i++) {
        struct args a;
        struct link_model m;
        demo_say(d, "The link to %s is measured.", list.peer[i].name);
        begin(&a, d, "link", list.peer[i].name, "the link");
        add(&a, "--duration");
        add(&a, "%d", demo_count(d, 12, 4));
        add_peer_options(&a, d);
        json_t *doc = run(d, "the link", &a, false, e);
        int result = doc ? predict_source_link(&m, doc, list.peer[i].name, "tcp", e) : -1;
        json_decref(doc);
        if (result)
            return -1;
        if (link_model_rate(&m) < slowest) {
            slowest = link_model_rate(&m);
            d->wire = (struct demo_link){.name = "the link", .model = m};
        }
    }
    return 0;
}

void demo_report(struct demo *d)
{
    struct args a = {.n = 0};
    struct err e = {ERR_OK, ""};
    add(&a, "%s", d->in->full_argv[0]);
    add(&a, "report");
    add(&a, "%s", d->last);
    add(&a, "--json");
    add(&a, "--output");
    add(&a, "%s/report", d->folder);
    json_t *doc = *d->last ? run(d, "the report", &a, false, &e) : NULL;
    json_t *page = json_object_get(doc, "saved");
    if (json_is_string(page))
        json_object_set(d->document, "report", page);
    else
        json_unknown(d->document, d->document, "report", "report",
                     e.code ? e.text : "no run of several ranks was saved");
    json_decref(doc);
}

/* ---- rows ---- */

const char *demo_seconds(char *buf, size_t size, double seconds)
{
    return table_seconds(buf, size, seconds);
}

static json_t *estimate_json(struct estimate x)
{
    return json_pack("{s:o, s:o, s:o}", "median", json_num(x.median), "lo", json_num(x.lo), "hi", json_num(x.hi));
}

static void keep_row(struct demo *d, const char *name, const json_t *doc, const struct outcome *out,
                     const struct demo_row *row)
{
    json_t *o = json_object();
    const json_t *path = json_object_get(doc, "saved");
    json_object_set_new(o, "name", output_string(name));
    json_object_set_new(o, "run", json_is_string(path) ? json_deep_copy(path) : json_null());
    json_object_set_new(o, "step_s", json_num(row->step_s));
    json_object_set_new(o, "exposed_s", json_num(row->exposed_s));
    json_object_set_new(o, "speedup", json_num(row->speedup));
    if (out)
        json_object_set_new(o, "predicted",
                            json_pack("{s:o, s:o, s:o}", "step_s", estimate_json(out->step_s), "speedup",
                                      json_num(row->speedup * row->step_s / out->step_s.median), "ratio",
                                      json_num(row->step_s / out->step_s.median)));
    else
        json_unknown(d->document, o, "predicted", "parts[].predicted", "a node alone is what predictions start from");
    json_array_append_new(d->parts, o);
}

struct demo_row demo_row(struct demo *d, const char *name, const json_t *doc, const struct outcome *out, double alone_s)
{
    char step[32], guess[32] = "", low[32], high[32], still[32] = "", range[80] = "", faster[16], expected[16] = "";
    bool alone = demo_number(doc, "world") == 1;
    struct demo_row row = {.step_s = demo_number(doc, "summary.step_s.median"),
                           .exposed_s = alone ? 0 : demo_number(doc, "communication.exposed_s")};
    row.speedup = (alone ? 1 : d->nodes) * alone_s / row.step_s;
    snprintf(faster, sizeof faster, "%.2f", row.speedup);
    if (out) {
        demo_seconds(guess, sizeof guess, out->step_s.median);
        snprintf(range, sizeof range, "%s..%s", demo_seconds(low, sizeof low, out->step_s.lo),
                 demo_seconds(high, sizeof high, out->step_s.hi));
        snprintf(expected, sizeof expected, "%.2f", row.speedup * row.step_s / out->step_s.median);
    }
    if (!alone)
        demo_seconds(still, sizeof still, row.exposed_s);
    if (json_array_size(d->parts) == 0)
        fprintf(d->out, "%-26s %10s %10s %-22s %8s %9s %12s\n", "", "step", "predicted", "90 % interval", "speed-up",
                "predicted", "stands still");
    fprintf(d->out, "%-26.26s %10s %10s %-22s %8s %9s %12s\n", name, demo_seconds(step, sizeof step, row.step_s), guess,
            range, faster, expected, still);
    keep_row(d, name, doc, out, &row);
    if (out)
        demo_say(d, "  step %s, predicted %s", step, guess);
    return row;
}
