/* probe/netif.c - see netif.h. */
#include "probe/netif.h"

#include <errno.h>
#include <math.h>
#include <string.h>

const char *const netif_kind_names[] = {[NETIF_UNKNOWN] = "unknown",
                                        [NETIF_ETHERNET] = "ethernet",
                                        [NETIF_WIRELESS] = "wireless",
                                        [NETIF_LOOPBACK] = "loopback",
                                        [NETIF_VIRTUAL] = "virtual"};

enum { ARPHRD_ETHER_TYPE = 1, ARPHRD_LOOPBACK_TYPE = 772 };

static enum netif_kind kind_of(const struct sysroot *root, const char *name)
{
    int64_t type;
    if (sysroot_number(root, &type, "sys/class/net/%s/type", name))
        return NETIF_UNKNOWN;
    if (type == ARPHRD_LOOPBACK_TYPE)
        return NETIF_LOOPBACK;
    if (sysroot_exists(root, "sys/class/net/%s/wireless", name) ||
        sysroot_exists(root, "sys/class/net/%s/phy80211", name))
        return NETIF_WIRELESS;
    if (!sysroot_exists(root, "sys/class/net/%s/device", name))
        return NETIF_VIRTUAL;
    return type == ARPHRD_ETHER_TYPE ? NETIF_ETHERNET : NETIF_UNKNOWN;
}

static void unknown(struct netif *n, const char *why)
{
    snprintf(n->why, sizeof n->why, "%s", why);
}

static void read_speed(struct netif *n, const struct sysroot *root, const char *name)
{
    int64_t mbit;
    if (sysroot_number(root, &mbit, "sys/class/net/%s/speed", name))
        unknown(n, n->kind == NETIF_WIRELESS   ? "the rate of a wireless interface changes all the time"
                   : n->kind == NETIF_LOOPBACK ? "a loopback has no speed"
                   : errno == EINVAL           ? "the driver does not say"
                                               : sysroot_why(errno));
    else if (mbit <= 0 || mbit > 10000000)
        unknown(n, "the driver does not know it");
    else
        n->nominal_bytes_per_s = (double)mbit * 1e6 / 8;
    if (sysroot_text(root, n->duplex, sizeof n->duplex, "sys/class/net/%s/duplex", name) < 0 ||
        strcmp(n->duplex, "unknown") == 0)
        *n->duplex = '\0';
}

void netif_read(struct netif *n, const struct sysroot *root, const char *name, int index)
{
    int64_t number;
    *n = (struct netif){.nominal_bytes_per_s = NAN};
    if (!*name) {
        unknown(n, "the interface is unknown");
        return;
    }
    if (sysroot_number(root, &number, "sys/class/net/%s/ifindex", name)) {
        unknown(n, sysroot_why(errno));
        return;
    }
    if (index > 0 && number != index) {
        unknown(n, "/sys shows the interfaces of another network namespace");
        return;
    }
    n->kind = kind_of(root, name);
    read_speed(n, root, name);
}
