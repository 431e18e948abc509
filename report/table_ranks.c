/* report/table_ranks.c - what several ranks had to do with each other: see table_parts.h. Start at table_ranks(). */
#include <math.h>
#include <string.h>

#include "report/fields.h"
#include "report/table.h"
#include "report/table_parts.h"

enum { COLUMN = 9, BUCKETS_SHOWN = 16 };

static void line(struct table_page *p, const char *name, const char *key, const char *remark)
{
    double s = table_num(p->d, "communication", key);
    table_label(p, name);
    table_duration(p, s, TABLE_VALUE_WIDTH);
    fprintf(p->f, " %s  %s\n", p->unit.name, remark);
}

/* What the plan of the buckets allows, beside what was measured. */
static void arithmetic(struct table_page *p)
{
    const json_t *a = table_at(p->d, "communication", "arithmetic", NULL);
    if (!json_is_object(a))
        return;
    double ratio = table_num(a, "exposed_ratio", NULL);
    table_label(p, "  allowed");
    table_duration(p, table_num(a, "exposed_s", NULL), TABLE_VALUE_WIDTH);
    fprintf(p->f, " %s  by the plan of the buckets, %.1f MB/s", p->unit.name,
            table_num(a, "rate_bytes_per_s", NULL) * 1e-6);
    if (isfinite(ratio))
        fprintf(p->f, ": measured %.2f x", ratio);
    fprintf(p->f, "\n");
    if (!isfinite(table_num(a, "step_s", NULL)))
        return;
    table_label(p, "  and a step of");
    table_duration(p, table_num(a, "step_s", NULL), TABLE_VALUE_WIDTH);
    fprintf(p->f, " %s  from the step alone: measured %.3f x\n", p->unit.name, table_num(a, "step_ratio", NULL));
}

static bool is_sealed(const struct table_page *p)
{
    const char *wire = json_string_value(table_at(p->d, "wire", NULL));
    return wire && strncmp(wire, "tls", 3) == 0;
}

static void traffic(struct table_page *p)
{
    const json_t *c = table_at(p->d, "communication", NULL);
    char sent[48], remark[128] = "";
    double bytes = table_num(c, "bytes_per_step", NULL);
    if (isfinite(bytes))
        snprintf(remark, sizeof remark, "%s sent per step", table_bytes(sent, sizeof sent, bytes));
    line(p, "exchange", "total_s", remark);
    line(p, "  exposed", "exposed_s", "the step stood still for it");
    line(p, "  hidden", "hidden_s", "behind the computation");
    arithmetic(p);
    if (is_sealed(p))
        line(p, "  sealing", "seal_s", "encrypting and decrypting, part of the exchange");
    table_label(p, "schedule");
    table_put(p, json_string_value(table_at(c, "schedule", NULL)));
    fprintf(p->f, " over ");
    table_put(p, json_string_value(table_at(c, "transport", NULL)));
    double cap = table_num(c, "bucket_mb", NULL);
    if (isfinite(cap))
        fprintf(p->f, ", buckets of %g MiB", cap);
    else
        fprintf(p->f, ", buckets of 1, then 25 MiB");
    if (is_sealed(p))
        fprintf(p->f, ", encrypted");
    fprintf(p->f, "\n");
}

static void bucket(struct table_page *p, size_t i, const json_t *b)
{
    const char *const times[] = {
        "ready_s", "start_s", "end_s", "wait_s", "move_s", "sum_s", is_sealed(p) ? "seal_s" : "check_s"};
    char size[48];
    fprintf(p->f, "%-*zu%9.0f%11s", TABLE_LABEL_WIDTH, i, table_num(b, "tensors", NULL),
            table_bytes(size, sizeof size, table_num(b, "bytes", NULL)));
    for (size_t t = 0; t < sizeof times / sizeof *times; t++)
        table_duration(p, table_num(b, times[t], "median"), COLUMN);
    fprintf(p->f, "\n");
}

static void buckets(struct table_page *p)
{
    json_t *list = table_at(p->d, "communication", "buckets", NULL), *b;
    size_t i, n = json_array_size(list);
    if (n == 0)
        return;
    fprintf(p->f, "\n%s%-*s%9s%11s%9s%9s%9s%9s%9s%9s%9s%s   %s\n", p->bold, TABLE_LABEL_WIDTH, "bucket", "tensors",
            "size", "ready", "start", "end", "waiting", "moving", "adding", is_sealed(p) ? "sealing" : "checking",
            p->plain, p->unit.name);
    json_array_foreach(list, i, b)
    {
        if (n > BUCKETS_SHOWN && i == BUCKETS_SHOWN - 2)
            fprintf(p->f, "... %zu more in the result\n", n - BUCKETS_SHOWN + 1);
        if (n <= BUCKETS_SHOWN || i < BUCKETS_SHOWN - 2 || i == n - 1)
            bucket(p, i, b);
    }
}

static void cpus(struct table_page *p, const json_t *node)
{
    json_t *list = table_at(node, "cpus", NULL), *cpu;
    size_t i;
    char text[24] = "";
    json_array_foreach(list, i, cpu)
    {
        size_t used = strlen(text);
        if (used + 8 < sizeof text)
            snprintf(text + used, sizeof text - used, "%s%.0f", i ? "," : "", table_value(cpu));
        else if (text[used - 1] != '+')
            snprintf(text + used, sizeof text - used, ",+");
    }
    fprintf(p->f, "%12s", *text ? text : "not bound");
}

/* Ranks on other nodes have an address. */
static void names(struct table_page *p, const json_t *list)
{
    char label[32];
    json_t *node;
    size_t i;
    if (!json_is_string(table_at(json_array_get(list, 1), "address", NULL)))
        return;
    fprintf(p->f, "\n");
    json_array_foreach(list, i, node)
    {
        const char *address = json_string_value(table_at(node, "address", NULL));
        snprintf(label, sizeof label, "rank %zu", i);
        table_label(p, label);
        table_put(p, json_string_value(table_at(node, "name", NULL)));
        fprintf(p->f, ", ");
        table_put(p, i ? address : json_string_value(table_at(p->d, "local_addr", NULL)));
        fprintf(p->f, ": ");
        table_put(p, json_string_value(table_at(node, "cpu", NULL)));
        fprintf(p->f, "\n");
    }
}

static void ranks(struct table_page *p)
{
    json_t *list = table_at(p->d, "nodes", NULL), *node;
    size_t i;
    fprintf(p->f, "\n%s%-*s%9s%12s%8s%12s%12s%12s%12s%s   %s\n", p->bold, TABLE_LABEL_WIDTH, "rank", "threads", "CPUs",
            "batch", "step", "work", "exposed", "alone", p->plain, p->unit.name);
    json_array_foreach(list, i, node)
    {
        fprintf(p->f, "%-*zu", TABLE_LABEL_WIDTH, i);
        if (!json_is_object(table_at(node, "summary", NULL))) {
            fprintf(p->f, "   ended before it could tell\n");
            continue;
        }
        fprintf(p->f, "%9.0f", table_num(node, "threads", NULL));
        cpus(p, node);
        fprintf(p->f, "%8.0f", table_num(node, "batch", NULL));
        table_duration(p, table_value(table_at(node, "summary", "step_s", "median", NULL)), 12);
        table_duration(p, table_value(table_at(node, "summary", "compute_s", "median", NULL)), 12);
        table_duration(p, table_value(table_at(node, "summary", "exposed_s", "median", NULL)), 12);
        table_duration(p, table_num(node, "alone_step_s", "median"), 12);
        fprintf(p->f, "\n");
    }
    names(p, list);
    const json_t *s = table_at(p->d, "communication", "straggler", NULL);
    if (json_is_object(s)) {
        fprintf(p->f, "%s", p->alert);
        table_label(p, "straggler");
        fprintf(p->f, "%srank %.0f works %.0f %% longer than the others%s\n", p->alert, table_num(s, "rank", NULL),
                100 * (table_num(s, "compute_s", NULL) / table_num(s, "others_s", NULL) - 1), p->plain);
    }
    fprintf(p->f, "\n");
}

static void speedup(struct table_page *p)
{
    const json_t *s = table_at(p->d, "speedup", NULL);
    double measured = table_num(s, "measured", NULL);
    table_label(p, "speed-up");
    if (!isfinite(measured)) {
        fprintf(p->f, "not measured: ");
        table_put(p, field_reason(p->d, "speedup.measured", "unknown"));
        fprintf(p->f, "\n");
        return;
    }
    fprintf(p->f, "%*.2f", TABLE_VALUE_WIDTH, measured);
    fprintf(p->f, " x  of ");
    table_put(p, json_string_value(table_at(s, "baseline_node", NULL)));
    fprintf(p->f, " alone, whose step takes ");
    table_duration(p, table_num(s, "baseline_step_s", NULL), 1);
    fprintf(p->f, " %s; scaling %.0f %%\n", p->unit.name, 100 * table_num(s, "scaling", NULL));
}

static void emulated(struct table_page *p)
{
    const char *link = json_string_value(table_at(p->d, "emulated", "link", NULL));
    if (!link)
        return;
    fprintf(p->f, "%s", p->alert);
    table_label(p, "emulated");
    fprintf(p->f, "%s", p->alert);
    table_put(p, link);
    fprintf(p->f, ": not a real link%s\n", p->plain);
}

void table_ranks(struct table_page *p)
{
    emulated(p);
    traffic(p);
    buckets(p);
    ranks(p);
    speedup(p);
}
