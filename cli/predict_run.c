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

json_t *predict_run_before(const struct run *run, const char *folder, const json_t *link, struct err *e)
{
    struct search search = {.run = run};
    struct predict_source source = {0};
    struct predict_ask ask = {.source = &source, .partner_scale = 1, .seed = 1};
    const struct run_options *o = &run->options;
    if (runs_each(folder, visit, &search, e))
        return NULL;
    if (!search.found) {
        err_set(e, ERR_NO_INPUT, "no saved run of this node alone with the same batch and threads");
        return NULL;
    }
    json_t *made = NULL;
    ask.link.origin = "measured";
    snprintf(ask.link.name, sizeof ask.link.name, "the link to the first peer");
    if (predict_source_link(&ask.link.model, link, "the link's document", e) == 0 &&
        predict_source_run(&source, search.found, search.path, o->schedule, o->bucket_mib, false, e) == 0)
        made = predict_member(&ask, o->world, e);
    if (made)
        json_object_set_new(made, "run", output_string(search.path));
    json_decref(search.found);
    predict_source_fini(&source);
    return made;
}
