/*
 * comm/serve.c - see serve.h. Start at serve_run(): sleep until a guest, the listener, the session's end or a key wants
 * something, then attend to each; none of it waits.
 */
#include "config.h" /* _GNU_SOURCE, for accept4 */

#include "comm/serve.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "comm/wait.h"

enum { COMPLAINTS_NS = 1000000000, BACKLOG = 64 };

/* ---- talk ---- */

__attribute__((format(printf, 2, 3))) static void say(struct serve *s, const char *fmt, ...)
{
    char text[640];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (s->options.say)
        s->options.say(s->options.ctx, text);
}

/* At most one line a second: strangers do not fill the terminal. */
static void complain(struct serve *s, const char *address, const struct err *why)
{
    uint64_t now_ns = clock_now_ns();
    if (s->complained_ns && now_ns - s->complained_ns < COMPLAINTS_NS) {
        s->unheard++;
        return;
    }
    if (s->unheard)
        say(s, "turned away %s: %s (and %d more)", address, why->text, s->unheard);
    else
        say(s, "turned away %s: %s", address, why->text);
    s->complained_ns = now_ns;
    s->unheard = 0;
}

static int renew_code(struct serve *s, struct err *e)
{
    if (code_init(&s->house.code, e))
        return -1;
    s->had_code = true;
    s->options.show_code(s->options.ctx, s->house.code.text);
    return 0;
}

/* Says once that a code is no longer valid. */
static void watch_code(struct serve *s)
{
    if (!s->had_code || code_valid(&s->house.code))
        return;
    s->had_code = false;
    say(s, "that code is used up%s",
        s->options.key_press_fd >= 0 ? "; press Enter for a new one" : "; start again for a new one");
}

static void key_pressed(struct serve *s)
{
    char line[256];
    struct err e;
    ssize_t n = read(s->options.key_press_fd, line, sizeof line);
    if (n <= 0 && errno != EINTR && errno != EAGAIN)
        s->options.key_press_fd = -1; /* the terminal has gone */
    else if (n > 0 && s->options.codes && renew_code(s, &e))
        say(s, "no new code: %s", e.text);
}

/* ---- opening ---- */

static int listen_on(struct serve *s, int family, int port, struct err *e)
{
    int on = 1, off = 0;
    struct address a = {.bytes = family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6)};
    a.sa.ss_family = (sa_family_t)family;
    ((struct sockaddr_in *)&a.sa)->sin_port = htons((uint16_t)port); /* at the same place in both families */
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_set(e, ERR_CONFIG, "no socket to listen on: %m");
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(fd, (struct sockaddr *)&a.sa, a.bytes) || listen(fd, BACKLOG) ||
        getsockname(fd, (struct sockaddr *)&a.sa, &a.bytes)) {
        int error = errno;
        close(fd);
        errno = error;
        if (errno == EADDRINUSE)
            return err_set(e, ERR_UNAVAILABLE, "port %d is taken by another program; choose one with --port", port);
        return err_set(e, ERR_CONFIG, "cannot listen on port %d: %m", port);
    }
    s->listen_fd = fd;
    s->port = ntohs(((struct sockaddr_in *)&a.sa)->sin_port);
    return 0;
}

int serve_open(struct serve *serve, const struct serve_options *options, struct err *e)
{
    *serve = (struct serve){.options = *options, .listen_fd = -1};
    serve->house = (struct guest_house){.store = options->store,
                                        .file_key = options->file_key,
                                        .protocols = options->protocols,
                                        .rendezvous = &serve->rendezvous};
    if (!options->protocols.high)
        serve->house.protocols = (struct greeting_protocols){GREETING_PROTOCOL, GREETING_PROTOCOL};
    serve->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    serve->setup_stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&serve->lock, NULL);
    if (serve->done_fd < 0 || serve->setup_stop_fd < 0 || rendezvous_init(&serve->rendezvous, e)) {
        err_set(e, ERR_MEMORY, "no descriptor left: %m");
        return -1;
    }
    if (tls_context_open(&serve->house.tls, true, e))
        return -1;
    /* One socket for both kinds of addresses, or for IPv4 alone where the other kind is switched off. */
    if (listen_on(serve, AF_INET6, options->port, e) &&
        (e->code == ERR_UNAVAILABLE || listen_on(serve, AF_INET, options->port, e)))
        return -1;
    return 0;
}

/* ---- the session ---- */

static void *session_thread(void *argument)
{
    struct serve *s = argument;
    struct err *e = &s->result;
    uint64_t one = 1;
    prctl(PR_SET_NAME, "ddp-session");
    int result = session_join(&s->session, &s->channel, s->hello, &s->joining, e);
    if (result == 0) {
        pthread_mutex_lock(&s->lock);
        s->live = true;
        if (s->stopping)
            session_stop(&s->session);
        pthread_mutex_unlock(&s->lock);
        say(s, "session with %s (%s): rank %d of %d", s->session.peers[0].name, s->session.peers[0].address,
            s->session.rank, s->session.world);
        result = s->options.run(s->options.ctx, &s->session, e);
        pthread_mutex_lock(&s->lock);
        s->live = false;
        pthread_mutex_unlock(&s->lock);
        session_close(&s->session, result ? e : NULL);
    }
    if (result == 0)
        *e = (struct err){0};
    while (write(s->done_fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
    return NULL;
}

/* A hello of a proven node, with no session under way. */
static void begin_session(struct serve *s, struct guest *g)
{
    char utc[21];
    clock_utc(utc);
    snprintf(s->since, sizeof s->since, "%.5s", utc + 11);
    wire_text(g->hello, "name", s->with, sizeof s->with);
    s->joining = (struct session_joining){.store = s->options.store,
                                          .own_name = s->options.own_name,
                                          .version = s->options.version,
                                          .peer_timeout_s = s->options.peer_timeout_s,
                                          .key = g->key,
                                          .rendezvous = &s->rendezvous,
                                          .stop_fd = s->setup_stop_fd,
                                          .plan = s->options.plan,
                                          .warn = s->options.say,
                                          .ctx = s->options.ctx};
    memcpy(s->joining.node, g->node, sizeof s->joining.node);
    memcpy(s->joining.address, g->address, sizeof s->joining.address);
    channel_init(&s->channel, &g->tls, &g->wire, g->address, s->setup_stop_fd);
    s->hello = g->hello;
    g->hello = NULL;
    g->fd = -1;
    s->result = (struct err){0};
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals stay with the thread that listens */
    s->running = pthread_create(&s->thread, NULL, session_thread, s) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!s->running) {
        json_decref(s->hello);
        channel_close(&s->channel);
        say(s, "no thread for a session: %s", strerror(errno));
    }
}

static void tell_busy(struct serve *s, struct guest *g)
{
    struct err unsaid;
    unsigned char *bytes;
    size_t n = 0, put;
    json_t *busy = json_pack("{s:s, s:s, s:s}", "type", "busy", "with", s->with, "since", s->since);
    if (busy && wire_encode(busy, &bytes, &n, &unsaid) == 0) {
        tls_write(&g->tls, bytes, n, &put, &unsaid);
        wire_free(bytes, n);
    }
}

static void end_session(struct serve *s)
{
    uint64_t count;
    if (read(s->done_fd, &count, sizeof count) < 0)
        return;
    pthread_join(s->thread, NULL);
    s->running = false;
    s->idle_since_ns = clock_now_ns();
    if (s->result.code)
        say(s, "session with %s ended: %s", s->with, s->result.text);
    else
        say(s, "session with %s ended well", s->with);
}

/* ---- guests ---- */

/* A proven node, who waits while there is a session, as long as it may. */
static void admit(struct serve *s, struct guest *g)
{
    if (!s->running)
        begin_session(s, g);
    else if (clock_now_ns() < g->held_until_ns)
        return;
    else
        tell_busy(s, g);
    guest_fini(g);
}

static void send_away(struct serve *s, struct guest *g, const struct err *why)
{
    if (why->code && why->code != ERR_PEER_LOST)
        complain(s, g->address, why);
    guest_fini(g);
}

static void attend(struct serve *s, struct guest *g)
{
    struct err e = {0};
    switch (guest_step(g, &e)) {
    case GUEST_GOES_ON:
        return;
    case GUEST_IS_DATA:
        guest_fini(g);
        return;
    case GUEST_IS_NODE:
        g->stage = GUEST_WAITS;
        g->events = POLLRDHUP;
        g->held_until_ns = clock_now_ns() + (s->options.once ? 0 : (uint64_t)SERVE_BUSY_MS * 1000000);
        admit(s, g);
        return;
    case GUEST_GONE:
        send_away(s, g, &e);
        return;
    }
}

/* A free place for somebody from there; the oldest guest of that address, or of all, goes if there are too many. */
static struct guest *place_for(struct serve *s, const struct address *from)
{
    struct guest *room = NULL, *oldest = NULL, *oldest_there = NULL;
    int there = 0;
    for (int i = 0; i < SERVE_GUESTS_MAX; i++) {
        struct guest *g = &s->guests[i];
        if (g->stage == GUEST_FREE) {
            room = g;
            continue;
        }
        if (!oldest || g->arrived_ns < oldest->arrived_ns)
            oldest = g;
        if (!address_same_host(&g->from, from))
            continue;
        there++;
        if (!oldest_there || g->arrived_ns < oldest_there->arrived_ns)
            oldest_there = g;
    }
    if (there >= SERVE_GUESTS_PER_ADDRESS)
        room = oldest_there;
    else if (!room)
        room = oldest;
    guest_fini(room);
    return room;
}

static void welcome(struct serve *s)
{
    struct err e;
    for (int i = 0; i < SERVE_GUESTS_MAX; i++) { /* a flood gets its turn like everybody else */
        struct address from = {.bytes = sizeof from.sa};
        int fd = accept4(s->listen_fd, (struct sockaddr *)&from.sa, &from.bytes, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0)
            return;
        if (!s->options.any_source && !address_is_local(&from)) {
            char address[ADDRESS_TEXT_BYTES];
            address_text(&from, address);
            close(fd);
            err_set(&e, ERR_NOT_PAIRED, "it is outside the local networks (--any-source allows that)");
            complain(s, address, &e);
            continue;
        }
        struct guest *g = place_for(s, &from);
        guest_init(g, &s->house, fd, &from);
        attend(s, g); /* what it has to say may be there already */
    }
}

/* Nothing is asked of it until its time comes. */
static bool is_kept(const struct guest *g)
{
    return g->stage == GUEST_HELD || g->stage == GUEST_WAITS;
}

/* For what it has to say: one that waits for the end of a session has said all. */
static bool has_deadline(const struct guest *g)
{
    return g->stage != GUEST_FREE && g->stage != GUEST_WAITS;
}

/* Those whose time has come: to be heard, or to go. */
static void attend_to_clock(struct serve *s)
{
    struct err e;
    for (int i = 0; i < SERVE_GUESTS_MAX; i++) {
        struct guest *g = &s->guests[i];
        uint64_t now_ns = clock_now_ns();
        if (g->stage == GUEST_HELD && now_ns >= g->held_until_ns)
            attend(s, g);
        if (g->stage == GUEST_WAITS)
            admit(s, g);
        if (!has_deadline(g) || now_ns < g->deadline_ns)
            continue;
        err_set(&e, ERR_UNAVAILABLE, "nothing whole came from it within %d s", GUEST_SECONDS);
        send_away(s, g, &e);
    }
}

/* ---- the loop ---- */

enum { AT_LISTENER, AT_STOP, AT_KEY, AT_DONE, AT_GUESTS };

static uint64_t next_deadline(const struct serve *s)
{
    uint64_t next = wait_deadline(3600);
    for (int i = 0; i < SERVE_GUESTS_MAX; i++) {
        const struct guest *g = &s->guests[i];
        if (has_deadline(g) && g->deadline_ns < next)
            next = g->deadline_ns;
        if (is_kept(g) && g->held_until_ns < next)
            next = g->held_until_ns;
    }
    if (s->had_code && s->house.code.until_ns < next)
        next = s->house.code.until_ns;
    uint64_t given_up_ns = s->idle_since_ns + (uint64_t)(s->options.wait_s * 1e9);
    if (s->options.wait_s > 0 && !s->running && given_up_ns < next)
        next = given_up_ns;
    return next;
}

static bool waited_long_enough(const struct serve *s)
{
    return s->options.wait_s > 0 && !s->running &&
           clock_now_ns() >= s->idle_since_ns + (uint64_t)(s->options.wait_s * 1e9);
}

/* Ends the session that is under way and waits for its end, which is near. */
static void interrupt(struct serve *s)
{
    uint64_t one = 1;
    if (!s->running)
        return;
    while (write(s->setup_stop_fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
    pthread_mutex_lock(&s->lock);
    s->stopping = true;
    if (s->live)
        session_stop(&s->session);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    s->running = false;
}

/* One round: 1 to go on, 0 and -1 as serve_run. */
static int attend_all(struct serve *s, struct err *e)
{
    struct pollfd p[AT_GUESTS + SERVE_GUESTS_MAX] = {
        [AT_LISTENER] = {s->listen_fd, POLLIN, 0},
        [AT_STOP] = {s->options.stop_fd, POLLIN, 0},
        [AT_KEY] = {s->options.key_press_fd, POLLIN, 0},
        [AT_DONE] = {s->done_fd, POLLIN, 0},
    };
    for (int i = 0; i < SERVE_GUESTS_MAX; i++) {
        const struct guest *g = &s->guests[i];
        int fd = g->stage == GUEST_FREE ? -1 : g->stage >= GUEST_TLS ? g->tls.fd : g->fd;
        p[AT_GUESTS + i] = (struct pollfd){fd, g->events, 0};
    }
    if (poll(p, AT_GUESTS + SERVE_GUESTS_MAX, wait_left_ms(next_deadline(s))) < 0 && errno != EINTR)
        return err_set(e, ERR_IO, "poll: %m");
    if (p[AT_STOP].revents) {
        interrupt(s);
        return err_set(e, ERR_INTERRUPTED, "interrupted");
    }
    if (p[AT_DONE].revents) {
        end_session(s);
        if (s->options.once) {
            *e = s->result;
            return s->result.code ? -1 : 0;
        }
    }
    for (int i = 0; i < SERVE_GUESTS_MAX; i++)
        if (p[AT_GUESTS + i].revents && is_kept(&s->guests[i]))
            guest_fini(&s->guests[i]); /* nothing was asked of it: it has gone */
        else if (p[AT_GUESTS + i].revents && s->guests[i].stage != GUEST_FREE)
            attend(s, &s->guests[i]);
    if (p[AT_LISTENER].revents)
        welcome(s);
    if (p[AT_KEY].revents)
        key_pressed(s);
    attend_to_clock(s);
    watch_code(s);
    if (waited_long_enough(s))
        return err_set(e, ERR_UNAVAILABLE, "nobody came within %g s", s->options.wait_s);
    return 1;
}

int serve_run(struct serve *serve, struct err *e)
{
    struct err own = {0};
    int result = 1;
    e = e ? e : &own;
    serve->idle_since_ns = clock_now_ns();
    if (serve->options.codes && renew_code(serve, e))
        return -1;
    while (result == 1)
        result = attend_all(serve, e);
    return result;
}

void serve_close(struct serve *serve)
{
    if (!serve->options.store)
        return;
    interrupt(serve);
    for (int i = 0; i < SERVE_GUESTS_MAX; i++)
        guest_fini(&serve->guests[i]);
    if (serve->rendezvous.arrived_fd > 0)
        rendezvous_fini(&serve->rendezvous);
    tls_context_close(&serve->house.tls);
    if (serve->listen_fd >= 0)
        close(serve->listen_fd);
    if (serve->done_fd >= 0)
        close(serve->done_fd);
    if (serve->setup_stop_fd >= 0)
        close(serve->setup_stop_fd);
    pthread_mutex_destroy(&serve->lock);
    code_fini(&serve->house.code);
    *serve = (struct serve){.listen_fd = -1};
}
