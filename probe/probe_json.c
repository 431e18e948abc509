/* probe/probe_json.c - the facts of struct probe as JSON: see probe.h. One function per section. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "probe/probe.h"

/* The section being written: its object, and where its values stand in the document. */
struct section {
    json_t *root, *object;
    const char *name; /* "" for the document itself */
    const struct reasons *reasons;
};

static struct section open_section(const struct section *document, const char *name)
{
    struct section s = {document->root, json_object(), name, document->reasons};
    json_object_set_new(document->root, name, s.object);
    return s;
}

/* value NULL: unknown. why NULL: the reason that the probe noted for this path. */
static void put_why(const struct section *s, const char *key, json_t *value, const char *why)
{
    char path[96];
    if (value) {
        json_object_set_new(s->object, key, value);
        return;
    }
    snprintf(path, sizeof path, "%s%s%s", s->name, *s->name ? "." : "", key);
    if (!why)
        why = reasons_find(s->reasons, path);
    json_unknown(s->root, s->object, key, path, why ? why : "this system does not tell");
}

static void put(const struct section *s, const char *key, json_t *value)
{
    put_why(s, key, value, NULL);
}

static json_t *real(double x)
{
    return isfinite(x) ? json_real(x) : NULL;
}

static json_t *whole(int64_t x) /* negative: unknown */
{
    return x >= 0 ? json_integer((json_int_t)x) : NULL;
}

static json_t *bytes(double x)
{
    return isfinite(x) ? json_integer((json_int_t)x) : NULL;
}

static json_t *truth(int x) /* negative: unknown */
{
    return x >= 0 ? json_boolean(x) : NULL;
}

/* Empty: unknown. Files may hold anything, jansson takes UTF-8 only. */
static json_t *text(const char *s)
{
    if (!*s)
        return NULL;
    json_t *string = json_string(s);
    char *clean = string ? NULL : strdup(s);
    for (char *p = clean; p && *p; p++)
        if ((unsigned char)*p >= 0x80)
            *p = '?';
    if (clean)
        string = json_string(clean);
    free(clean);
    return string;
}

static json_t *cpu_array(const struct cpus *cpus)
{
    json_t *a = json_array();
    for (int cpu = cpus_next(cpus, -1); cpu >= 0; cpu = cpus_next(cpus, cpu))
        json_array_append_new(a, json_integer(cpu));
    return a;
}

static void put_threads(const struct section *document, const struct probe *probe)
{
    put(document, "usable_cpus", cpu_array(&probe->affinity.usable));
    put(document, "usable_cores", whole(probe->usable_cores));
    put(document, "threads", whole(probe->threads));
    put(document, "threads_reason", text(probe->threads_reason));
    json_t *pinned = probe->pinned_n ? json_array() : NULL;
    for (int i = 0; i < probe->pinned_n; i++)
        json_array_append_new(pinned, probe->pinned[i] >= 0 ? json_integer(probe->pinned[i]) : json_null());
    if (pinned || reasons_find(&probe->reasons, "pinned_cpus"))
        put(document, "pinned_cpus", pinned);
}

static void put_topology(const struct section *document, const struct probe *probe)
{
    static const struct {
        char letter;
        const char *name;
    } types[] = {{'d', "data"}, {'i', "instruction"}, {'u', "unified"}};
    struct section s = open_section(document, "topology");
    const struct topology *t = &probe->topology;
    put(&s, "packages", whole(t->packages));
    put(&s, "cores", whole(probe->cores));
    put(&s, "cores_source", text(probe->cores_source));
    put(&s, "threads_per_core", whole(t->threads_per_core));
    put(&s, "cpus", whole(probe->total_cpus));
    put(&s, "online_cpus", whole(probe->online_cpus));
    put(&s, "numa_nodes", whole(t->numa_nodes));
    put(&s, "performance_cores", t->performance_cores ? whole(t->performance_cores) : NULL);
    put(&s, "efficiency_cores", t->efficiency_cores ? whole(t->efficiency_cores) : NULL);
    if (t->efficiency_cores)
        put(&s, "kinds_source", text(t->kinds_source));
    json_t *caches = t->caches ? json_array() : NULL;
    for (int i = 0; i < t->caches; i++)
        for (int k = 0; k < 3; k++)
            if (types[k].letter == t->cache[i].type)
                json_array_append_new(caches, json_pack("{s:i, s:s, s:I, s:i}", "level", t->cache[i].level, "type",
                                                        types[k].name, "bytes", (json_int_t)t->cache[i].bytes, "count",
                                                        t->cache[i].count));
    put(&s, "caches", caches);
}

static void put_processor(const struct section *document, const struct cpu *cpu)
{
    struct section s = open_section(document, "processor");
    put(&s, "vendor", text(cpu->vendor));
    put(&s, "family", whole(cpu->family));
    put(&s, "model", whole(cpu->model));
    put(&s, "stepping", whole(cpu->stepping));
    put(&s, "hypervisor", truth(cpu->hypervisor));
    put(&s, "hypervisor_name", text(cpu->hypervisor_name));
    put(&s, "cpuid_cores", cpu->hint_cores ? whole(cpu->hint_cores) : NULL);
    put(&s, "cpuid_threads", cpu->hint_threads ? whole(cpu->hint_threads) : NULL);
    put(&s, "source", text(cpu->source));
    json_t *isa = cpu->isa_known ? json_object() : NULL;
    for (int i = 0; isa && i < CPU_ISAS; i++)
        json_object_set_new(isa, cpu_isa_name[i], json_boolean(cpu->isa[i]));
    put(document, "isa", isa);
}

static void put_limits(const struct section *document, const struct probe *probe)
{
    struct section s = open_section(document, "limits");
    const struct affinity *a = &probe->affinity;
    put(&s, "affinity", cpu_array(&a->mask));
    put(&s, "affinity_source", text(a->mask_source));
    put_why(&s, "online", a->online_known ? cpu_array(&a->online) : NULL, "there is no usable list of online CPUs");
    put_why(&s, "cpuset", probe->cgroup.has_cpuset ? cpu_array(&probe->cgroup.cpuset) : NULL,
            "no control group of this process states a cpuset");
    put(&s, "cpu_quota", real(probe->cgroup.quota_cpus));
    put(&s, "cpu_quota_source", text(probe->cgroup.quota_source));
    int version = probe->cgroup.place[CGROUP_CPU].version;
    put_why(&s, "cgroup_version", version ? whole(version) : NULL, "no control groups are visible");

    struct throttle_count throttled = probe_throttled_now(probe);
    put(document, "throttled_periods", throttled.known ? whole((int64_t)throttled.periods) : NULL);
    put(document, "stolen_s", real(probe_stolen_s_now(probe)));
}

static void put_memory(const struct section *document, const struct probe *probe)
{
    struct section s = open_section(document, "memory");
    const struct memory *m = &probe->memory;
    put(&s, "total_bytes", bytes(m->total_bytes));
    put(&s, "available_bytes", bytes(m->available_bytes));
    put(&s, "cgroup_limit_bytes", bytes(probe->cgroup.memory_bytes));
    put(&s, "limit_bytes", bytes(m->limit_bytes));
    if (isfinite(m->limit_bytes))
        put(&s, "limit_source", text(m->limit_source));
    const struct probe_measured *measured = &probe->measured;
    const char *why = measured->why ? measured->why : measured->memory.why;
    if (!measured->threads)
        return;
    put_why(&s, "read_bytes_per_s", real(measured->memory.read_bytes_per_s), why);
    put_why(&s, "triad_bytes_per_s", real(measured->memory.triad_bytes_per_s), why);
}

static void put_frequency(const struct section *document, const struct frequency *f,
                          const struct probe_measured *measured)
{
    struct section s = open_section(document, "frequency");
    put(&s, "governor", text(f->governor));
    put(&s, "driver", text(f->driver));
    put(&s, "current_hz", real(f->current_hz));
    if (*f->current_source)
        put(&s, "current_source", text(f->current_source));
    put(&s, "base_hz", real(f->base_hz));
    put(&s, "max_hz", real(f->max_hz));
    put(&s, "turbo", truth(f->turbo));
    if (measured->threads)
        put_why(&s, "measured_hz", real(measured->clock_hz),
                measured->why ? measured->why : "not measured on this architecture");
}

static void put_heat(const struct section *document, const struct heat *heat)
{
    struct section s = open_section(document, "heat");
    const struct heat_sensor *cpu = heat->cpu >= 0 ? &heat->sensor[heat->cpu] : NULL;
    put(&s, "cpu_degc", cpu ? json_real((double)cpu->mdegc * 1e-3) : NULL);
    if (cpu)
        put(&s, "cpu_sensor", text(cpu->label));
    put(&s, "core_throttle_count", whole(heat->events.core));
    put(&s, "package_throttle_count", whole(heat->events.package));
    put(&s, "sensors_left_out", whole(heat->left_out));
    json_t *sensors = heat->n ? json_array() : NULL;
    for (int i = 0; i < heat->n; i++) {
        json_t *one = json_object();
        json_object_set_new(one, "place", text(heat->sensor[i].place));
        json_object_set_new(one, "label", text(heat->sensor[i].label));
        json_object_set_new(one, "degc", json_real((double)heat->sensor[i].mdegc * 1e-3));
        json_array_append_new(sensors, one);
    }
    put(&s, "sensors", sensors);
}

static void put_power(const struct section *document, const struct power *power)
{
    static const char *const sources[] = {[POWER_UNKNOWN] = "", [POWER_MAINS] = "mains", [POWER_BATTERY] = "battery"};
    struct section s = open_section(document, "power");
    put(&s, "source", text(sources[power->source]));
    put(&s, "battery_percent", whole(power->battery_percent));
    json_t *packages = power->energy.n ? json_array() : NULL;
    struct section energy = {document->root, NULL, "power.energy", document->reasons};
    for (int i = 0; i < power->energy.n; i++) {
        energy.object = json_object();
        json_array_append_new(packages, energy.object);
        put(&energy, "name", text(power->energy.package[i].name));
        put(&energy, "uj", whole(power->energy.package[i].uj));
        put(&energy, "range_uj", whole(power->energy.package[i].range_uj));
    }
    put(&s, "energy", packages);
}

static void put_products(const struct section *document, const struct probe_measured *measured)
{
    struct section s = open_section(document, "matrix_product");
    const char *why = measured->why ? measured->why : "not measured";
    put_why(&s, "flops_per_s", real(measured->flops_per_s), why);
    put_why(&s, "blas_kernel", measured->blas_kernel ? text(measured->blas_kernel) : NULL, why);
    put_why(&s, "blas_version", measured->blas_version ? text(measured->blas_version) : NULL, why);
}

json_t *probe_json(const struct probe *probe)
{
    json_t *root = json_object();
    struct section document = {root, root, "", &probe->reasons};
    put(&document, "name", text(probe->name));
    put(&document, "system", text(probe->system));
    json_object_set_new(root, "sysroot", probe->root.live ? json_null() : text(probe->root.prefix));
    put(&document, "cpu", text(probe->cpu.name));
    put_threads(&document, probe);
    put_topology(&document, probe);
    put_processor(&document, &probe->cpu);
    put_limits(&document, probe);
    put_memory(&document, probe);
    put_frequency(&document, &probe->frequency, &probe->measured);
    put_heat(&document, &probe->heat);
    put_power(&document, &probe->power);
    if (probe->measured.threads)
        put_products(&document, &probe->measured);
    json_t *reasons = json_incref(json_object_get(root, "reasons")); /* read last, so written last */
    json_object_del(root, "reasons");
    json_object_set_new(root, "reasons", reasons ? reasons : json_object());
    return root;
}
