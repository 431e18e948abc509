/* probe/doctor.c - see doctor.h. One function per finding, called by the table at the end; network interfaces are last. */
#include "probe/doctor.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "probe/netif.h"

const char *const doctor_state_name[] = {"fine", "unknown", "attention", "impossible"};

struct doctor_finding *doctor_add(struct doctor *d, const char *name)
{
    if (d->n < DOCTOR_MAX)
        d->n++;
    struct doctor_finding *f = &d->finding[d->n - 1];
    *f = (struct doctor_finding){.name = name};
    return f;
}

void doctor_say(struct doctor_finding *f, enum doctor_state state, const char *fmt, ...)
{
    va_list ap;
    f->state = state;
    va_start(ap, fmt);
    vsnprintf(f->text, sizeof f->text, fmt, ap);
    va_end(ap);
}

void doctor_remedy(struct doctor_finding *f, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(f->remedy, sizeof f->remedy, fmt, ap);
    va_end(ap);
}

static const char *why(const struct probe *p, const char *path)
{
    const char *reason = reasons_find(&p->reasons, path);
    return reason ? reason : "this system does not tell";
}

/* ---- processors ---- */

static void cpus(struct doctor_finding *f, const struct probe *p)
{
    int usable = cpus_count(&p->affinity.usable);
    doctor_say(f, DOCTOR_FINE, "%d usable, %d compute thread%s", usable, p->threads, p->threads == 1 ? "" : "s");
    if (p->online_cpus > usable) {
        doctor_say(f, DOCTOR_ATTENTION, "only %d of %d CPUs may be used (%s)", usable, p->online_cpus,
                   p->affinity.mask_source);
        doctor_remedy(f, "start without taskset, in a control group or container that has all CPUs (cpuset.cpus)");
    }
}

static void quota(struct doctor_finding *f, const struct probe *p)
{
    double q = p->cgroup.quota_cpus;
    if (isnan(q)) {
        doctor_say(f, DOCTOR_UNKNOWN, "%s", why(p, "limits.cpu_quota"));
    } else if (isinf(q)) {
        doctor_say(f, DOCTOR_FINE, "none");
    } else if (q >= p->usable_cores && q == floor(q)) {
        doctor_say(f, DOCTOR_FINE, "%.0f CPUs, as many as there are cores", q);
    } else {
        doctor_say(f, DOCTOR_ATTENTION,
                   "%.2f CPUs for %d core%s: who uses up a period is stopped until the next (%.100s)", q,
                   p->usable_cores, p->usable_cores == 1 ? "" : "s", p->cgroup.quota_source);
        doctor_remedy(f, "take the quota away (echo max > cpu.max; docker run without --cpus; systemctl set-property "
                         "UNIT CPUQuota=) and limit the CPUs instead (--cpuset-cpus, AllowedCPUs=)");
    }
}

static void threads(struct doctor_finding *f, const struct probe *p)
{
    int per_core = p->topology.threads_per_core;
    if (per_core < 0)
        doctor_say(f, DOCTOR_UNKNOWN, "%s", *p->topology.why ? p->topology.why : "the topology cannot be read");
    else if (per_core == 1)
        doctor_say(f, DOCTOR_FINE, "one hardware thread per core");
    else if (p->threads > p->usable_cores) {
        doctor_say(f, DOCTOR_ATTENTION, "%d threads on %d cores: they share units that matrix products fill",
                   p->threads, p->usable_cores);
        doctor_remedy(f, "--threads %d", p->usable_cores);
    } else
        doctor_say(f, DOCTOR_FINE, "%d per core; one of each is used", per_core);
}

static void governor(struct doctor_finding *f, const struct probe *p)
{
    const struct frequency *c = &p->frequency;
    if (!*c->governor) {
        doctor_say(f, DOCTOR_UNKNOWN, "%s", why(p, "frequency.governor"));
    } else if (strcmp(c->governor, "performance") == 0) {
        doctor_say(f, DOCTOR_FINE, "performance");
    } else {
        doctor_say(f, DOCTOR_ATTENTION, "%s (%s): the clock follows the load, and drops while a step waits",
                   c->governor, *c->driver ? c->driver : "driver not told");
        doctor_remedy(f, "sudo cpupower frequency-set -g performance (Debian package linux-cpupower)");
    }
}

static void turbo(struct doctor_finding *f, const struct probe *p)
{
    if (p->frequency.turbo < 0)
        doctor_say(f, DOCTOR_UNKNOWN, "whether the clock may rise above its base is not told");
    else if (p->frequency.turbo)
        doctor_say(f, DOCTOR_FINE, "allowed: the clock depends on heat, so warm up before you compare");
    else
        doctor_say(f, DOCTOR_FINE, "switched off: slower, but the same from run to run");
}

static void heat(struct doctor_finding *f, const struct probe *p)
{
    const struct heat *h = &p->heat;
    if (h->cpu < 0) {
        doctor_say(f, DOCTOR_UNKNOWN, "%s", why(p, "heat.cpu_degc"));
        return;
    }
    double degc = (double)h->sensor[h->cpu].mdegc * 1e-3;
    doctor_say(f, DOCTOR_FINE, "%.0f C", degc);
    if (degc >= 80) {
        doctor_say(f, DOCTOR_ATTENTION, "%.0f C before anything was measured", degc);
        doctor_remedy(f, "let it cool, free its vents, and end what computes (top -o %%CPU)");
    } else if (h->events.core > 0) {
        doctor_say(f, DOCTOR_ATTENTION, "%.0f C now, but throttled %lld times by heat since boot", degc,
                   (long long)h->events.core);
        doctor_remedy(f, "expect long runs to be slower than short ones; raise the machine, clean its fan");
    }
}

static void power(struct doctor_finding *f, const struct probe *p)
{
    if (p->power.source == POWER_BATTERY) {
        if (p->power.battery_percent >= 0)
            doctor_say(f, DOCTOR_ATTENTION, "on battery (%d %%): the processor is held back", p->power.battery_percent);
        else
            doctor_say(f, DOCTOR_ATTENTION, "on battery: the processor is held back");
        doctor_remedy(f, "plug in the power supply");
    } else if (p->power.source == POWER_MAINS) {
        doctor_say(f, DOCTOR_FINE, "mains");
    } else {
        doctor_say(f, DOCTOR_UNKNOWN, "%s", why(p, "power.source"));
    }
}

static void energy(struct doctor_finding *f, const struct probe *p)
{
    const struct power_energy *e = &p->power.energy;
    if (e->n > 0 && e->package[0].uj >= 0) {
        doctor_say(f, DOCTOR_FINE, "counters of %d package%s can be read", e->n, e->n == 1 ? "" : "s");
    } else if (e->n > 0) {
        doctor_say(f, DOCTOR_ATTENTION, "counters are there but not for this user: no energy in results");
        doctor_remedy(f, "sudo chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj (until the next boot)");
    } else {
        doctor_say(f, DOCTOR_UNKNOWN, "%s", why(p, "power.energy"));
    }
}

/* ---- the system ---- */

static void load(struct doctor_finding *f, const struct probe *p)
{
    char text[128];
    double minute;
    if (sysroot_text(&p->root, text, sizeof text, "proc/loadavg") < 0 || sscanf(text, "%lf", &minute) != 1) {
        doctor_say(f, DOCTOR_UNKNOWN, "proc/loadavg cannot be read");
        return;
    }
    doctor_say(f, DOCTOR_FINE, "%.2f over the last minute", minute);
    if (minute > 0.5) {
        doctor_say(f, DOCTOR_ATTENTION, "%.2f over the last minute: something else is computing", minute);
        doctor_remedy(f, "see what it is (top -o %%CPU) and end it, or wait");
    }
}

static double meminfo(const struct probe *p, const char *key)
{
    char line[160];
    double kib = NAN;
    FILE *f = sysroot_fopen(&p->root, "proc/meminfo");
    size_t n = strlen(key);
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, key, n) == 0 && line[n] == ':' && sscanf(line + n + 1, "%lf", &kib) == 1)
            break;
    if (f)
        fclose(f);
    return kib * 1024;
}

static void swap(struct doctor_finding *f, const struct probe *p)
{
    double total = meminfo(p, "SwapTotal"), used = total - meminfo(p, "SwapFree");
    if (isnan(used)) {
        doctor_say(f, DOCTOR_UNKNOWN, "proc/meminfo does not tell");
    } else if (used > 64e6) {
        doctor_say(f, DOCTOR_ATTENTION, "%.0f MB are swapped out: a step may wait for the disk", used * 1e-6);
        doctor_remedy(f, "close what takes memory, then: sudo swapoff -a && sudo swapon -a");
    } else {
        doctor_say(f, DOCTOR_FINE, total > 0 ? "there, and not used" : "none");
    }
}

/* The small model takes about 300 MB, GPT-2 124M from 2.5 GB. */
static void memory(struct doctor_finding *f, const struct probe *p)
{
    double limit = p->memory.limit_bytes;
    if (isnan(limit)) {
        doctor_say(f, DOCTOR_UNKNOWN, "%s", why(p, "memory.limit_bytes"));
    } else if (limit < 64e6) {
        doctor_say(f, DOCTOR_IMPOSSIBLE, "%.0f MB can be taken (%.150s): less than the smallest run needs",
                   limit * 1e-6, p->memory.limit_source);
        doctor_remedy(f, "close what takes memory, or raise the limit that is named");
    } else if (limit < 3e9) {
        doctor_say(f, DOCTOR_ATTENTION, "%.0f MB can be taken (%.150s): too little for gpt2-124m", limit * 1e-6,
                   p->memory.limit_source);
        doctor_remedy(f, "take --model shakespeare-char, close what takes memory, or raise the limit that is named");
    } else {
        doctor_say(f, DOCTOR_FINE, "%.1f GB can be taken", limit * 1e-9);
    }
}

static void clock_source(struct doctor_finding *f, const struct probe *p)
{
    char text[64];
    if (sysroot_text(&p->root, text, sizeof text, "sys/devices/system/clocksource/clocksource0/current_clocksource") <
        0) {
        doctor_say(f, DOCTOR_UNKNOWN, "sys/devices/system/clocksource cannot be read");
    } else if (strcmp(text, "hpet") == 0 || strcmp(text, "acpi_pm") == 0 || strcmp(text, "jiffies") == 0) {
        doctor_say(f, DOCTOR_ATTENTION, "%s: reading the time takes microseconds instead of 20 ns", text);
        doctor_remedy(f,
                      "see why the kernel gave up tsc (sudo dmesg | grep -i tsc); a newer kernel or BIOS often helps");
    } else {
        doctor_say(f, DOCTOR_FINE, "%s", text);
    }
}

static void hypervisor(struct doctor_finding *f, const struct probe *p)
{
    char line[512];
    double t[8], all = 0;
    FILE *file = sysroot_fopen(&p->root, "proc/stat");
    bool told =
        file && fgets(line, sizeof line, file) &&
        sscanf(line, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", t, t + 1, t + 2, t + 3, t + 4, t + 5, t + 6, t + 7) == 8;
    if (file)
        fclose(file);
    for (int i = 0; told && i < 8; i++)
        all += t[i];
    if (p->cpu.hypervisor == 0) {
        doctor_say(f, DOCTOR_FINE, "none shows itself");
    } else if (!told || all <= 0) {
        doctor_say(f, DOCTOR_UNKNOWN, "how much time it gives to others is not told");
    } else if (t[7] / all > 0.005) {
        doctor_say(f, DOCTOR_ATTENTION, "%.1f %% of the time since boot went to other guests", 100 * t[7] / all);
        doctor_remedy(f, "take a machine with CPUs of its own, or measure often and compare medians of runs");
    } else {
        doctor_say(f, DOCTOR_FINE, "%s; %.2f %% of the time since boot went to other guests",
                   *p->cpu.hypervisor_name ? p->cpu.hypervisor_name : "one, or not told", 100 * t[7] / all);
    }
}

/* ---- network interfaces ---- */

enum { INTERFACES_MAX = 64 };

static bool has_carrier(const struct probe *p, const char *name)
{
    int64_t carrier;
    return sysroot_number(&p->root, &carrier, "sys/class/net/%s/carrier", name) == 0 && carrier == 1;
}

static void cable(struct doctor *d, const char *name, const struct netif *n, const char *wireless)
{
    struct doctor_finding *f = doctor_add(d, "cable");
    if (isnan(n->nominal_bytes_per_s)) {
        doctor_say(f, DOCTOR_UNKNOWN, "%s: %s", name, n->why);
    } else if (strcmp(n->duplex, "half") == 0 || n->nominal_bytes_per_s < 120e6) {
        doctor_say(f, DOCTOR_ATTENTION, "%s: %.0f Mbit/s, %s duplex: less than Gigabit Ethernet", name,
                   n->nominal_bytes_per_s * 8e-6, *n->duplex ? n->duplex : "unknown");
        doctor_remedy(f, "take a Cat 5e cable with all four pairs and a Gigabit port; see: sudo ethtool %s", name);
    } else if (*wireless) {
        doctor_say(f, DOCTOR_ATTENTION, "%s has a cable, and %s is on the air: the route decides which is used", name,
                   wireless);
        doctor_remedy(f, "say which with --iface %s, and compare them with: link HOST --iface %s,%s", name, name,
                      wireless);
    } else {
        doctor_say(f, DOCTOR_FINE, "%s: %.0f Mbit/s", name, n->nominal_bytes_per_s * 8e-6);
    }
}

static void interfaces(struct doctor *d, const struct probe *p)
{
    char name[INTERFACES_MAX][64], wireless[64] = "", unplugged[64] = "";
    int n = sysroot_names(&p->root, "sys/class/net", name, INTERFACES_MAX), cables = 0;
    struct netif n_if;
    for (int i = 0; i < n; i++) {
        netif_read(&n_if, &p->root, name[i], 0);
        if (n_if.kind == NETIF_WIRELESS && has_carrier(p, name[i]))
            snprintf(wireless, sizeof wireless, "%.63s", name[i]);
    }
    for (int i = 0; i < n; i++) {
        netif_read(&n_if, &p->root, name[i], 0);
        if (n_if.kind != NETIF_ETHERNET)
            continue;
        if (has_carrier(p, name[i])) {
            cable(d, name[i], &n_if, wireless);
            cables++;
        } else {
            snprintf(unplugged, sizeof unplugged, "%.63s", name[i]);
        }
    }
    if (cables)
        return;
    struct doctor_finding *f = doctor_add(d, "cable");
    if (n <= 0)
        doctor_say(f, DOCTOR_UNKNOWN, "sys/class/net cannot be read");
    else if (*wireless) {
        doctor_say(f, DOCTOR_ATTENTION, "only %s is up, which is wireless: shared, and jittery%s%s", wireless,
                   *unplugged ? "; no cable is in " : "", unplugged);
        doctor_remedy(f, *unplugged ? "put a cable into %s" : "take an Ethernet adapter (%s has no wired partner)",
                      *unplugged ? unplugged : wireless);
    } else if (*unplugged) {
        doctor_say(f, DOCTOR_ATTENTION, "no cable is in %s: other nodes cannot be reached", unplugged);
        doctor_remedy(f, "put a cable into %s; then: sudo ip link set %s up", unplugged, unplugged);
    } else
        doctor_say(f, DOCTOR_UNKNOWN, "no Ethernet interface is here, only virtual ones");
}

/* What PyTorch's gloo and other programs take that do not choose; connections of this one take cubic in place of BBR. */
static void congestion(struct doctor_finding *f, const struct probe *p)
{
    char text[64];
    if (sysroot_text(&p->root, text, sizeof text, "proc/sys/net/ipv4/tcp_congestion_control") < 0) {
        doctor_say(f, DOCTOR_UNKNOWN, "proc/sys/net/ipv4/tcp_congestion_control cannot be read");
    } else if (strncmp(text, "bbr", 3) == 0) {
        doctor_say(f, DOCTOR_ATTENTION,
                   "%s is this system's default: PyTorch's gloo waits longer with it than predicted", text);
        doctor_remedy(f, "for jobs of PyTorch: sudo sysctl net.ipv4.tcp_congestion_control=cubic");
    } else {
        doctor_say(f, DOCTOR_FINE, "%s", text);
    }
}

/* ---- all of them ---- */

static const struct {
    const char *name;
    void (*look)(struct doctor_finding *f, const struct probe *p);
} looks[] = {
    {"CPUs", cpus},
    {"CPU quota", quota},
    {"SMT", threads},
    {"governor", governor},
    {"turbo", turbo},
    {"heat", heat},
    {"power", power},
    {"energy", energy},
    {"load", load},
    {"memory", memory},
    {"swap", swap},
    {"clock source", clock_source},
    {"hypervisor", hypervisor},
    {"congestion", congestion},
};

void doctor_examine(struct doctor *d, const struct probe *p)
{
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++)
        looks[i].look(doctor_add(d, looks[i].name), p);
    interfaces(d, p);
}

enum doctor_state doctor_worst(const struct doctor *d)
{
    enum doctor_state worst = DOCTOR_FINE;
    for (int i = 0; i < d->n; i++)
        if (d->finding[i].state > worst)
            worst = d->finding[i].state;
    return worst;
}
