/*
 * ddp/team.h - all ranks of a run as one of them sees them: the connections, and small things to agree on.
 *
 *     team_open(&team, &options, e)              the sockets are the team's now, also if it fails
 *     team_agree(&team, step, &mine, e)          team.word[r] is what rank r said, on every rank
 *     team_close(&team)
 *
 * team.gradients is what reduces the gradient (ddp/reduce.h): the ring itself, another back-end beside it (gloo), or null when
 * only the cost of everything else is of interest; team_open_gradients opens it. What ranks agree on always goes over the
 * ring, between steps, when no bucket is in flight; under a launcher (mpi) its transport takes the place of the ring, too; a rank that is silent for longer than the patience ends the run. Owner:
 * the thread that drives the steps. Nothing of ours is allocated between open and close. Failures are the ring's (ERR_PEER_LOST names the rank and the step).
 */
#ifndef DDP_TEAM_H
#define DDP_TEAM_H

#include "comm/backend.h"
#include "comm/launch.h"

/* What a rank says between two steps. */
struct team_word {
    int wish;          /* what it would do next, 0 to 15 */
    bool stop;         /* it was asked to end */
    float loss;        /* of its last step */
    uint64_t checksum; /* of whatever all ranks must have alike */
};

struct team {
    int rank, world;
    const struct backend *backend; /* of the gradients */
    struct transport ring, other;
    struct transport *agree;     /* one of them: what ranks agree on takes this way */
    struct transport *gradients; /* one of them; NULL: not open yet */
    int stop_fd;
    uint64_t patience_ns;
    struct team_word *word; /* [world] */
    float *wire;            /* the words as numbers that a sum leaves as they are */
};

struct team_options {
    int rank, world;
    struct launch *launch;             /* mpi: what connects the ranks, borrowed, in place of sockets; else NULL */
    int next_fd, prev_fd;              /* connected stream sockets; one for both is allowed when world is 2 */
    const struct backend *backend;     /* what reduces gradients; NULL: tcp */
    int stop_fd;                       /* readable: every wait ends with ERR_INTERRUPTED; -1: none */
    const char *next_name, *prev_name; /* as errors call them; NULL: "rank 1" */
    const unsigned char *next_key, *prev_key; /* the connections are sealed with these (ring.h); NULL: in clear */
};

int team_open(struct team *team, const struct team_options *options, struct err *e);

/* After team_open, all ranks alike. Threads that the back-end starts inherit where the calling thread may run. As
 * backend_open(). */
int team_open_gradients(struct team *team, struct err *e);

/* Whether ranks end up with one gradient, so that their parameters have to be the same. */
static inline bool team_reduces(const struct team *team)
{
    return team->backend->kind != BACKEND_NOTHING;
}

/* All ranks call it. step is named in errors. */
int team_agree(struct team *team, uint32_t step, const struct team_word *mine, struct err *e);

/* Rank 0's data becomes everybody's. */
int team_broadcast(struct team *team, void *data, size_t bytes, struct err *e);

/* Returns once every rank has called it. */
int team_barrier(struct team *team, struct err *e);

/* A wait in which nothing moves is an error after so long (ddp/patience.h); PATIENCE_FIRST_S until this is called. */
void team_set_patience(struct team *team, double patience_s);

/* "tls1.3 TLS_AES_128_GCM_SHA256", or "clear". */
const char *team_wire(const struct team *team, char *text, size_t size);

/* Bytes handed to the kernel for the next rank since the connection was made, headers of frames included; -1: the kernel
 * does not say, or gradients take another way. */
int64_t team_sent_bytes(const struct team *team);

void team_close(struct team *team); /* accepts a zeroed team */

#endif
