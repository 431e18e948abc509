/* tests/session_kit.c - see session_kit.h. */
#include "tests/session_kit.h"

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "comm/ring.h"
#include "comm/wait.h"

double kit_seconds_since(uint64_t from_ns)
{
    return clock_seconds(from_ns, clock_now_ns());
}

/* ---- what a node does in a session ---- */

static int plan(void *ctx, const json_t *asked, json_t **own, struct err *e)
{
    struct kit_node *node = ctx;
    (void)e;
    *own = node->own_plan ? json_incref(node->own_plan) : json_deep_copy(asked);
    return 0;
}

static int echo(struct session *s, struct err *e)
{
    json_t *message;
    if (session_receive(s, 0, "question", &message, wait_deadline(20), e))
        return -1;
    json_object_set_new(message, "type", json_string("answer"));
    return session_send(s, 0, message, e);
}

static int hold(struct session *s, struct err *e)
{
    json_t *message;
    if (session_receive(s, 0, "enough", &message, wait_deadline(60), e))
        return -1;
    json_decref(message);
    return 0;
}

/* A word that nobody can believe, a heartbeat later a good one. */
static int tell_steps(struct session *s, struct err *e)
{
    session_tell_step(s, &(struct step_word){.done = 7, .work_s = -1, .still_s = 0.25});
    usleep(CONTROL_BEAT_MS * 1500);
    session_tell_step(s, &(struct step_word){.done = 8, .work_s = 0.5, .still_s = 0.25});
    return hold(s, e);
}

/* rank + 1 summed over all ranks, on the session's data sockets. */
static int ring_once(struct session *s, struct err *e)
{
    struct ring ring;
    float x[1000], sum = (float)(s->world * (s->world + 1)) / 2;
    for (int i = 0; i < 1000; i++)
        x[i] = (float)(s->rank + 1);
    struct ring_options o = {.rank = s->rank,
                             .world = s->world,
                             .stop_fd = s->stop_fd,
                             .timeout_ns = 20000000000u,
                             .next_name = s->next_name,
                             .prev_name = s->prev_name};
    o.next_fd = session_take_next(s);
    o.prev_fd = session_take_prev(s);
    struct call call = {.step = 1, .bucket = 2};
    int result = ring_init(&ring, &o, e);
    if (result == 0)
        result = ring_allreduce(&ring, x, 1000, &call, e);
    for (int i = 0; result == 0 && i < 1000; i++)
        if (x[i] < sum || x[i] > sum)
            result = err_set(e, ERR_WRONG_RESULT, "element %d is %g, not %g", i, (double)x[i], (double)sum);
    ring_fini(&ring);
    return result;
}

static int work(void *ctx, struct session *s, struct err *e)
{
    struct kit_node *node = ctx;
    uint64_t one = 1;
    atomic_store(&node->control_fd, s->peers[0].control.channel.tls.fd);
    ck_assert_int_eq(write(node->sessions_fd, &one, sizeof one), sizeof one);
    int result = node->work == KIT_ECHO   ? echo(s, e)
                 : node->work == KIT_HOLD ? hold(s, e)
                 : node->work == KIT_RING ? ring_once(s, e)
                 : node->work == KIT_STEP ? tell_steps(s, e)
                                          : 0;
    pthread_mutex_lock(&node->lock);
    node->run_err = result ? *e : (struct err){0};
    pthread_mutex_unlock(&node->lock);
    return result;
}

static void say(void *ctx, const char *text)
{
    struct kit_node *node = ctx;
    pthread_mutex_lock(&node->lock);
    size_t used = strlen(node->said);
    snprintf(node->said + used, sizeof node->said - used, "%s\n", text);
    pthread_mutex_unlock(&node->lock);
}

static void show_code(void *ctx, const char *code)
{
    struct kit_node *node = ctx;
    pthread_mutex_lock(&node->lock);
    snprintf(node->code, sizeof node->code, "%s", code);
    pthread_mutex_unlock(&node->lock);
}

/* ---- nodes ---- */

void kit_node_open(struct kit_node *node, const char *name)
{
    *node = (struct kit_node){.folder = "/tmp/ddpbench-session.XXXXXX"};
    signal(SIGPIPE, SIG_IGN);
    ck_assert_ptr_nonnull(mkdtemp(node->folder));
    ck_assert_msg(keystore_open(&node->store, node->folder, &node->err) == 0, "%s", node->err.text);
    node->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    node->sessions_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
    pthread_mutex_init(&node->lock, NULL);
    node->options = (struct serve_options){.store = &node->store,
                                           .own_name = name,
                                           .version = "1.0",
                                           .key_press_fd = -1,
                                           .stop_fd = node->stop_fd,
                                           .peer_timeout_s = 20,
                                           .plan = plan,
                                           .run = work,
                                           .say = say,
                                           .show_code = show_code,
                                           .ctx = node};
}

static void *serve_thread(void *argument)
{
    struct kit_node *node = argument;
    node->result = serve_run(&node->serve, &node->err);
    return NULL;
}

void kit_serve(struct kit_node *node)
{
    ck_assert_msg(serve_open(&node->serve, &node->options, &node->err) == 0, "%s", node->err.text);
    ck_assert_int_eq(pthread_create(&node->thread, NULL, serve_thread, node), 0);
    node->serving = true;
}

void kit_serve_end(struct kit_node *node)
{
    uint64_t one = 1;
    if (!node->serving)
        return;
    ck_assert_int_eq(write(node->stop_fd, &one, sizeof one), sizeof one);
    pthread_join(node->thread, NULL);
    node->serving = false;
    serve_close(&node->serve);
}

void kit_node_close(struct kit_node *node)
{
    char command[128];
    kit_serve_end(node);
    close(node->stop_fd);
    close(node->sessions_fd);
    pthread_mutex_destroy(&node->lock);
    json_decref(node->own_plan);
    snprintf(command, sizeof command, "rm -rf '%s'", node->folder);
    ck_assert_int_eq(system(command), 0);
}

bool kit_begun(struct kit_node *node)
{
    uint64_t one;
    for (uint64_t from = clock_now_ns(); kit_seconds_since(from) < 100; usleep(10000))
        if (read(node->sessions_fd, &one, sizeof one) == sizeof one)
            return true;
    return false;
}

bool kit_said(struct kit_node *node, const char *text)
{
    for (uint64_t from = clock_now_ns(); kit_seconds_since(from) < 100; usleep(10000)) {
        pthread_mutex_lock(&node->lock);
        bool said = strstr(node->said, text);
        pthread_mutex_unlock(&node->lock);
        if (said)
            return true;
    }
    fprintf(stderr, "%s said only: %s\n", node->options.own_name, node->said);
    return false;
}

const char *kit_shown_code(struct kit_node *node)
{
    for (uint64_t from = clock_now_ns(); kit_seconds_since(from) < 100; usleep(10000)) {
        pthread_mutex_lock(&node->lock);
        bool shown = *node->code;
        pthread_mutex_unlock(&node->lock);
        if (shown)
            break;
    }
    return node->code; /* written once */
}

void kit_pair(struct kit_node *a, struct kit_node *b, const char *name_of_b)
{
    struct keystore_peer peer = {0};
    struct err e;
    ck_assert_int_eq(crypto_random(peer.key, sizeof peer.key, &e), 0);
    memcpy(peer.node, a->store.node, sizeof peer.node);
    ck_assert_int_eq(keystore_save(&b->store, &peer, &e), 0);
    memcpy(peer.node, b->store.node, sizeof peer.node);
    if (name_of_b)
        keystore_add_name(&peer, name_of_b);
    ck_assert_int_eq(keystore_save(&a->store, &peer, &e), 0);
}

const char *kit_address(const struct kit_node *node)
{
    static char text[8][32];
    static int next;
    char *to = text[next++ % 8];
    snprintf(to, 32, "127.0.0.1:%d", node->serve.port);
    return to;
}

/* ---- the caller ---- */

static int type_code(void *ctx, const char *peer, char code[static CODE_TEXT_BYTES])
{
    struct kit_call *call = ctx;
    (void)peer;
    call->asked++;
    return call->typed ? code_normalize(code, call->typed) : -1;
}

void kit_call_init(struct kit_call *call, struct kit_node *from, const char *list)
{
    *call = (struct kit_call){.typed = NULL};
    ck_assert_msg(peer_list_parse(&call->peers, list, true, &call->err) == 0, "%s", call->err.text);
    call->options = (struct session_options){.peers = &call->peers,
                                             .store = &from->store,
                                             .own_name = from->options.own_name,
                                             .version = "1.0",
                                             .plan = json_pack("{s:s}", "model", "shakespeare-char"),
                                             .peer_timeout_s = 20,
                                             .this_host = true,
                                             .stop_fd = -1,
                                             .ask_code = type_code,
                                             .ctx = call};
}

int kit_call(struct kit_call *call)
{
    return session_connect(&call->session, &call->options, &call->err);
}

void kit_call_end(struct kit_call *call, const struct err *why)
{
    session_close(&call->session, why);
    json_decref(call->options.plan);
}

/* ---- plain sockets ---- */

int kit_connect_plain(int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

int kit_listen_plain(int *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t size = sizeof at;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    ck_assert_int_eq(listen(fd, 8), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    *port = ntohs(at.sin_port);
    return fd;
}
