/* report/table_health.c - how the nodes were while they ran, and what a soak found; see table.h. */
#include <math.h>
#include <string.h>

#include "report/fields.h"
#include "report/table_parts.h"

enum { SHOWN_MAX = 3 }; /* findings of a node; the document has all */

static void put_label(struct table_page *p, const char *text, const char *grade)
{
    bool bad = grade && *grade > 'B';
    if (bad)
        fprintf(p->f, "%s", p->alert);
    table_label(p, text);
    if (bad)
        fprintf(p->f, "%s", p->alert);
}

static void findings(struct table_page *p, const json_t *health, size_t rank, bool several, bool *labelled)
{
    const char *grade = json_string_value(table_at(health, "grade", NULL));
    const json_t *list = table_at(health, "findings", NULL);
    size_t n = json_array_size(list);
    if (!grade)
        return;
    put_label(p, *labelled ? "" : "health", grade);
    *labelled = true;
    if (several)
        fprintf(p->f, "rank %zu: ", rank);
    table_put(p, grade);
    if (n == 0)
        fprintf(p->f, ": nothing disturbed it");
    for (size_t i = 0; i < n && i < SHOWN_MAX; i++) {
        const json_t *f = json_array_get(list, i);
        if (i)
            table_label(p, "");
        fprintf(p->f, ": ");
        table_put(p, json_string_value(table_at(f, "reason", NULL)));
        fprintf(p->f, "\n");
        table_label(p, "");
        fprintf(p->f, "  %s-> ", p->dim);
        table_put(p, json_string_value(table_at(f, "remedy", NULL)));
        fprintf(p->f, "%s%s", p->plain, i + 1 < n && i + 1 < SHOWN_MAX ? "\n" : "");
    }
    fprintf(p->f, "%s\n", p->plain);
}

static void marks(struct table_page *p, const json_t *health)
{
    const json_t *counts = table_at(health, "marks", NULL);
    const char *name;
    json_t *value;
    bool any = false;
    json_object_foreach((json_t *)counts, name, value)
    {
        if (!(table_value(value) > 0))
            continue;
        if (!any)
            table_label(p, "marked");
        fprintf(p->f, "%s%.0f ", any ? ", " : "", table_value(value));
        table_put(p, name);
        any = true;
    }
    if (any)
        fprintf(p->f, " of %zu steps\n", json_array_size(table_at(p->d, "samples", NULL)));
}

/* Of points that change nothing the last one; a jump's two are in the finding. */
static void trajectory(struct table_page *p, const json_t *list)
{
    char at[TABLE_CELL];
    size_t n = json_array_size(list);
    bool any = false;
    if (n <= 2)
        return;
    table_label(p, "");
    for (size_t i = 0; i < n; i++) {
        const json_t *point = json_array_get(list, i), *next = json_array_get(list, i + 1);
        double factor = table_num(point, "factor", NULL);
        if (next && fabs(table_num(next, "factor", NULL) - factor) < 0.005)
            continue;
        fprintf(p->f, "%sx %.2f after %s", any ? ", " : "", factor,
                table_seconds(at, sizeof at, table_num(point, "time_s", NULL)));
        any = true;
    }
    fprintf(p->f, "\n");
}

static void soak(struct table_page *p)
{
    const json_t *s = table_at(p->d, "soak", NULL);
    const char *why = field_reason(p->d, "soak", NULL);
    if (!json_is_object(s) && !(json_is_null(s) && why))
        return;
    fprintf(p->f, "\n");
    table_label(p, "soak");
    if (!json_is_object(s)) {
        table_put(p, why);
        fprintf(p->f, "\n");
        return;
    }
    table_put(p, json_string_value(table_at(s, "finding", NULL)));
    fprintf(p->f, "\n");
    if (json_is_true(table_at(s, "drift_seen", NULL)))
        trajectory(p, table_at(s, "trajectory", NULL));
}

void table_health(struct table_page *p)
{
    json_t *nodes = table_at(p->d, "nodes", NULL), *node;
    size_t rank;
    bool labelled = false;
    json_array_foreach(nodes, rank, node)
    {
        findings(p, table_at(node, "health", NULL), rank, json_array_size(nodes) > 1, &labelled);
    }
    marks(p, table_at(json_array_get(nodes, 0), "health", NULL));
    soak(p);
}
