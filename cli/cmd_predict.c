/*
 * cli/cmd_predict.c - what 2..N nodes would bring, from a run of one node or from stated numbers, over a measured or stated
 * link; and how earlier predictions compare with what was measured then.
 *
 * Start at cmd_predict(). The run: the one that is named, else the newest of one node in the results folder (of --model if
 * that is given). Nothing is trained and nothing is saved.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/predict_ask.h"
#include "cli/predict_score.h"
#include "cli/predict_whatif.h"
#include "predict/simulate.h"
#include "report/runs.h"
#include "report/store.h"
#include "report/table_predict.h"

#define STEP_MAX_S 1e7
#define STEP_MIN_S 1e-9

struct request {
    const char *run; /* NULL: not named */
    struct options options;
    char folder[PATH_MAX];
    struct predict_source source, partner;
    struct predict_ask ask;
    struct heat_path heat;
};

/* ---- numbers on the command line ---- */

/* "4", "1-16", "2,4,8-10": ascending order is not needed. */
static int parse_counts(struct predict_ask *ask, const char *text, struct err *e)
{
    ask->counts = 0;
    for (const char *at = text;;) {
        char *end;
        long low = strtol(at, &end, 10), high = low;
        bool good = *at >= '0' && *at <= '9' && end > at;
        if (good && *end == '-') {
            at = end + 1;
            high = strtol(at, &end, 10);
            good = *at >= '0' && *at <= '9' && end > at;
        }
        if (!good || (*end && *end != ','))
            return err_set(e, ERR_USAGE, "option --nodes takes numbers of nodes such as 2, 2,4,8 or 1-16, not '%.60s'",
                           text);
        if (low < 1 || high > SIM_NODES_MAX || high < low)
            return err_set(e, ERR_USAGE, "option --nodes takes 1 to %d nodes, the smaller number first, not '%.60s'",
                           SIM_NODES_MAX, text);
        if (ask->counts + (high - low) + 1 > PREDICT_COUNTS_MAX)
            return err_set(e, ERR_USAGE, "option --nodes takes at most %d numbers of nodes at once",
                           PREDICT_COUNTS_MAX);
        for (long n = low; n <= high; n++)
            ask->count[ask->counts++] = (int)n;
        if (!*end)
            return 0;
        at = end + 1;
    }
}

static int parse_seconds(const char *text, double *value, struct err *e)
{
    if (units_parse_number(text, value) && *value >= STEP_MIN_S && *value <= STEP_MAX_S)
        return 0;
    return err_set(e, ERR_USAGE,
                   "option --step-s takes seconds from %g to %g, one value or two such as 1.0,2.5, not '%.60s'",
                   STEP_MIN_S, STEP_MAX_S, text);
}

/* This node's step, and perhaps that of the others. */
static int parse_steps(const char *text, double step_s[2], struct err *e)
{
    char first[64];
    const char *comma = strchr(text, ',');
    size_t n = comma ? (size_t)(comma - text) : strlen(text);
    snprintf(first, sizeof first, "%.*s", n < sizeof first ? (int)n : (int)sizeof first - 1, text);
    if (parse_seconds(first, &step_s[0], e))
        return -1;
    step_s[1] = step_s[0];
    return comma ? parse_seconds(comma + 1, &step_s[1], e) : 0;
}

/* ---- which run ---- */

struct search {
    const char *model; /* NULL: any */
    char path[PATH_MAX];
    json_t *found;
};

static bool visit(void *ctx, const char *path, const json_t *d)
{
    struct search *s = ctx;
    const json_t *model = json_object_get(d, "model");
    const char *name = json_string_value(json_object_get(model, "name"));
    const char *compute = json_string_value(json_object_get(d, "compute"));
    if (compute && strcmp(compute, "real") != 0)
        return true; /* slept */
    if (!name || json_object_get(d, "kind") || json_integer_value(json_object_get(d, "world")) != 1 ||
        json_array_size(json_object_get(d, "samples")) == 0 || (s->model && strcmp(s->model, name) != 0))
        return true;
    snprintf(s->path, sizeof s->path, "%s", path);
    s->found = json_incref((json_t *)d);
    return false;
}

static enum reduce_schedule schedule_of(const struct options *o)
{
    return o->run.schedule;
}

static bool nothing_overlaps(const struct options *o)
{
    return o->predict.overlap && strcmp(o->predict.overlap, "none") == 0;
}

static int use_document(struct request *r, struct predict_source *source, json_t *d, const char *path, struct err *e)
{
    int result = predict_source_run(source, d, path, schedule_of(&r->options), r->options.run.bucket_mib,
                                    nothing_overlaps(&r->options), e);
    json_decref(d);
    return result;
}

static int load(struct request *r, struct predict_source *source, const char *name, struct err *e)
{
    char path[PATH_MAX];
    if (runs_find(path, sizeof path, r->folder, name, e))
        return -1;
    json_t *d = runs_read(path, e);
    return d ? use_document(r, source, d, path, e) : -1;
}

static int load_profile(struct predict_source *source, const char *path, struct err *e)
{
    json_t *d = runs_read(path, e);
    int result = d ? predict_source_torch(source, d, path, e) : -1;
    json_decref(d);
    return result;
}

/* The option that asks for other buckets than the usual ones; NULL: none does. */
static const char *plan_asked(const struct request *r)
{
    const struct run_options *o = &r->options.run;
    return o->schedule != SCHEDULE_DDP ? "schedule" : o->bucket_mib > 0 ? "bucket-mb" : NULL;
}

/* No run was named and no step stated. */
static int search_run(struct request *r, struct err *e)
{
    const struct predict_options *p = &r->options.predict;
    struct model_spec spec;
    struct search search = {.model = p->model};
    struct err none;
    if (p->model && model_spec_find(&spec, p->model, e))
        return -1;
    if (!isfinite(p->bytes)) {
        runs_each(r->folder, visit, &search, &none);
        if (search.found)
            return use_document(r, &r->source, search.found, search.path, e);
        if (!p->model)
            return err_set(
                e, ERR_NO_INPUT,
                "there is no run of one node in %.200s to predict from; './bench --model NAME' makes one, or state "
                "--step-s and --bytes",
                r->folder);
    }
    if (plan_asked(r))
        return err_set(e, ERR_USAGE, "--%s: --bytes tells nothing of buckets; a run does", plan_asked(r));
    return predict_source_stated(&r->source, NAN, p->bytes, p->model, e);
}

static int find_source(struct request *r, struct err *e)
{
    const struct predict_options *p = &r->options.predict;
    double step_s[2];
    if (p->step_s && (r->run || p->partner))
        return err_set(e, ERR_USAGE, "--step-s states what a run would tell: give one of the two");
    if (isfinite(p->bytes) && r->run)
        return err_set(e, ERR_USAGE, "--bytes states what the run %.100s tells: give one of the two", r->run);
    if (p->profile && (r->run || p->step_s || p->model || isfinite(p->bytes) || p->overlap))
        return err_set(
            e, ERR_USAGE,
            "--profile tells what a run, --step-s, --bytes, --model or --overlap would: give it without them");
    if (r->run && strcmp(r->run, "last") != 0 && p->model)
        return err_set(e, ERR_USAGE, "--model chooses among the runs, and %.100s names one: give one of the two",
                       r->run);
    if (p->profile && plan_asked(r))
        return err_set(e, ERR_USAGE,
                       "--%s: a profile has the buckets of its own job; record it again with pytorch_profile.py "
                       "--bucket-mb",
                       plan_asked(r));
    if (p->step_s && plan_asked(r))
        return err_set(e, ERR_USAGE, "--%s: --step-s tells nothing of buckets; a run does", plan_asked(r));
    if (p->profile)
        return load_profile(&r->source, p->profile, e);
    if (r->run && strcmp(r->run, "last") != 0)
        return load(r, &r->source, r->run, e);
    if (!p->step_s)
        return search_run(r, e);
    if (parse_steps(p->step_s, step_s, e))
        return -1;
    if (!isfinite(p->bytes) && !p->model)
        return err_set(e, ERR_USAGE, "--step-s needs --bytes or --model, to know what is communicated");
    r->ask.partner_scale = step_s[1] / step_s[0];
    return predict_source_stated(&r->source, step_s[0], p->bytes, p->model, e);
}

static int find_partner(struct request *r, struct err *e)
{
    const char *name = r->options.predict.partner;
    if (!name)
        return 0;
    if (!r->source.document)
        return err_set(e, ERR_USAGE, "--partner needs a run of this node too");
    if (r->source.torch ? load_profile(&r->partner, name, e) : load(r, &r->partner, name, e))
        return -1;
    if (!r->source.torch && strcmp(r->partner.model, r->source.model) != 0)
        return err_set(e, ERR_DATA, "the partner's run trained %s and this node's %s: they cannot train together",
                       r->partner.model, r->source.model);
    r->ask.partner = &r->partner;
    return 0;
}

/* ---- which link ---- */

static bool is_link(const json_t *d)
{
    const char *kind = json_string_value(json_object_get(d, "kind"));
    return kind && strcmp(kind, "link") == 0;
}

static int find_link(struct request *r, struct err *e)
{
    const struct predict_options *p = &r->options.predict;
    bool exact = r->source.stated;
    if (p->link && p->link_run)
        return err_set(e, ERR_USAGE, "--link states what --link-run tells: give one of the two");
    if (p->rtt && p->link_run)
        return err_set(e, ERR_USAGE, "--rtt states what --link-run tells: give one of the two");
    if (!p->link_run) {
        if (predict_link_parse(&r->ask.link, p->link ? p->link : "1G-eth", p->rtt, exact, e))
            return -1;
        if (!p->link)
            r->ask.link.origin = "assumed";
        return 0;
    }
    static const struct runs_kind kind = {"measured link", "./bench link HOST", is_link};
    char path[PATH_MAX];
    json_t *d = runs_open(path, sizeof path, r->folder, p->link_run, &kind, e);
    if (!d)
        return -1;
    int result = predict_source_link(&r->ask.link.model, d, path, r->source.torch ? "gloo" : "tcp", e);
    json_decref(d);
    r->ask.link.origin = "measured";
    snprintf(r->ask.link.name, sizeof r->ask.link.name, "%.120s", path);
    return result;
}

/* ---- which heat ---- */

static bool is_soak(const json_t *d)
{
    return json_is_object(json_object_get(d, "soak"));
}

static int load_soak(struct request *r, const char *name, struct err *e)
{
    static const struct runs_kind kind = {"soak", "./bench soak", is_soak};
    char path[PATH_MAX];
    json_t *d = runs_open(path, sizeof path, r->folder, name, &kind, e);
    int result = d ? predict_source_soak(&r->heat, d, path, e) : -1;
    json_decref(d);
    return result;
}

/* ---- the answer ---- */

static int prepare(struct request *r, struct err *e)
{
    const struct options *o = &r->options;
    const struct predict_options *p = &o->predict;
    r->ask = (struct predict_ask){.source = &r->source,
                                  .partner_scale = 1,
                                  .what_if = p->what_if,
                                  .target = p->target,
                                  .goal_steps = p->goal_steps,
                                  .seed = o->run.seed,
                                  .steps = p->steps};
    if (p->overlap && strcmp(p->overlap, "none") != 0 && strcmp(p->overlap, "buckets") != 0)
        return err_set(e, ERR_USAGE, "option --overlap takes none or buckets, not '%.60s'", p->overlap);
    if (p->overlap && strcmp(p->overlap, "buckets") == 0 && p->step_s)
        return err_set(e, ERR_USAGE,
                       "--overlap buckets needs a run, whose gradients have instants; with --step-s nothing "
                       "overlaps");
    if (p->heat && p->soak)
        return err_set(e, ERR_USAGE, "--heat states what --soak tells: give one of the two");
    if ((p->heat && heat_parse(&r->heat, p->heat, e)) || (p->soak && load_soak(r, p->soak, e)))
        return -1;
    r->ask.heat = p->heat || p->soak ? &r->heat : NULL;
    if (parse_counts(&r->ask, p->nodes ? p->nodes : "2", e) || find_source(r, e) || find_partner(r, e) ||
        find_link(r, e))
        return -1;
    if (r->source.stated && r->source.plan.n == 0 && !p->step_s)
        return err_set(e, ERR_USAGE, "--bytes 0 and no --step-s: there is nothing to predict");
    return 0;
}

static void finish(struct request *r)
{
    predict_source_fini(&r->source);
    predict_source_fini(&r->partner);
}

static int show(const struct invocation *in, json_t *d)
{
    if (in->json)
        return output_json(in, d, ERR_OK);
    struct table_style style = {.colour = output_wants_colour(STDOUT_FILENO)};
    char *text = json_object_get(d, "ledger") ? table_score_render(d, &style) : table_predict_render(d, &style);
    json_decref(d);
    if (!text)
        return output_fail(in, &(struct err){ERR_MEMORY, "out of memory while drawing the table"});
    int code = output_text(in, text, ERR_OK);
    free(text);
    return code;
}

/* argv without a leading RUN, for the options' parser. */
static int parse(struct request *r, const struct invocation *in, struct err *e)
{
    bool named = in->argc > 1 && in->argv[1][0] != '-' && *in->argv[1];
    if (!named)
        return options_parse(&r->options, OPTIONS_PREDICT, in->argc, in->argv, e);
    r->run = in->argv[1];
    char **rest = calloc((size_t)in->argc, sizeof *rest);
    if (!rest)
        return err_set(e, ERR_MEMORY, "out of memory");
    rest[0] = in->argv[0];
    for (int i = 2; i < in->argc; i++)
        rest[i - 1] = in->argv[i];
    int result = options_parse(&r->options, OPTIONS_PREDICT, in->argc - 1, rest, e);
    free(rest);
    return result;
}

static int show_help(const struct invocation *in, const struct options *o)
{
    char text[1024], keys[512];
    size_t line = 0;
    snprintf(keys, sizeof keys, "%s", predict_whatif_keys);
    for (char *at = keys; *at; at++)
        if (*at == ' ' && (size_t)(at - keys) - line + strcspn(at + 1, " ") > 72) {
            *at = '\n';
            line = (size_t)(at - keys);
        }
    snprintf(text, sizeof text,
             "What more nodes would bring: [RUN|last] is a run of one node, by default the newest.\n\n"
             "--what-if KEY=VALUE,.. takes\n%s\n"
             "bw=2.5x is two and a half times what it is now; contention=0, jitter=no and tail=no each leave a\n"
             "term of the model out.\n",
             keys);
    return output_help(in, o, OPTIONS_PREDICT, text);
}

int cmd_predict(const struct invocation *in)
{
    static struct request r;
    struct err e;
    if (parse(&r, in, &e))
        return output_fail(in, &e);
    if (r.options.help || r.options.version)
        return show_help(in, &r.options);
    if (store_place(r.folder, sizeof r.folder, r.options.results_dir, &e))
        return output_fail(in, &e);
    json_t *d = output_document();
    int result;
    if (r.options.predict.score)
        result = predict_score(d, r.folder, &e);
    else
        result = prepare(&r, &e) || predict_ask(d, &r.ask, &e);
    finish(&r);
    if (result == 0)
        return show(in, d);
    json_decref(d);
    return output_fail(in, &e);
}
