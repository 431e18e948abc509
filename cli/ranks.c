/* cli/ranks.c - see ranks.h. */
#include "cli/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/output.h"
#include "model/gemm.h"

/* For workers to end: after a run that went well only their exit is left; else they notice that rank 0 has gone, or are
 * in the middle of a long step and not waited for. */
#define PATIENCE_WELL_S 20.0
#define PATIENCE_FAILED_S 3.0 /* who has a reason says it at once, but this machine may be busy */

#define DRAIN_S 15.0 /* for what is on an emulated link to arrive after the last step */

int ranks_place(struct ranks *ranks, const struct options *o, struct err *e)
{
    *ranks = (struct ranks){.world = o->run.world, .here = o->run.world, .sharing = o->run.world};
    if (o->backend->kind == BACKEND_LAUNCHED) {
        if (!o->peers && peers_check(&ranks->peers, o, e)) /* MPI makes its connections itself */
            return -1;
        if (launched_open(&ranks->launched, e))
            return -1;
        ranks->rank = ranks->launched.launch.rank;
        ranks->world = ranks->launched.launch.world;
        ranks->node = ranks->launched.launch.node;
        return 0;
    }
    if (!o->worker) {
        if (peers_check(&ranks->peers, o, e))
            return -1;
        if (ranks->peers.list.n > 0)
            ranks->world = ranks->peers.list.n + 1;
        if (o->emulate && ranks->world == 1)
            return err_set(
                e, ERR_USAGE,
                "--emulate slows the connections between ranks, and there is one rank: give --spawn N or --peers");
        return 0;
    }
    if (spawn_place_parse(&ranks->place, o->worker, e))
        return -1;
    ranks->world = ranks->place.world; /* on other nodes, if not all of them are here */
    if (ranks->here != 1 && ranks->here != ranks->world)
        return err_set(e, ERR_USAGE, "option --worker belongs to %d ranks, not %d", ranks->world, ranks->here);
    ranks->rank = ranks->place.rank;
    ranks->seat = ranks->here > 1 ? ranks->rank : 0;
    return beat_start(&ranks->beat, ranks->place.control_fd, e);
}

int ranks_meet(struct ranks *ranks, const struct cpus *usable, struct err *e)
{
    struct launched *l = &ranks->launched;
    if (!l->launch.ops)
        return 0;
    if (launched_meet(l, usable, &(struct err){0}, e))
        return -1;
    ranks->here = l->here;
    ranks->sharing = l->sharing;
    ranks->seat = l->seat;
    ranks->same_host = l->here == ranks->world;
    return 0;
}

static void warn(void *ctx, const char *text)
{
    const struct ranks *ranks = ctx;
    output_warn(ranks->program, text);
}

/* Rank 0: the others are there after this. */
static int gather(struct ranks *ranks, const struct options *o, json_t *plan, const struct invocation *in,
                  struct team_options *team, struct err *e)
{
    struct session *session = &ranks->peers.session;
    if (ranks->here > 1) {
        struct spawn_watch watch = {.timeout_s = o->peer_timeout_s, .warn = warn, .ctx = ranks};
        struct pacer *pacer = o->emulate ? &ranks->pacer : NULL;
        ranks->program = in->program;
        if (spawn_start(&ranks->spawn, ranks->world, in->full_argv, &watch, pacer, e))
            return -1;
        team->next_fd = ranks->spawn.next_fd;
        team->prev_fd = ranks->spawn.prev_fd;
        ranks->lost = &ranks->spawn.lost;
        ranks->same_host = true;
        snprintf(ranks->local_addr, sizeof ranks->local_addr, "127.0.0.1");
        return 0;
    }
    if (peers_call(&ranks->peers, o, plan, in->program, e))
        return -1;
    team->next_name = session->next_name;
    team->prev_name = session->prev_name;
    team->stop_fd = session->stop_fd;
    team->next_fd = session_take_next(session);
    team->prev_fd = session_take_prev(session);
    if (session_seals(session)) {
        team->next_key = session->next_key;
        team->prev_key = session->prev_key;
    }
    ranks->lost = &ranks->peers.lost;
    ranks->same_host = session->same_host;
    memcpy(ranks->local_addr, session->local_addr, sizeof ranks->local_addr);
    return 0;
}

static void close_sockets(const struct team_options *team)
{
    close(team->next_fd);
    if (team->prev_fd != team->next_fd)
        close(team->prev_fd);
}

/* The ends of connections to other nodes. What comes in has been paced over there, unless both ways share one medium. */
static int pace(struct ranks *ranks, const struct options *o, struct team_options *team, struct err *e)
{
    bool one = team->prev_fd == team->next_fd;
    int result = pacer_insert(&ranks->pacer, &team->next_fd, PACER_OUT, e);
    if (one)
        team->prev_fd = team->next_fd;
    else if (result == 0 && o->link.half_duplex)
        result = pacer_insert(&ranks->pacer, &team->prev_fd, PACER_OUT, e);
    if (result == 0)
        result = pacer_start(&ranks->pacer, e);
    if (result)
        close_sockets(team);
    return result;
}

int ranks_start(struct ranks *ranks, const struct options *o, json_t *plan, const struct invocation *in, struct err *e)
{
    struct team_options team = {.rank = ranks->rank, .world = ranks->world, .backend = o->backend, .stop_fd = -1};
    if (ranks->world == 1)
        return 0;
    if (o->emulate && pacer_open(&ranks->pacer, &o->link, o->run.seed + (uint64_t)ranks->rank, e))
        return -1;
    ranks->report = calloc((size_t)ranks->world, sizeof(json_t *));
    if (!ranks->report)
        return err_set(e, ERR_MEMORY, "no memory for %d ranks", ranks->world);
    if (ranks->launched.launch.ops) {
        if (ranks_meet(ranks, NULL, e))
            return -1;
        team.launch = &ranks->launched.launch;
        ranks->lost = &ranks->launched.abandoned;
    } else if (ranks->rank > 0) {
        spawn_place_keep(&ranks->place);
        team.next_fd = ranks->place.next_fd;
        team.prev_fd = ranks->place.prev_fd;
        team.next_key = ranks->place.sealed ? ranks->place.next_key : NULL;
        team.prev_key = ranks->place.sealed ? ranks->place.prev_key : NULL;
    } else if (gather(ranks, o, plan, in, &team, e)) {
        return -1;
    }
    if (o->emulate && ranks->here == 1 && pace(ranks, o, &team, e))
        return -1;
    if (team_open(&ranks->team, &team, e))
        return -1;
    team_wire(&ranks->team, ranks->wire, sizeof ranks->wire);
    return 0;
}

/* What a worker warned of and rank 0 did not. */
static void add_warnings(const struct ranks *ranks, struct notes *notes)
{
    for (int r = 1; r < ranks->world; r++) {
        json_t *list = json_object_get(ranks->report[r - 1], "warnings"), *text;
        size_t i;
        json_array_foreach(list, i, text)
        {
            bool known = false;
            for (int k = 0; k < notes->n; k++)
                known |= strcmp(notes->text[k], json_string_value(text) ? json_string_value(text) : "") == 0;
            if (!known && json_is_string(text))
                notes_add(notes, "rank %d: %s", r, json_string_value(text));
        }
    }
}

static void leave_workers(struct ranks *ranks, const char *when, struct err *err)
{
    bool well = err->code == ERR_OK || err->code == ERR_INTERRUPTED;
    spawn_gather(&ranks->spawn, well ? PATIENCE_WELL_S : PATIENCE_FAILED_S);
    for (int r = 1; r < ranks->world; r++)
        ranks->report[r - 1] = json_incref(ranks->spawn.worker[r - 1].report);
    if (err->code == ERR_PEER_LOST || (well && spawn_lost(&ranks->spawn)))
        spawn_explain(&ranks->spawn, when, gemm_core(), err);
}

/* A rank that fails before all are in the run tells the others, who are at their next meeting or will be. */
static void leave_launched(struct ranks *ranks, struct notes *notes, struct err *err)
{
    struct launched *l = &ranks->launched;
    struct err first = {0};
    if (launched_together(l) && ranks->rank == 0) {
        launched_hear(l, ranks->report, err);
        add_warnings(ranks, notes);
    } else if (!launched_together(l) && !l->settled && err->code && launched_meet(l, NULL, err, &first)) {
        *err = first;
    }
}

void ranks_leave(struct ranks *ranks, const struct run *run, struct notes *notes, struct err *err)
{
    char when[64];
    double patience_s = err->code == ERR_OK || err->code == ERR_INTERRUPTED ? DRAIN_S : 0;
    peers_listen(&ranks->peers, err);
    team_close(&ranks->team);
    if (ranks->launched.launch.ops && ranks->world > 1)
        leave_launched(ranks, notes, err);
    ranks->end = (int)err->code;
    if (!ranks->spawn.world && !ranks->peers.open) { /* a worker */
        pacer_close(&ranks->pacer, patience_s);
        return;
    }
    const char *stage = run->stage ? run->stage : "preparing";
    if (strcmp(stage, "training") == 0)
        snprintf(when, sizeof when, "at step %d", run->n);
    else if (strcmp(stage, "warm-up") == 0 || strcmp(stage, "baseline") == 0)
        snprintf(when, sizeof when, "at %s step %d", stage, run->stage_done);
    else
        snprintf(when, sizeof when, "during %s", stage);
    if (ranks->spawn.world)
        leave_workers(ranks, when, err);
    else
        peers_leave(&ranks->peers, when, ranks->report, err);
    pacer_close(&ranks->pacer, patience_s);
    ranks->end = (int)err->code;
    add_warnings(ranks, notes);
}

void ranks_tell_step(struct ranks *ranks, const struct step_word *word)
{
    beat_tell(&ranks->beat, word);
}

bool ranks_step(struct ranks *ranks, int rank, struct step_word *word)
{
    struct session *session = &ranks->peers.session;
    return ranks->rank == 0 && rank <= session->peers_n && session_step(session, rank - 1, word);
}

void ranks_report(struct ranks *ranks, const json_t *report, const struct err *own)
{
    struct err unheard;
    beat_stop(&ranks->beat);
    if (!ranks->launched.launch.ops)
        spawn_report(&ranks->place, report, &unheard);
    else if (launched_together(&ranks->launched))
        launched_report(&ranks->launched, report, own);
}

void ranks_fini(struct ranks *ranks)
{
    beat_stop(&ranks->beat);
    team_close(&ranks->team);
    spawn_fini(&ranks->spawn);
    peers_fini(&ranks->peers);
    pacer_close(&ranks->pacer, 0);
    for (int r = 1; r < ranks->world && ranks->report; r++)
        json_decref(ranks->report[r - 1]);
    free(ranks->report);
    launched_close(&ranks->launched, ranks->end);
    *ranks = (struct ranks){0};
}
