/*
 * tests/knock.c - a stranger at a port: says what is in a file, or nothing, and tells what came back.
 *
 *     knock ADDRESS PORT SECONDS [COUNT [FILE]]
 *
 * Opens COUNT connections (1), says FILE on each if there is one, and holds them so long; ends sooner when all have been
 * closed by the other side. Prints "N answered, N closed, N bytes".
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

enum { COUNT_MAX = 1000 };

int main(int argc, char **argv)
{
    static struct pollfd p[COUNT_MAX];
    static int answered[COUNT_MAX];
    static char said[65536], heard[65536];
    size_t bytes = 0, n = 0;
    int closed = 0, answers = 0;
    if (argc < 4)
        return 64;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[2]))};
    uint64_t until_ns = clock_now_ns() + (uint64_t)(strtod(argv[3], NULL) * 1e9);
    int count = argc > 4 ? atoi(argv[4]) : 1;
    if (inet_pton(AF_INET, argv[1], &to.sin_addr) != 1 || count < 1 || count > COUNT_MAX)
        return 64;
    FILE *f = argc > 5 ? fopen(argv[5], "rb") : NULL;
    if (f) {
        n = fread(said, 1, sizeof said, f);
        fclose(f);
    }
    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < count; i++) {
        p[i] = (struct pollfd){socket(AF_INET, SOCK_STREAM, 0), POLLIN, 0};
        if (p[i].fd < 0 || connect(p[i].fd, (struct sockaddr *)&to, sizeof to)) {
            perror("knock");
            return 1;
        }
        if (n > 0 && send(p[i].fd, said, n, MSG_NOSIGNAL) < 0) /* it may have been sent away already */
            continue;
    }
    while (closed < count && clock_now_ns() < until_ns) {
        if (poll(p, (nfds_t)count, 20) <= 0)
            continue;
        for (int i = 0; i < count; i++) {
            if (p[i].fd < 0 || !p[i].revents)
                continue;
            ssize_t got = recv(p[i].fd, heard, sizeof heard, 0);
            if (got > 0) {
                bytes += (size_t)got;
                answers += !answered[i];
                answered[i] = 1;
            } else if (got == 0 || errno != EINTR) {
                close(p[i].fd);
                p[i].fd = -1;
                closed++;
            }
        }
    }
    printf("%d answered, %d closed, %zu bytes\n", answers, closed, bytes);
    return 0;
}
