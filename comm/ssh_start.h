/*
 * comm/ssh_start.h - starts 'serve' on a node by ssh, for one session, with a key made for it.
 *
 *     ssh_start_begin(&s, login, name, remote, key, e)     for several nodes one after the other
 *     ssh_start_wait(&s, deadline_ns, stop_fd, e)          s.port is where it listens
 *     ... the session, with that key ...
 *     ssh_start_end(&s)
 *
 * The ssh program runs with BatchMode, so it never asks anything, and in a process group of its own, so that Ctrl-C here does
 * not cut the line before the run has ended in order. The key goes through its standard input and is in no argument; that
 * input stays open as a lifeline: when it ends, for whatever reason, the node over there ends too. Of what comes back only
 * the port is taken, out of one line that begins with SSH_START_PREFIX; whatever else is printed there (a banner, a greeting)
 * is passed over, up to SSH_START_OUTPUT_BYTES. No shell is involved on this side; on the other one it sees a constant, or
 * the path that the user gave, in quotes.
 *
 * Owner: any one thread. SIGPIPE must be ignored.
 */
#ifndef COMM_SSH_START_H
#define COMM_SSH_START_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "comm/crypto.h"
#include "comm/peer_text.h"

#define SSH_START_PREFIX "ddpbench serves: "

enum { SSH_START_OUTPUT_BYTES = 64 * 1024, SSH_START_ANSWER_S = 30, SSH_START_LINE_BYTES = 512 };

struct ssh_start {
    pid_t pid;                  /* 0: none */
    int in_fd, out_fd, err_fd;  /* of ssh; only if there is a pid */
    char name[PEER_TEXT_BYTES]; /* as errors call the node */
    char line[SSH_START_LINE_BYTES];
    size_t have, taken; /* of the line; of all lines */
    bool too_long;      /* the line is none that is looked for */
    char said[1024];    /* the beginning of what ssh says on its standard error */
    size_t said_bytes;
    int port; /* 0: not known yet */
};

/* remote: where ddpbench is over there, NULL: in its PATH. ERR_USAGE for a path that could be more than one;
 * ERR_UNAVAILABLE without an ssh program; ERR_MEMORY. */
int ssh_start_begin(struct ssh_start *s, const char *login, const char *name, const char *remote,
                    const unsigned char key[static CRYPTO_KEY_BYTES], struct err *e);

/* ERR_NOT_PAIRED if ssh is not let in, or the host's key is not the known one; ERR_NO_HOST; else ERR_UNAVAILABLE: it cannot
 * be reached, ddpbench is not there, or no answer came. The sentence says what helps, and what ssh said. */
int ssh_start_wait(struct ssh_start *s, uint64_t deadline_ns, int stop_fd, struct err *e);

/* Lets go of the lifeline, waits a moment for ssh to end, ends it if it does not, and reaps it. Accepts a zeroed one. */
void ssh_start_end(struct ssh_start *s);

/* Whether a path may be given to ssh_start_begin. */
int ssh_start_check_remote(const char *remote, struct err *e);

/* Is there an ssh program? */
bool ssh_start_possible(void);

#endif
