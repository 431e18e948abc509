/* cli/ranks.c - see ranks.h. */
#include "cli/ranks.h"

#include <stdio.h>
#include <string.h>

#include "model/gemm.h"

/* For workers to end: after a run that went well only their exit is left; else they notice that rank 0 has gone, or are
 * in the middle of a long step and not waited for. */
#define PATIENCE_WELL_S 20.0
#define PATIENCE_FAILED_S 0.7

int ranks_place(struct ranks *ranks, const struct options *o, struct err *e)
{
    *ranks = (struct ranks){.world = o->run.world};
    if (!o->worker)
        return 0;
    if (spawn_place_parse(&ranks->place, o->worker, e))
        return -1;
    if (ranks->place.world != o->run.world)
        return err_set(e, ERR_USAGE, "option --worker belongs to %d ranks, not %d", ranks->place.world, o->run.world);
    ranks->rank = ranks->place.rank;
    return 0;
}

int ranks_start(struct ranks *ranks, const struct options *o, char *const *argv, struct err *e)
{
    struct team_options team = {.rank = ranks->rank, .world = ranks->world, .null = strcmp(o->comm, "null") == 0};
    if (ranks->world == 1)
        return 0;
    if (ranks->rank > 0) {
        spawn_place_keep(&ranks->place);
        team.next_fd = ranks->place.next_fd;
        team.prev_fd = ranks->place.prev_fd;
    } else {
        if (spawn_start(&ranks->spawn, ranks->world, argv, e))
            return -1;
        team.next_fd = ranks->spawn.next_fd;
        team.prev_fd = ranks->spawn.prev_fd;
    }
    return team_open(&ranks->team, &team, e);
}

/* What a worker warned of and rank 0 did not. */
static void add_warnings(const struct spawn *spawn, struct notes *notes)
{
    for (int r = 1; r < spawn->world; r++) {
        json_t *list = json_object_get(spawn->worker[r - 1].report, "warnings"), *text;
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

void ranks_leave(struct ranks *ranks, const struct run *run, struct notes *notes, struct err *err)
{
    char when[64];
    team_close(&ranks->team);
    if (!ranks->spawn.world)
        return;
    bool well = err->code == ERR_OK || err->code == ERR_INTERRUPTED;
    spawn_gather(&ranks->spawn, well ? PATIENCE_WELL_S : PATIENCE_FAILED_S);
    if (!run->stage || strcmp(run->stage, "training") != 0)
        snprintf(when, sizeof when, "during %s", run->stage ? run->stage : "preparing");
    else
        snprintf(when, sizeof when, "at step %d", run->n);
    if (err->code == ERR_PEER_LOST || (well && spawn_lost(&ranks->spawn)))
        spawn_explain(&ranks->spawn, when, gemm_core(), err);
    add_warnings(&ranks->spawn, notes);
}

void ranks_fini(struct ranks *ranks)
{
    team_close(&ranks->team);
    spawn_fini(&ranks->spawn);
}
