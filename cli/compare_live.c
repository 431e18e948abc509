/* cli/compare_live.c - see compare_live.h. Start at compare_live(); passed[] says which option goes to which part. */
#include "cli/compare_live.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/child.h"
#include "cli/output.h"
#include "report/compare.h"
#include "report/digest.h"
#include "report/table_parts.h"

enum { ROUNDS = 4, WORDS_MAX = 96 };

enum { TO_RUN = 1, TO_ALONE = 2, TO_LINK = 4, TO_PREDICT = 8 };

static const struct {
    const char *name;
    int to;
    bool value;
} passed[] = {
    {"--key-file", TO_RUN | TO_LINK, true},
    {"--peer-timeout", TO_RUN | TO_LINK, true},
    {"--threads", TO_RUN | TO_ALONE | TO_LINK, true},
    {"--model", TO_RUN | TO_ALONE, true},
    {"--batch", TO_RUN | TO_ALONE, true},
    {"--seq", TO_RUN | TO_ALONE, true},
    {"--steps", TO_RUN | TO_ALONE, true},
    {"--time", TO_RUN | TO_ALONE, true},
    {"--warmup", TO_RUN | TO_ALONE, true},
    {"--label", TO_RUN | TO_ALONE | TO_LINK, true},
    {"--duration", TO_LINK, true},
    {"--schedule", TO_RUN | TO_PREDICT, true},
    {"--bucket-mb", TO_RUN | TO_PREDICT, true},
    {"--encrypt", TO_RUN, false},
    {"--results-dir", TO_RUN | TO_ALONE | TO_LINK | TO_PREDICT, true},
    {"--test-this-host", TO_RUN | TO_LINK, false},
};

struct words {
    const char *word[WORDS_MAX];
    int n;
};

static void say(struct words *w, const char *word)
{
    if (w->n < WORDS_MAX - 1)
        w->word[w->n++] = word;
    w->word[w->n] = NULL;
}

/* The user's options that are for this part. */
static void pass(struct words *w, char *const *options, int to)
{
    for (int i = 1; options[i]; i++) {
        size_t n = strcspn(options[i], "=");
        for (size_t k = 0; k < sizeof passed / sizeof *passed; k++) {
            if (strlen(passed[k].name) != n || strncmp(passed[k].name, options[i], n) != 0)
                continue;
            if (passed[k].to & to)
                say(w, options[i]);
            if (passed[k].value && options[i][n] != '=' && options[i + 1]) {
                i++;
                if (passed[k].to & to)
                    say(w, options[i]);
            }
            break;
        }
    }
}

struct live {
    const struct options *o;
    char *const *options;
    char name[2][64]; /* of the interfaces */
    json_t *link;     /* of both */
    json_t *run[2][ROUNDS], *digest[2][ROUNDS];
    char *path[2][ROUNDS];
    int n[2];
    double predicted[2];
};

static int read_names(struct live *l, struct err *e)
{
    const char *comma = strchr(l->o->iface, ',');
    if (!comma || strchr(comma + 1, ',') || comma == l->o->iface || !comma[1] || comma - l->o->iface >= 64 ||
        strlen(comma + 1) >= 64)
        return err_set(e, ERR_USAGE, "compare --iface takes two network interfaces, such as eth0,wlan0, not '%.80s'",
                       l->o->iface);
    snprintf(l->name[0], sizeof l->name[0], "%.*s", (int)(comma - l->o->iface), l->o->iface);
    snprintf(l->name[1], sizeof l->name[1], "%s", comma + 1);
    if (!l->o->peers || strchr(l->o->peers, ','))
        return err_set(e, ERR_USAGE, "compare --iface needs one node at the other end: --peers HOST");
    return 0;
}

static int measure_link(struct live *l, struct err *e)
{
    struct words w = {.n = 0};
    say(&w, "link");
    say(&w, l->o->peers);
    say(&w, "--iface");
    say(&w, l->o->iface);
    pass(&w, l->options, TO_LINK);
    l->link = child_run(w.word, 0, e);
    return l->link ? 0 : -1;
}

/* The default of a minute is for one run; here are eight. */
static void limit(struct words *w, const struct live *l)
{
    bool given = false;
    for (int i = 1; l->options[i]; i++)
        given = given || strncmp(l->options[i], "--steps", 7) == 0 || strncmp(l->options[i], "--time", 6) == 0;
    if (!given) {
        say(w, "--time");
        say(w, "10");
    }
}

static json_t *train(struct live *l, const char *interface, struct err *e)
{
    struct words w = {.n = 0};
    say(&w, "run");
    if (interface) {
        say(&w, "--peers");
        say(&w, l->o->peers);
        say(&w, "--iface");
        say(&w, interface);
    }
    limit(&w, l);
    pass(&w, l->options, interface ? TO_RUN : TO_ALONE);
    return child_run(w.word, 0, e);
}

/* The link's document with this interface's figures in front, as predict reads it. NaN: it cannot be predicted. */
static double predict(struct live *l, int way, const char *alone)
{
    char path[] = "/tmp/ddpbench-link-XXXXXX.json";
    int fd = mkstemps(path, 5);
    double speedup = NAN;
    struct err ignored;
    if (fd < 0)
        return NAN;
    json_t *d = json_copy(l->link);
    if (way == 1)
        json_object_set(d, "link", json_object_get(l->link, "other_link"));
    char *text = json_dumps(d, JSON_COMPACT);
    json_decref(d);
    bool whole = text && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    free(text);
    close(fd);
    if (whole) {
        struct words w = {.n = 0};
        say(&w, "predict");
        say(&w, alone);
        say(&w, "--link-run");
        say(&w, path);
        pass(&w, l->options, TO_PREDICT);
        json_t *answer = child_run(w.word, 0, &ignored);
        const json_t *two = json_array_get(json_object_get(answer, "nodes"), 0);
        speedup = table_value(table_at(two, "speedup", "median", NULL));
        json_decref(answer);
    }
    unlink(path);
    return speedup;
}

static int collect(struct live *l, struct err *e)
{
    static const int order[2 * ROUNDS] = {0, 1, 1, 0, 0, 1, 1, 0};
    if (measure_link(l, e))
        return -1;
    json_t *alone = train(l, NULL, e);
    if (!alone)
        return -1;
    const char *saved = json_string_value(json_object_get(alone, "saved"));
    for (int way = 0; way < 2; way++)
        l->predicted[way] = saved ? predict(l, way, saved) : NAN;
    json_decref(alone);
    for (int i = 0; i < 2 * ROUNDS; i++) {
        int way = order[i], n = l->n[way];
        json_t *run = train(l, l->name[way], e);
        if (!run)
            return -1;
        const char *path = json_string_value(json_object_get(run, "saved"));
        l->run[way][n] = run;
        l->digest[way][n] = digest_make(run);
        l->path[way][n] = strdup(path ? path : "not saved");
        l->n[way]++;
        if (!l->path[way][n])
            return err_set(e, ERR_MEMORY, "out of memory");
    }
    return 0;
}

/* ---- figures of a run ---- */

static double step_of(const json_t *run)
{
    return table_value(table_at(run, "summary", "step_s", "median", NULL));
}

static double exposed_of(const json_t *run)
{
    return table_num(run, "communication", "exposed_s");
}

static double total_of(const json_t *run)
{
    return table_num(run, "communication", "total_s");
}

static double speedup_of(const json_t *run)
{
    return table_num(run, "speedup", "measured");
}

/* How much longer this node's work takes in the common steps than in its own alone: what communication takes from computing, for
 * the part of a step beside which there is some. */
static double slowdown_of(const json_t *run)
{
    const json_t *node = json_array_get(json_object_get(run, "nodes"), 0);
    return table_value(table_at(node, "summary", "compute_s", "median", NULL)) /
           table_num(node, "alone_step_s", "median");
}

/* Median over the runs of one interface. */
static double over_runs(const struct live *l, int way, double (*figure)(const json_t *run))
{
    double x[ROUNDS];
    size_t n = 0;
    for (int i = 0; i < l->n[way]; i++) {
        double v = figure(l->run[way][i]);
        if (isfinite(v))
            x[n++] = v;
    }
    return stats_median(x, n);
}

static json_t *way_json(const struct live *l, int way)
{
    const json_t *link = json_object_get(l->link, way ? "other_link" : "link");
    const json_t *end = table_at(link, "ends", "a", NULL), *idle = table_at(link, "latency", "idle", NULL);
    double exposed_s = over_runs(l, way, exposed_of);
    json_t *o = json_object();
    json_object_set_new(o, "interface", output_string(l->name[way]));
    json_object_set(o, "kind", json_object_get(end, "interface_kind"));
    json_object_set_new(o, "rate_bytes_per_s", json_num(table_num(link, "rate_bytes_per_s", NULL)));
    json_object_set_new(o, "rtt_s", json_num(table_num(link, "rtt_s", NULL)));
    json_object_set_new(o, "jitter_s", json_num(table_num(idle, "p90", NULL) - table_num(idle, "p50", NULL)));
    json_object_set_new(o, "step_s", json_num(over_runs(l, way, step_of)));
    json_object_set_new(o, "exposed_s", json_num(exposed_s));
    json_object_set_new(o, "exposed_share", json_num(exposed_s / over_runs(l, way, total_of)));
    json_object_set_new(o, "compute_slowdown", json_num(over_runs(l, way, slowdown_of)));
    json_object_set_new(o, "predicted_speedup", json_num(l->predicted[way]));
    json_object_set_new(o, "measured_speedup", json_num(over_runs(l, way, speedup_of)));
    return o;
}

static void discard(struct live *l)
{
    json_decref(l->link);
    for (int way = 0; way < 2; way++)
        for (int i = 0; i < ROUNDS; i++) {
            json_decref(l->run[way][i]);
            json_decref(l->digest[way][i]);
            free(l->path[way][i]);
        }
}

int compare_live(json_t *d, const struct options *o, char *const *options, struct err *e)
{
    struct live l = {.o = o, .options = options};
    struct compare_options judged = {.alpha = 0.05, .noise_floor = o->history.noise_floor, .seed = 1};
    int result = read_names(&l, e) || collect(&l, e) ? -1 : 0;
    if (!result) {
        struct compare_side side[2];
        json_t *ways = json_array();
        for (int way = 0; way < 2; way++) {
            side[way] = (struct compare_side){l.name[way], (size_t)l.n[way], l.run[way], l.path[way], l.digest[way]};
            json_array_append_new(ways, way_json(&l, way));
        }
        json_object_set_new(d, "ways", ways);
        json_t *unlike = compare_differences(&side[0], &side[1]);
        json_object_set_new(d, "not_comparable", unlike);
        result = compare_judge(d, &side[0], &side[1], &judged, e);
    }
    discard(&l);
    return result;
}
