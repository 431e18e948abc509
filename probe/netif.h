/*
 * probe/netif.h - a network interface as the kernel describes it: what it says it could do, beside what is measured.
 *
 * Reads below a sysroot; what is missing is unknown with a reason. Virtual interfaces state speeds that mean nothing
 * (10 Gbit/s for a veth pair), which is told.
 */
#ifndef PROBE_NETIF_H
#define PROBE_NETIF_H

#include "probe/sysroot.h"

enum netif_kind { NETIF_UNKNOWN, NETIF_ETHERNET, NETIF_WIRELESS, NETIF_LOOPBACK, NETIF_VIRTUAL };
extern const char *const netif_kind_names[];

struct netif {
    enum netif_kind kind;
    double nominal_bytes_per_s; /* of the medium, one way; NaN: unknown */
    char duplex[16];            /* "full", "half"; "" unknown */
    char why[96];               /* reason for an unknown speed */
};

/* index: the system's number of the interface, so that a folder of another network namespace is not mistaken for it;
 * 0: not compared. */
void netif_read(struct netif *n, const struct sysroot *root, const char *name, int index);

#endif
