/* model/blas_record.c - see blas_record.h. */
#define _GNU_SOURCE /* sigabbrev_np */
#include "model/blas_record.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *const status_names[] = {
    [BLAS_UNTRIED] = "untried", [BLAS_OK] = "ok",          [BLAS_WRONG] = "wrong numbers",
    [BLAS_DIED] = "died",       [BLAS_LATE] = "timed out", [BLAS_IGNORED] = "not in the library",
    [BLAS_FAILED] = "failed",
};

static void add(struct blas_record *r, const char *core)
{
    struct blas_candidate *c = &r->candidate[r->n++];
    *c = (struct blas_candidate){.gflops = NAN, .relative_error = NAN};
    snprintf(c->core, sizeof c->core, "%s", core);
}

void blas_record_init(struct blas_record *r, const struct blas_cpu *cpu, const char *version, const char *pretend,
                      const char *extra)
{
    const char *core[BLAS_CANDIDATES_MAX];
    char flags[128];
    int n = blas_cpu_candidates(cpu, core);
    *r = (struct blas_record){0};
    add(r, "");
    for (int i = 0; i < n; i++)
        add(r, core[i]);
    bool known = false;
    for (int i = 1; i < r->n; i++)
        known |= extra && strcasecmp(extra, r->candidate[i].core) == 0;
    if (extra && !known)
        add(r, extra);

    blas_cpu_flags(cpu, flags, sizeof flags);
    int used = snprintf(r->key, sizeof r->key, "%s | family %d model %d stepping %d | %s | OpenBLAS %s |", cpu->brand,
                        cpu->family, cpu->model, cpu->stepping, flags, version);
    if (pretend)
        used += snprintf(r->key + used, sizeof r->key - (size_t)used, " pretending %.*s", BLAS_CORE_MAX, pretend);
    for (int i = 0; i < r->n && used < (int)sizeof r->key; i++)
        used += snprintf(r->key + used, sizeof r->key - (size_t)used, " %s", i ? r->candidate[i].core : "default");
}

void blas_candidate_judge(struct blas_candidate *c)
{
    if (!isfinite(c->gflops) || c->gflops <= 0)
        c->status = BLAS_FAILED;
    else if (c->core[0] && strcasecmp(c->core, c->active) != 0)
        c->status = BLAS_IGNORED;
    else
        c->status = c->relative_error <= BLAS_ERROR_LIMIT ? BLAS_OK : BLAS_WRONG; /* NaN is wrong */
    if (c->status != BLAS_OK && c->status != BLAS_WRONG)
        c->gflops = c->relative_error = NAN;
}

int blas_record_best(const struct blas_record *r)
{
    double most = 0;
    for (int i = 0; i < r->n; i++)
        if (r->candidate[i].status == BLAS_OK && r->candidate[i].gflops > most)
            most = r->candidate[i].gflops;
    for (int i = 0; i < r->n; i++)
        if (r->candidate[i].status == BLAS_OK && r->candidate[i].gflops >= BLAS_EQUAL_SHARE * most)
            return i;
    return -1;
}

int blas_record_find(const struct blas_record *r, const char *core)
{
    for (int i = r->n - 1; i >= 0; i--) /* a named entry before the library's own choice */
        if ((r->candidate[i].status == BLAS_OK || r->candidate[i].status == BLAS_WRONG) &&
            strcasecmp(r->candidate[i].active, core) == 0)
            return i;
    return -1;
}

bool blas_record_final(const struct blas_record *r)
{
    for (int i = 0; i < r->n; i++) {
        const struct blas_candidate *c = &r->candidate[i];
        if (c->status == BLAS_UNTRIED || c->status == BLAS_LATE || c->status == BLAS_FAILED ||
            (c->status == BLAS_DIED && c->signal != SIGILL && c->signal != SIGSEGV))
            return false;
    }
    return true;
}

const char *blas_status_name(enum blas_status status)
{
    return status_names[status];
}

json_t *blas_candidates_json(const struct blas_record *r)
{
    json_t *list = json_array();
    for (int i = 0; i < r->n; i++) {
        const struct blas_candidate *c = &r->candidate[i];
        json_t *o = json_object();
        json_object_set_new(o, "core", json_string(c->core[0] ? c->core : "default"));
        json_object_set_new(o, "active", c->active[0] ? json_string(c->active) : json_null());
        json_object_set_new(o, "status", json_string(blas_status_name(c->status)));
        if (c->status == BLAS_DIED) {
            json_object_set_new(o, "signal", json_integer(c->signal));
            const char *name = sigabbrev_np(c->signal);
            json_object_set_new(o, "signal_name", name ? json_sprintf("SIG%s", name) : json_null());
        }
        json_object_set_new(o, "gflops", json_num(c->gflops));
        json_object_set_new(o, "relative_error", json_num(c->relative_error));
        json_array_append_new(list, o);
    }
    return list;
}

json_t *blas_record_json(const struct blas_record *r)
{
    json_t *doc = json_object();
    json_object_set_new(doc, "key", json_string(r->key));
    json_object_set_new(doc, "candidates", blas_candidates_json(r));
    return doc;
}

static double number(const json_t *x)
{
    return json_is_number(x) ? json_number_value(x) : NAN;
}

static bool read_candidate(struct blas_candidate *c, const json_t *o)
{
    const char *core = json_string_value(json_object_get(o, "core"));
    const char *active = json_string_value(json_object_get(o, "active"));
    const char *status = json_string_value(json_object_get(o, "status"));
    if (!core || !status || strcmp(core, c->core[0] ? c->core : "default") != 0 ||
        (active && strlen(active) >= sizeof c->active))
        return false;
    snprintf(c->active, sizeof c->active, "%s", active ? active : "");
    c->gflops = number(json_object_get(o, "gflops"));
    c->relative_error = number(json_object_get(o, "relative_error"));
    c->signal = (int)json_integer_value(json_object_get(o, "signal"));
    c->status = BLAS_UNTRIED;
    for (int s = BLAS_OK; s < BLAS_STATUSES; s++)
        if (strcmp(status, status_names[s]) == 0)
            c->status = (enum blas_status)s;
    if (c->status == BLAS_UNTRIED)
        return false;
    if (c->status == BLAS_OK || c->status == BLAS_WRONG) {
        enum blas_status claimed = c->status; /* what it says must follow from its numbers */
        blas_candidate_judge(c);
        return c->status == claimed;
    }
    return true;
}

bool blas_record_read(struct blas_record *r, const json_t *doc)
{
    const char *key = json_string_value(json_object_get(doc, "key"));
    const json_t *list = json_object_get(doc, "candidates");
    struct blas_record read = *r;
    if (!key || strcmp(key, r->key) != 0 || !json_is_array(list) || json_array_size(list) != (size_t)r->n)
        return false;
    for (int i = 0; i < r->n; i++)
        if (!read_candidate(&read.candidate[i], json_array_get(list, (size_t)i)))
            return false;
    *r = read;
    return true;
}
