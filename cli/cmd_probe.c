/*
 * cli/cmd_probe.c - what this node is, what a run may use of it, and what it can do at most.
 *
 * The order of the measurements matters: threads are given their number, then bound, and only then does memory
 * get touched and a product computed. A recorded machine (--sysroot) is only read. Start at cmd_probe(); the
 * rows of the table come from probe/probe.h's struct, section by section.
 */
#include "config.h" /* _GNU_SOURCE, for open_memstream */

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "model/blas_choice.h"
#include "model/gemm.h"
#include "probe/probe.h"
#include "report/table.h"

/* OpenBLAS's kernel. What is to be said about it is a fact like the others here and stands in the result, not
 * among the warnings. */
struct blas {
    struct blas_choice choice;
    struct notes notes;
};

struct page { /* the table being written */
    FILE *out;
    const struct probe *probe;
    const struct blas *blas;
    bool colour;
};

static void head(const struct page *page, const char *title)
{
    fprintf(page->out, page->colour ? "\n\033[1m%s\033[0m\n" : "\n%s\n", title);
}

/* One line; what files said is stripped of control characters before it reaches a terminal. */
static void row(const struct page *page, const char *label, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static void row(const struct page *page, const char *label, const char *fmt, ...)
{
    char text[1400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = '?';
    fprintf(page->out, "  %-18s %s\n", label, text);
}

/* The row of a value that is not there. */
static void unknown(const struct page *page, const char *label, const char *path)
{
    const char *why = reasons_find(&page->probe->reasons, path);
    row(page, label, "unknown: %s", why ? why : "this system does not tell");
}

static const char *plural(int n)
{
    return n == 1 ? "" : "s";
}

/* 4213 MHz, 4.21 GHz; 32 KiB, 1 MiB: caches are powers of two. */
static const char *ghz(char *buf, size_t size, double hz)
{
    snprintf(buf, size, "%.2f GHz", hz * 1e-9);
    return buf;
}

static const char *binary(char *buf, size_t size, uint64_t bytes)
{
    if (bytes >= 1 << 20)
        snprintf(buf, size, "%.4g MiB", (double)bytes / (1 << 20));
    else
        snprintf(buf, size, "%.4g KiB", (double)bytes / (1 << 10));
    return buf;
}

static void write_processor(const struct page *page)
{
    const struct cpu *cpu = &page->probe->cpu;
    char sets[256] = "";
    head(page, "Processor");
    if (*cpu->name)
        row(page, "name", "%s", cpu->name);
    else
        unknown(page, "name", "cpu");
    if (*cpu->vendor)
        row(page, "vendor", "%s, family %d, model %d, stepping %d", cpu->vendor, cpu->family, cpu->model,
            cpu->stepping);
    else
        unknown(page, "vendor", "processor.vendor");
    for (int i = 0, n = 0; i < CPU_ISAS; i++)
        if (cpu->isa[i])
            n += snprintf(sets + n, sizeof sets - (size_t)n, "%s%s", n ? " " : "", cpu_isa_name[i]);
    if (cpu->isa_known)
        row(page, "instruction sets", "%s", *sets ? sets : "none of those that training asks for");
    else
        unknown(page, "instruction sets", "isa");
    if (cpu->hypervisor < 0)
        unknown(page, "hypervisor", "processor.hypervisor");
    else
        row(page, "hypervisor", "%s",
            !cpu->hypervisor        ? "none shows itself"
            : *cpu->hypervisor_name ? cpu->hypervisor_name
                                    : "yes, unnamed");
}

static void write_caches(const struct page *page)
{
    const struct topology *t = &page->probe->topology;
    char text[400] = "", size[32];
    int n = 0;
    if (!t->caches) {
        unknown(page, "caches", "topology.caches");
        return;
    }
    for (int i = 0; i < t->caches; i++) {
        const struct topology_cache *c = &t->cache[i];
        n += snprintf(text + n, sizeof text - (size_t)n, "%sL%d%s %d x %s", n ? ", " : "", c->level,
                      c->type == 'd'   ? "d"
                      : c->type == 'i' ? "i"
                                       : "",
                      c->count, binary(size, sizeof size, c->bytes));
    }
    row(page, "caches", "%s", text);
}

static void write_topology(const struct page *page)
{
    const struct probe *p = page->probe;
    const struct topology *t = &p->topology;
    head(page, "Topology");
    if (t->packages > 0)
        row(page, "packages", "%d", t->packages);
    else
        unknown(page, "packages", "topology.packages");
    if (t->cores > 0)
        row(page, "cores", t->threads_per_core > 1 ? "%d, up to %d threads each" : "%d, one thread each", t->cores,
            t->threads_per_core);
    else
        row(page, "cores", "%d (%s)", p->cores, p->cores_source);
    if (t->performance_cores)
        row(page, "kinds of cores", "%d performance, %d efficiency (%s)", t->performance_cores, t->efficiency_cores,
            t->kinds_source);
    if (t->numa_nodes > 0)
        row(page, "memory nodes", "%d", t->numa_nodes);
    else
        unknown(page, "memory nodes", "topology.numa_nodes");
    write_caches(page);
}

static void write_use(const struct page *page)
{
    const struct probe *p = page->probe;
    char cpus[256], bound[256] = "", size[32];
    head(page, "What a run may use");
    int usable = cpus_count(&p->affinity.usable);
    if (p->online_cpus > 0)
        row(page, "CPUs", "%s (%d of %d online)", cpus_format(&p->affinity.usable, cpus, sizeof cpus), usable,
            p->online_cpus);
    else
        row(page, "CPUs", "%s", cpus_format(&p->affinity.usable, cpus, sizeof cpus));
    if (isfinite(p->cgroup.quota_cpus))
        row(page, "CPU quota", "%.2f CPUs (%s)", p->cgroup.quota_cpus, p->cgroup.quota_source);
    else if (isinf(p->cgroup.quota_cpus))
        row(page, "CPU quota", "none: %s", p->cgroup.quota_source);
    else
        unknown(page, "CPU quota", "limits.cpu_quota");
    row(page, "threads", "%d: %s", p->threads, p->threads_reason);
    for (int i = 0, n = 0; i < p->pinned_n && n + 16 < (int)sizeof bound; i++)
        n += snprintf(bound + n, sizeof bound - (size_t)n, "%s%d", i ? " " : "", p->pinned[i]);
    if (p->pinned_n)
        row(page, "bound to CPUs", "%s", bound);
    else
        row(page, "bound to CPUs", "none: %s", reasons_find(&p->reasons, "pinned_cpus"));
    if (isfinite(p->memory.limit_bytes))
        row(page, "memory", "%s: %s", table_bytes(size, sizeof size, p->memory.limit_bytes), p->memory.limit_source);
    else
        unknown(page, "memory", "memory.limit_bytes");
    if (isfinite(p->memory.total_bytes))
        row(page, "memory in all", "%s", table_bytes(size, sizeof size, p->memory.total_bytes));
    else
        unknown(page, "memory in all", "memory.total_bytes");
}

static void write_clock(const struct page *page)
{
    const struct frequency *f = &page->probe->frequency;
    char hz[32];
    head(page, "Clock");
    if (*f->governor)
        row(page, "governor", "%s%s%s", f->governor, *f->driver ? ", driver " : "", f->driver);
    else
        unknown(page, "governor", "frequency.governor");
    if (isfinite(f->max_hz))
        row(page, "maximum", "%s%s", ghz(hz, sizeof hz, f->max_hz),
            f->turbo == 0   ? ", turbo switched off"
            : f->turbo == 1 ? ", turbo allowed"
                            : "");
    else
        unknown(page, "maximum", "frequency.max_hz");
    if (isfinite(f->current_hz))
        row(page, "as reported", "%s (%s)", ghz(hz, sizeof hz, f->current_hz), f->current_source);
    else
        unknown(page, "as reported", "frequency.current_hz");
}

static void write_heat(const struct page *page)
{
    static const char *const sources[] = {[POWER_MAINS] = "mains", [POWER_BATTERY] = "battery"};
    const struct heat *h = &page->probe->heat;
    const struct power *power = &page->probe->power;
    head(page, "Heat and power");
    if (h->cpu >= 0)
        row(page, "temperature", "%.1f C (%s; %d sensor%s in all)", (double)h->sensor[h->cpu].mdegc * 1e-3,
            h->sensor[h->cpu].label, h->n, plural(h->n));
    else
        unknown(page, "temperature", "heat.cpu_degc");
    if (h->events.core >= 0)
        row(page, "throttled by heat", "%lld times since boot", (long long)h->events.core);
    else
        unknown(page, "throttled by heat", "heat.core_throttle_count");
    if (power->source == POWER_UNKNOWN)
        unknown(page, "power source", "power.source");
    else if (power->battery_percent >= 0)
        row(page, "power source", "%s, battery at %d %%", sources[power->source], power->battery_percent);
    else
        row(page, "power source", "%s", sources[power->source]);
    if (power->energy.n > 0 && power->energy.package[0].uj >= 0)
        row(page, "energy counters", "%d package%s", power->energy.n, plural(power->energy.n));
    else
        unknown(page, "energy counters", power->energy.n ? "power.energy.uj" : "power.energy");
}

static void write_measured(const struct page *page)
{
    const struct probe_measured *m = &page->probe->measured;
    char text[32];
    if (m->why) {
        head(page, "Measured");
        row(page, "nothing", "%s", m->why);
        return;
    }
    snprintf(text, sizeof text, "Measured on %d thread%s", m->threads, plural(m->threads));
    head(page, text);
    if (isfinite(m->flops_per_s))
        row(page, "matrix products", "%.1f GFLOP/s (OpenBLAS %s)", m->flops_per_s * 1e-9, m->blas_version);
    else
        row(page, "matrix products", "not measured: not enough memory");
    if (isfinite(m->memory.read_bytes_per_s))
        row(page, "memory", "%.1f GB/s reading, %.1f GB/s in a triad", m->memory.read_bytes_per_s * 1e-9,
            m->memory.triad_bytes_per_s * 1e-9);
    else
        row(page, "memory", "not measured: %s", m->memory.why);
    if (isfinite(m->clock_hz))
        row(page, "clock", "%s, slowest thread with all of them busy", ghz(text, sizeof text, m->clock_hz));
    else
        row(page, "clock", "not measured on this architecture");
    row(page, "OpenBLAS kernel", "%s%s%s", m->blas_kernel, *page->blas->choice.text ? ": " : "",
        page->blas->choice.text);
    for (int i = 0; i < page->blas->notes.n; i++)
        row(page, "", "%s", page->blas->notes.text[i]);
}

/* To be freed; NULL if memory is out. */
static char *render(const struct probe *probe, const struct blas *blas, bool colour)
{
    char *text = NULL;
    size_t size = 0;
    struct page page = {open_memstream(&text, &size), probe, blas, colour};
    if (!page.out)
        return NULL;
    fprintf(page.out, "%s%s%s%s%s\n", *probe->name ? probe->name : "recorded machine", *probe->system ? ", " : "",
            probe->system, probe->root.live ? "" : ", read from ", probe->root.prefix);
    write_processor(&page);
    write_topology(&page);
    write_use(&page);
    write_clock(&page);
    write_heat(&page);
    write_measured(&page);
    return fclose(page.out) == 0 ? text : (free(text), NULL);
}

static json_t *strings(const struct notes *notes)
{
    json_t *a = json_array();
    for (int i = 0; i < notes->n; i++)
        json_array_append_new(a, output_string(notes->text[i]));
    return a;
}

static json_t *document(const struct probe *probe, const struct blas *blas, const struct notes *notes)
{
    json_t *d = output_document(), *facts = probe_json(probe);
    json_object_set_new(d, "command", json_string("probe"));
    json_object_update(d, facts);
    json_decref(facts);
    if (probe->root.live) {
        json_t *kernel = blas_choice_json(&blas->choice);
        json_object_set_new(kernel, "notes", strings(&blas->notes));
        json_object_set_new(d, "blas", kernel);
    }
    json_object_set_new(d, "warnings", strings(notes));
    return d;
}

static void measure(struct probe *probe, double seconds)
{
    probe_measure(probe, probe->threads, seconds);
    if (!probe->root.live)
        return;
    struct gemm_rate rate = gemm_measure(probe->threads, seconds);
    probe->measured.flops_per_s = rate.flops_per_s;
    probe->measured.blas_kernel = gemm_core();
    probe->measured.blas_version = gemm_version();
}

/* Reads, binds, measures. OpenBLAS is settled first: it may start the program again. */
static int examine(struct probe *probe, struct blas *blas, const struct invocation *in, const struct options *o,
                   struct notes *notes, struct err *e)
{
    if (!o->sysroot && blas_choice_apply(&blas->choice, in->full_argv, &blas->notes, e))
        return -1;
    if (probe_read(probe, o->sysroot, o->threads, notes, e))
        return -1;
    if (probe->root.live)
        gemm_set_threads(probe->threads);
    if (probe_bind_threads(probe, probe->threads, notes, e))
        return -1;
    measure(probe, o->seconds);
    return 0;
}

int cmd_probe(const struct invocation *in)
{
    static struct probe probe;
    static struct blas blas;
    struct options o;
    struct notes notes = {0};
    struct err e;
    if (options_parse(&o, OPTIONS_PROBE, in->argc, in->argv, &e))
        return output_fail(in, &e);
    if (o.help || o.version)
        return output_help(in, &o, OPTIONS_PROBE,
                           "What this node is, what a run may use of it, and what it can do at most.\n");
    int result = examine(&probe, &blas, in, &o, &notes, &e), code;
    output_notes(in, &notes);
    char *text = NULL;
    if (result)
        code = output_fail(in, &e);
    else if (o.json)
        code = output_json(in, document(&probe, &blas, &notes), ERR_OK);
    else if ((text = render(&probe, &blas, output_wants_colour(1))))
        code = output_text(in, text, ERR_OK);
    else
        code = output_fail(in, &(struct err){ERR_MEMORY, "out of memory"});
    free(text);
    probe_fini(&probe);
    return code;
}
