/*
 * comm/datalink.h - a data socket's first words: both ends prove that they belong to the session, then it is the ring's.
 *
 * The ring has an edge from each rank to the next. Who dials it is settled by rank: the sender, except that rank 0, which
 * listens nowhere, dials the last rank too. After intro and greeting (greeting.h) the dialling side sends which edge of
 * which session this is and an HMAC under the edge's key over intro, greeting (so over the listening side's fresh nonce)
 * and these words; the other side answers with an HMAC of its own. Nothing secret is sent, and what was recorded
 * once is worth nothing under the next nonce. Afterwards the bytes are in clear, unless the ring seals them (stream.h) with
 * the key that both ends derive from all of these words and the edge's key: it is new with every connection.
 *
 * A rendezvous is where the accept loop and the session meet: the session says which edges it expects, the loop
 * delivers sockets that have proven one. Each edge is taken once. Any thread.
 */
#ifndef COMM_DATALINK_H
#define COMM_DATALINK_H

#include <pthread.h>
#include <stdint.h>

#include "comm/greeting.h"

enum { DATALINK_HELLO_BYTES = 72, DATALINK_ANSWER_BYTES = 32, DATALINK_SESSION_BYTES = 16 };

enum datalink_direction { DATALINK_OUT = 1, DATALINK_IN = 2 }; /* the dialling side sends, or receives */

struct datalink {
    unsigned char session[DATALINK_SESSION_BYTES];
    uint16_t edge; /* from rank edge to the next */
    uint8_t direction;
    uint8_t channel; /* of several along one edge */
    unsigned char key[CRYPTO_KEY_BYTES];
};

/* The dialling side, on a fresh connection, until it is proven; seal: the key for what follows. fd stays the caller's.
 * intro: who calls. */
int datalink_dial(int fd, const struct datalink *link, const struct greeting_intro *intro, const char *peer,
                  unsigned char seal[static CRYPTO_KEY_BYTES], uint64_t deadline_ns, int stop_fd, struct err *e);

enum { RENDEZVOUS_LINKS_MAX = 4 };

struct rendezvous {
    pthread_mutex_t lock;
    int arrived_fd; /* eventfd */
    int n;
    struct {
        struct datalink link;
        int fd; /* -1: not yet */
        unsigned char seal[CRYPTO_KEY_BYTES];
    } expected[RENDEZVOUS_LINKS_MAX];
};

int rendezvous_init(struct rendezvous *r, struct err *e);
void rendezvous_fini(struct rendezvous *r); /* closes what nobody fetched */

/* The session's side. */
int rendezvous_expect(struct rendezvous *r, const struct datalink *link, struct err *e);
/* The socket of that edge, now the caller's, and the key for what follows on it. */
int rendezvous_wait(struct rendezvous *r, int edge, int *fd, unsigned char seal[static CRYPTO_KEY_BYTES],
                    const char *peer, uint64_t deadline_ns, int stop_fd, struct err *e);
void rendezvous_clear(struct rendezvous *r);

/* The accept loop's side: judges a hello; 0 with the answer to send and fd taken, or ERR_NOT_PAIRED with fd untouched. */
int rendezvous_offer(struct rendezvous *r, int fd, const unsigned char intro[static GREETING_INTRO_BYTES],
                     const unsigned char greeting[static GREETING_BYTES],
                     const unsigned char hello[static DATALINK_HELLO_BYTES], struct err *e);

#endif
