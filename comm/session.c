/* comm/session.c - see session.h: what both sides of a session share. */
#include "comm/session.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "comm/wait.h"

const char *const session_key_names[] = {
    [SESSION_KEY_FILE] = "file", [SESSION_KEY_STORED] = "stored", [SESSION_KEY_CODE] = "code"};

int session_init(struct session *session, int rank, int world, int peers, struct err *e)
{
    *session = (struct session){.rank = rank, .world = world, .next_fd = -1, .prev_fd = -1};
    session->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    session->peers = calloc((size_t)peers, sizeof *session->peers);
    if (session->stop_fd < 0 || !session->peers)
        return err_set(e, ERR_MEMORY, "no memory for a session of %d nodes", world);
    session->peers_n = peers;
    return 0;
}

int session_start_control(struct session *session, int peer, struct channel *channel, double timeout_s,
                          void (*warn)(void *ctx, const char *text), void *ctx, struct err *e)
{
    struct control_options options = {
        .timeout_ns = (uint64_t)(timeout_s * 1e9), .lost_fd = session->stop_fd, .warn = warn, .warn_ctx = ctx};
    return control_start(&session->peers[peer].control, channel, &options, e);
}

bool session_seals(const struct session *session)
{
    const char *wire = json_string_value(json_object_get(session->plan, "wire"));
    return wire && strcmp(wire, "tls") == 0;
}

int session_take_next(struct session *session)
{
    int fd = session->next_fd;
    session->next_fd = -1;
    return fd;
}

int session_take_prev(struct session *session)
{
    int fd = session->prev_fd;
    session->prev_fd = -1;
    return fd;
}

int session_send(struct session *session, int peer, json_t *message, struct err *e)
{
    return control_send(&session->peers[peer].control, message, e) ? session_reason(session, e) : 0;
}

int session_receive(struct session *session, int peer, const char *type, json_t **message, uint64_t deadline_ns,
                    struct err *e)
{
    if (control_receive(&session->peers[peer].control, type, message, deadline_ns, session->stop_fd, e) == 0)
        return 0;
    return session_reason(session, e);
}

void session_tell_silence(struct session *session, double silent_s)
{
    for (int i = 0; i < session->peers_n; i++)
        control_tell_silence(&session->peers[i].control, silent_s);
}

void session_tell_step(struct session *session, const struct step_word *word)
{
    for (int i = 0; i < session->peers_n; i++)
        control_tell_step(&session->peers[i].control, word);
}

bool session_step(struct session *session, int peer, struct step_word *word)
{
    return control_step(&session->peers[peer].control, word);
}

void session_stop(struct session *session)
{
    uint64_t one = 1;
    int error = errno;
    while (write(session->stop_fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
    errno = error;
}

int session_reason(struct session *session, struct err *e)
{
    struct err why, none;
    bool interrupted = e && e->code == ERR_INTERRUPTED, lost = e && e->code == ERR_PEER_LOST;
    if (lost)
        wait_ready(session->stop_fd, POLLIN, wait_deadline(SESSION_REASON_MS * 1e-3), -1, "a reason", &none);
    for (int i = 0; i < session->peers_n; i++) {
        struct control *control = &session->peers[i].control;
        if (lost && control_told(control, &why) && strcmp(e->text, why.text) != 0) {
            err_context(e, "%s", why.text);
            break;
        }
        if (interrupted && control_lost(control, &why)) {
            *e = why;
            break;
        }
    }
    return -1;
}

void session_close(struct session *session, const struct err *why)
{
    bool failed = why && why->code;
    for (int i = 0; i < session->peers_n; i++) {
        json_t *last = NULL;
        if (failed) {
            char text[sizeof why->text];
            peer_text_clean(text, sizeof text, why->text);
            last = json_pack("{s:s, s:i, s:s}", "type", "abort", "code", why->code, "text", text);
        } else {
            last = json_pack("{s:s}", "type", "bye");
        }
        control_stop(&session->peers[i].control, last);
    }
    free(session->peers);
    json_decref(session->plan);
    if (session->next_fd >= 0 && session->world > 1)
        close(session->next_fd);
    if (session->prev_fd >= 0 && session->world > 1)
        close(session->prev_fd);
    if (session->stop_fd >= 0 && session->world > 0)
        close(session->stop_fd);
    crypto_wipe(session, sizeof *session);
    *session = (struct session){.next_fd = -1, .prev_fd = -1, .stop_fd = -1};
}

/* ---- plans ---- */

json_t *session_full_plan(const json_t *plan, const char *version)
{
    json_t *full = json_object();
    json_object_set_new(full, "version", json_string(version));
    json_object_update(full, (json_t *)plan);
    return full;
}

/* A value as a person reads it; absent ones too. */
static void show(char *out, size_t size, const json_t *value)
{
    char *dump = json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    peer_text_clean(out, size, !value ? "nothing" : dump ? dump : json_string_value(value));
    free(dump);
}

static void add_difference(char *text, size_t size, const char *key, const json_t *here, const json_t *there,
                           const char *peer)
{
    char a[PEER_TEXT_BYTES], b[PEER_TEXT_BYTES], name[40];
    size_t used = strlen(text);
    show(a, sizeof a, here);
    show(b, sizeof b, there);
    peer_text_clean(name, sizeof name, key);
    for (char *c = name; *c; c++)
        if (*c == '_')
            *c = ' ';
    snprintf(text + used, size - used, "%s%s %s here, %s on %s", used ? "; " : "", name, a, b, peer);
}

int session_differences(char *text, size_t size, const json_t *here, const json_t *there, const char *peer)
{
    const char *key;
    json_t *value;
    int n = 0;
    *text = '\0';
    json_object_foreach((json_t *)here, key, value)
    {
        const json_t *other = json_object_get(there, key);
        if (json_equal(value, other))
            continue;
        add_difference(text, size, key, value, other, peer);
        n++;
    }
    json_object_foreach((json_t *)there, key, value)
    {
        if (json_object_get(here, key))
            continue;
        add_difference(text, size, key, NULL, value, peer);
        n++;
    }
    return n;
}
