/*
 * comm/control.h - a control connection in use: a thread of its own keeps it alive and carries its messages.
 *
 * The thread alone touches the connection. Every second it says that this node lives; what it hears proves that the
 * other one does, however busy that one's training threads are, so a slow node is measured and only a dead or frozen one
 * is given up: after 3 s of silence with a warning, after timeout_ns for good. A heartbeat may add that what works there is
 * silent itself (control_tell_silence), which counts the same, and what its last step was like (control_tell_step). Messages
 * go through two short queues.
 *
 *     control_start(&control, &channel, &options, e)        the channel is the control's now, also if this fails
 *     control_send, control_receive                         any one thread
 *     control_stop(&control, json_pack("{s:s}", "type", "bye"))
 *
 * When the other node is lost, or has said that it gives up, lost_fd (an eventfd) is made readable at once: whatever
 * else waits for that node watches it, then asks control_lost() for the reason. A "bye" is no loss, only the end.
 */
#ifndef COMM_CONTROL_H
#define COMM_CONTROL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/step_word.h"
#include "comm/channel.h"
#include "comm/clock_offset.h"

enum { CONTROL_QUEUE_MAX = 64, CONTROL_WARN_MS = 3000, CONTROL_BEAT_MS = 1000 };

struct control_options {
    uint64_t timeout_ns;                       /* of silence */
    int lost_fd;                               /* an eventfd, the caller's */
    void (*warn)(void *ctx, const char *text); /* on the control's thread; NULL: nobody listens */
    void *warn_ctx;
};

struct control {
    bool started;
    struct channel channel; /* the thread's */
    struct control_options options;
    pthread_t thread;
    atomic_uint silent_ms;   /* of what works here: told with each beat */
    uint64_t work_silent_ns; /* the thread's: of what works there, as its last beat told */
    int wake_fd;             /* to the thread: there is something to send, or it is over */
    int ready_fd;            /* from the thread: something is in the queue, or it is over */
    pthread_mutex_t lock;
    /* under the lock */
    unsigned char *out; /* encoded messages */
    size_t out_bytes, out_capacity;
    json_t *in[CONTROL_QUEUE_MAX];
    int in_n;
    struct step_word said, heard; /* by this node of its step, by the other one of its own */
    bool clocked;                 /* an answer to a question about the clock is in exchange */
    struct clock_exchange exchange;
    bool stopping, ended; /* asked to end; the other end said bye */
    bool told;            /* it is lost because it said that it gives up */
    struct err lost;      /* code 0: alive */
};

/* ERR_MEMORY if there is no thread or descriptor to be had. */
int control_start(struct control *control, struct channel *channel, const struct control_options *options,
                  struct err *e);

/* Frees message. Returns at once; fails if the other node is lost or takes nothing any more. */
int control_send(struct control *control, json_t *message, struct err *e);

/* The next message, which must be of that type; stop_fd as in wait.h. Errors as channel_receive, and the loss. */
int control_receive(struct control *control, const char *type, json_t **message, uint64_t deadline_ns, int stop_fd,
                    struct err *e);

/* Asks what the other node's clock shows, so often or until the deadline, and makes reading the best of the answers (see
 * clock_offset.h). The other end's thread answers by itself. -1 if there was none. Other messages stay where they are. */
int control_clock(struct control *control, struct clock_reading *reading, int exchanges, uint64_t deadline_ns,
                  int stop_fd, struct err *e);

/* True and the reason if the other node is lost; control_told: only if it gave the reason itself. */
bool control_lost(struct control *control, struct err *e);
bool control_told(struct control *control, struct err *e);

/* What works on this side has given no sign of life for so long; the next heartbeats say so, and the other end judges that
 * silence as it does the connection's own. Any thread. */
void control_tell_silence(struct control *control, double silent_s);

/* What the last step was like here, for the next heartbeats; and what the other node has said last, false: nothing yet. Any
 * thread. */
void control_tell_step(struct control *control, const struct step_word *word);
bool control_step(struct control *control, struct step_word *word);

/* Sends a last message (NULL: none; freed) if that is possible within a second, ends the thread, closes. Accepts a
 * zeroed control. */
void control_stop(struct control *control, json_t *last);

#endif
