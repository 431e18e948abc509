/* report/table_link.c - see table_link.h. Start at table_link_render(). A is this node, B the peer. */
#include "report/table_link.h"

#include <math.h>
#include <string.h>

#include "report/table_parts.h"

static const char *const ways[] = {"a_to_b", "b_to_a"}, *const way_names[] = {"A to B", "B to A"};

static void put_at(struct table_page *p, const json_t *o, const char *key)
{
    table_put(p, json_string_value(table_at(o, key, NULL)));
}

/* ---- what the link is ---- */

static void end(struct table_page *p, const json_t *link, const char *key, const char *name, const char *who)
{
    const json_t *e = table_at(link, "ends", key, NULL);
    char rate[96];
    const char *address = json_string_value(table_at(e, "address", NULL));
    table_label(p, name);
    if (who && !(address && strcmp(address, who) == 0))
        table_put(p, who);
    if (who && !(address && strcmp(address, who) == 0) && address)
        fprintf(p->f, ", ");
    if (!json_is_object(e)) {
        fprintf(p->f, "\n");
        return;
    }
    put_at(p, e, "address");
    fprintf(p->f, " on ");
    put_at(p, e, "interface");
    fprintf(p->f, " (");
    put_at(p, e, "interface_kind");
    double nominal = table_num(e, "nominal_bytes_per_s", NULL), mtu = table_num(e, "mtu_bytes", NULL);
    if (isfinite(nominal))
        fprintf(p->f, ", nominally %s", table_rate(rate, sizeof rate, nominal));
    else
        fprintf(p->f, ", nominal speed unknown");
    if (isfinite(mtu))
        fprintf(p->f, ", MTU %.0f", mtu);
    fprintf(p->f, ")\n");
    table_label(p, "");
    fprintf(p->f, "%.0f compute thread%s; TCP ", table_num(e, "threads", NULL),
            table_num(e, "threads", NULL) > 1 ? "s" : "");
    put_at(p, e, "congestion_control");
    double again = table_num(e, "retransmits", NULL);
    if (isfinite(again))
        fprintf(p->f, ", %.0f segment%s sent again", again, again >= 1 && again <= 1 ? "" : "s");
    fprintf(p->f, "\n");
}

static void headline(struct table_page *p, const json_t *link)
{
    char rate[96], s[48];
    double x = table_num(link, "rate_bytes_per_s", NULL), rtt = table_num(link, "rtt_s", NULL);
    if (isfinite(x)) {
        table_label(p, "rate");
        fprintf(p->f, "%s%s%s  both ways at once, the slower one\n", p->bold, table_rate(rate, sizeof rate, x),
                p->plain);
    }
    if (isfinite(rtt)) {
        table_label(p, "round trip");
        fprintf(p->f, "%s%s%s  of 4 bytes, idle\n", p->bold, table_seconds(s, sizeof s, rtt), p->plain);
    }
}

/* ---- latency ---- */

static void latency_row(struct table_page *p, const char *name, const json_t *l)
{
    static const char *const columns[] = {"p50", "p90", "p99", "max"};
    if (!json_is_object(l))
        return;
    fprintf(p->f, "%-24s", name);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        double x = table_num(l, columns[i], NULL);
        if (isfinite(x))
            fprintf(p->f, "%12.1f", x * 1e6);
        else
            fprintf(p->f, "%12s", "-");
    }
    fprintf(p->f, "%8.0f\n", table_num(l, "n", NULL));
}

static void latency(struct table_page *p, const json_t *link)
{
    const json_t *l = table_at(link, "latency", NULL), *loaded = table_at(l, "loaded", NULL);
    if (!json_is_object(table_at(l, "idle", NULL)))
        return;
    fprintf(p->f, "\n%s%-24s%12s%12s%12s%12s%8s%s   µs\n", p->bold, "round trip", "p50", "p90", "p99", "max", "n",
            p->plain);
    latency_row(p, "idle", table_at(l, "idle", NULL));
    latency_row(p, "beside A to B", table_at(loaded, "a_to_b", NULL));
    latency_row(p, "beside B to A", table_at(loaded, "b_to_a", NULL));
    latency_row(p, "beside both", table_at(loaded, "duplex", NULL));
}

/* ---- streams ---- */

static void cpu_cell(struct table_page *p, const json_t *stream, const char *key)
{
    double x = table_num(stream, key, "median");
    if (isfinite(x))
        fprintf(p->f, "%9.3f", x);
    else
        fprintf(p->f, "%9s", "-");
}

static void stream_row(struct table_page *p, const char *name, const json_t *stream, const char *key, bool cpu)
{
    const json_t *rate = table_at(stream, key, NULL);
    char text[96];
    double x = table_num(rate, "median", NULL), mad = table_num(rate, "mad", NULL);
    if (!isfinite(x))
        return;
    fprintf(p->f, "%-24s%32s  ±%4.1f %%", name, table_rate(text, sizeof text, x), 100 * mad / x);
    if (cpu) {
        cpu_cell(p, stream, "a_cpu_s_per_gb");
        cpu_cell(p, stream, "b_cpu_s_per_gb");
    }
    fprintf(p->f, "\n");
}

static void streams(struct table_page *p, const json_t *link)
{
    const json_t *s = table_at(link, "streams", NULL);
    bool any = false;
    for (int i = 0; i < 2; i++)
        any |= isfinite(table_value(table_at(s, ways[i], "rate_bytes_per_s", "median", NULL)));
    if (!any)
        return;
    fprintf(p->f, "\n%s%-24s%32s%9s%9s%9s%s   CPU s per GB\n", p->bold, "stream, at the receiver", "rate", "spread",
            "A", "B", p->plain);
    for (int i = 0; i < 2; i++)
        stream_row(p, way_names[i], table_at(s, ways[i], NULL), "rate_bytes_per_s", true);
    const json_t *d = table_at(s, "duplex", NULL);
    stream_row(p, "both: A to B", d, "a_to_b_rate_bytes_per_s", true);
    stream_row(p, "both: B to A", d, "b_to_a_rate_bytes_per_s", false);
}

/* ---- messages ---- */

static const char *size_text(char *buf, size_t size, double bytes)
{
    if (bytes >= 1048576)
        snprintf(buf, size, "%g MiB", bytes / 1048576);
    else if (bytes >= 1024)
        snprintf(buf, size, fmod(bytes, 1024) > 0 ? "%.0f B" : "%g KiB", fmod(bytes, 1024) > 0 ? bytes : bytes / 1024);
    else
        snprintf(buf, size, "%.0f B", bytes);
    return buf;
}

static void messages(struct table_page *p, const json_t *link)
{
    static const char *const columns[] = {"a_to_b", "b_to_a", "duplex_a_to_b", "duplex_b_to_a"};
    json_t *list = table_at(link, "messages", NULL), *row;
    size_t i;
    char size[32];
    if (json_array_size(list) == 0)
        return;
    fprintf(p->f, "\n%s%-12s%19s%19s%19s%19s%s   ms, MB/s\n", p->bold, "message", "A to B", "B to A", "both: A to B",
            "both: B to A", p->plain);
    json_array_foreach(list, i, row)
    {
        fprintf(p->f, "%-12s", size_text(size, sizeof size, table_num(row, "bytes", NULL)));
        for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
            double time_s = table_value(table_at(row, columns[c], "time_s", "median", NULL));
            double rate = table_num(table_at(row, columns[c], NULL), "rate_bytes_per_s", NULL);
            if (isfinite(time_s))
                fprintf(p->f, "%10.3f%9.1f", time_s * 1e3, rate * 1e-6);
            else
                fprintf(p->f, "%19s", "-");
        }
        fprintf(p->f, "\n");
    }
    double largest = table_num(link, "largest_message_bytes", NULL);
    if (largest < 67108864)
        fprintf(p->f, "larger messages are left out: a round of them would take longer than the duration allows\n");
}

/* ---- computing beside the link ---- */

static void slowdown_cell(struct table_page *p, const json_t *row, const char *end)
{
    const json_t *s = table_at(row, end, "slowdown", NULL);
    double x = table_num(s, "median", NULL);
    if (isfinite(x))
        fprintf(p->f, table_num(s, "n", NULL) > 1 ? "%9.3f ± %5.3f" : "%9.3f       -", x, table_num(s, "mad", NULL));
    else
        fprintf(p->f, "%17s", "-");
}

static void interaction(struct table_page *p, const json_t *link)
{
    json_t *list = table_at(link, "interaction", NULL), *row;
    size_t i;
    if (json_array_size(list) == 0)
        return;
    fprintf(p->f, "\n%s%-12s%-16s%-8s%17s%17s%16s%s\n", p->bold, "computing", "cores", "link", "slower on A", "on B",
            "link MB/s", p->plain);
    for (int reserved = 0; reserved < 2; reserved++)
        for (int load = 0; load < 3; load++)
            json_array_foreach(list, i, row)
            {
                double l = table_num(row, "load", NULL);
                if (json_is_true(table_at(row, "reserved_core", NULL)) != (reserved == 1) || fabs(l - load * 0.5) > 0.1)
                    continue;
                const char *work = json_string_value(table_at(row, "work", NULL));
                fprintf(p->f, "%-12s%-16s%-8s", work ? work : "?", reserved ? "one reserved" : "all",
                        load == 0   ? "idle"
                        : load == 1 ? "half"
                                    : "full");
                slowdown_cell(p, row, "a");
                slowdown_cell(p, row, "b");
                double a = table_value(table_at(row, "a", "received_bytes_per_s", "median", NULL));
                double b = table_value(table_at(row, "b", "received_bytes_per_s", "median", NULL));
                if (isfinite(a + b))
                    fprintf(p->f, "%16.1f", fmin(a, b) * 1e-6);
                fprintf(p->f, "\n");
            }
}

/* ---- all-reduce ---- */

/* Columns stay apart also where a call takes seconds; nobody misses the tenths there. */
static void microseconds(struct table_page *p, int width, double s)
{
    fprintf(p->f, "%*.*f", width, s < 0.1 ? 1 : 0, s * 1e6);
}

static void allreduce(struct table_page *p, const json_t *link)
{
    json_t *list = table_at(link, "allreduce", NULL), *row;
    size_t i;
    char size[32];
    double largest = 0;
    if (json_array_size(list) == 0)
        return;
    fprintf(p->f, "\n%s%-12s%-6s%10s%9s%9s%9s%9s%10s%8s%8s%6s%s\n", p->bold, "all-reduce", "by", "time us", "alg MB/s",
            "bus MB/s", "p90 us", "p99 us", "max us", "A s/GB", "B s/GB", "wrong", p->plain);
    json_array_foreach(list, i, row)
    {
        const json_t *l = table_at(row, "latency", NULL);
        const char *by = json_string_value(table_at(row, "backend", NULL));
        fprintf(p->f, "%-12s%-6s", size_text(size, sizeof size, table_num(row, "bytes", NULL)), by ? by : "?");
        microseconds(p, 10, table_num(row, "time_s", NULL));
        fprintf(p->f, "%9.2f%9.2f", table_num(row, "algorithm_bytes_per_s", NULL) * 1e-6,
                table_num(row, "bus_bytes_per_s", NULL) * 1e-6);
        microseconds(p, 9, table_num(l, "p90", NULL));
        microseconds(p, 9, table_num(l, "p99", NULL));
        microseconds(p, 10, table_num(l, "max", NULL));
        double bytes = table_num(row, "bytes", NULL);
        if (bytes >= 65536) /* below that the cost is of calls and not of bytes */
            fprintf(p->f, "%8.3f%8.3f", table_num(row, "a_process_cpu_s_per_gb", NULL),
                    table_num(row, "b_process_cpu_s_per_gb", NULL));
        else
            fprintf(p->f, "%8s%8s", "-", "-");
        fprintf(p->f, "%6.0f\n", table_num(row, "wrong", NULL));
        largest = fmax(largest, bytes);
    }
    if (largest < 67108864)
        fprintf(p->f, "larger ones are left out: a call of that size takes too long\n");
}

/* ---- all-reduce beside computing ---- */

static void beside_cell(struct table_page *p, const json_t *row, const char *key, double scale, const char *format)
{
    double x = table_num(table_at(row, key, NULL), "median", NULL);
    if (isfinite(x))
        fprintf(p->f, format, x * scale);
    else
        fprintf(p->f, "%12s", "-");
}

static void contention(struct table_page *p, const json_t *link)
{
    json_t *list = table_at(link, "contention", NULL), *row;
    size_t i;
    char size[32];
    if (json_array_size(list) == 0)
        return;
    fprintf(p->f, "\n%s%-12s%-12s%12s%12s%12s%12s%12s%12s%s\n", p->bold, "beside", "all-reduce", "4 B: us", "beside us",
            "alone ms", "beside ms", "slower on A", "on B", p->plain);
    json_array_foreach(list, i, row)
    {
        const char *by = json_string_value(table_at(row, "backend", NULL)),
                   *work = json_string_value(table_at(row, "work", NULL));
        fprintf(p->f, "%-12s%-4s %-7s", work ? work : "?", by ? by : "?",
                size_text(size, sizeof size, table_num(row, "bytes", NULL)));
        beside_cell(p, row, "small_alone_s", 1e6, "%12.1f");
        beside_cell(p, row, "small_beside_s", 1e6, "%12.1f");
        beside_cell(p, row, "alone_s", 1e3, "%12.2f");
        beside_cell(p, row, "beside_s", 1e3, "%12.2f");
        beside_cell(p, row, "a_slowdown", 1, "%12.3f");
        beside_cell(p, row, "b_slowdown", 1, "%12.3f");
        fprintf(p->f, "\n");
    }
}

/* ---- the whole ---- */

static void state(struct table_page *p)
{
    const char *status = json_string_value(table_at(p->d, "status", NULL));
    const char *message = json_string_value(table_at(p->d, "error", "message", NULL));
    if (status && strcmp(status, "complete") != 0) {
        fprintf(p->f, "%s", p->alert);
        table_label(p, status);
        fprintf(p->f, "%s", p->alert);
        table_put(p, message);
        fprintf(p->f, "%s\n", p->plain);
    }
    if (json_is_true(table_at(p->d, "same_host", NULL)))
        fprintf(p->f, "%s%-*sboth ends are this machine and share its processors: this is no link between machines%s\n",
                p->alert, TABLE_LABEL_WIDTH, "same host", p->plain);
}

static void one_link(struct table_page *p, const json_t *link)
{
    end(p, link, "a", "A", NULL);
    end(p, link, "b", "B", json_string_value(table_at(p->d, "peer", "name", NULL)));
    headline(p, link);
    latency(p, link);
    streams(p, link);
    messages(p, link);
    interaction(p, link);
    allreduce(p, link);
    contention(p, link);
}

static void comparison(struct table_page *p, const json_t *other)
{
    const json_t *c = table_at(p->d, "comparison", NULL);
    char rate[48], rtt[48];
    fprintf(p->f, "\n");
    one_link(p, other);
    fprintf(p->f, "\n");
    table_label(p, "compared");
    put_at(p, table_at(p->d, "link", NULL), "interface");
    fprintf(p->f, " / ");
    put_at(p, other, "interface");
    fprintf(p->f, ": rate %s, round trip %s; ", table_number(rate, sizeof rate, table_num(c, "rate_ratio", NULL)),
            table_number(rtt, sizeof rtt, table_num(c, "rtt_ratio", NULL)));
    const char *faster = json_string_value(table_at(c, "faster", NULL));
    if (faster) {
        table_put(p, faster);
        fprintf(p->f, " is faster\n");
    } else {
        fprintf(p->f, "no difference seen\n");
    }
}

char *table_link_render(const json_t *document, const struct table_style *style)
{
    struct table_page p;
    if (!table_open(&p, document, style))
        return NULL;
    const json_t *other = table_at(document, "other_link", NULL);
    state(&p);
    one_link(&p, table_at(document, "link", NULL));
    if (json_is_object(other))
        comparison(&p, other);
    return table_close(&p);
}
