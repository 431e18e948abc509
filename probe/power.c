/* probe/power.c - see power.h. */
#include "probe/power.h"

#include <errno.h>
#include <math.h>
#include <string.h>

void power_supplies_find(struct power_supplies *supplies, const struct sysroot *root)
{
    char name[64][64];
    int n = sysroot_names(root, "sys/class/power_supply", name, 64);
    supplies->n = 0;
    for (int i = 0; i < n && supplies->n < POWER_SUPPLIES_MAX; i++) {
        char type[32], scope[32];
        if (sysroot_text(root, type, sizeof type, "sys/class/power_supply/%s/type", name[i]) <= 0)
            continue;
        if (sysroot_text(root, scope, sizeof scope, "sys/class/power_supply/%s/scope", name[i]) > 0 &&
            strcmp(scope, "Device") == 0)
            continue; /* the battery of a mouse */
        supplies->battery[supplies->n] = strcmp(type, "Battery") == 0;
        strcpy(supplies->name[supplies->n++], name[i]);
    }
}

enum power_source power_supplies_now(const struct power_supplies *supplies, const struct sysroot *root, int *percent)
{
    bool mains_on = false, mains_off = false, discharging = false, battery = false;
    *percent = -1;
    for (int i = 0; i < supplies->n; i++) {
        const char *name = supplies->name[i];
        char status[32];
        int64_t value;
        if (supplies->battery[i]) {
            if (sysroot_text(root, status, sizeof status, "sys/class/power_supply/%s/status", name) > 0)
                discharging = discharging || strcmp(status, "Discharging") == 0;
            else if (!sysroot_exists(root, "sys/class/power_supply/%s", name))
                continue; /* taken out */
            battery = true;
            if (sysroot_number(root, &value, "sys/class/power_supply/%s/capacity", name) == 0 && value > *percent &&
                value <= 100)
                *percent = (int)value;
        } else if (sysroot_number(root, &value, "sys/class/power_supply/%s/online", name) == 0) {
            *(value ? &mains_on : &mains_off) = true;
        }
    }
    if (mains_on)
        return POWER_MAINS;
    if (discharging || (battery && mains_off))
        return POWER_BATTERY;
    return battery ? POWER_MAINS : POWER_UNKNOWN; /* charging or full without a supply that says so */
}

void power_domains_find(struct power_domains *domains, const struct sysroot *root)
{
    char name[64][64];
    int n = sysroot_names(root, "sys/class/powercap", name, 64);
    domains->n = 0;
    for (int i = 0; i < n && domains->n < POWER_DOMAINS_MAX; i++) {
        char label[32];
        /* intel-rapl:0 is a package; :0:0 its cores; psys and dram are counted apart or contain it */
        if (sysroot_text(root, label, sizeof label, "sys/class/powercap/%s/name", name[i]) <= 0 ||
            strncmp(label, "package", 7) != 0 || strncmp(name[i], "intel-rapl-mmio", 15) == 0)
            continue; /* -mmio: the same packages by another register */
        strcpy(domains->folder[domains->n], name[i]);
        strcpy(domains->name[domains->n++], label);
    }
}

struct power_energy power_domains_now(const struct power_domains *domains, const struct sysroot *root)
{
    struct power_energy energy = {.n = domains->n};
    for (int i = 0; i < domains->n; i++) {
        int64_t uj = -1, range_uj = -1;
        if (sysroot_number(root, &uj, "sys/class/powercap/%s/energy_uj", domains->folder[i]))
            uj = -1;
        if (sysroot_number(root, &range_uj, "sys/class/powercap/%s/max_energy_range_uj", domains->folder[i]))
            range_uj = -1;
        strcpy(energy.package[i].name, domains->name[i]);
        energy.package[i].uj = uj;
        energy.package[i].range_uj = range_uj;
    }
    return energy;
}

struct power_energy power_energy_now(const struct sysroot *root)
{
    struct power_domains domains;
    power_domains_find(&domains, root);
    return power_domains_now(&domains, root);
}

double power_joules_between(int64_t before_uj, int64_t after_uj, int64_t range_uj)
{
    if (before_uj <= 0 || after_uj <= 0)
        return NAN;
    if (range_uj >= 0 && (before_uj > range_uj || after_uj > range_uj))
        return NAN;
    if (after_uj >= before_uj)
        return (double)(after_uj - before_uj) * 1e-6;
    return range_uj < 0 ? NAN : (double)(range_uj - before_uj + after_uj) * 1e-6;
}

double power_energy_between(const struct power_energy *before, const struct power_energy *after)
{
    double joules = 0;
    if (before->n == 0 || before->n != after->n)
        return NAN;
    for (int i = 0; i < before->n; i++)
        joules += power_joules_between(before->package[i].uj, after->package[i].uj, after->package[i].range_uj);
    return joules;
}

void power_read(struct power *power, const struct sysroot *root, struct reasons *reasons)
{
    memset(power, 0, sizeof *power);
    struct power_supplies supplies;
    power_supplies_find(&supplies, root);
    power->source = power_supplies_now(&supplies, root, &power->battery_percent);
    power->energy = power_energy_now(root);
    if (power->source == POWER_UNKNOWN)
        reasons_add(reasons, "power.source",
                    "the kernel lists no power supply, as is usual in desktops and virtual machines");
    if (power->battery_percent < 0)
        reasons_add(reasons, "power.battery_percent", "no battery is listed");
    if (power->energy.n == 0)
        reasons_add(reasons, "power.energy", "no processor package has an energy counter in sys/class/powercap");
    for (int i = 0; i < power->energy.n; i++)
        if (power->energy.package[i].uj < 0) {
            reasons_add(reasons, "power.energy.uj", "energy_uj cannot be read; on current kernels only root may");
        } else if (power->energy.package[i].range_uj < 0) {
            reasons_add(reasons, "power.energy.range_uj", "max_energy_range_uj cannot be read");
        }
}
