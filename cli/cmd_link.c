/*
 * cli/cmd_link.c - link PEER: measures the way to another node, on which serve runs, over one interface or two in turns.
 *
 * Start at cmd_link(). What can be wrong with the request is found before anybody is called. Two interfaces are measured
 * in rounds, one after the other, each round in a session of its own: what drifts meets both alike.
 */
#include "config.h" /* _GNU_SOURCE */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/commands.h"
#include "cli/deliver.h"
#include "cli/link_load.h"
#include "cli/node.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/record_link.h"
#include "cli/work.h"
#include "comm/backend.h"
#include "comm/link_reduce.h"
#include "model/blas_choice.h"
#include "report/store.h"
#include "report/table_link.h"

enum { ROUNDS_OF_TWO = 3, BUSY_PATIENCE_MS = 10000 };
#define DURATION_S 20.0 /* for each interface */
#define DURATION_ALLREDUCE_S 30.0

struct request { /* one use of the command */
    const struct invocation *in;
    struct options options;
    struct node node;
    struct probe probe;
    struct notes notes;
    struct blas_choice blas;
    struct link_load load;
    struct peer_list peers;
    char names[2][IF_NAMESIZE];
    int ways;
    struct link_way way[2];
    char address[2][ADDRESS_TEXT_BYTES]; /* of the peer, by way; "": all that its name leads to */
    double duration_s;
    struct session session; /* the one in progress */
    bool open;
    char peer_address[ADDRESS_TEXT_BYTES], local_addr[ADDRESS_TEXT_BYTES];
    bool same_host;
    struct progress progress;
    uint64_t from_ns;
    char started[21];
    struct err err;
};

/* ---- before anybody is called ---- */

/* "a" or "a,b" */
static int read_interfaces(struct request *r, struct err *e)
{
    const char *text = r->options.iface;
    r->ways = 1;
    if (!text)
        return 0;
    for (r->ways = 0;; text++) {
        size_t n = strcspn(text, ",");
        if (r->ways == 2)
            return err_set(e, ERR_USAGE, "--iface takes one network interface or two to compare, not '%.80s'",
                           r->options.iface);
        char *name = r->names[r->ways];
        if (n == 0 || n >= IF_NAMESIZE)
            return err_set(e, ERR_USAGE, "'%.80s' is no list of network interfaces", r->options.iface);
        memcpy(name, text, n);
        name[n] = '\0';
        if (address_check_interface(name, e))
            return -1;
        r->way[r->ways++].interface = name;
        text += n;
        if (!*text)
            break;
    }
    if (r->ways == 2 && strcmp(r->names[0], r->names[1]) == 0)
        return err_set(e, ERR_USAGE, "--iface names %s twice: there is nothing to compare", r->names[0]);
    return 0;
}

static int check_times(struct request *r, struct err *e)
{
    struct link_wishes *w = &r->options.survey;
    double usual_s = w->allreduce ? DURATION_ALLREDUCE_S : DURATION_S;
    r->duration_s = isfinite(w->duration_s) ? w->duration_s : usual_s * r->ways;
    if (isfinite(w->warmup_s) != isfinite(w->window_s))
        return err_set(e, ERR_USAGE, "--warmup and --window belong together: give both or neither");
    double streams_s = 3 * (w->warmup_s + w->window_s) * (r->ways == 2 ? 2 * ROUNDS_OF_TWO : 1);
    if (streams_s > 0.9 * r->duration_s) /* false for NaN */
        return err_set(
            e, ERR_USAGE,
            "with that --warmup and --window the streams alone take %.4g s; --duration %.4g is too short for "
            "that: %.4g would do",
            streams_s, r->duration_s, ceil(streams_s / 0.9));
    return 0;
}

/* The peer's address that packets from this interface leave for by this interface. */
static int choose_address(struct request *r, int way, const struct addresses *all, struct err *e)
{
    char text[ADDRESS_TEXT_BYTES], there[ADDRESS_TEXT_BYTES] = "", leaves[IF_NAMESIZE] = "";
    const char *name = r->names[way], *other = r->names[1 - way], *peer = r->peers.peer[0].name;
    struct link_socket socket;
    struct err why = {ERR_USAGE, "there is no route"};
    for (int i = 0; i < all->n; i++) {
        if (link_socket_try(&socket, name, &all->address[i], &why) || !*socket.interface)
            continue;
        address_text(&all->address[i], text);
        if (strcmp(socket.interface, name) == 0) {
            strcpy(r->address[way], text);
            return 0;
        }
        strcpy(there, text);
        memcpy(leaves, socket.interface, sizeof leaves);
    }
    if (!*leaves)
        return err_set(e, ERR_USAGE, "%s does not reach %s: %s", name, peer, why.text);
    if (strcmp(leaves, other) == 0)
        return err_set(
            e, ERR_USAGE,
            "both ways to %s end on one interface: what is sent from the address of %s to %s leaves by %s too, "
            "so there is nothing to compare",
            peer, name, there, leaves);
    return err_set(e, ERR_USAGE, "%s does not reach %s: what is sent from its address to %s leaves by %s", name, peer,
                   there, leaves);
}

static int check_ways(struct request *r, struct err *e)
{
    static struct addresses all;
    if (r->ways < 2)
        return 0;
    if (address_resolve(&all, &r->peers.peer[0], r->options.test_this_host, e))
        return -1;
    for (int i = 0; i < r->ways; i++)
        if (choose_address(r, i, &all, e))
            return -1;
    return 0;
}

/* Only then does it matter which kernel OpenBLAS runs. */
static bool computes(const struct request *r)
{
    return r->options.survey.compute && r->ways == 1;
}

static int prepare(struct request *r, const char *peer, struct err *e)
{
    const struct options *o = &r->options;
    if (read_interfaces(r, e) || check_times(r, e) || peer_list_parse(&r->peers, peer, o->test_this_host, e))
        return -1;
    if (r->peers.n != 1)
        return err_set(e, ERR_USAGE, "a link has one other end: name one node, not %d", r->peers.n);
    if (check_ways(r, e) || (computes(r) && blas_choice_apply(&r->blas, r->in->full_argv, &r->notes, e)) ||
        probe_read(&r->probe, NULL, o->threads, &r->notes, e))
        return -1;
    probe_unbind_self(&r->probe); /* OpenMP may have tied this thread down; it is the one that communicates */
    link_load_init(&r->load, &r->probe, &r->notes);
    store_doubt(&r->notes, o->results_dir);
    return node_open(&r->node, r->in->program, o, e);
}

/* ---- one session ---- */

static int connect_way(struct request *r, int way, struct err *e)
{
    struct session_options call = node_call(&r->node, &r->options);
    call.peers = &r->peers;
    call.interface = r->way[way].interface;
    call.plan = work_link_plan();
    if (*r->address[way])
        strcpy(r->peers.peer[0].host, r->address[way]);
    int result = node_connect(&r->session, &call, e);
    json_decref(call.plan);
    if (result)
        return -1;
    r->open = true;
    if (way == 0) { /* what stands beside its rates in the document */
        strcpy(r->peer_address, r->session.peers[0].address);
        strcpy(r->local_addr, r->session.local_addr);
    }
    r->same_host = r->session.same_host;
    return 0;
}

/* The session before has ended here, and at the other end it is about to. */
static int connect_again(struct request *r, int way, struct err *e)
{
    uint64_t from = clock_now_ns();
    for (;;) {
        if (connect_way(r, way, e) == 0)
            return 0;
        if (e->code != ERR_UNAVAILABLE || clock_seconds(from, clock_now_ns()) * 1e3 > BUSY_PATIENCE_MS)
            return -1;
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    }
}

static void show(void *ctx, const char *what, double share)
{
    struct request *r = ctx;
    struct run_progress at = {.stage = what, .total = 1, .loss = NAN};
    at.elapsed_s = clock_seconds(r->from_ns, clock_now_ns());
    at.eta_s = r->duration_s > at.elapsed_s ? r->duration_s - at.elapsed_s : 0;
    (void)share;
    progress_show(&r->progress, &at);
}

static void doubt_interface(struct request *r, const struct link_way *w)
{
    const struct link_end *own = &w->first[0];
    if (w->interface && *own->interface && strcmp(own->interface, w->interface) != 0)
        notes_add(&r->notes, "what is sent from the address of %s leaves by %s: it is %s that is measured",
                  w->interface, own->interface, own->interface);
}

/* Side by side what both ends can open; what only one has is told. */
static void choose_backends(struct request *r, const struct link_way *w, struct link_survey_options *o)
{
    struct err why;
    int n = 0;
    for (const struct backend *b = backends; b->name; b++) {
        if (!link_reduce_can(b) || (b->kind != BACKEND_RING && !r->options.survey.allreduce))
            continue;
        if (backend_check(b, &why))
            notes_add(&r->notes, "%s is not measured: %s", b->name, why.text);
        else if (!link_end_has(&w->first[1], b->name))
            notes_add(&r->notes, "%s is not measured: %s does not have it", b->name, r->session.peers[0].name);
        else if (n < LINK_WORKS_MAX)
            o->backends[n++] = b->name;
    }
}

static int survey(struct request *r, int way, double duration_s, struct link *link, struct err *e)
{
    struct link_way *w = &r->way[way];
    struct session *s = &r->session;
    const struct link_wishes *wish = &r->options.survey;
    struct link_end end;
    if (work_link_hear_end(s, &end, e))
        return -1;
    if (!w->ends_known) {
        w->first[1] = end;
        link_end_read(&w->first[0], link->out_fd, &r->probe);
        w->ends_known = true;
        doubt_interface(r, w);
    } else { /* a new connection counts from zero */
        w->first[1].retransmits -= w->last[1].retransmits;
        w->first[0].retransmits -= w->last[0].retransmits;
    }
    struct link_survey_options o = {.duration_s = duration_s,
                                    .warmup_s = wish->warmup_s,
                                    .window_s = wish->window_s,
                                    .work = computes(r),
                                    .whole = !isfinite(wish->duration_s),
                                    .threads = {r->probe.threads, end.threads},
                                    .progress = show,
                                    .ctx = r};
    choose_backends(r, w, &o);
    link->works = r->load.works;
    link->alter = wish->alter;
    int result =
        wish->allreduce ? link_survey_reduce(&w->survey, link, s, &o, e) : link_survey_run(&w->survey, link, s, &o, e);
    if (result == 0)
        result = link_lead_end(s, e);
    if (result == 0)
        result = work_link_hear_end(s, &w->last[1], e);
    if (result == 0) {
        link_end_read(&w->last[0], link->out_fd, &r->probe);
        w->ended = true;
    }
    return result;
}

static int visit(struct request *r, int way, double duration_s, struct err *e)
{
    struct link link = {.rank = 0};
    if (r->way[way].ends_known || r->way[0].ends_known ? connect_again(r, way, e) : connect_way(r, way, e))
        return -1;
    int result = link_open(&link, &r->session, e);
    if (result == 0)
        result = survey(r, way, duration_s, &link, e);
    link_close(&link);
    session_close(&r->session, result ? e : NULL);
    r->open = false;
    return result;
}

static int measure(struct request *r, struct err *e)
{
    int rounds = r->ways == 2 ? ROUNDS_OF_TWO : 1;
    for (int i = 0; i < r->ways; i++)
        rng_init(&r->way[i].survey.rng, r->options.run.seed, (uint64_t)i);
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < r->ways; i++) /* the first of a round is the last of the one before */
            if (visit(r, round % 2 ? r->ways - 1 - i : i, r->duration_s / (rounds * r->ways), e))
                return -1;
    return 0;
}

/* ---- the result ---- */

/* A sum that is not what it has to be is a failure, whatever its speed. */
static int judge_sums(const struct request *r, struct err *e)
{
    for (int w = 0; w < r->ways; w++) {
        const struct link_survey *s = &r->way[w].survey;
        for (int i = 0; i < s->n; i++) {
            const struct link_trial *t = &s->trial[i];
            uint64_t wrong = t->end[0].wrong + t->end[1].wrong;
            if (wrong)
                return err_set(e, ERR_WRONG_RESULT, "%s sums wrongly: %llu element%s of sums of %llu B", t->order.work,
                               (unsigned long long)wrong, wrong == 1 ? "" : "s", (unsigned long long)t->order.bytes);
        }
    }
    return 0;
}

static json_t *document(const struct request *r)
{
    struct record_link record = {.err = &r->err,
                                 .started = r->started,
                                 .label = r->options.label,
                                 .argc = r->in->full_argc,
                                 .argv = r->in->full_argv,
                                 .peer = r->peers.peer[0].name,
                                 .peer_address = r->peer_address,
                                 .local_addr = r->local_addr,
                                 .same_host = r->same_host,
                                 .duration_s = r->duration_s,
                                 .took_s = clock_seconds(r->from_ns, clock_now_ns()),
                                 .seed = r->options.run.seed,
                                 .allreduce = r->options.survey.allreduce,
                                 .work = computes(r),
                                 .ways = r->ways,
                                 .way = r->way,
                                 .notes = &r->notes};
    return record_link_json(&record);
}

static bool measured_anything(const struct request *r)
{
    return r->way[0].survey.n + r->way[1].survey.n > 0;
}

static int tell(const struct request *r)
{
    const struct delivery d = {.in = r->in,
                               .err = &r->err,
                               .results_dir = r->options.results_dir,
                               .started = r->started,
                               .name = "link",
                               .worth = true,
                               .render = table_link_render};
    return measured_anything(r) ? deliver(&d, document(r)) : output_fail(r->in, &r->err);
}

int cmd_link(const struct invocation *in)
{
    static struct request r;
    struct err e;
    bool named = in->argc > 1 && in->argv[1][0] != '-';
    r.in = in;
    r.node.stop_fd = -1;
    if (options_parse(&r.options, OPTIONS_LINK, in->argc - named, in->argv + named, &e))
        return output_fail(in, &e);
    if (r.options.help || r.options.version)
        return output_help(
            in, &r.options, OPTIONS_LINK,
            "Measures the link to a node on which 'serve' runs: latency idle and "
            "loaded, rates by direction and size as they arrive at the receiver, CPU time for them, and how "
            "much computing slows beside it.\n");
    if (!named)
        return output_fail(in, &(struct err){ERR_USAGE, "link needs the name of a node on which 'serve' runs"});
    bool prepared = prepare(&r, in->argv[1], &r.err) == 0;
    progress_init(&r.progress);
    clock_utc(r.started);
    r.from_ns = clock_now_ns();
    if (prepared) {
        r.err.code = ERR_OK;
        output_notes(in, &r.notes);
        if (measure(&r, &r.err) == 0)
            judge_sums(&r, &r.err);
        progress_clear(&r.progress);
    }
    int code = tell(&r);
    for (int i = 0; i < 2; i++)
        link_survey_fini(&r.way[i].survey);
    link_load_fini(&r.load);
    probe_fini(&r.probe);
    if (prepared)
        node_close(&r.node);
    return code;
}
