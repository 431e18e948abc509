/*
 * comm/congestion.c - see congestion.h.
 */
#include "comm/congestion.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

static void ask(int fd, char name[CONGESTION_NAME_BYTES])
{
    socklen_t size = CONGESTION_NAME_BYTES;
    memset(name, 0, CONGESTION_NAME_BYTES);
    if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &size))
        name[0] = 0;
    name[CONGESTION_NAME_BYTES - 1] = 0;
}

void congestion_settle(int fd, char name[CONGESTION_NAME_BYTES])
{
    static const char *const instead[] = {"cubic", "reno"};
    ask(fd, name);
    if (strncmp(name, "bbr", 3) != 0)
        return;
    for (size_t i = 0; i < sizeof instead / sizeof *instead; i++)
        if (!setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, instead[i], (socklen_t)strlen(instead[i])))
            break;
    ask(fd, name);
}
