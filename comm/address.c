/* comm/address.c - see address.h. Start at address_resolve(). */
#include "comm/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

/* ---- kinds of addresses ---- */

/* The four bytes of an IPv4 address, also of one in IPv6's clothes, or NULL. */
static const unsigned char *bytes4(const struct address *a)
{
    if (a->sa.ss_family == AF_INET)
        return (const unsigned char *)&((const struct sockaddr_in *)&a->sa)->sin_addr;
    const struct in6_addr *six = &((const struct sockaddr_in6 *)&a->sa)->sin6_addr;
    return a->sa.ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(six) ? six->s6_addr + 12 : NULL;
}

static const unsigned char *bytes6(const struct address *a)
{
    return a->sa.ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)&a->sa)->sin6_addr.s6_addr : NULL;
}

bool address_is_loopback(const struct address *a)
{
    const unsigned char *four = bytes4(a), *six = bytes6(a);
    return four ? four[0] == 127 : six && IN6_IS_ADDR_LOOPBACK((const struct in6_addr *)six);
}

bool address_is_private(const struct address *a)
{
    const unsigned char *four = bytes4(a), *six = bytes6(a);
    if (address_is_loopback(a))
        return true;
    if (four)
        return four[0] == 10 || (four[0] == 172 && four[1] >= 16 && four[1] < 32) ||
               (four[0] == 192 && four[1] == 168) || (four[0] == 169 && four[1] == 254);
    return six && ((six[0] == 0xfe && (six[1] & 0xc0) == 0x80) || (six[0] & 0xfe) == 0xfc);
}

/* Global IPv6 addresses of one cable are no private ones, but share a prefix with an address of an interface here. */
static bool is_on_link(const struct address *a)
{
    const unsigned char *six = bytes6(a);
    struct ifaddrs *list;
    bool found = false;
    if (!six || getifaddrs(&list))
        return false;
    for (const struct ifaddrs *i = list; i && !found; i = i->ifa_next) {
        if (!i->ifa_addr || !i->ifa_netmask || i->ifa_addr->sa_family != AF_INET6 || (i->ifa_flags & IFF_POINTOPOINT))
            continue;
        const unsigned char *own = ((const struct sockaddr_in6 *)(const void *)i->ifa_addr)->sin6_addr.s6_addr;
        const unsigned char *mask = ((const struct sockaddr_in6 *)(const void *)i->ifa_netmask)->sin6_addr.s6_addr;
        found = mask[5] == 0xff; /* a network of one site, not half of the world */
        for (int k = 0; k < 16; k++)
            found = found && (six[k] & mask[k]) == (own[k] & mask[k]);
    }
    freeifaddrs(list);
    return found;
}

bool address_is_local(const struct address *a)
{
    return address_is_private(a) || is_on_link(a);
}

/* What cannot be one machine: no address at all (0/8, ::; connecting to it reaches this host), a group, everybody. */
static bool is_no_host(const struct address *a)
{
    const unsigned char *four = bytes4(a), *six = bytes6(a);
    if (four)
        return four[0] == 0 || four[0] >= 224;
    return six && (six[0] == 0xff || IN6_IS_ADDR_UNSPECIFIED((const struct in6_addr *)six));
}

/* fe80::1 is on every link; without the interface nobody knows which is meant. */
static bool lacks_interface(const struct address *a)
{
    const unsigned char *six = bytes6(a);
    return six && six[0] == 0xfe && (six[1] & 0xc0) == 0x80 &&
           ((const struct sockaddr_in6 *)&a->sa)->sin6_scope_id == 0;
}

bool address_same_host(const struct address *a, const struct address *b)
{
    const unsigned char *a4 = bytes4(a), *b4 = bytes4(b), *a6 = bytes6(a), *b6 = bytes6(b);
    if (a4 || b4)
        return a4 && b4 && memcmp(a4, b4, 4) == 0;
    return a6 && b6 && memcmp(a6, b6, 16) == 0;
}

void address_text(const struct address *a, char out[static ADDRESS_TEXT_BYTES])
{
    const unsigned char *four = bytes4(a);
    if (four)
        snprintf(out, ADDRESS_TEXT_BYTES, "%d.%d.%d.%d", four[0], four[1], four[2], four[3]);
    else if (getnameinfo((const struct sockaddr *)&a->sa, a->bytes, out, ADDRESS_TEXT_BYTES, NULL, 0, NI_NUMERICHOST))
        snprintf(out, ADDRESS_TEXT_BYTES, "unknown address");
}

static struct address from_sockaddr(const struct sockaddr *sa)
{
    struct address a = {.bytes = sa->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6)};
    memcpy(&a.sa, sa, a.bytes);
    return a;
}

/* ---- this host ---- */

static bool has_address(const struct ifaddrs *at)
{
    return at->ifa_addr && (at->ifa_addr->sa_family == AF_INET || at->ifa_addr->sa_family == AF_INET6);
}

/* An address of one of this host's interfaces, or in 127/8. */
static bool is_own(const struct address *a)
{
    struct ifaddrs *list = NULL;
    bool own = address_is_loopback(a);
    if (!own && getifaddrs(&list) == 0)
        for (const struct ifaddrs *at = list; at && !own; at = at->ifa_next) {
            if (!has_address(at))
                continue;
            struct address mine = from_sockaddr(at->ifa_addr);
            own = address_same_host(a, &mine);
        }
    freeifaddrs(list);
    return own;
}

int address_check_interface(const char *name, struct err *e)
{
    struct if_nameindex *list = if_nameindex();
    if (!list)
        return err_set(e, ERR_CONFIG, "the network interfaces cannot be listed: %m");
    char names[320] = "";
    bool found = false;
    for (const struct if_nameindex *at = list; at->if_name; at++) {
        size_t used = strlen(names);
        const char *before = !*names ? "" : at[1].if_name ? ", " : " and ";
        snprintf(names + used, sizeof names - used, "%s%s", before, at->if_name);
        found |= strcmp(at->if_name, name) == 0;
    }
    if_freenameindex(list);
    if (found)
        return 0;
    return err_set(e, ERR_USAGE, "there is no network interface '%.32s' here; there are %s", name, names);
}

int address_bind_interface(int fd, const char *name, const struct address *to, struct err *e)
{
    /* Sends by that interface only. Kernels before 5.7 keep this for root; binding to its address helps there. */
    if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name, (socklen_t)strlen(name) + 1) && errno != EPERM)
        return err_set(e, ERR_CONFIG, "cannot use the network interface %s: %m", name);
    struct ifaddrs *list = NULL;
    if (getifaddrs(&list))
        return err_set(e, ERR_CONFIG, "the addresses of %s cannot be listed: %m", name);
    bool bound = false;
    for (const struct ifaddrs *at = list; at && !bound; at = at->ifa_next) {
        if (!has_address(at) || strcmp(at->ifa_name, name) != 0 || at->ifa_addr->sa_family != to->sa.ss_family)
            continue;
        struct address mine = from_sockaddr(at->ifa_addr);
        bound = bind(fd, (struct sockaddr *)&mine.sa, mine.bytes) == 0;
    }
    freeifaddrs(list);
    if (bound)
        return 0;
    return err_set(e, ERR_CONFIG, "the network interface %s has no %s address", name,
                   to->sa.ss_family == AF_INET ? "IPv4" : "IPv6");
}

/* ---- names ---- */

static int look_up(const char *host, int port, int flags, struct addrinfo **list)
{
    char service[8];
    snprintf(service, sizeof service, "%d", port);
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = flags | AI_NUMERICSERV};
    return getaddrinfo(host, service, &hints, list);
}

int address_parse(struct address *out, const char *text, int port)
{
    struct addrinfo *list = NULL;
    if (look_up(text, port, AI_NUMERICHOST, &list))
        return -1;
    *out = from_sockaddr(list->ai_addr);
    freeaddrinfo(list);
    return 0;
}

static int this_host_fails(const struct peer *peer, const struct address *own, bool numeric, struct err *e)
{
    char text[ADDRESS_TEXT_BYTES];
    address_text(own, text);
    if (numeric)
        return err_set(e, ERR_USAGE, "peer is this host: %s is one of its own addresses", peer->name);
    if (address_is_loopback(own))
        return err_set(e, ERR_NO_HOST,
                       "the name %.80s leads to this host's loopback (%s), not to another machine; correct its line in "
                       "/etc/hosts or give the peer's address",
                       peer->host, text);
    return err_set(e, ERR_USAGE, "peer is this host: %.80s leads to its own address %s", peer->host, text);
}

static int useless_fails(const struct peer *peer, const struct address *at, bool numeric, struct err *e)
{
    char text[ADDRESS_TEXT_BYTES], from[PEER_HOST_BYTES + sizeof text + 16] = "";
    address_text(at, text);
    if (!numeric)
        snprintf(from, sizeof from, "%.80s leads to %s, and ", peer->host, text);
    enum err_code code = numeric ? ERR_USAGE : ERR_NO_HOST;
    if (lacks_interface(at))
        return err_set(e, code, "%s%s is on every link: name the interface too, as in %s%%eth0", from, text, text);
    return err_set(e, code, "%s%s is the address of no single machine", from, text);
}

int address_resolve(struct addresses *out, const struct peer *peer, bool this_host, struct err *e)
{
    struct addrinfo *list = NULL;
    char local[sizeof peer->host + 8];
    snprintf(local, sizeof local, "%s.local", peer->host);
    bool numeric = look_up(peer->host, peer->port, AI_NUMERICHOST, &list) == 0;
    int failed = numeric ? 0 : look_up(peer->host, peer->port, 0, &list);
    if (failed && !strpbrk(peer->host, ".:") && look_up(local, peer->port, 0, &list) == 0)
        failed = 0;
    if (failed)
        return err_set(e, ERR_NO_HOST, "unknown host %.80s: %s", peer->host,
                       failed == EAI_SYSTEM ? strerror(errno) : gai_strerror(failed));
    struct address own = {.bytes = 0}, useless = {.bytes = 0};
    out->n = 0;
    for (const struct addrinfo *at = list; at && out->n < ADDRESSES_MAX; at = at->ai_next) {
        if (at->ai_family != AF_INET && at->ai_family != AF_INET6)
            continue;
        struct address a = from_sockaddr(at->ai_addr);
        if (is_no_host(&a) || lacks_interface(&a))
            useless = a;
        else if (!this_host && is_own(&a))
            own = a;
        else
            out->address[out->n++] = a;
    }
    freeaddrinfo(list);
    if (out->n > 0)
        return 0;
    if (own.bytes)
        return this_host_fails(peer, &own, numeric, e);
    return useless.bytes ? useless_fails(peer, &useless, numeric, e)
                         : err_set(e, ERR_NO_HOST, "%.80s has no address that this program can use", peer->host);
}
