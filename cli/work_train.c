/*
 * cli/work_train.c - training together, see work.h: the plan that both ends must have alike, and a serving node's part.
 *
 * A plan says what rank 0's options came to. A serving node turns it back into options, which go through the same checks as
 * those of a command line, plans the run as if it were its own, and answers with the plan that comes of it: numbers such as
 * the parameters and the buckets are its own, so a program that counts differently is found out. The training itself is a
 * worker's (ddp/spawn.h), started with those options; this process never computes.
 */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"
#include "cli/record.h"
#include "cli/work.h"
#include "comm/crypto.h"
#include "comm/peer_list.h"
#include "comm/wait.h"
#include "config.h"
#include "ddp/spawn.h"
#include "probe/probe.h"

/* Rank 0 may have a long validation to do before it says that all is done; whether it lives, its heartbeat tells. */
#define DONE_S 86400.0

/* ---- the plan ---- */

enum kind { VALUE, SWITCH, SWITCH_OFF, IF_TLS };

/* What of a plan is an option. */
static const struct member {
    const char *key, *option;
    enum kind kind;
} members[] = {
    {"model", "model", VALUE},
    {"dtype", "dtype", VALUE},
    {"batch", "batch", VALUE},
    {"global_batch", "global-batch", VALUE},
    {"shares", "shares", VALUE},
    {"seq", "seq", VALUE},
    {"accum", "accum", VALUE},
    {"steps", "steps", VALUE},
    {"time_s", "time", VALUE},
    {"warmup", "warmup", VALUE},
    {"seed", "seed", VALUE},
    {"lr", "lr", VALUE},
    {"clip", "clip", VALUE},
    {"schedule", "schedule", VALUE},
    {"bucket_mb", "bucket-mb", VALUE},
    {"split", "split", VALUE},
    {"eval", "eval", VALUE},
    {"drop_last", "drop-last", SWITCH},
    {"floor", "no-floor", SWITCH_OFF},
    {"baseline", "no-baseline", SWITCH_OFF},
    {"rehearse", "rehearse", SWITCH},
    {"verify", "verify", SWITCH},
    {"comm", "comm", VALUE},
    {"data_tokens", "data-tokens", VALUE},
    {"data_vocabulary", "data-vocabulary", VALUE},
    {"wire", "encrypt", IF_TLS},
    {"emulate", "emulate", VALUE},
    {"optimizer_per_bucket", "optimizer-per-bucket", VALUE},
    {"compute", "compute", VALUE},
};

enum { MEMBERS = sizeof members / sizeof *members, ARGUMENT_BYTES = 1024, DIGEST_DIGITS = 32 };

static int count_buckets(const struct run *run)
{
    struct reduce *r = calloc(1, sizeof *r);
    if (!r)
        return -1;
    reduce_plan(r, &run->net.layout, run->options.schedule, run->options.bucket_mib);
    int n = r->n;
    free(r);
    return n;
}

static void put(json_t *plan, const char *key, json_t *value)
{
    json_object_set_new(plan, key, value);
}

static json_t *text_or_null(const char *text)
{
    return text ? json_string(text) : json_null();
}

/* Each rank's batch, or all of them together: never both. */
static void put_batch(json_t *plan, const struct run_options *o, const struct run *run)
{
    put(plan, "batch", o->global_batch ? json_null() : json_integer(o->batch ? o->batch : run->spec.batch));
    put(plan, "global_batch", o->global_batch ? json_integer(o->global_batch) : json_null());
    put(plan, "shares", text_or_null(o->shares));
}

/* Data that are no program's own: what they are, so that whoever has them too can compare. */
static json_t *digest_of(const struct data *d)
{
    unsigned char digest[CRYPTO_KEY_BYTES];
    char text[sizeof "sha256:" + DIGEST_DIGITS], hex[2 * CRYPTO_KEY_BYTES + 1];
    const struct crypto_piece pieces[] = {{d->token, d->n * sizeof *d->token},
                                          {d->symbol, d->symbol ? (size_t)d->V * sizeof *d->symbol : 0}};
    struct err e;
    if (crypto_digest(digest, pieces, 2, &e))
        return json_string("unknown: no SHA-256");
    crypto_hex(hex, digest, sizeof digest);
    snprintf(text, sizeof text, "sha256:%.*s", DIGEST_DIGITS, hex);
    return json_string(text);
}

static void put_data(json_t *plan, const struct run_options *o, const struct run *run)
{
    bool own = o->data || o->data_tokens;
    put(plan, "data", own && run->data.token ? digest_of(&run->data) : json_null());
    put(plan, "data_tokens", own ? json_integer((json_int_t)run->data.n) : json_null());
    put(plan, "data_vocabulary", own ? json_integer(run->data.V) : json_null());
}

json_t *work_train_plan(const struct options *options, const struct run *run)
{
    const struct run_options *o = &options->run;
    size_t parameters = run->net.layout.params;
    json_t *p = json_object();
    put(p, "work", json_string("train"));
    put(p, "model", json_string(o->model));
    put(p, "world", json_integer(o->world));
    put(p, "parameters", json_integer((json_int_t)parameters));
    put(p, "gradient_bytes", json_integer((json_int_t)(parameters * sizeof(float))));
    put(p, "dtype", json_string(options->dtype));
    put_batch(p, o, run);
    put(p, "seq", json_integer(run->options.seq));
    put(p, "accum", json_integer(o->accum));
    put(p, "steps", o->steps >= 0 ? json_integer(o->steps) : json_null());
    put(p, "time_s", o->steps >= 0 ? json_null() : json_num(o->time_s));
    put(p, "warmup", json_integer(o->warmup));
    put(p, "seed", json_integer((json_int_t)o->seed));
    put(p, "lr", json_num(o->lr >= 0 ? o->lr : record_decimal(run->optimizer.lr)));
    put(p, "clip", json_num(o->clip));
    put(p, "schedule", json_string(options->schedule));
    put(p, "bucket_mb", o->bucket_mib > 0 ? json_num(o->bucket_mib) : json_null());
    put(p, "buckets", json_integer(count_buckets(run)));
    put(p, "split", json_num(o->split));
    put(p, "eval", json_integer(o->eval_batches));
    put(p, "drop_last", json_boolean(o->drop_last));
    put(p, "floor", json_boolean(o->floor));
    put(p, "baseline", json_boolean(o->baseline));
    put(p, "rehearse", json_boolean(o->rehearse));
    put(p, "verify", json_boolean(o->verify));
    put(p, "comm", json_string(options->comm));
    put(p, "emulate", text_or_null(options->emulate));
    put(p, "optimizer_per_bucket", json_string(options->optimizer_per_bucket));
    put_data(p, o, run);
    put(p, "private", json_boolean(o->data || o->checkpoint || o->save));
    put(p, "wire", json_string(options->encrypt ? "tls" : "clear"));
    put(p, "compute", json_string(options->compute_text));
    return p;
}

/* ---- from a plan to options ---- */

struct arguments { /* of a command line; options borrow its texts */
    char text[MEMBERS + 1][ARGUMENT_BYTES];
    char data[PATH_MAX + 16]; /* this node's own file */
    char *argv[MEMBERS + 5];
    int argc;
};

static void add(struct arguments *a, const char *option, const char *value)
{
    char *text = a->text[a->argc];
    snprintf(text, ARGUMENT_BYTES, value ? "--%s=%s" : "--%s", option, value);
    a->argv[a->argc++] = text;
}

/* Members that are absent, null or of another type than an option has leave the option out; the comparison of the plans
 * then tells. */
static void add_member(struct arguments *a, const struct member *m, const json_t *plan)
{
    const json_t *value = json_object_get(plan, m->key);
    char text[ARGUMENT_BYTES - 64]; /* shares of many ranks are long */
    if (m->kind == IF_TLS) {
        if (json_is_string(value) && strcmp(json_string_value(value), "tls") == 0)
            add(a, m->option, NULL);
        return;
    }
    if (m->kind != VALUE) {
        if (json_is_boolean(value) && json_is_true(value) == (m->kind == SWITCH))
            add(a, m->option, NULL);
        return;
    }
    if (json_is_string(value))
        wire_text(plan, m->key, text, sizeof text);
    else if (json_is_integer(value))
        snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        snprintf(text, sizeof text, "%.17g", json_real_value(value));
    else
        return;
    add(a, m->option, text);
}

static void fill_arguments(struct arguments *a, const json_t *plan, const struct options *serving)
{
    static char program[] = PACKAGE_NAME, command[] = "run";
    char number[16];
    *a = (struct arguments){.argc = 0};
    for (int i = 0; i < MEMBERS; i++)
        add_member(a, &members[i], plan);
    snprintf(number, sizeof number, "%d", serving->threads);
    if (serving->threads)
        add(a, "threads", number);
    if (serving->run.data) {
        snprintf(a->data, sizeof a->data, "--data=%s", serving->run.data);
        a->argv[a->argc++] = a->data;
    }
    memmove(a->argv + 2, a->argv, (size_t)a->argc * sizeof *a->argv);
    a->argv[0] = program;
    a->argv[1] = command;
    a->argc += 2;
    a->argv[a->argc] = NULL;
}

/* ---- a serving node's part ---- */

struct judging {
    struct arguments arguments;
    struct options options;
    struct probe probe;
    struct notes notes;
    struct run run;
};

static int judge(struct judging *j, const json_t *asked, const struct options *serving, struct err *e)
{
    struct run_options *o = &j->options.run;
    json_int_t world = json_integer_value(json_object_get(asked, "world"));
    if (world < 2 || world > PEERS_MAX + 1)
        return err_set(e, ERR_PROTOCOL, "a plan for %" JSON_INTEGER_FORMAT " ranks", world);
    fill_arguments(&j->arguments, asked, serving);
    if (options_parse(&j->options, OPTIONS_RUN, j->arguments.argc - 1, j->arguments.argv + 1, e))
        return -1;
    if (j->options.backend->kind == BACKEND_LAUNCHED)
        return err_set(e, ERR_PROTOCOL, "a plan for ranks that a launcher starts");
    if (*j->options.compute.path) /* files are this node's own business */
        return err_set(e, ERR_PROTOCOL, "a plan that names a file of this node");
    if (probe_read(&j->probe, NULL, serving->threads, &j->notes, e))
        return -1;
    o->world = (int)world;
    o->rank = 1;
    o->threads = j->probe.threads;
    o->quota_cpus = isfinite(j->probe.cgroup.quota_cpus) ? j->probe.cgroup.quota_cpus : 0;
    o->memory_limit_bytes = isfinite(j->probe.memory.limit_bytes) ? j->probe.memory.limit_bytes : 0;
    o->memory_limit_source = j->probe.memory.limit_source;
    return run_plan(&j->run, o, &j->notes, e);
}

/* Rank 0's private data and weights travel in clear only if this node allows that too. */
static int agree_to_wire(const json_t *asked, const struct options *serving, struct err *e)
{
    const char *wire = json_string_value(json_object_get(asked, "wire"));
    bool clear = wire && strcmp(wire, "clear") == 0;
    if (clear && !serving->clear && json_is_true(json_object_get(asked, "private")))
        return err_set(e, ERR_PROTOCOL,
                       "data, checkpoints and weights to be saved travel in clear only if both ends say so: 'serve "
                       "--clear' here, or no --clear there");
    return 0;
}

/* What this node has no part in, and what it does not have, is as rank 0 says. */
static json_t *own_plan(const struct judging *j, const json_t *asked)
{
    char text[PEER_TEXT_BYTES];
    json_t *own = work_train_plan(&j->options, &j->run), *private = json_object_get(asked, "private");
    if (json_is_boolean(private))
        put(own, "private", json_incref(private));
    if (json_is_string(json_object_get(asked, "data")) && !j->run.data.token) {
        wire_text(asked, "data", text, sizeof text);
        put(own, "data", json_string(text));
    }
    return own;
}

int work_train_accept(const json_t *asked, const struct options *serving, json_t **own, struct err *e)
{
    struct judging *j = calloc(1, sizeof *j);
    if (!j)
        return err_set(e, ERR_MEMORY, "out of memory");
    int result = judge(j, asked, serving, e);
    if (result == 0)
        result = agree_to_wire(asked, serving, e);
    if (result == 0)
        *own = own_plan(j, asked);
    run_fini(&j->run);
    probe_fini(&j->probe);
    free(j);
    return result;
}

/* What rank 0 is told in place of a worker that cannot tell any more. */
static json_t *obituary(const struct err *why)
{
    json_t *o = json_object();
    output_set_error(o, why);
    put(o, "died", json_true());
    return o;
}

static void tell_silence(void *ctx, double silent_s)
{
    session_tell_silence(ctx, silent_s);
}

static void tell_step(void *ctx, const struct step_word *word)
{
    session_tell_step(ctx, word);
}

static int finish(struct session *session, const struct options *serving, struct spawn_worker *worker, struct err *e)
{
    struct spawn_watch watch = {
        .timeout_s = serving->peer_timeout_s, .silent = tell_silence, .step = tell_step, .ctx = session};
    struct err why = {0};
    json_t *done;
    int result = spawn_await(worker, &watch, session->stop_fd, &why);
    if (worker->killed && !worker->report &&
        worker->silent_s == 0) { /* the session has ended, or this node was told to */
        *e = why;
        return session_reason(session, e);
    }
    json_t *report = worker->report ? json_incref(worker->report) : obituary(&why);
    if (session_send(session, 0, json_pack("{s:s, s:o}", "type", "report", "report", report), e))
        return -1;
    if (result && why.code != ERR_INTERRUPTED) { /* rank 0 may end a run early, and that is no failure */
        *e = why;
        return -1;
    }
    if (session_receive(session, 0, "done", &done, wait_deadline(DONE_S), e))
        return -1;
    json_decref(done);
    return 0;
}

/* The session keeps its data sockets open until everybody has been told how the worker ended. */
int work_train_serve(struct session *session, const struct options *serving, struct err *e)
{
    struct arguments arguments;
    struct spawn_worker worker = {0};
    struct spawn_place place = {.rank = session->rank,
                                .world = session->world,
                                .next_fd = session->next_fd,
                                .prev_fd = session->prev_fd,
                                .sealed = session_seals(session)};
    memcpy(place.next_key, session->next_key, sizeof place.next_key);
    memcpy(place.prev_key, session->prev_key, sizeof place.prev_key);
    if (json_integer_value(json_object_get(session->plan, "world")) != session->world)
        return err_set(e, ERR_PROTOCOL, "a plan for other than %d ranks", session->world);
    fill_arguments(&arguments, session->plan, serving);
    int result = spawn_one(&worker, &place, arguments.argv, e);
    if (result == 0)
        result = finish(session, serving, &worker, e);
    spawn_worker_fini(&worker);
    crypto_wipe(&place, sizeof place);
    return result;
}
