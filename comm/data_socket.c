/* comm/data_socket.c - see data_socket.h. */
#include "comm/data_socket.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

void data_socket_congestion(int fd, char name[CONGESTION_NAME_BYTES])
{
    socklen_t size = CONGESTION_NAME_BYTES;
    memset(name, 0, CONGESTION_NAME_BYTES);
    if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &size))
        name[0] = 0;
    name[CONGESTION_NAME_BYTES - 1] = 0;
}

void data_socket_settle_congestion(int fd, char name[CONGESTION_NAME_BYTES])
{
    static const char *const instead[] = {"cubic", "reno"};
    data_socket_congestion(fd, name);
    if (strncmp(name, "bbr", 3) != 0)
        return;
    for (size_t i = 0; i < sizeof instead / sizeof *instead; i++)
        if (!setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, instead[i], (socklen_t)strlen(instead[i])))
            break;
    data_socket_congestion(fd, name);
}

int data_socket_init(struct data_socket *s, int fd, const char *peer, struct err *e)
{
    int domain = 0, on = 1, flags = fcntl(fd, F_GETFL);
    socklen_t size = sizeof domain;
    *s = (struct data_socket){.tcp = false};
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) || getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size))
        return err_set(e, ERR_IO, "data socket to %s: %m", peer);
    s->tcp = domain == AF_INET || domain == AF_INET6;
    if (!s->tcp)
        return 0;
    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on))
        return err_set(e, ERR_IO, "data socket to %s: TCP_NODELAY: %m", peer);
    data_socket_settle_congestion(fd, s->congestion);
    return 0;
}

void data_socket_wake_for(int fd, size_t bytes, int *low_water)
{
    int low = (int)bytes;
    if (low != *low_water)
        setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &low, sizeof low);
    *low_water = low;
}
