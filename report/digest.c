/* report/digest.c - see digest.h. Start at digest_make(); conditions[] says where each condition stands in a document. */
#include "config.h" /* _GNU_SOURCE, for open_memstream */

#include "report/digest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/clean.h"
#include "report/fields.h"
#include "report/table_parts.h"

const struct digest_metric digest_metrics[] = {
    {"floor.ratio", NULL, NULL, 1},
    {"speedup.measured", NULL, NULL, -1},
    {"summary.step_s.median", NULL, "step_s", 1},
    {"summary.forward_s.median", NULL, "forward_s", 1},
    {"summary.backward_s.median", NULL, "backward_s", 1},
    {"summary.optimizer_s.median", NULL, "optimizer_s", 1},
    {"summary.exposed_s.median", NULL, "exposed_s", 1},
    {"summary.communication_s.median", "communication.total_s", "communication_s", 1},
    {"floor.step_s", NULL, NULL, 1},
    {"speedup.baseline_step_s", NULL, NULL, 1},
    {"summary.tokens_per_s.median", NULL, NULL, -1},
    {"product_rate.flops_per_s", NULL, NULL, -1},
    {"memory.peak_bytes", NULL, NULL, 1},
    {NULL, NULL, NULL, 0},
};

static const struct field *listed(const struct digest_metric *m)
{
    return field_find(m->listed ? m->listed : m->path);
}

const char *digest_name(const struct digest_metric *m)
{
    return listed(m)->brief;
}

const char *digest_unit(const struct digest_metric *m)
{
    enum field_unit unit = listed(m)->unit;
    return unit == UNIT_TOKENS_PER_S || unit == UNIT_FLOPS ? "per s" : field_unit_name(unit);
}

bool digest_is_time(const struct digest_metric *m)
{
    return listed(m)->unit == UNIT_SECONDS;
}

const struct digest_metric *digest_metric_find(const char *name)
{
    for (const struct digest_metric *m = digest_metrics; m->path; m++)
        if (strcmp(m->path, name) == 0 || strcmp(digest_name(m), name) == 0)
            return m;
    return NULL;
}

/* `each` is looked up in every entry of nodes[], else `path` in the document. */
static const struct condition {
    const char *name, *path, *each;
} conditions[] = {
    {"kind", "kind", NULL},
    {"model", "model.name", NULL},
    {"batch", "model.batch", NULL},
    {"batches of the ranks", NULL, "batch"},
    {"seq", "model.seq", NULL},
    {"accum", "model.accum", NULL},
    {"dtype", "model.dtype", NULL},
    {"optimizer", "model.optimizer.name", NULL},
    {"clip", "model.optimizer.clip", NULL},
    {"world", "world", NULL},
    {"ranks on one host", "same_host", NULL},
    {"machine", NULL, "cpu"},
    {"hypervisor", "machine.processor.hypervisor", NULL},
    {"usable CPUs", "usable_cpus", NULL},
    {"threads", NULL, "threads"},
    {"blas kernel", NULL, "blas_kernel"},
    {"vector kernels", NULL, "kernels"},
    {"compute", "compute", NULL},
    {"transport", "communication.transport", NULL},
    {"schedule", "communication.schedule", NULL},
    {"bucket size", "communication.bucket_mb", NULL},
    {"optimizer per bucket", "communication.optimizer_per_bucket", NULL},
    {"emulated link", "emulated.option", NULL},
    {"encryption", "wire", NULL},
};

enum { CONDITIONS = sizeof conditions / sizeof *conditions };

const char *digest_condition_name(int i)
{
    return i >= 0 && i < CONDITIONS ? conditions[i].name : NULL;
}

/* Follows "a.b.c". */
static const json_t *at(const json_t *o, const char *path)
{
    char name[64];
    while (o && path) {
        const char *point = strchr(path, '.');
        size_t n = point ? (size_t)(point - path) : strlen(path);
        snprintf(name, sizeof name, "%.*s", (int)n, path);
        o = json_object_get(o, name);
        path = point ? point + 1 : NULL;
    }
    return o;
}

/* A value in a few words; lists count their members, for which CPUs are used matters less than how many. */
static void put(FILE *f, const json_t *value)
{
    char text[201]; /* cut between characters */
    if (json_is_string(value))
        fputs(clean_text(text, sizeof text, json_string_value(value)), f);
    else if (json_is_integer(value))
        fprintf(f, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        fprintf(f, "%.6g", json_real_value(value));
    else if (json_is_boolean(value))
        fprintf(f, json_is_true(value) ? "yes" : "no");
    else if (json_is_array(value))
        fprintf(f, "%zu", json_array_size(value));
    else if (json_is_object(value))
        put(f, json_object_get(value, "name"));
    else
        fprintf(f, "none");
}

/* "2" if all nodes agree, "2, 4" if they do not. */
static void put_each(FILE *f, const json_t *nodes, const char *key)
{
    size_t n = json_array_size(nodes), same = 1;
    while (same < n && json_equal(json_object_get(json_array_get(nodes, 0), key),
                                  json_object_get(json_array_get(nodes, same), key)))
        same++;
    for (size_t i = 0; i < (same == n ? 1 : n); i++) {
        fprintf(f, i ? ", " : "");
        put(f, json_object_get(json_array_get(nodes, i), key));
    }
    if (n == 0)
        fprintf(f, "none");
}

static json_t *clean(const char *text)
{
    json_t *s = text ? json_string(text) : NULL;
    return s ? s : json_null();
}

static json_t *make_conditions(const json_t *d)
{
    json_t *o = json_object();
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size); /* one for all: opening it takes longer than writing */
    for (int i = 0; f && i < CONDITIONS; i++) {
        rewind(f);
        if (conditions[i].each)
            put_each(f, json_object_get(d, "nodes"), conditions[i].each);
        else if (strcmp(conditions[i].path, "kind") == 0 && !json_object_get(d, "kind"))
            fprintf(f, json_object_get(d, "summary") ? "run" : "none");
        else
            put(f, at(d, conditions[i].path));
        fputc('\0', f);
        if (fflush(f) == 0)
            json_object_set_new(o, conditions[i].name, clean(text));
    }
    if (f)
        fclose(f);
    free(text);
    return o;
}

/* Of the member at `wanted`: whether it is the one at `path`, or stands below it. */
static enum skim_need need_for(const char *wanted, const char *path, size_t length)
{
    if (*wanted != *path || strncmp(wanted, path, length) != 0)
        return SKIM_NOT;
    return wanted[length] == '\0' ? SKIM_WHOLE : wanted[length] == '.' ? SKIM_PART : SKIM_NOT;
}

enum skim_need digest_needs(const char *path)
{
    static const char *const others[] = {"schema_version", "status",     "started",           "label",
                                         "tool.version",   "nodes.name", "summary.step_s.mad"};
    size_t length = strlen(path);
    enum skim_need need = SKIM_NOT, one;
    if (strcmp(path, "samples") == 0)
        return SKIM_COUNT;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if ((one = need_for(others[i], path, length)) > need)
            need = one;
    for (const struct digest_metric *m = digest_metrics; m->path; m++)
        if ((one = need_for(m->path, path, length)) > need)
            need = one;
    for (int i = 0; i < CONDITIONS; i++) {
        one = SKIM_NOT;
        if (conditions[i].path)
            one = need_for(conditions[i].path, path, length);
        else if (strncmp(path, "nodes.", 6) == 0)
            one = need_for(conditions[i].each, path + 6, length - 6);
        need = one > need ? one : need;
    }
    return need;
}

json_t *digest_make(const json_t *d)
{
    json_t *digest = json_object(), *metrics = json_object(), *names = json_array();
    const json_t *nodes = json_object_get(d, "nodes");
    json_t *conditions_of = make_conditions(d);
    json_object_set_new(digest, "kind", clean(json_string_value(json_object_get(conditions_of, "kind"))));
    json_object_set_new(digest, "status", clean(json_string_value(json_object_get(d, "status"))));
    json_object_set_new(digest, "started", clean(json_string_value(json_object_get(d, "started"))));
    json_object_set_new(digest, "label", clean(json_string_value(json_object_get(d, "label"))));
    json_object_set_new(digest, "version", clean(json_string_value(at(d, "tool.version"))));
    json_object_set_new(digest, "model", clean(json_string_value(at(d, "model.name"))));
    json_object_set_new(digest, "world", json_integer(json_integer_value(json_object_get(d, "world"))));
    json_object_set_new(digest, "steps", json_integer((json_int_t)json_array_size(json_object_get(d, "samples"))));
    for (size_t i = 0; i < json_array_size(nodes); i++)
        json_array_append_new(names, clean(json_string_value(json_object_get(json_array_get(nodes, i), "name"))));
    json_object_set_new(digest, "nodes", names);
    json_object_set_new(digest, "conditions", conditions_of);
    for (const struct digest_metric *m = digest_metrics; m->path; m++) {
        double x = table_value(at(d, m->path));
        if (isfinite(x))
            json_object_set_new(metrics, m->path, json_real(x));
    }
    json_object_set_new(digest, "metrics", metrics);
    json_object_set_new(digest, "step_mad_s", json_num(table_value(at(d, "summary.step_s.mad"))));
    return digest;
}

const char *digest_condition(const json_t *digest, const char *name)
{
    const char *text = json_string_value(json_object_get(json_object_get(digest, "conditions"), name));
    return text ? text : "";
}

double digest_value(const json_t *digest, const char *path)
{
    return table_value(json_object_get(json_object_get(digest, "metrics"), path));
}

const char *digest_unfit(const json_t *digest)
{
    const char *kind = json_string_value(json_object_get(digest, "kind"));
    const char *status = json_string_value(json_object_get(digest, "status"));
    if (!kind || strcmp(kind, "run") != 0)
        return "no run";
    if (!status || strcmp(status, "complete") != 0)
        return status ? status : "no status";
    return isfinite(digest_value(digest, "summary.step_s.median")) ? NULL : "no timed steps";
}
