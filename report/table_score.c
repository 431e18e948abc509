/* report/table_score.c - the ledger of predictions; see table_predict.h. */
#include "report/table_predict.h"

#include <math.h>
#include <string.h>

#include "report/table_parts.h"

char *table_score_render(const json_t *d, const struct table_style *style)
{
    char a[TABLE_CELL], b[TABLE_CELL];
    struct table_page p;
    if (!table_open(&p, d, style))
        return NULL;
    const json_t *list = table_at(d, "ledger", NULL), *s = table_at(d, "score", NULL);
    if (json_array_size(list) == 0) {
        fprintf(p.f, "no saved run of several nodes holds a prediction\n");
        return table_close(&p);
    }
    fprintf(p.f, "%s%-20s %5s %11s %11s %8s  %-7s %-10s %-9s %s%s\n", p.bold, "model", "nodes", "predicted", "measured",
            "error", "inside", "verdict", "speed-up", "run", p.plain);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *o = json_array_get(list, i), *inside = json_object_get(o, "inside");
        char ratio[TABLE_CELL] = "-";
        double speed = table_num(o, "measured_speedup", NULL);
        if (isfinite(speed))
            snprintf(ratio, sizeof ratio, "%.2fx", speed);
        table_put(&p, table_text(o, "model", "?"));
        fprintf(p.f, "%*s %5.0f %11s %11s %+7.1f%%  %-7s %-10s %-9s ", 20 - (int)strlen(table_text(o, "model", "?")),
                "", table_num(o, "world", NULL), table_time(a, table_num(o, "predicted_step_s", NULL)),
                table_time(b, table_num(o, "measured_step_s", NULL)), 100 * table_num(o, "error", NULL),
                json_is_null(inside)   ? "-"
                : json_is_true(inside) ? "yes"
                                       : "no",
                table_text(o, "verdict", "?"), ratio);
        table_put(&p, table_text(o, "run", "?"));
        fprintf(p.f, "\n");
    }
    fprintf(p.f,
            "\n%.0f predictions: error of the step %.1f %% in the median, %.1f %% at the 90th percentile, %+.1f %% one "
            "way; "
            "%.0f %% inside their interval\n",
            table_num(s, "n", NULL), 100 * table_num(s, "median_absolute_error", NULL),
            100 * table_num(s, "p90_absolute_error", NULL), 100 * table_num(s, "median_error", NULL),
            100 * table_num(s, "inside", NULL));
    double right = table_num(s, "right", NULL);
    if (isfinite(right))
        fprintf(p.f, "verdicts: %.0f decided, %.0f %% of them right; %.0f undecided\n", table_num(s, "decided", NULL),
                100 * right, table_num(s, "undecided", NULL));
    return table_close(&p);
}
