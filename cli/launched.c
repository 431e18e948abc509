/* cli/launched.c - see launched.h. */
#include "cli/launched.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* For reports after a run that went well, and after one that did not. The launcher kills a second after it has asked. */
#define PATIENCE_WELL_S 20.0
#define PATIENCE_FAILED_S 0.3

/* What a rank brings to a meeting. */
struct card {
    int code;
    char text[300];
    char node[LAUNCH_NODE_BYTES];
    struct cpus usable;
};

int launched_open(struct launched *l, struct err *e)
{
    *l = (struct launched){.here = 1, .sharing = 1};
    if (launch_open(&l->launch, e))
        return -1;
    l->launch.abandon = &l->abandoned;
    return 0;
}

static bool overlap(const struct cpus *a, const struct cpus *b)
{
    struct cpus both = cpus_and(a, b);
    return cpus_count(&both) > 0;
}

static void find_neighbours(struct launched *l, const struct card *card)
{
    const struct card *own = &card[l->launch.rank];
    l->here = l->sharing = 0;
    l->seat = 0;
    for (int r = 0; r < l->launch.world; r++) {
        if (strcmp(card[r].node, own->node) != 0)
            continue;
        l->here++;
        if (r != l->launch.rank && !overlap(&card[r].usable, &own->usable))
            continue;
        l->sharing++;
        l->seat += r < l->launch.rank;
    }
}

/* The first rank that cannot go on. */
static int judge(const struct launched *l, const struct card *card, struct err *e)
{
    for (int r = 0; r < l->launch.world; r++) {
        if (!card[r].code)
            continue;
        err_set(e, (enum err_code)card[r].code, "%s", card[r].text);
        return r == 0 ? -1 : err_context(e, "rank %d on %s", r, card[r].node);
    }
    return 0;
}

int launched_meet(struct launched *l, const struct cpus *usable, const struct err *own, struct err *e)
{
    struct launch *launch = &l->launch;
    struct card *card = launch->world > 1 ? calloc((size_t)launch->world + 1, sizeof *card) : NULL;
    l->meetings++;
    if (launch->world == 1)
        return 0;
    if (!card) {
        launch->broken = true;
        return err_set(e, ERR_MEMORY, "no memory for %d ranks", launch->world);
    }
    struct card *mine = &card[launch->world];
    mine->code = (int)own->code;
    snprintf(mine->text, sizeof mine->text, "%.*s", (int)sizeof mine->text - 1, own->code ? own->text : "");
    memcpy(mine->node, launch->node, sizeof mine->node);
    if (usable)
        mine->usable = *usable;
    int result = launch_gather(launch, mine, sizeof *mine, card, e);
    if (result == 0 && l->meetings == 1)
        find_neighbours(l, card);
    if (result == 0 && judge(l, card, e)) {
        l->settled = true;
        result = -1;
    }
    free(card);
    return result;
}

void launched_report(struct launched *l, const json_t *report, const struct err *own)
{
    bool well = own->code == ERR_OK || (own->code == ERR_INTERRUPTED && !l->launch.broken);
    struct err unheard;
    char *text = json_dumps(report, JSON_COMPACT);
    if (text)
        launch_tell(&l->launch, !well, text, strlen(text), well ? PATIENCE_WELL_S : PATIENCE_FAILED_S, &unheard);
    free(text);
}

static json_t *hear(struct launched *l, int rank, double seconds)
{
    char *text;
    size_t bytes;
    struct err unheard;
    if (launch_hear(&l->launch, rank, &text, &bytes, seconds, &unheard))
        return NULL;
    json_t *report = json_loadb(text, bytes, 0, NULL);
    free(text);
    return report;
}

/* How much a code says about the cause: the others only saw that a rank was gone, or were asked to end. */
static int blame(int code)
{
    return code == ERR_OK || code == ERR_PEER_LOST ? 0 : code == ERR_INTERRUPTED ? 1 : 2;
}

void launched_hear(struct launched *l, json_t **report, struct err *err)
{
    bool well = err->code == ERR_OK || (err->code == ERR_INTERRUPTED && !l->launch.broken);
    int lost = 0, culprit = 0, worst = blame((int)err->code);
    for (int r = 1; r < l->launch.world; r++) {
        report[r - 1] = hear(l, r, lost ? 0 : well ? PATIENCE_WELL_S : PATIENCE_FAILED_S);
        int code = (int)json_integer_value(json_object_get(json_object_get(report[r - 1], "error"), "code"));
        if (!report[r - 1] && !lost)
            lost = r;
        if (blame(code) > worst) {
            worst = blame(code);
            culprit = r;
        }
    }
    const json_t *error = culprit ? json_object_get(report[culprit - 1], "error") : NULL;
    const char *text = json_string_value(json_object_get(error, "message"));
    if (error && err->code != ERR_INTERRUPTED)
        err_set(err, (enum err_code)json_integer_value(json_object_get(error, "code")), "rank %d: %s", culprit,
                text ? text : "failed without a reason");
    else if (lost && err->code == ERR_OK)
        err_set(err, ERR_PEER_LOST, "rank %d does not tell what it measured", lost);
}

void launched_abandon(struct launched *l)
{
    atomic_store_explicit(&l->abandoned, true, memory_order_relaxed);
}

void launched_close(struct launched *l, int code)
{
    bool peace = code == ERR_OK || l->settled || l->launch.world == 1;
    launch_close(&l->launch, peace && !l->launch.broken ? 0 : code ? code : ERR_PEER_LOST);
}
