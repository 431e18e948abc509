/* cli/compute.c - see compute.h. */
#include "cli/compute.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/units.h"
#include "report/runs.h"

#define FACTOR_MAX 1000.0

/* ---- the option ---- */

static int parse_slow(struct compute *c, const char *text, struct err *e)
{
    char *end;
    double factor = 0;
    long rank = *text >= '0' && *text <= '9' ? strtol(text, &end, 10) : -1;
    if (rank < 0 || rank > 65535 || *end != ':' || !units_parse_number(end + 1, &factor) || factor < 1 / FACTOR_MAX ||
        factor > FACTOR_MAX)
        return err_set(e, ERR_USAGE,
                       "slow=%.40s is not slow=RANK:FACTOR, as in slow=1:2 for a rank 1 at half the speed", text);
    if (c->slow_n == COMPUTE_SLOW_MAX)
        return err_set(e, ERR_USAGE, "more than %d ranks are slowed", COMPUTE_SLOW_MAX);
    c->slow[c->slow_n].rank = (int)rank;
    c->slow[c->slow_n++].factor = factor;
    return 0;
}

/* What follows "replay": the file's name may have commas but for ",slow=". */
int compute_parse(struct compute *c, const char *text, struct err *e)
{
    *c = (struct compute){0};
    if (strcmp(text, "real") == 0)
        return 0;
    size_t word = strcspn(text, ":,");
    if (word != strlen("replay") || strncmp(text, "replay", word) != 0)
        return err_set(e, ERR_USAGE, "'%.60s' is neither real nor replay[:RUN.json][,slow=RANK:FACTOR]", text);
    c->replay = true;
    const char *rest = text + word;
    if (*rest == ':') {
        const char *end = strstr(rest, ",slow=");
        size_t length = end ? (size_t)(end - rest - 1) : strlen(rest + 1);
        if (length == 0 || length >= sizeof c->path)
            return err_set(e, ERR_USAGE, "replay: needs the name of a saved result");
        memcpy(c->path, rest + 1, length);
        rest += 1 + length;
    }
    while (*rest) {
        char part[48];
        if (strncmp(rest, ",slow=", 6) != 0)
            return err_set(e, ERR_USAGE, "'%.60s' is not ,slow=RANK:FACTOR", rest);
        size_t length = strcspn(rest + 6, ",");
        if (length >= sizeof part)
            length = sizeof part - 1;
        memcpy(part, rest + 6, length);
        part[length] = '\0';
        if (parse_slow(c, part, e))
            return -1;
        rest += 6 + strcspn(rest + 6, ",");
    }
    return 0;
}

double compute_slow(const struct compute *c, int rank)
{
    double factor = 1;
    for (int i = 0; i < c->slow_n; i++)
        if (c->slow[i].rank == rank)
            factor = c->slow[i].factor;
    return factor;
}

/* ---- the file ---- */

static double number(const json_t *o, const char *key)
{
    const json_t *x = json_object_get(o, key);
    return json_is_number(x) ? json_number_value(x) : NAN;
}

static bool has(const json_t *o, const char *key, double value)
{
    return number(o, key) == value;
}

static int compare(const json_t *d, const struct run *run, struct err *e)
{
    const json_t *m = json_object_get(d, "model");
    const char *name = json_string_value(json_object_get(m, "name"));
    if (!has(d, "schema_version", 1) || !name || !json_is_array(json_object_get(d, "samples")))
        return err_set(e, ERR_DATA, "no result of a run");
    if (!has(d, "world", 1) || !json_is_object(json_object_get(d, "gradient_ready")))
        return err_set(e, ERR_DATA,
                       "only the result of one rank that computed says when its gradients were ready: make "
                       "one with the same --batch and without --spawn, --peers and --compute");
    if (strcmp(name, run->spec.name) != 0 || !has(m, "parameters", (double)run->net.layout.params))
        return err_set(e, ERR_DATA, "a run of %.40s with %.0f parameters, not of %s with %zu", name,
                       number(m, "parameters"), run->spec.name, run->net.layout.params);
    if (!has(m, "batch", run->net.B) || !has(m, "seq", run->net.T) || !has(m, "accum", run->options.accum))
        return err_set(e, ERR_DATA, "its rank had a batch of %.0f x %.0f x %.0f, and this one has %d x %d x %d",
                       number(m, "batch"), number(m, "seq"), number(m, "accum"), run->net.B, run->net.T,
                       run->options.accum);
    return 0;
}

/* Columns are in the order of "gradients". */
static int map_columns(const json_t *d, const struct run *run, int *index, struct err *e)
{
    const json_t *list = json_object_get(d, "gradients"), *g;
    size_t i;
    bool seen[TENSORS_MAX] = {false};
    const struct layout *l = &run->net.layout;
    if ((int)json_array_size(list) != l->n)
        return err_set(e, ERR_DATA, "other tensors than the model's");
    json_array_foreach((json_t *)list, i, g)
    {
        const char *name = json_string_value(json_object_get(g, "name"));
        int t = 0;
        while (t < l->n && (!name || strcmp(l->tensor[t].name, name) != 0))
            t++;
        if (t == l->n || seen[t])
            return err_set(e, ERR_DATA, "other tensors than the model's");
        seen[t] = true;
        index[i] = t;
    }
    return 0;
}

static bool read_ready(double *to, const char *text, const int *index, int n, double most_s)
{
    for (int i = 0; i < n; i++) {
        char *end;
        double s = text ? strtod(text, &end) * 1e-6 : -1;
        if (!text || end == text || !(s >= 0 && s <= most_s))
            return false;
        to[index[i]] = s;
        text = end;
    }
    return text[strspn(text, " ")] == '\0';
}

static int read_steps(const json_t *d, struct replay *replay, const struct run *run, struct err *e)
{
    const json_t *ready = json_object_get(d, "gradient_ready"), *rows = json_object_get(ready, "us");
    const json_t *samples = json_object_get(d, "samples");
    int index[TENSORS_MAX], n = (int)json_array_size(rows), tensors = run->net.layout.n;
    double first = number(ready, "first_step");
    if (n < 1 || n > REPLAY_STEPS_MAX || !(first >= 0 && first + n <= (double)json_array_size(samples)))
        return err_set(e, ERR_DATA, "no recorded steps in it");
    if (map_columns(d, run, index, e) || replay_init(replay, n, tensors, e))
        return -1;
    for (int i = 0; i < n; i++) {
        const json_t *s = json_array_get(samples, (size_t)first + (size_t)i);
        struct replay_step step = {number(s, "forward_s"), number(s, "backward_s"), number(s, "optimizer_s")};
        double most_s = step.forward_s + step.backward_s;
        replay->step[i] = step;
        if (!(step.forward_s >= 0 && step.backward_s >= 0 && step.optimizer_s >= 0 && most_s < 1e5 &&
              step.optimizer_s < 1e5) ||
            !read_ready(replay->ready_s + (size_t)i * (size_t)tensors,
                        json_string_value(json_array_get(rows, (size_t)i)), index, tensors, most_s * 1.01 + 1e-4))
            return err_set(e, ERR_DATA, "step %.0f is damaged", first + i);
    }
    return 0;
}

int compute_load(const struct compute *c, struct replay *replay, const struct run *run, struct err *e)
{
    json_t *d = runs_read(c->path, e);
    int result = !d || compare(d, run, e) || read_steps(d, replay, run, e) ? -1 : 0;
    json_decref(d);
    return result ? err_context(e, "--compute replay:%.200s", c->path) : 0;
}
