/*
 * comm/datalink.c - see datalink.h. The hello on the wire: session (16), direction, channel, edge (16 bits), 20 bytes at
 * random, HMAC (32).
 */
#include "comm/datalink.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/wait.h"

enum {
    TOLD_BYTES = DATALINK_HELLO_BYTES - CRYPTO_KEY_BYTES,
    PROVEN_BYTES = GREETING_INTRO_BYTES + GREETING_BYTES + TOLD_BYTES
};

static void tell(unsigned char *hello, const struct datalink *link)
{
    memcpy(hello, link->session, sizeof link->session);
    hello[16] = link->direction;
    hello[17] = link->channel;
    hello[18] = (unsigned char)link->edge;
    hello[19] = (unsigned char)(link->edge >> 8);
}

/* Everything that both sides have seen: what the proofs are about. */
static void gather(unsigned char out[static PROVEN_BYTES], const unsigned char *intro, const unsigned char *greeting,
                   const unsigned char *hello)
{
    memcpy(out, intro, GREETING_INTRO_BYTES);
    memcpy(out + GREETING_INTRO_BYTES, greeting, GREETING_BYTES);
    memcpy(out + GREETING_INTRO_BYTES + GREETING_BYTES, hello, TOLD_BYTES);
}

static const char sealing[] = "ddpbench data socket 1, sealing";
static const char dialler[] = "ddpbench data socket 1, dialling", listener[] = "ddpbench data socket 1, listening";

int datalink_dial(int fd, const struct datalink *link, const struct greeting_intro *intro, const char *peer,
                  unsigned char seal[static CRYPTO_KEY_BYTES], uint64_t deadline_ns, int stop_fd, struct err *e)
{
    unsigned char first[GREETING_INTRO_BYTES], greeting[GREETING_BYTES], hello[DATALINK_HELLO_BYTES];
    unsigned char all[PROVEN_BYTES], answer[DATALINK_ANSWER_BYTES], expected[DATALINK_ANSWER_BYTES];
    struct greeting decoded;
    greeting_encode_intro(first, intro);
    if (wait_send(fd, first, sizeof first, deadline_ns, stop_fd, peer, e) ||
        wait_receive(fd, greeting, sizeof greeting, deadline_ns, stop_fd, peer, e) ||
        greeting_decode(greeting, &decoded, peer, e))
        return -1;
    tell(hello, link);
    if (crypto_random(hello + 20, TOLD_BYTES - 20, e))
        return -1;
    gather(all, first, greeting, hello);
    if (crypto_prove(hello + TOLD_BYTES, link->key, dialler, all, sizeof all, e) ||
        crypto_prove(expected, link->key, listener, all, sizeof all, e) ||
        wait_send(fd, hello, sizeof hello, deadline_ns, stop_fd, peer, e) ||
        wait_receive(fd, answer, sizeof answer, deadline_ns, stop_fd, peer, e))
        return -1;
    if (!crypto_equal(answer, expected, sizeof answer))
        return err_set(e, ERR_NOT_PAIRED, "the data socket of %s did not prove that it belongs to the session", peer);
    return crypto_derive(seal, link->key, sealing, all, sizeof all, e);
}

/* ---- where accept loop and session meet ---- */

int rendezvous_init(struct rendezvous *r, struct err *e)
{
    *r = (struct rendezvous){.arrived_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    if (r->arrived_fd < 0)
        return err_set(e, ERR_MEMORY, "no descriptor left: %m");
    pthread_mutex_init(&r->lock, NULL);
    return 0;
}

void rendezvous_clear(struct rendezvous *r)
{
    pthread_mutex_lock(&r->lock);
    for (int i = 0; i < r->n; i++)
        if (r->expected[i].fd >= 0)
            close(r->expected[i].fd);
    crypto_wipe(r->expected, sizeof r->expected);
    r->n = 0;
    pthread_mutex_unlock(&r->lock);
}

void rendezvous_fini(struct rendezvous *r)
{
    rendezvous_clear(r);
    close(r->arrived_fd);
    pthread_mutex_destroy(&r->lock);
}

int rendezvous_expect(struct rendezvous *r, const struct datalink *link, struct err *e)
{
    pthread_mutex_lock(&r->lock);
    bool room = r->n < RENDEZVOUS_LINKS_MAX;
    if (room) {
        r->expected[r->n].link = *link;
        r->expected[r->n].fd = -1;
        r->n++;
    }
    pthread_mutex_unlock(&r->lock);
    return room ? 0 : err_set(e, ERR_PROTOCOL, "more than %d data sockets", RENDEZVOUS_LINKS_MAX);
}

static int fetch(struct rendezvous *r, int edge, unsigned char *seal)
{
    int fd = -1;
    pthread_mutex_lock(&r->lock);
    for (int i = 0; i < r->n; i++)
        if (r->expected[i].link.edge == edge && r->expected[i].fd >= 0) {
            fd = r->expected[i].fd;
            memcpy(seal, r->expected[i].seal, CRYPTO_KEY_BYTES);
            r->expected[i].fd = -1;
            r->expected[i].link.direction = 0; /* taken: a second one matches nothing */
        }
    pthread_mutex_unlock(&r->lock);
    return fd;
}

int rendezvous_wait(struct rendezvous *r, int edge, int *fd, unsigned char seal[static CRYPTO_KEY_BYTES],
                    const char *peer, uint64_t deadline_ns, int stop_fd, struct err *e)
{
    uint64_t count;
    while ((*fd = fetch(r, edge, seal)) < 0) {
        if (wait_ready(r->arrived_fd, POLLIN, deadline_ns, stop_fd, peer, e))
            return err_context(e, "its data socket did not come");
        if (read(r->arrived_fd, &count, sizeof count) < 0 && errno != EAGAIN && errno != EINTR)
            return err_set(e, ERR_IO, "eventfd: %m");
    }
    return 0;
}

int rendezvous_offer(struct rendezvous *r, int fd, const unsigned char intro[static GREETING_INTRO_BYTES],
                     const unsigned char greeting[static GREETING_BYTES],
                     const unsigned char hello[static DATALINK_HELLO_BYTES], struct err *e)
{
    unsigned char all[PROVEN_BYTES], proof[CRYPTO_KEY_BYTES], told[TOLD_BYTES];
    uint64_t one = 1;
    int taken = -1;
    gather(all, intro, greeting, hello);
    pthread_mutex_lock(&r->lock);
    for (int i = 0; i < r->n && taken < 0; i++) {
        const struct datalink *link = &r->expected[i].link;
        memcpy(told, hello, sizeof told);
        tell(told, link); /* unless these are the words that were told, this is about another edge */
        if (r->expected[i].fd < 0 && link->direction && memcmp(told, hello, sizeof told) == 0 &&
            crypto_prove(proof, link->key, dialler, all, sizeof all, e) == 0 &&
            crypto_equal(proof, hello + TOLD_BYTES, sizeof proof) &&
            crypto_prove(proof, link->key, listener, all, sizeof all, e) == 0 &&
            crypto_derive(r->expected[i].seal, link->key, sealing, all, sizeof all, e) == 0 &&
            send(fd, proof, sizeof proof, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof proof) {
            r->expected[i].fd = fd;
            taken = i;
        }
    }
    pthread_mutex_unlock(&r->lock);
    if (taken < 0)
        return err_set(e, ERR_NOT_PAIRED, "a data socket that belongs to no session");
    while (write(r->arrived_fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
    return 0;
}
