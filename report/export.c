/* report/export.c - see export.h. A format is a row in export_formats[] and a function. */
#include "report/export.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/clean.h"
#include "report/fields.h"
#include "report/verdict.h"

struct writer {
    FILE *f;
    char *text;
    size_t size;
    const char *run;
    const json_t *document;
    const char *group;         /* Markdown: of the row before */
    const struct field *field; /* OpenMetrics: of the sample before */
    json_t *list;              /* JSON */
};

static int begin(struct writer *w, const json_t *d, const char *run)
{
    *w = (struct writer){.run = run, .document = d};
    w->f = open_memstream(&w->text, &w->size);
    return w->f ? 0 : -1;
}

static char *end(struct writer *w)
{
    if (fclose(w->f) == 0)
        return w->text;
    free(w->text);
    return NULL;
}

/* As the document has it: the same digits, so that a reader gets the same number. */
static void number(FILE *f, const json_t *value)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY);
    fputs(text ? text : "null", f);
    free(text);
}

/* ---- Markdown ---- */

static void markdown_row(void *ctx, const struct field_value *v)
{
    struct writer *w = ctx;
    char text[128];
    if (!w->group || strcmp(w->group, v->field->group) != 0)
        fprintf(w->f, "\n## %s\n\n| | |\n|---|---|\n", v->field->group);
    w->group = v->field->group;
    fprintf(w->f, "| %s", v->field->title);
    if (v->of) {
        fprintf(w->f, ", ");
        clean_markdown(w->f, v->of);
    } else if (v->index >= 0) {
        fprintf(w->f, " (%d)", v->index + 1);
    }
    fprintf(w->f, " | ");
    if (json_is_null(v->value)) {
        fprintf(w->f, "%s: ", field_null(v->field));
        clean_markdown(w->f, v->reason);
    } else if (v->field->kind == FIELD_TEXT) {
        clean_markdown(w->f, json_string_value(v->value));
    } else if (v->field->kind == FIELD_FLAG) {
        fputs(json_is_true(v->value) ? "yes" : "no", w->f);
    } else {
        fputs(field_format(text, sizeof text, v->field->unit, json_number_value(v->value)), w->f);
    }
    fprintf(w->f, " |\n");
}

static char *markdown(const json_t *d, const char *run)
{
    struct writer w;
    struct report_verdict v;
    if (begin(&w, d, run))
        return NULL;
    report_verdict(&v, d);
    fprintf(w.f, "# ");
    clean_markdown(w.f, run);
    fprintf(w.f, "\n\n**");
    clean_markdown(w.f, v.word);
    fprintf(w.f, "**: ");
    clean_markdown(w.f, v.head);
    fprintf(w.f, "\n\n");
    clean_markdown(w.f, v.detail);
    fprintf(w.f, "\n");
    fields_each(d, markdown_row, &w);
    return end(&w);
}

/* ---- CSV ---- */

static void csv_row(void *ctx, const struct field_value *v)
{
    struct writer *w = ctx;
    fprintf(w->f, "%s,%s,%s,%s,", v->path, v->field->name, field_unit_name(v->field->unit),
            field_kind_name(v->field->kind));
    if (v->of)
        clean_csv(w->f, v->of);
    fputc(',', w->f);
    if (json_is_string(v->value))
        clean_csv(w->f, json_string_value(v->value));
    else if (!json_is_null(v->value))
        number(w->f, v->value);
    fputc(',', w->f);
    if (v->reason)
        clean_csv(w->f, v->reason);
    fputs("\r\n", w->f); /* RFC 4180 */
}

static char *csv(const json_t *d, const char *run)
{
    struct writer w;
    if (begin(&w, d, run))
        return NULL;
    fputs("path,name,unit,kind,of,value,reason\r\n", w.f);
    fields_each(d, csv_row, &w);
    return end(&w);
}

/* ---- JSON and JSON lines ---- */

static json_t *object(const struct field_value *v)
{
    const char *unit = field_unit_name(v->field->unit);
    json_t *o = json_object();
    json_object_set_new(o, "path", json_string(v->path));
    json_object_set_new(o, "name", json_string(v->field->name));
    json_object_set_new(o, "unit", *unit ? json_string(unit) : json_null());
    json_object_set_new(o, "kind", json_string(field_kind_name(v->field->kind)));
    json_object_set_new(o, "of", v->of ? json_string(v->of) : json_null());
    json_object_set_new(o, "value", json_incref((json_t *)v->value));
    if (v->reason)
        json_object_set_new(o, "reason", json_string(v->reason));
    return o;
}

static void json_row(void *ctx, const struct field_value *v)
{
    json_array_append_new(((struct writer *)ctx)->list, object(v));
}

static void line_row(void *ctx, const struct field_value *v)
{
    struct writer *w = ctx;
    json_t *o = object(v);
    char *text = json_dumps(o, JSON_COMPACT);
    if (text)
        fprintf(w->f, "%s\n", text);
    free(text);
    json_decref(o);
}

static char *json(const json_t *d, const char *run)
{
    struct writer w = {.list = json_array()};
    json_t *root = json_object();
    char clean[CLEAN_MAX];
    json_object_set_new(root, "schema_version", json_integer(1));
    json_object_set_new(root, "document", json_string(clean_text(clean, sizeof clean, run)));
    json_object_set_new(root, "fields", w.list);
    fields_each(d, json_row, &w);
    char *text = json_dumps(root, JSON_INDENT(2)), *line = NULL;
    json_decref(root);
    if (text && (line = realloc(text, strlen(text) + 2)))
        strcat(line, "\n");
    else
        free(text);
    return line;
}

static char *jsonl(const json_t *d, const char *run)
{
    struct writer w;
    if (begin(&w, d, run))
        return NULL;
    fields_each(d, line_row, &w);
    return end(&w);
}

/* ---- OpenMetrics ---- */

static void info_label(void *ctx, const struct field_value *v)
{
    struct writer *w = ctx;
    if (v->field->kind != FIELD_TEXT || v->index >= 0 || !json_is_string(v->value))
        return;
    fprintf(w->f, ",%s=\"", v->field->name);
    clean_label(w->f, json_string_value(v->value));
    fputc('"', w->f);
}

/* The suffix that the unit demands, if the name has it: other units stand in the help text. */
static const char *suffix(const struct field *f)
{
    static const char *const units[] = {"seconds", "bytes", "ratio"};
    size_t n = strlen(f->name);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t m = strlen(units[i]);
        if (n > m && f->name[n - m - 1] == '_' && strcmp(f->name + n - m, units[i]) == 0)
            return units[i];
    }
    return NULL;
}

static void sample(void *ctx, const struct field_value *v)
{
    struct writer *w = ctx;
    const struct field *f = v->field;
    if (f->kind == FIELD_TEXT || json_is_null(v->value))
        return;
    if (w->field != f) {
        const char *unit = suffix(f);
        fprintf(w->f, "# TYPE ddpbench_%s gauge\n", f->name);
        if (unit)
            fprintf(w->f, "# UNIT ddpbench_%s %s\n", f->name, unit);
        fprintf(w->f, "# HELP ddpbench_%s %s: %s%s%s\n", f->name, f->group, f->title, unit ? "" : " ",
                unit ? "" : field_unit_name(f->unit));
    }
    w->field = f;
    fprintf(w->f, "ddpbench_%s{run=\"", f->name);
    clean_label(w->f, w->run);
    fputc('"', w->f);
    if (v->index >= 0) {
        fprintf(w->f, ",index=\"%d\"", v->index);
        if (v->of) {
            fprintf(w->f, ",of=\"");
            clean_label(w->f, v->of);
            fputc('"', w->f);
        }
    }
    fputs("} ", w->f);
    if (f->kind == FIELD_FLAG)
        fputs(json_is_true(v->value) ? "1" : "0", w->f);
    else
        number(w->f, v->value);
    fputc('\n', w->f);
}

static char *openmetrics(const json_t *d, const char *run)
{
    struct writer w;
    if (begin(&w, d, run))
        return NULL;
    fprintf(w.f, "# TYPE ddpbench_run info\n# HELP ddpbench_run What was measured.\nddpbench_run_info{run=\"");
    clean_label(w.f, run);
    fputc('"', w.f);
    fields_each(d, info_label, &w);
    fputs("} 1\n", w.f);
    fields_each(d, sample, &w);
    fputs("# EOF\n", w.f);
    return end(&w);
}

const struct export_format export_formats[] = {
    {"md", markdown}, {"csv", csv}, {"json", json}, {"jsonl", jsonl}, {"openmetrics", openmetrics}, {NULL, NULL},
};

const struct export_format *export_find(const char *name, struct err *e)
{
    for (const struct export_format *f = export_formats; f->name; f++)
        if (strcmp(f->name, name) == 0)
            return f;
    err_set(e, ERR_USAGE, "option --format takes html, md, csv, json, jsonl or openmetrics, not '%.60s'", name);
    return NULL;
}
