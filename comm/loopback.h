/*
 * comm/loopback.h - a TCP connection from this process to itself.
 */
#ifndef COMM_LOOPBACK_H
#define COMM_LOOPBACK_H

/* Both ends, close-on-exec. -1 with errno, and nothing is left open then. Nobody else's connection is taken for it. */
int loopback_pair(int fd[static 2]);

#endif
