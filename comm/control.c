/* comm/control.c - see control.h. The thread is run(): hear, beat, judge the silence, send, sleep. */
#include "comm/control.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "comm/wait.h"

enum { OUT_BYTES_MAX = 4 * WIRE_BYTES_MAX, LAST_WORDS_MS = 1000, SILENT_MAX_S = 86400 };

/* ---- both sides ---- */

static void ring_bell(int fd)
{
    uint64_t one = 1;
    while (write(fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

static void silence_bell(int fd)
{
    uint64_t count;
    while (read(fd, &count, sizeof count) < 0 && errno == EINTR)
        ;
}

/* Adds encoded bytes to what is to be sent; false if there is no room. */
static bool append(struct control *c, const unsigned char *bytes, size_t n)
{
    if (c->out_bytes + n > OUT_BYTES_MAX)
        return false;
    if (c->out_bytes + n > c->out_capacity) {
        void *more = realloc(c->out, c->out_bytes + n);
        if (!more)
            return false;
        c->out = more;
        c->out_capacity = c->out_bytes + n;
    }
    memcpy(c->out + c->out_bytes, bytes, n);
    c->out_bytes += n;
    return true;
}

static int queue(struct control *c, json_t *message, struct err *e)
{
    unsigned char *bytes;
    size_t n = 0;
    if (wire_encode(message, &bytes, &n, e))
        return -1;
    pthread_mutex_lock(&c->lock);
    bool room = append(c, bytes, n);
    pthread_mutex_unlock(&c->lock);
    wire_free(bytes, n);
    return room ? 0 : err_set(e, ERR_PEER_LOST, "%s takes no messages", c->channel.peer);
}

/* ---- the thread ---- */

struct beat {
    uint64_t heard_ns, next_ns;
    bool warned, want_write;
    uint64_t end_ns; /* of the last words; 0: not stopping */
};

/* The first reason stays. */
static void lose(struct control *c, const struct err *why)
{
    pthread_mutex_lock(&c->lock);
    bool first = !c->lost.code && !c->stopping && !c->ended;
    if (first)
        c->lost = *why;
    pthread_mutex_unlock(&c->lock);
    if (first)
        ring_bell(c->options.lost_fd);
    ring_bell(c->ready_fd);
}

static uint64_t instant(const json_t *message, const char *name)
{
    json_int_t value = json_integer_value(json_object_get(message, name));
    return value > 0 ? (uint64_t)value : 0;
}

/* This clock, told at once; if there is no room the question remains unanswered. */
static void tell_clock(struct control *c, const json_t *question, uint64_t arrived_ns)
{
    struct err full;
    queue(c,
          json_pack("{s:s, s:I, s:I, s:I}", "type", "clocked", "sent_ns", (json_int_t)instant(question, "sent_ns"),
                    "arrived_ns", (json_int_t)arrived_ns, "answered_ns", (json_int_t)clock_now_ns()),
          &full);
}

static void take_clock(struct control *c, const json_t *answer, uint64_t back_ns)
{
    pthread_mutex_lock(&c->lock);
    c->exchange = (struct clock_exchange){instant(answer, "sent_ns"), instant(answer, "arrived_ns"),
                                          instant(answer, "answered_ns"), back_ns};
    c->clocked = true;
    pthread_mutex_unlock(&c->lock);
    ring_bell(c->ready_fd);
}

static void take_beat(struct control *c, const json_t *beat)
{
    double silent_s = json_number_value(json_object_get(beat, "silent_s"));
    const json_t *step = json_object_get(beat, "step"), *done = json_object_get(step, "done");
    json_int_t n = json_integer_value(done);
    struct step_word w = {.done = n > 0 && n < INT_MAX ? (int)n : 0,
                          .work_s = json_number_value(json_object_get(step, "work_s")),
                          .still_s = json_number_value(json_object_get(step, "still_s"))};
    c->work_silent_ns = silent_s > 0 && silent_s < SILENT_MAX_S ? (uint64_t)(silent_s * 1e9) : 0;
    if (!step_word_is_sane(&w))
        return;
    pthread_mutex_lock(&c->lock);
    c->heard = w;
    pthread_mutex_unlock(&c->lock);
}

/* false: the connection is over. */
static bool deliver(struct control *c, json_t *message)
{
    const char *type = wire_type(message);
    struct err why = {0};
    bool go_on = true;
    if (strcmp(type, "beat") == 0) {
        take_beat(c, message);
        json_decref(message);
    } else if (strcmp(type, "clock") == 0) {
        tell_clock(c, message, clock_now_ns());
        json_decref(message);
    } else if (strcmp(type, "clocked") == 0) {
        take_clock(c, message, clock_now_ns());
        json_decref(message);
    } else if (strcmp(type, "bye") == 0) {
        json_decref(message);
        pthread_mutex_lock(&c->lock);
        c->ended = true;
        pthread_mutex_unlock(&c->lock);
        ring_bell(c->ready_fd);
        go_on = false;
    } else if (strcmp(type, "abort") == 0) {
        char text[400];
        wire_text(message, "text", text, sizeof text);
        err_set(&why, ERR_PEER_LOST, "%s gave up: %s", c->channel.peer, text);
        json_decref(message);
        pthread_mutex_lock(&c->lock);
        c->told = !c->lost.code;
        pthread_mutex_unlock(&c->lock);
        lose(c, &why);
        go_on = false;
    } else {
        pthread_mutex_lock(&c->lock);
        bool room = c->in_n < CONTROL_QUEUE_MAX;
        if (room)
            c->in[c->in_n++] = message;
        pthread_mutex_unlock(&c->lock);
        if (!room) {
            json_decref(message);
            err_set(&why, ERR_PROTOCOL, "%s sends more messages than are wanted", c->channel.peer);
            lose(c, &why);
        }
        ring_bell(c->ready_fd);
        go_on = room;
    }
    return go_on;
}

/* Everything that has arrived; false: the connection is over. */
static bool hear(struct control *c, struct beat *b)
{
    unsigned char bytes[4096];
    struct err why = {0};
    for (;;) {
        size_t got;
        json_t *message;
        enum tls_result r = tls_read(&c->channel.tls, bytes, sizeof bytes, &got, &why);
        if (r == TLS_WANT_READ || r == TLS_WANT_WRITE)
            return true;
        if (r == TLS_END)
            err_set(&why, ERR_PEER_LOST, "%s ended the session without a word", c->channel.peer);
        if (r != TLS_OK || wire_put(&c->channel.wire, bytes, got, &why)) {
            lose(c, &why);
            return false;
        }
        b->heard_ns = clock_now_ns();
        do {
            if (wire_take(&c->channel.wire, &message, &why)) {
                err_context(&why, "%s", c->channel.peer);
                lose(c, &why);
                return false;
            }
            if (message && !deliver(c, message))
                return false;
        } while (message);
    }
}

/* Whether the other node still lives, going by what is heard. */
static bool judge_silence(struct control *c, struct beat *b)
{
    uint64_t silent_ns = clock_now_ns() - b->heard_ns;
    bool work = c->work_silent_ns > silent_ns; /* only what works there is silent */
    const char *from = work ? "what works on " : "";
    struct err why;
    silent_ns = work ? c->work_silent_ns : silent_ns;
    if (silent_ns < (uint64_t)CONTROL_WARN_MS * 1000000) {
        b->warned = false;
        return true;
    }
    if (silent_ns >= c->options.timeout_ns) {
        err_set(&why, ERR_PEER_LOST, "no sign of life from %s%s for %.0f s: it is stopped or frozen%s", from,
                c->channel.peer, (double)silent_ns * 1e-9, work ? "" : ", or the network between is down");
        lose(c, &why);
        return false;
    }
    if (!b->warned && c->options.warn) {
        err_set(&why, ERR_OK, "no sign of life from %s%s for %.0f s; giving up after %.0f s", from, c->channel.peer,
                (double)silent_ns * 1e-9, (double)c->options.timeout_ns * 1e-9);
        c->options.warn(c->options.warn_ctx, why.text);
    }
    b->warned = true;
    return true;
}

/* As much as the connection takes now; false: it is over. */
static bool speak(struct control *c, struct beat *b)
{
    struct err why = {0};
    enum tls_result r = TLS_OK;
    pthread_mutex_lock(&c->lock);
    while (c->out_bytes > 0 && r == TLS_OK) {
        size_t put;
        r = tls_write(&c->channel.tls, c->out, c->out_bytes, &put, &why);
        memmove(c->out, c->out + put, c->out_bytes - put);
        c->out_bytes -= put;
    }
    b->want_write = r == TLS_WANT_WRITE;
    pthread_mutex_unlock(&c->lock);
    if (r != TLS_FAILED && r != TLS_END)
        return true;
    lose(c, &why);
    return false;
}

/* false: time to end, since everything is said or the time for it is over. */
static bool stay(struct control *c, struct beat *b)
{
    pthread_mutex_lock(&c->lock);
    bool stopping = c->stopping, unsaid = c->out_bytes > 0;
    pthread_mutex_unlock(&c->lock);
    if (!stopping)
        return true;
    if (!b->end_ns)
        b->end_ns = clock_now_ns() + (uint64_t)LAST_WORDS_MS * 1000000;
    return unsaid && clock_now_ns() < b->end_ns;
}

static void beat_if_due(struct control *c, struct beat *b)
{
    uint64_t now_ns = clock_now_ns();
    if (now_ns < b->next_ns)
        return;
    b->next_ns = now_ns + (uint64_t)CONTROL_BEAT_MS * 1000000;
    struct err full; /* then the connection is stuck, which the silence will tell */
    unsigned silent_ms = atomic_load(&c->silent_ms);
    json_t *beat = json_pack("{s:s}", "type", "beat");
    if (silent_ms >= CONTROL_BEAT_MS * 3 / 2)
        json_object_set_new(beat, "silent_s", json_real(silent_ms * 1e-3));
    pthread_mutex_lock(&c->lock);
    struct step_word w = c->said;
    pthread_mutex_unlock(&c->lock);
    if (w.done > 0)
        json_object_set_new(beat, "step",
                            json_pack("{s:i, s:f, s:f}", "done", w.done, "work_s", w.work_s, "still_s", w.still_s));
    queue(c, beat, &full);
}

static void *run(void *argument)
{
    struct control *c = argument;
    struct beat b = {.heard_ns = clock_now_ns()};
    prctl(PR_SET_NAME, "ddp-control");
    for (;;) {
        beat_if_due(c, &b);
        if (!hear(c, &b) || !judge_silence(c, &b) || !speak(c, &b) || !stay(c, &b))
            return NULL;
        struct pollfd p[] = {{c->channel.tls.fd, (short)(POLLIN | (b.want_write ? POLLOUT : 0)), 0},
                             {c->wake_fd, POLLIN, 0}};
        int left = wait_left_ms(b.end_ns && b.end_ns < b.next_ns ? b.end_ns : b.next_ns);
        if (poll(p, 2, left) > 0 && p[1].revents)
            silence_bell(c->wake_fd);
    }
}

/* ---- the caller's side ---- */

int control_start(struct control *control, struct channel *channel, const struct control_options *options,
                  struct err *e)
{
    *control = (struct control){.channel = *channel, .options = *options, .started = true};
    tls_move(&control->channel.tls, &channel->tls);
    *channel = (struct channel){0};
    control->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    control->ready_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&control->lock, NULL);
    /* Signals are for the threads that were there before. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool ok =
        control->wake_fd >= 0 && control->ready_fd >= 0 && pthread_create(&control->thread, NULL, run, control) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (ok)
        return 0;
    err_set(e, ERR_MEMORY, "no thread for the connection to %s", control->channel.peer);
    channel_close(&control->channel);
    if (control->wake_fd >= 0)
        close(control->wake_fd);
    if (control->ready_fd >= 0)
        close(control->ready_fd);
    pthread_mutex_destroy(&control->lock);
    *control = (struct control){0};
    return -1;
}

bool control_lost(struct control *control, struct err *e)
{
    if (!control->started)
        return false;
    pthread_mutex_lock(&control->lock);
    bool lost = control->lost.code;
    if (lost && e)
        *e = control->lost;
    pthread_mutex_unlock(&control->lock);
    return lost;
}

bool control_told(struct control *control, struct err *e)
{
    return control_lost(control, e) && control->told; /* not changed after the loss */
}

int control_send(struct control *control, json_t *message, struct err *e)
{
    if (control_lost(control, e)) {
        json_decref(message);
        return -1;
    }
    if (queue(control, message, e))
        return -1;
    ring_bell(control->wake_fd);
    return 0;
}

/* 1 with the oldest message, 0 if there is none, -1 if there will be none. Bells are rung only after a change, so
 * silencing this one before looking loses nothing. */
static int take(struct control *c, json_t **message, struct err *e)
{
    silence_bell(c->ready_fd);
    pthread_mutex_lock(&c->lock);
    int found = c->in_n > 0;
    if (found) {
        *message = c->in[0];
        memmove(c->in, c->in + 1, (size_t)--c->in_n * sizeof *c->in);
    } else if (c->lost.code) {
        if (e)
            *e = c->lost;
        found = -1;
    } else if (c->ended) {
        found = err_set(e, ERR_PEER_LOST, "%s has ended the session", c->channel.peer);
    }
    pthread_mutex_unlock(&c->lock);
    return found;
}

int control_receive(struct control *control, const char *type, json_t **message, uint64_t deadline_ns, int stop_fd,
                    struct err *e)
{
    for (;;) {
        int found = take(control, message, e);
        if (found < 0)
            return -1;
        if (found)
            return channel_judge(message, type, control->channel.peer, e);
        if (wait_ready(control->ready_fd, POLLIN, deadline_ns, stop_fd, control->channel.peer, e) == 0)
            continue;
        control_lost(control, e); /* says more than that somebody interrupted */
        return -1;
    }
}

/* 1 with the answer to what was sent then, 0 if it is not there, -1 if it will not come. */
static int take_answer(struct control *c, uint64_t sent_ns, struct clock_exchange *exchange, struct err *e)
{
    silence_bell(c->ready_fd);
    pthread_mutex_lock(&c->lock);
    int found = c->clocked && c->exchange.sent_ns == sent_ns;
    if (found)
        *exchange = c->exchange;
    else if (c->lost.code)
        found = err_set(e, c->lost.code, "%s", c->lost.text);
    else if (c->ended)
        found = err_set(e, ERR_PEER_LOST, "%s has ended the session", c->channel.peer);
    c->clocked = false;
    pthread_mutex_unlock(&c->lock);
    return found;
}

int control_clock(struct control *control, struct clock_reading *reading, int exchanges, uint64_t deadline_ns,
                  int stop_fd, struct err *e)
{
    for (int i = 0; i < exchanges; i++) {
        struct clock_exchange exchange;
        uint64_t sent_ns = clock_now_ns();
        int found = 0;
        if (sent_ns >= deadline_ns && reading->known)
            return 0;
        if (control_send(control, json_pack("{s:s, s:I}", "type", "clock", "sent_ns", (json_int_t)sent_ns), e))
            return -1;
        while ((found = take_answer(control, sent_ns, &exchange, e)) == 0)
            if (wait_ready(control->ready_fd, POLLIN, deadline_ns, stop_fd, control->channel.peer, e))
                return reading->known ? 0 : -1;
        if (found < 0)
            return -1;
        if (!clock_reading_add(reading, &exchange))
            return err_set(e, ERR_PROTOCOL, "%s tells an impossible time", control->channel.peer);
    }
    return 0;
}

void control_tell_silence(struct control *control, double silent_s)
{
    atomic_store(&control->silent_ms, silent_s > 0 ? (unsigned)(silent_s * 1e3) : 0);
}

void control_tell_step(struct control *control, const struct step_word *word)
{
    pthread_mutex_lock(&control->lock);
    control->said = *word;
    pthread_mutex_unlock(&control->lock);
}

bool control_step(struct control *control, struct step_word *word)
{
    pthread_mutex_lock(&control->lock);
    *word = control->heard;
    pthread_mutex_unlock(&control->lock);
    return word->done > 0;
}

void control_stop(struct control *control, json_t *last)
{
    struct err unsaid;
    if (!control->started) {
        json_decref(last);
        return;
    }
    if (last)
        queue(control, last, &unsaid);
    pthread_mutex_lock(&control->lock);
    control->stopping = true;
    pthread_mutex_unlock(&control->lock);
    ring_bell(control->wake_fd);
    pthread_join(control->thread, NULL);
    channel_close(&control->channel);
    for (int i = 0; i < control->in_n; i++)
        json_decref(control->in[i]);
    free(control->out);
    close(control->wake_fd);
    close(control->ready_fd);
    pthread_mutex_destroy(&control->lock);
    *control = (struct control){0};
}
