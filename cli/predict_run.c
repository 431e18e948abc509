/* cli/predict_run.c - see predict_run.h. */
#include "cli/predict_run.h"

#include <stdio.h>
#include <string.h>

#include "cli/output.h"
#include "cli/predict_ask.h"
#include "report/runs.h"

void predict_run_add(json_t *d, json_t *made, const char *why)
{
    struct err e = {ERR_OK, ""};
    bool alone = json_integer_value(json_object_get(d, "world")) == 1;
    if (!made && alone && json_array_size(json_object_get(d, "samples")) > 0)
        made = predict_twin(d, &e);
    if (!made) {
        const char *reason = e.code  ? e.text
                             : why   ? why
                             : alone ? "no timed step was run"
                                     : "nothing was predicted before the run";
        json_t *text = output_string(reason);
        json_unknown(d, d, "prediction", "prediction", json_string_value(text));
        json_decref(text);
        return;
    }
    json_object_set_new(d, "prediction", made);
    json_object_del(json_object_get(d, "reasons"), "prediction");
}

struct search {
    const struct run *run;
    const char *peer; /* of a link that is looked for */
    char path[PATH_MAX];
    json_t *found;
};

static bool is(const json_t *o, const char *key, int value)
{
    const json_t *v = json_object_get(o, key);
    return json_is_integer(v) && json_integer_value(v) == value;
}

static bool visit(void *ctx, const char *path, const json_t *d)
{
    struct search *s = ctx;
    const struct run *run = s->run;
    const json_t *m = json_object_get(d, "model"), *node = json_array_get(json_object_get(d, "nodes"), 0);
    const char *name = json_string_value(json_object_get(m, "name"));
    if (!is(d, "world", 1) || !name || strcmp(name, run->spec.name) != 0 || !is(m, "batch", run->net.B) ||
        !is(m, "seq", run->net.T) || !is(m, "accum", run->options.accum) ||
        !is(node, "threads", run->options.threads) || json_array_size(json_object_get(d, "samples")) == 0)
        return true;
    snprintf(s->path, sizeof s->path, "%s", path);
    s->found = json_incref((json_t *)d);
    return false;
}

static bool visit_link(void *ctx, const char *path, const json_t *d)
{
    struct search *s = ctx;
    const char *kind = json_string_value(json_object_get(d, "kind"));
    const char *peer = json_string_value(json_object_get(json_object_get(d, "peer"), "name"));
    if (!kind || strcmp(kind, "link") != 0 || !peer || strcmp(peer, s->peer) != 0 ||
        !json_is_number(json_object_get(json_object_get(d, "link"), "rate_bytes_per_s")))
        return true;
    snprintf(s->path, sizeof s->path, "%s", path);
    s->found = json_incref((json_t *)d);
    return false;
}

static int slowest_link(struct predict_link *link, const char *folder, const struct peer_list *peers,
                        const char *backend, struct err *e)
{
    for (int i = 0; i < peers->n; i++) {
        struct search search = {.peer = peers->peer[i].name};
        struct link_model m;
        if (runs_each(folder, visit_link, &search, e))
            return -1;
        if (!search.found)
            return err_set(e, ERR_NO_INPUT, "the link to %.60s was not measured before (the link command does that)",
                           search.peer);
        int result = predict_source_link(&m, search.found, search.path, backend, e);
        json_decref(search.found);
        if (result)
            return -1;
        if (i > 0 && link_model_rate(&m) >= link_model_rate(&link->model))
            continue;
        *link = (struct predict_link){.model = m, .origin = "measured"};
        snprintf(link->name, sizeof link->name, "%.120s", search.path);
    }
    return 0;
}

json_t *predict_run_before(const struct run *run, const char *folder, const struct peer_list *peers,
                           const char *backend, struct err *e)
{
    struct search search = {.run = run};
    struct predict_source source = {0};
    struct predict_ask ask = {.source = &source, .partner_scale = 1, .seed = 1};
    const struct run_options *o = &run->options;
    ask.optimizer_by_bucket = o->update == RUN_UPDATE_BUCKET ? 1 : -1;
    if (slowest_link(&ask.link, folder, peers, backend, e) || runs_each(folder, visit, &search, e))
        return NULL;
    if (!search.found) {
        err_set(e, ERR_NO_INPUT, "there is no saved run of this node alone with the same batch and threads");
        return NULL;
    }
    json_t *made = NULL;
    if (predict_source_run(&source, search.found, search.path, o->schedule, o->bucket_mib, false, e) == 0)
        made = predict_member(&ask, o->world, e);
    if (made)
        json_object_set_new(made, "run", output_string(search.path));
    json_decref(search.found);
    predict_source_fini(&source);
    return made;
}
