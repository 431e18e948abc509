/* report/history_export.c - see history_export.h. One function per format; newest() is what those about the last runs share. */
#include "config.h" /* _GNU_SOURCE, for open_memstream */

#include "report/history_export.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "report/clean.h"
#include "report/digest.h"
#include "report/history_check.h"

static char *finish(FILE *f, char **text)
{
    if (fclose(f) == 0)
        return *text;
    free(*text);
    return NULL;
}

static const char *text(const json_t *o, const char *key)
{
    const char *value = json_string_value(json_object_get(o, key));
    return value ? value : "";
}

/* ---- the newest runs of a group ---- */

enum { NEWEST_MAX = 100 };

struct newest {
    const json_t *digest; /* of the last one */
    int n, row[NEWEST_MAX];
};

static void newest(struct newest *w, const struct history *h, const json_t *group)
{
    size_t n = json_array_size(group);
    w->n = 0;
    for (size_t i = n; i-- > 0 && w->n < NEWEST_MAX;) {
        int row = (int)json_integer_value(json_array_get(group, i));
        const json_t *d = h->rows[row].digest;
        if (w->n == 0)
            w->digest = d;
        if (strcmp(text(d, "version"), text(w->digest, "version")) ||
            strcmp(text(d, "label"), text(w->digest, "label")))
            break;
        w->row[w->n++] = row;
    }
}

struct range {
    double median, lo, hi; /* NaN: unknown */
    int n;
};

/* Over the newest runs; of a single one lo and hi are its median absolute deviation around the step. */
static struct range over(const struct newest *w, const struct history *h, const char *path)
{
    double x[NEWEST_MAX];
    struct range r = {NAN, NAN, NAN, 0};
    for (int i = 0; i < w->n; i++) {
        double v = digest_value(h->rows[w->row[i]].digest, path);
        if (isfinite(v))
            x[r.n++] = v;
    }
    if (r.n == 0)
        return r;
    r.median = stats_median(x, (size_t)r.n);
    r.lo = x[0];
    r.hi = x[r.n - 1];
    double mad = json_number_value(json_object_get(w->digest, "step_mad_s"));
    if (r.n == 1 && strcmp(path, "summary.step_s.median") == 0) {
        r.lo -= mad;
        r.hi += mad;
    }
    return r;
}

static json_t *string(const char *s)
{
    json_t *o = json_string(s);
    return o ? o : json_null();
}

/* Calls add() for every group and returns what became of `to` as text. */
static char *of_groups(const struct history *h, const struct history_filter *filter, json_t *to,
                       void (*add)(json_t *to, const struct history *h, const struct newest *w, const char *name))
{
    int left_out;
    json_t *groups = history_groups(h, filter, &left_out);
    for (size_t i = 0; i < json_array_size(groups); i++) {
        struct newest w;
        char name[256], clean[256];
        newest(&w, h, json_array_get(groups, i));
        add(to, h, &w, clean_text(clean, sizeof clean, history_group_name(name, sizeof name, w.digest)));
    }
    json_decref(groups);
    char *out = json_dumps(to, JSON_INDENT(2));
    json_decref(to);
    if (!out)
        return NULL;
    size_t n = strlen(out);
    char *line = realloc(out, n + 2);
    if (!line) {
        free(out);
        return NULL;
    }
    memcpy(line + n, "\n", 2);
    return line;
}

/* ---- github-action-benchmark ---- */

static void add_github(json_t *to, const struct history *h, const struct newest *w, const char *group)
{
    for (const struct digest_metric *m = digest_metrics; m->path; m++) {
        struct range r = over(w, h, m->path);
        char name[320], range[64], extra[512];
        if (r.n == 0 || m->worse < 0)
            continue;
        snprintf(name, sizeof name, "%s: %s", group, digest_name(m));
        snprintf(range, sizeof range, "%.6g .. %.6g", r.lo, r.hi);
        snprintf(extra, sizeof extra, "%s\n%s\n%d run%s", text(w->digest, "version"), text(w->digest, "started"), r.n,
                 r.n == 1 ? "" : "s");
        json_t *o = json_object();
        json_object_set_new(o, "name", string(name));
        json_object_set_new(o, "unit", string(digest_unit(m)));
        json_object_set_new(o, "value", json_num(r.median));
        json_object_set_new(o, "range", string(range));
        json_object_set_new(o, "extra", string(extra));
        json_array_append_new(to, o);
    }
}

static char *render_github(const struct history *h, const struct history_filter *filter)
{
    return of_groups(h, filter, json_array(), add_github);
}

/* ---- Bencher ---- */

static void add_measure(json_t *benchmark, const char *name, struct range r, double scale)
{
    if (r.n == 0)
        return;
    json_t *o = json_object();
    json_object_set_new(o, "value", json_num(r.median * scale));
    json_object_set_new(o, "lower_value", json_num(r.lo * scale));
    json_object_set_new(o, "upper_value", json_num(r.hi * scale));
    json_object_set_new(benchmark, name, o);
}

static void add_bencher(json_t *to, const struct history *h, const struct newest *w, const char *group)
{
    json_t *o = json_object();
    add_measure(o, "latency", over(w, h, "summary.step_s.median"), 1e9);
    add_measure(o, "throughput", over(w, h, "summary.tokens_per_s.median"), 1);
    add_measure(o, "step-floor-ratio", over(w, h, "floor.ratio"), 1);
    json_object_set_new(to, group, o);
}

static char *render_bencher(const struct history *h, const struct history_filter *filter)
{
    return of_groups(h, filter, json_object(), add_bencher);
}

/* ---- OpenMetrics ---- */

static const char *suffix(const struct digest_metric *m)
{
    const char *unit = digest_unit(m);
    return digest_is_time(m) ? "seconds" : strcmp(unit, "per s") == 0 ? "per_second" : unit;
}

/* "step / floor" as a name: ddpbench_history_step_floor_ratio. */
static void metric_name(char *buf, size_t size, const struct digest_metric *m)
{
    size_t n = (size_t)snprintf(buf, size, "ddpbench_history_");
    for (const char *c = digest_name(m); *c && n + 2 < size; c++) {
        bool letter = (*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9');
        if (letter)
            buf[n++] = *c;
        else if (buf[n - 1] != '_')
            buf[n++] = '_';
    }
    snprintf(buf + n, size - n, "_%s", suffix(m));
}

static void put_labels(FILE *f, const struct newest *w)
{
    static const char *const labels[][2] = {{"model", "model"},
                                            {"batch", "batch"},
                                            {"seq", "seq"},
                                            {"world", "world"},
                                            {"machine", "machine"},
                                            {"threads", "threads"},
                                            {"kernel", "blas kernel"},
                                            {"transport", "transport"},
                                            {"schedule", "schedule"},
                                            {"emulated", "emulated link"},
                                            {"wire", "encryption"},
                                            {"compute", "compute"}};
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        fprintf(f, "%s%s=\"", i ? "," : "", labels[i][0]);
        clean_label(f, digest_condition(w->digest, labels[i][1]));
        fprintf(f, "\"");
    }
}

static char *render_openmetrics(const struct history *h, const struct history_filter *filter)
{
    char *out = NULL, name[96];
    size_t size = 0;
    int left_out;
    FILE *f = open_memstream(&out, &size);
    json_t *groups = f ? history_groups(h, filter, &left_out) : NULL;
    if (!f)
        return NULL;
    for (const struct digest_metric *m = digest_metrics; m->path; m++) {
        bool headed = false;
        for (size_t i = 0; i < json_array_size(groups); i++) {
            struct newest w;
            newest(&w, h, json_array_get(groups, i));
            struct range r = over(&w, h, m->path);
            if (r.n == 0)
                continue;
            metric_name(name, sizeof name, m);
            if (!headed)
                fprintf(f, "# TYPE %s gauge\n# UNIT %s %s\n", name, name, suffix(m));
            headed = true;
            fprintf(f, "%s{group=\"%zu\",", name, i); /* conditions that are no labels may tell groups apart */
            put_labels(f, &w);
            fprintf(f, "} %.17g\n", r.median);
        }
    }
    fprintf(f, "# EOF\n");
    json_decref(groups);
    return finish(f, &out);
}

/* ---- tables ---- */

static char *render_csv(const struct history *h, const struct history_filter *filter)
{
    static const char *const texts[] = {"started", "label", "version", "status"};
    char *out = NULL, line[256];
    size_t size = 0;
    const char *name;
    FILE *f = open_memstream(&out, &size);
    if (!f)
        return NULL;
    fprintf(f, "file,started,label,version,status,node,steps");
    for (int i = 0; (name = digest_condition_name(i)); i++)
        fprintf(f, ",%s", name);
    for (const struct digest_metric *m = digest_metrics; m->path; m++)
        fprintf(f, ",%s", m->path);
    fprintf(f, "\r\n");
    for (int i = 0; i < h->n; i++) {
        const json_t *d = h->rows[i].digest;
        if (!history_wanted(&h->rows[i], filter))
            continue;
        clean_csv(f, h->rows[i].file);
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
            fputc(',', f);
            clean_csv(f, text(d, texts[k]));
        }
        fputc(',', f);
        const char *node = json_string_value(json_array_get(json_object_get(d, "nodes"), 0));
        clean_csv(f, node ? node : "");
        fprintf(f, ",%lld", (long long)json_integer_value(json_object_get(d, "steps")));
        for (int k = 0; (name = digest_condition_name(k)); k++) {
            fputc(',', f);
            clean_csv(f, digest_condition(d, name));
        }
        for (const struct digest_metric *m = digest_metrics; m->path; m++) {
            double x = digest_value(d, m->path);
            snprintf(line, sizeof line, "%.17g", x);
            fprintf(f, ",%s", isfinite(x) ? line : "");
        }
        fprintf(f, "\r\n");
    }
    return finish(f, &out);
}

static char *render_json(const struct history *h, const struct history_filter *filter)
{
    json_t *o = history_list(h, filter, 0);
    char *out = json_dumps(o, JSON_INDENT(2));
    json_decref(o);
    return out;
}

const struct history_format history_formats[] = {
    {"csv", render_csv},
    {"json", render_json},
    {"openmetrics", render_openmetrics},
    {"github-action-benchmark", render_github},
    {"bencher", render_bencher},
    {NULL, NULL},
};

const struct history_format *history_format_find(const char *name, struct err *e)
{
    for (const struct history_format *f = history_formats; f->name; f++)
        if (strcmp(f->name, name) == 0)
            return f;
    err_set(e, ERR_USAGE,
            "option --format takes csv, json, openmetrics, github-action-benchmark or bencher, not '%.80s'", name);
    return NULL;
}
