/*
 * cli/peers.h - the other ranks of a run when they are on other nodes: rank 0's side of --peers.
 *
 *     peers_check(&peers, &options, e)             the list, before anything else takes time; peers.list.n is 0 without one
 *     (a peer where nothing listens, or that cannot be paired with here, is started by ssh if that is allowed)
 *     peers_call(&peers, &options, plan, program, e)    everybody is reached, proven, and has the same plan
 *     team_open with session_take_next(&peers.session) ... and peers.session.stop_fd
 *     ... peers.lost turns true when a node is lost or gives up ...
 *     peers_listen(&peers, err)                          before the team's sockets are closed
 *     peers_leave(&peers, when, report, err)       what they measured, or whose fault it was; the session is over then
 *     peers_fini(&peers)
 *
 * Owner: the main thread. peers_interrupt() may be called in a signal handler.
 */
#ifndef CLI_PEERS_H
#define CLI_PEERS_H

#include <pthread.h>
#include <stdatomic.h>

#include "cli/node.h"
#include "comm/peer_list.h"
#include "comm/session.h"
#include "comm/ssh_start.h"

struct peers {
    struct node node; /* open while the session is set up */
    struct peer_list list;
    bool closed[PEERS_MAX];    /* nothing listened there at first */
    struct ssh_start *ssh;     /* [list.n] those that were started by ssh; NULL: none */
    struct session_given *own; /* [list.n] their keys */
    struct session session;
    struct clock_offset clock[PEERS_MAX]; /* of each peer against this node's, before and after the run */
    bool open;                            /* the session is set up */
    atomic_bool lost;
    bool heard; /* a peer was lost or gave up before our sockets were closed */
    pthread_t watcher;
    bool watching;
    int end_fd; /* readable: the watcher ends; 0: none */
};

/* At once: ERR_USAGE or ERR_NO_HOST for the list, the interface, or what cannot go together with peers. Then, before
 * this node is measured for nothing: ERR_UNAVAILABLE, naming whoever does not listen. */
int peers_check(struct peers *peers, const struct options *o, struct err *e);

/* plan is borrowed. A person may be asked for codes. Signals are as they were by default after this. */
int peers_call(struct peers *peers, const struct options *o, json_t *plan, const char *program, struct err *e);

/* Ends every wait for the peers. Does nothing without a session. */
void peers_interrupt(struct peers *peers);

/* err is what ended the run here. If it is the loss of a peer, waits a moment for one to say why. */
void peers_listen(struct peers *peers, const struct err *err);

/* The team's sockets are closed. report[i] becomes what peer i, rank i + 1, tells, made harmless; NULL if it tells nothing.
 * err holds what ended the run, if anything did, and becomes the cause with peer, address and when ("at step 3"). */
void peers_leave(struct peers *peers, const char *when, json_t **report, struct err *err);

void peers_fini(struct peers *peers); /* accepts a zeroed one */

#endif
