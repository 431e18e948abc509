/* comm/link_socket.c - see link_socket.h. */
#include "comm/link_socket.h"

#include <errno.h>
#include <ifaddrs.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

struct query {
    struct nlmsghdr header;
    struct rtmsg route;
    char attributes[128];
};

static void add(struct query *q, unsigned short type, const void *data, size_t bytes)
{
    struct rtattr *a = (struct rtattr *)(void *)((char *)q + NLMSG_ALIGN(q->header.nlmsg_len));
    a->rta_type = type;
    a->rta_len = (unsigned short)RTA_LENGTH(bytes);
    memcpy(RTA_DATA(a), data, bytes);
    q->header.nlmsg_len = NLMSG_ALIGN(q->header.nlmsg_len) + (unsigned)RTA_ALIGN(a->rta_len);
}

/* The number's bytes; an IPv4 address in IPv6's clothes is one of IPv4. */
static const void *bytes_of(const struct address *a, int *family, size_t *n)
{
    const struct sockaddr_in *four = (const struct sockaddr_in *)&a->sa;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&a->sa;
    *family = a->sa.ss_family;
    *n = *family == AF_INET ? 4 : 16;
    if (*family == AF_INET)
        return &four->sin_addr;
    if (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr)) {
        *family = AF_INET;
        *n = 4;
        return &six->sin6_addr.s6_addr[12];
    }
    return &six->sin6_addr;
}

/* The index of the interface by which packets from one address to the other leave; 0: unknown. */
static int ask_route(const struct address *local, const struct address *remote)
{
    struct query q = {.header = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg)),
                                 .nlmsg_type = RTM_GETROUTE,
                                 .nlmsg_flags = NLM_F_REQUEST}};
    union {
        struct nlmsghdr header;
        char bytes[4096];
    } answer;
    int family, index = 0;
    size_t n;
    const void *to = bytes_of(remote, &family, &n);
    q.route.rtm_family = (unsigned char)family;
    q.route.rtm_dst_len = (unsigned char)(n * 8);
    add(&q, RTA_DST, to, n);
    const void *from = bytes_of(local, &family, &n);
    q.route.rtm_src_len = (unsigned char)(n * 8);
    add(&q, RTA_SRC, from, n);
    if (remote->sa.ss_family == AF_INET6) {
        unsigned scope = ((const struct sockaddr_in6 *)&remote->sa)->sin6_scope_id;
        if (scope)
            return (int)scope; /* a link-local address names its interface */
    }
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (fd < 0)
        return 0;
    ssize_t got = send(fd, &q, q.header.nlmsg_len, 0) > 0 ? recv(fd, &answer, sizeof answer, 0) : -1;
    close(fd);
    if (got < (ssize_t)NLMSG_LENGTH(sizeof(struct rtmsg)) || !NLMSG_OK(&answer.header, (unsigned)got) ||
        answer.header.nlmsg_type != RTM_NEWROUTE)
        return 0;
    unsigned left = (unsigned)RTM_PAYLOAD(&answer.header);
    const struct rtattr *a = RTM_RTA((struct rtmsg *)NLMSG_DATA(&answer.header));
    for (; RTA_OK(a, left); a = RTA_NEXT(a, left))
        if (a->rta_type == RTA_OIF && RTA_PAYLOAD(a) == sizeof index)
            memcpy(&index, RTA_DATA(a), sizeof index);
    return index;
}

static void find_owner(struct link_socket *s)
{
    struct ifaddrs *list;
    char text[ADDRESS_TEXT_BYTES];
    if (getifaddrs(&list))
        return;
    for (const struct ifaddrs *at = list; at && !*s->owner; at = at->ifa_next) {
        struct address a = {.bytes = sizeof(struct sockaddr_in6)};
        if (!at->ifa_addr || (at->ifa_addr->sa_family != AF_INET && at->ifa_addr->sa_family != AF_INET6))
            continue;
        memcpy(&a.sa, at->ifa_addr,
               at->ifa_addr->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
        address_text(&a, text);
        if (strcmp(text, s->local) == 0)
            strncpy(s->owner, at->ifa_name, sizeof s->owner - 1);
    }
    freeifaddrs(list);
}

static int ask_mtu(int fd, const char interface[static IF_NAMESIZE])
{
    struct ifreq r = {.ifr_mtu = 0};
    memcpy(r.ifr_name, interface, sizeof r.ifr_name); /* both are IF_NAMESIZE long */
    return ioctl(fd, SIOCGIFMTU, &r) == 0 ? r.ifr_mtu : -1;
}

void link_socket_read(struct link_socket *s, int fd)
{
    struct address local = {.bytes = sizeof local.sa}, remote = {.bytes = sizeof remote.sa};
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    *s = (struct link_socket){.mtu_bytes = -1, .segment_bytes = -1, .retransmits = -1};
    data_socket_congestion(fd, s->congestion);
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0) {
        s->retransmits = info.tcpi_total_retrans;
        s->segment_bytes = (int)info.tcpi_snd_mss;
    }
    if (getsockname(fd, (struct sockaddr *)&local.sa, &local.bytes) ||
        getpeername(fd, (struct sockaddr *)&remote.sa, &remote.bytes))
        return;
    address_text(&local, s->local);
    address_text(&remote, s->remote);
    find_owner(s);
    int index = ask_route(&local, &remote);
    if (index <= 0 || !if_indextoname((unsigned)index, s->interface))
        *s->interface = '\0';
    if (*s->interface)
        s->mtu_bytes = ask_mtu(fd, s->interface);
}

int link_socket_try(struct link_socket *s, const char *interface, const struct address *to, struct err *e)
{
    char text[ADDRESS_TEXT_BYTES];
    int fd = socket(to->sa.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), result = -1;
    *s = (struct link_socket){.mtu_bytes = -1, .segment_bytes = -1, .retransmits = -1};
    if (fd < 0)
        return err_set(e, ERR_MEMORY, "no descriptor left: %m");
    address_text(to, text);
    if (address_bind_interface(fd, interface, to, e) == 0) {
        if (connect(fd, (const struct sockaddr *)&to->sa, to->bytes))
            err_set(e, ERR_UNAVAILABLE, "no way from %s to %s: %s", interface, text, strerror(errno));
        else
            result = 0;
    }
    if (result == 0)
        link_socket_read(s, fd);
    close(fd);
    return result;
}
