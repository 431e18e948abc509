/* cli/predict_whatif.c - see predict_whatif.h. */
#include "cli/predict_whatif.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "base/units.h"
#include "ddp/shares.h"
#include "predict/inverse.h"

const char predict_whatif_keys[] =
    "bw=RATE|Fx rtt=T medium=duplex|half|shared tokens=N|Fx accum=K|Fx wire=fp32|bf16 schedule=ddp|split "
    "shares=A:B:.. bucket-mb=X optimizer=end|bucket in-flight=N reserve-core=yes|no partner=X slow-node=X "
    "slow-nic=RATE throttle=X contention=X jitter=yes|no tail=yes|no";

enum key {
    BW,
    RTT,
    MEDIUM,
    TOKENS,
    ACCUM,
    WIRE,
    SCHEDULE,
    SHARES,
    BUCKET_MB,
    OPTIMIZER,
    IN_FLIGHT,
    RESERVE_CORE,
    PARTNER,
    SLOW_NODE,
    SLOW_NIC,
    THROTTLE,
    CONTENTION,
    JITTER,
    TAIL,
    KEYS
};

enum takes { RATE, TIME, NUMBER, WHOLE, WORD, DIVISION };
enum factor { NONE, ANY, WHOLES }; /* whether 2x, twice of what it is, may stand in place of the value */

static const struct {
    const char *name;
    enum takes takes;
    double low, high;
    const char *words[4]; /* of WORD; value is the index */
    enum factor factor;
} keys[KEYS] = {
    [BW] = {"bw", RATE, 0, 0, {NULL}, ANY},
    [RTT] = {"rtt", TIME, 0, 0, {NULL}},
    [MEDIUM] = {"medium", WORD, 0, 0, {"duplex", "half", "shared", NULL}},
    [TOKENS] = {"tokens", WHOLE, 1, 1e9, {NULL}, ANY},
    [ACCUM] = {"accum", WHOLE, 1, 1 << 20, {NULL}, WHOLES},
    [WIRE] = {"wire", WORD, 0, 0, {"fp32", "bf16", NULL}},
    [SCHEDULE] = {"schedule", WORD, 0, 0, {"ddp", "split", NULL}},
    [SHARES] = {"shares", DIVISION, 0, 0, {NULL}},
    [BUCKET_MB] = {"bucket-mb", NUMBER, 1e-6, 1e6, {NULL}},
    [OPTIMIZER] = {"optimizer", WORD, 0, 0, {"end", "bucket", NULL}},
    [IN_FLIGHT] = {"in-flight", WHOLE, 1, SIM_FLIGHT_MAX, {NULL}},
    [RESERVE_CORE] = {"reserve-core", WORD, 0, 0, {"no", "yes", NULL}},
    [PARTNER] = {"partner", NUMBER, 0.001, 1000, {NULL}},
    [SLOW_NODE] = {"slow-node", NUMBER, 0.001, 1000, {NULL}},
    [SLOW_NIC] = {"slow-nic", RATE, 0, 0, {NULL}},
    [THROTTLE] = {"throttle", NUMBER, 0.001, 1000, {NULL}},
    [CONTENTION] = {"contention", NUMBER, 0, 100, {NULL}},
    [JITTER] = {"jitter", WORD, 0, 0, {"no", "yes", NULL}},
    [TAIL] = {"tail", WORD, 0, 0, {"no", "yes", NULL}},
};

struct change {
    bool given, times; /* times: value is a factor */
    double value;
};

static int find_key(const char *name, struct err *e)
{
    const char *words[KEYS + 1] = {NULL};
    for (int i = 0; i < KEYS; i++) {
        if (strcmp(keys[i].name, name) == 0)
            return i;
        words[i] = keys[i].name;
    }
    const char *near = suggest_nearest(name, words);
    if (near)
        return err_set(e, ERR_USAGE, "--what-if: unknown key '%.40s'; did you mean %s?", name, near);
    return err_set(e, ERR_USAGE, "--what-if: unknown key '%.40s'; there are %s", name, predict_whatif_keys);
}

static int parse_word(const char *const *words, const char *text, double *value)
{
    for (int i = 0; words[i]; i++)
        if (strcmp(words[i], text) == 0) {
            *value = i;
            return 0;
        }
    return -1;
}

/* 1: text is no factor, or the key takes none. */
static int parse_factor(int key, const char *text, double *value, struct err *e)
{
    char number[32];
    size_t n = strlen(text);
    if (keys[key].factor == NONE || n < 2 || n > sizeof number || text[n - 1] != 'x')
        return 1;
    snprintf(number, sizeof number, "%.*s", (int)n - 1, text);
    if (!units_parse_number(number, value))
        return 1;
    double low = keys[key].factor == WHOLES ? 1 : 0.001;
    if (*value >= low && *value <= 1000 && (keys[key].factor == ANY || floor(*value) == *value))
        return 0;
    return err_set(e, ERR_USAGE, "--what-if %s takes a %sfactor from %gx to 1000x, not '%.40s'", keys[key].name,
                   keys[key].factor == WHOLES ? "whole " : "", low, text);
}

static int parse_value(int key, const char *text, double *value, struct err *e)
{
    switch (keys[key].takes) {
    case RATE:
        return units_parse_rate(text, value, e) ? err_context(e, "--what-if %s", keys[key].name) : 0;
    case TIME:
        return units_parse_time(text, value, e) ? err_context(e, "--what-if %s", keys[key].name) : 0;
    case WORD:
        if (parse_word(keys[key].words, text, value) == 0)
            return 0;
        return err_set(e, ERR_USAGE, "--what-if %s takes %s or %s%s%s, not '%.40s'", keys[key].name, keys[key].words[0],
                       keys[key].words[1], keys[key].words[2] ? " or " : "",
                       keys[key].words[2] ? keys[key].words[2] : "", text);
    case NUMBER:
    case WHOLE:
    case DIVISION: /* set_shares() */
        break;
    }
    bool whole = keys[key].takes == WHOLE;
    if (units_parse_number(text, value) && *value >= keys[key].low && *value <= keys[key].high &&
        (!whole || floor(*value) == *value))
        return 0;
    return err_set(e, ERR_USAGE, "--what-if %s takes a %s from %g to %g, not '%.40s'", keys[key].name,
                   whole ? "whole number" : "number", keys[key].low, keys[key].high, text);
}

static void set_latency(struct scenario *s, double rtt_s)
{
    for (int i = 0; i < s->link.n; i++)
        s->link.piece[i].alpha_s = rtt_s / 2;
    s->link.rtt_s = rtt_s;
}

/* Tokens per node and update, whatever the accumulation. */
static void set_tokens(struct scenario *s, double tokens)
{
    int accum = s->accum > 0 ? s->accum : s->own->accum;
    s->token_scale = tokens / (s->own->tokens / s->own->accum * accum);
}

static void apply(struct scenario *s, int key, struct change c)
{
    double x = c.value;
    switch ((enum key)key) {
    case BW:
        inverse_set_rate(s, c.times ? x * link_model_rate(&s->link) : x);
        if (!c.times)
            s->link.rate_spread = 0; /* stated */
        break;
    case RTT:
        set_latency(s, x);
        break;
    case MEDIUM:
        s->link.medium = (enum cost_medium)x;
        break;
    case ACCUM:
        s->accum = (int)(c.times ? x * (s->accum > 0 ? s->accum : s->own->accum) : x);
        break;
    case WIRE:
        s->wire_scale = x > 0 ? 0.5 : 1;
        break;
    case OPTIMIZER:
        s->optimizer_by_bucket = x > 0;
        break;
    case IN_FLIGHT:
        s->in_flight = (int)x;
        break;
    case PARTNER:
        s->partner_scale = x;
        break;
    case SLOW_NODE:
        s->slow_node_scale = x;
        break;
    case SLOW_NIC:
        s->slow_nic_bytes_per_s = x;
        break;
    case THROTTLE:
        s->throttle_scale *= x;
        break;
    case CONTENTION:
        s->contention_scale = x;
        break;
    case JITTER:
        s->no_jitter = x <= 0;
        break;
    case TAIL:
        s->no_tail = x <= 0;
        break;
    case TOKENS:   /* after the accumulation is known */
    case SHARES:   /* set_shares() */
    case SCHEDULE: /* set_plan() */
    case BUCKET_MB:
    case RESERVE_CORE: /* may be impossible */
    case KEYS:
        break;
    }
}

/* The same tokens of all nodes together, divided in these proportions. */
static int set_shares(struct scenario *s, double *share, const char *text, struct err *e)
{
    int weight[SIM_NODES_MAX], n = 1;
    double all = 0;
    for (const char *at = text; *at; at++)
        n += *at == ':';
    if (n != s->nodes)
        return err_set(e, ERR_USAGE, "--what-if shares=%.80s divides among %d node%s: it goes with --nodes %d", text, n,
                       n == 1 ? "" : "s", n);
    if (shares_parse(text, n, weight, e))
        return err_context(e, "--what-if shares");
    for (int i = 0; i < n; i++)
        all += weight[i];
    for (int i = 0; i < n; i++)
        share[i] = n * weight[i] / all;
    s->share = share;
    return 0;
}

static int set_plan(struct scenario *s, const struct predict_source *source, struct plan *plan,
                    const struct change change[KEYS], struct err *e)
{
    if (!change[SCHEDULE].given && !change[BUCKET_MB].given)
        return 0;
    if (!source->document || !source->layout)
        return err_set(e, ERR_USAGE, "--what-if %s needs a run of this program, whose gradients have instants",
                       change[SCHEDULE].given ? "schedule" : "bucket-mb");
    enum reduce_schedule schedule = !change[SCHEDULE].given      ? source->schedule
                                    : change[SCHEDULE].value > 0 ? SCHEDULE_SPLIT
                                                                 : SCHEDULE_DDP;
    if (schedule == SCHEDULE_SPLIT && source->layout->wte < 0)
        return err_set(e, ERR_USAGE, "--what-if schedule=split parts a tied embedding, and %s has none", source->model);
    if (predict_source_plan(source, plan, schedule,
                            change[BUCKET_MB].given ? change[BUCKET_MB].value : source->bucket_mib, e))
        return -1;
    s->plan = plan;
    if (change[SCHEDULE].given && !change[OPTIMIZER].given)
        s->optimizer_by_bucket = schedule == SCHEDULE_SPLIT; /* as a run does it */
    return 0;
}

int predict_whatif(struct scenario *s, const struct predict_source *source, struct predict_changed *changed,
                   const char *text, struct err *e)
{
    struct change change[KEYS] = {{0}};
    for (const char *at = text; *at;) {
        char item[256]; /* shares of many nodes are long */
        size_t n = strcspn(at, ",");
        if (n >= sizeof item)
            return err_set(e, ERR_USAGE, "--what-if: '%.60s...' is too long for KEY=VALUE", at);
        snprintf(item, sizeof item, "%.*s", (int)n, at);
        at += n + (at[n] == ',');
        char *equals = strchr(item, '=');
        if (!equals || equals == item || !equals[1])
            return err_set(e, ERR_USAGE, "--what-if takes KEY=VALUE,..., not '%.60s'; keys: %s", item,
                           predict_whatif_keys);
        *equals = '\0';
        int key = find_key(item, e);
        if (key < 0)
            return -1;
        struct change *c = &change[key];
        if (c->given)
            return err_set(e, ERR_USAGE, "--what-if names %s twice", keys[key].name);
        c->given = true;
        if (key == SHARES) {
            if (set_shares(s, changed->share, equals + 1, e))
                return -1;
            continue;
        }
        int factor = parse_factor(key, equals + 1, &c->value, e);
        if (factor < 0 || (factor > 0 && parse_value(key, equals + 1, &c->value, e)))
            return -1;
        c->times = factor == 0;
        apply(s, key, *c);
    }
    if (change[TOKENS].given && (source->stated || (source->torch && !change[TOKENS].times)))
        return err_set(e, ERR_USAGE, "--what-if tokens needs a run, which says how many a step has");
    if (change[TOKENS].times)
        s->token_scale *= change[TOKENS].value;
    else if (change[TOKENS].given)
        set_tokens(s, change[TOKENS].value);
    if (change[RESERVE_CORE].value > 0 && !scenario_reserve_core(s))
        return err_set(e, ERR_USAGE, "--what-if reserve-core=yes: %s",
                       s->own->free_cores > 0 ? "a core is free already"
                                              : "there is no second computing thread to give up");
    return set_plan(s, source, &changed->plan, change, e);
}
