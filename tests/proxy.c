/*
 * tests/proxy.c - a wire that misbehaves on request: forwards TCP connections to one place and does to them what rules say.
 *
 *     proxy [--control FIFO] PORT-FILE TO-ADDRESS TO-PORT [RULE...]
 *
 * It listens on 127.0.0.1 at a free port, which it writes to PORT-FILE, until it is killed. A rule is one argument, or one
 * line of the FIFO while it runs:
 *
 *     KIND WAY delay MS [JITTER_MS]    of every piece
 *     KIND WAY rate BYTES_PER_S
 *     KIND WAY stall AT [SECONDS]      nothing more passes after AT bytes; for good without SECONDS
 *     KIND WAY cut AT rst|fin          after exactly AT bytes both ends see the connection end
 *     KIND WAY close AT                only this way ends; the other goes on
 *     KIND WAY flip AT                 one bit of byte AT, counted from 0
 *     KIND WAY drop AT BYTES           they never arrive
 *     KIND WAY record FILE BYTES       the first BYTES of each connection are appended to FILE
 *
 * KIND is control, data or any, as the intro of a connection says (comm/greeting.h); what has no such intro is only any. WAY
 * is up (from who connected) or down. AT counts bytes of one way of one connection from its start; with a plus sign from what
 * has passed by now, which means the connections that are there. What happens is told on stderr, a line each.
 *
 * One loop around poll(): read() takes bytes in up to the next position that a rule names, pass() gives them on when they
 * are due.
 */
#include "config.h" /* _GNU_SOURCE, for accept4 */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "comm/greeting.h"

enum { WIRES = 64, RULES = 32, PIECE_BYTES = 16384, PIECES = 256, KIND_BYTES = 9 };

enum action { DELAY, RATE, STALL, CUT, CLOSE, FLIP, DROP, RECORD };
static const char *const action_names[] = {"delay", "rate", "stall", "cut", "close", "flip", "drop", "record"};

enum way { UP, DOWN };
static const char *const way_names[] = {"up", "down"};

struct rule {
    char kind[16]; /* "" : none */
    enum way way;
    enum action action;
    bool relative;
    uint64_t at;
    double number; /* the second one */
    bool rst;
    char file[256];
};

struct piece {
    uint64_t due_ns;
    size_t n, sent;
    unsigned char byte[PIECE_BYTES];
};

/* One way of one connection. */
struct pipe {
    int from, to;
    uint64_t passed, at[RULES];
    bool done[RULES];
    struct piece *piece[PIECES]; /* a ring */
    unsigned first, n;
    uint64_t stalled_until_ns, next_ns; /* no reading before; no sending before (the rate) */
    uint64_t drop;
    bool ended, closed; /* nothing more comes; and that has been passed on */
};

struct wire {
    bool used, known, dead, rst; /* the kind is known; to be ended */
    int number;
    char kind[16];
    struct pipe pipe[2];
};

static struct wire wires[WIRES];
static struct rule rules[RULES];
static int rules_n, wires_made;
static const char *to_address;
static int to_port;

static void die(const char *what)
{
    fprintf(stderr, "proxy: %s: %s\n", what, strerror(errno));
    exit(1);
}

static bool concerns(const struct rule *r, const struct wire *w, enum way way)
{
    return r->way == way && (strcmp(r->kind, "any") == 0 || strcmp(r->kind, w->kind) == 0);
}

static void tell(const struct wire *w, enum way way, const struct rule *r)
{
    fprintf(stderr, "proxy: connection %d, %s %s: %s at byte %llu\n", w->number, w->kind, way_names[way],
            action_names[r->action], (unsigned long long)w->pipe[way].passed);
}

/* ---- rules ---- */

static int find(const char *const *names, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

static bool add_rule(const char *text)
{
    char way[8], action[8], first[256] = "0", second[32] = "";
    struct rule r = {.number = -1};
    if (rules_n == RULES || sscanf(text, "%15s %7s %7s %255s %31s", r.kind, way, action, first, second) < 3)
        return false;
    int w = find(way_names, 2, way), a = find(action_names, 8, action);
    if (w < 0 || a < 0)
        return false;
    r.way = (enum way)w;
    r.action = (enum action)a;
    r.relative = *first == '+';
    r.at = strtoull(first + r.relative, NULL, 10);
    r.rst = strcmp(second, "rst") == 0;
    if (*second && !r.rst)
        r.number = strtod(second, NULL);
    if (r.action == RECORD)
        snprintf(r.file, sizeof r.file, "%s", first);
    for (int i = 0; i < WIRES; i++) {
        struct pipe *p = &wires[i].pipe[r.way];
        p->at[rules_n] = r.at + (r.relative ? p->passed : 0);
        p->done[rules_n] = !r.relative && r.at < p->passed;
    }
    rules[rules_n++] = r;
    return true;
}

static void hear_rules(int fd)
{
    static char text[4096];
    static size_t have;
    ssize_t n = read(fd, text + have, sizeof text - 1 - have);
    have += n > 0 ? (size_t)n : 0;
    text[have] = '\0';
    char *line = text, *newline;
    for (; (newline = strchr(line, '\n')); line = newline + 1) {
        *newline = '\0';
        fprintf(stderr, add_rule(line) ? "proxy: rule: %s\n" : "proxy: no rule: %s\n", line);
    }
    have = strlen(line);
    memmove(text, line, have);
}

static bool is_positional(enum action a)
{
    return a == STALL || a == CUT || a == CLOSE || a == FLIP || a == DROP;
}

/* How many bytes may be taken in before some rule has its say. */
static size_t before_next(const struct wire *w, enum way way)
{
    const struct pipe *p = &w->pipe[way];
    size_t room = PIECE_BYTES;
    for (int i = 0; i < rules_n; i++)
        if (is_positional(rules[i].action) && concerns(&rules[i], w, way) && !p->done[i] && p->at[i] > p->passed &&
            p->at[i] - p->passed < room)
            room = p->at[i] - p->passed;
    return room;
}

/* Rules whose position has come; true if a bit of the next byte is to be flipped. */
static bool reach(struct wire *w, enum way way)
{
    struct pipe *p = &w->pipe[way];
    bool flip = false;
    for (int i = 0; i < rules_n; i++) {
        const struct rule *r = &rules[i];
        if (!is_positional(r->action) || !concerns(r, w, way) || p->done[i] || p->at[i] != p->passed)
            continue;
        p->done[i] = true;
        tell(w, way, r);
        if (r->action == STALL)
            p->stalled_until_ns = r->number < 0 ? UINT64_MAX : clock_now_ns() + (uint64_t)(r->number * 1e9);
        else if (r->action == CUT)
            w->dead = true, w->rst = r->rst;
        else if (r->action == CLOSE)
            p->ended = true;
        else if (r->action == DROP)
            p->drop += (uint64_t)r->number;
        else
            flip = true;
    }
    return flip;
}

static double setting(const struct wire *w, enum way way, enum action action, double *second)
{
    double value = 0;
    for (int i = 0; i < rules_n; i++)
        if (rules[i].action == action && concerns(&rules[i], w, way)) { /* the last one counts */
            value = (double)rules[i].at;
            *second = rules[i].number;
        }
    return value;
}

static void record(const struct wire *w, enum way way, const unsigned char *byte, size_t n)
{
    const struct pipe *p = &w->pipe[way];
    for (int i = 0; i < rules_n; i++) {
        const struct rule *r = &rules[i];
        if (r->action != RECORD || !concerns(r, w, way) || p->passed >= (uint64_t)r->number)
            continue;
        size_t left = (size_t)((uint64_t)r->number - p->passed);
        FILE *f = fopen(r->file, "a");
        if (!f || fwrite(byte, 1, n < left ? n : left, f) == 0 || fclose(f))
            die(r->file);
    }
}

/* ---- bytes ---- */

static void take_in(struct wire *w, enum way way)
{
    struct pipe *p = &w->pipe[way];
    double jitter_ms = 0;
    size_t room = before_next(w, way);
    bool flip = reach(w, way);
    if (w->dead || p->ended || clock_now_ns() < p->stalled_until_ns)
        return;
    if (flip)
        room = 1;
    struct piece *piece = malloc(sizeof *piece);
    if (!piece)
        die("memory");
    ssize_t n;
    while ((n = read(p->from, piece->byte, room)) < 0 && (errno == EINTR || (flip && errno == EAGAIN)))
        poll(&(struct pollfd){p->from, POLLIN, 0}, 1, 1000); /* the byte to be flipped must not pass unseen */
    if (n <= 0) {
        free(piece);
        if (n == 0)
            p->ended = true;
        else if (errno != EAGAIN)
            w->dead = w->rst = true;
        return;
    }
    record(w, way, piece->byte, (size_t)n);
    if (flip)
        piece->byte[0] ^= 0x10;
    p->passed += (size_t)n;
    if (p->drop > 0) {
        size_t lost = p->drop < (uint64_t)n ? (size_t)p->drop : (size_t)n;
        memmove(piece->byte, piece->byte + lost, (size_t)n - lost);
        p->drop -= lost;
        n -= (ssize_t)lost;
    }
    double delay_ms = setting(w, way, DELAY, &jitter_ms);
    if (jitter_ms > 0)
        delay_ms += jitter_ms * (double)rand() / RAND_MAX;
    piece->n = (size_t)n;
    piece->sent = 0;
    piece->due_ns = clock_now_ns() + (uint64_t)(delay_ms * 1e6);
    p->piece[(p->first + p->n++) % PIECES] = piece;
}

static void pass(struct wire *w, enum way way)
{
    struct pipe *p = &w->pipe[way];
    double none, rate = setting(w, way, RATE, &none);
    while (p->n > 0) {
        struct piece *piece = p->piece[p->first];
        uint64_t now = clock_now_ns();
        if (now < piece->due_ns || (rate > 0 && now < p->next_ns))
            return;
        ssize_t n = send(p->to, piece->byte + piece->sent, piece->n - piece->sent, MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            w->dead = w->rst = true;
        if (n < 0)
            return;
        if (rate > 0)
            p->next_ns = (p->next_ns > now ? p->next_ns : now) + (uint64_t)((double)n / rate * 1e9);
        piece->sent += (size_t)n;
        if (piece->sent < piece->n)
            return;
        free(piece);
        p->first = (p->first + 1) % PIECES;
        p->n--;
    }
    if (p->ended && !p->closed) {
        p->closed = true;
        shutdown(p->to, SHUT_WR);
    }
}

/* ---- connections ---- */

/* The kind, once enough of the intro is there to tell; it stays in the socket until then. */
static void look(struct wire *w)
{
    unsigned char intro[KIND_BYTES];
    ssize_t n = recv(w->pipe[UP].from, intro, sizeof intro, MSG_PEEK);
    if (n < 0 && errno == EAGAIN)
        return;
    if (n > 0 && n < KIND_BYTES && greeting_plausible(intro, (size_t)n))
        return;
    w->known = true;
    bool ours = n == KIND_BYTES && greeting_plausible(intro, sizeof intro);
    snprintf(w->kind, sizeof w->kind, "%s",
             !ours                          ? "other"
             : intro[8] == GREETING_DATA    ? "data"
             : intro[8] == GREETING_CONTROL ? "control"
                                            : "other");
}

static void end(struct wire *w)
{
    struct linger hard = {.l_onoff = 1};
    for (int way = 0; way < 2; way++) {
        struct pipe *p = &w->pipe[way];
        if (w->rst)
            setsockopt(p->from, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
        else
            shutdown(p->from, SHUT_WR); /* what was passed arrives before the end does */
        close(p->from);
        for (; p->n > 0; p->n--, p->first = (p->first + 1) % PIECES)
            free(p->piece[p->first]);
    }
    w->used = false;
}

static void begin(int fd)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)to_port)};
    int on = 1, other = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), i = 0;
    while (i < WIRES && wires[i].used)
        i++;
    inet_pton(AF_INET, to_address, &to.sin_addr);
    if (other < 0 || i == WIRES || connect(other, (struct sockaddr *)&to, sizeof to)) {
        close(fd);
        close(other);
        return;
    }
    struct wire *w = &wires[i];
    *w = (struct wire){.used = true, .number = ++wires_made, .pipe = {{.from = fd, .to = other}, {other, fd}}};
    for (int way = 0; way < 2; way++) {
        fcntl(w->pipe[way].from, F_SETFL, O_NONBLOCK);
        setsockopt(w->pipe[way].from, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        for (int r = 0; r < rules_n; r++) {
            w->pipe[way].at[r] = rules[r].at;
            w->pipe[way].done[r] = rules[r].relative;
        }
    }
}

static void attend(struct wire *w)
{
    if (!w->known)
        look(w);
    for (int way = 0; way < 2 && w->known; way++) {
        struct pipe *p = &w->pipe[way];
        if (!w->dead && !p->ended && p->n < PIECES)
            take_in(w, (enum way)way);
        pass(w, (enum way)way);
    }
    if ((w->dead && (w->rst || (w->pipe[UP].n == 0 && w->pipe[DOWN].n == 0))) ||
        (w->pipe[UP].closed && w->pipe[DOWN].closed))
        end(w);
}

/* What to wait for on a connection's two sockets. */
static void watch(const struct wire *w, struct pollfd p[static 2])
{
    p[0] = p[1] = (struct pollfd){.fd = -1};
    for (int way = 0; w->used && way < 2; way++) {
        const struct pipe *pipe = &w->pipe[way];
        bool reads = pipe->n < PIECES && !pipe->ended && clock_now_ns() >= pipe->stalled_until_ns;
        if (reads)
            p[way] = (struct pollfd){.fd = pipe->from, .events = POLLIN};
    }
}

int main(int argc, char **argv)
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof own;
    int control = -1, server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (argc > 2 && strcmp(argv[1], "--control") == 0) {
        control = open(argv[2], O_RDWR | O_NONBLOCK);
        if (control < 0)
            die(argv[2]);
        argv += 2;
        argc -= 2;
    }
    if (argc < 4)
        die("usage");
    to_address = argv[2];
    to_port = atoi(argv[3]);
    for (int i = 4; i < argc; i++)
        if (!add_rule(argv[i]))
            die(argv[i]);
    if (server < 0 || bind(server, (struct sockaddr *)&own, size) || listen(server, 256) ||
        getsockname(server, (struct sockaddr *)&own, &size))
        die("listen");
    FILE *f = fopen(argv[1], "w");
    if (!f || fprintf(f, "%d\n", ntohs(own.sin_port)) < 0 || fclose(f))
        die(argv[1]);
    for (;;) {
        struct pollfd p[2 + 2 * WIRES] = {{server, POLLIN, 0}, {control, POLLIN, 0}};
        bool queued = false;
        for (int i = 0; i < WIRES; i++) {
            watch(&wires[i], p + 2 + 2 * i);
            queued |= wires[i].used;
        }
        if (poll(p, 2 + 2 * WIRES, queued ? 2 : -1) < 0 && errno != EINTR)
            die("poll");
        for (int fd; p[0].revents && (fd = accept4(server, NULL, NULL, SOCK_CLOEXEC)) >= 0;)
            begin(fd);
        if (p[1].revents)
            hear_rules(control);
        for (int i = 0; i < WIRES; i++)
            if (wires[i].used)
                attend(&wires[i]);
    }
}
