/*
 * model/blas_choice.c - facts in, action out (blas_choice.h). Start at blas_choice_apply().
 *
 * Invariant: a process that finds BLAS_RESTART_VARIABLE in its environment never starts again.
 */
#define _GNU_SOURCE /* program_invocation_short_name */
#include "model/blas_choice.h"

#include <errno.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "model/blas_cache.h"
#include "model/gemm.h"

extern char **environ;

static const char self[] = "/proc/self/exe";

static const char *const origin_names[] = {
    [BLAS_DEFAULT] = "default", [BLAS_CHOSEN] = "chosen", [BLAS_CACHED] = "cached", [BLAS_USER] = "user"};

const char *blas_origin_name(enum blas_origin origin)
{
    return origin_names[origin];
}

#if defined(__aarch64__)
#define MULTIARCH "aarch64-linux-gnu"
#else
#define MULTIARCH "x86_64-linux-gnu"
#endif

static int check_build(struct err *e)
{
    static const char alternative[] = "/usr/lib/" MULTIARCH "/openblas-openmp/libopenblas.so.0";
    if (gemm_is_openmp())
        return 0;
    /* once installed it still has to be selected: the pthread build has the higher priority */
    return err_set(e, ERR_CONFIG,
                   "the OpenBLAS that is loaded is not its OpenMP build; run: %ssudo update-alternatives --set "
                   "libopenblas.so.0-" MULTIARCH " %s",
                   access(alternative, R_OK) ? "sudo apt-get install libopenblas0-openmp && " : "", alternative);
}

double blas_choice_check(blas_product *product)
{
    enum { M = 131, N = 127, K = 67 }; /* odd on purpose, and beyond what OpenBLAS takes as small (100^3) */
    static float a[M * K], b[N * K], c[M * N];
    double worst = 0;
    for (int i = 0; i < M * K; i++)
        a[i] = (float)(i * 7 % 17 - 8);
    for (int i = 0; i < N * K; i++)
        b[i] = (float)(i * 5 % 13 - 6);
    memset(c, 0xff, sizeof c); /* NaN: what is not written shows */
    product(false, true, M, N, K, 1, a, K, b, K, 0, c, N);
    for (int s = 0; s < M * N; s += 7) { /* 7 does not divide N: every row and column has its turn */
        const float *x = a + s / N * K, *y = b + s % N * K;
        float exact = 0, size = 0;
        for (int l = 0; l < K; l++) {
            exact += x[l] * y[l];
            size += fabsf(x[l] * y[l]);
        }
        double relative = fabs((double)c[s] - exact) / size;
        if (!(relative <= worst)) /* NaN stays */
            worst = relative;
        if (isnan(worst))
            break;
    }
    return worst;
}

/* The kernel in use, on the calling thread alone: the pool is to be started by whoever sizes it. */
static int check_numbers(struct blas_choice *c, struct err *e)
{
    int threads = omp_get_max_threads();
    gemm_set_threads(1);
    c->relative_error = blas_choice_check(gemm);
    gemm_set_threads(threads);
    if (c->relative_error <= BLAS_ERROR_LIMIT)
        return 0;
    return err_set(e, ERR_WRONG_RESULT,
                   "OpenBLAS %s computes wrong numbers with its %s kernel (relative error %.2g in a matrix product)",
                   c->version, c->core, c->relative_error);
}

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* What the first process left: origin, notes and record. False if there is nothing, or it does not belong to the
 * OPENBLAS_CORETYPE that is set now (the variable was inherited and the user has changed his mind). */
static bool read_restart(struct blas_facts *f, struct blas_record *record, struct notes *notes)
{
    const char *text = getenv(BLAS_RESTART_VARIABLE), *core = getenv("OPENBLAS_CORETYPE");
    json_t *doc = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL, *note;
    const char *origin = json_string_value(json_object_get(doc, "origin"));
    blas_record_init(record, &f->cpu, f->version, f->pretend, NULL);
    bool ours = core && origin && blas_record_read(record, json_object_get(doc, "record"));
    int best = ours ? blas_record_best(record) : -1;
    ours = best >= 0 && strcasecmp(record->candidate[best].core, core) == 0;
    if (ours) {
        size_t i;
        f->origin = strcmp(origin, origin_names[BLAS_CACHED]) == 0 ? BLAS_CACHED : BLAS_CHOSEN;
        json_array_foreach(json_object_get(doc, "notes"), i, note) if (json_is_string(note))
            notes_add(notes, "%s", json_string_value(note));
    }
    json_decref(doc);
    return ours;
}

/* Returns only if it did not work; then nothing has changed but for a note. */
static void restart(const struct blas_choice *c, char **argv, struct notes *notes)
{
    json_t *doc = json_object(), *list = json_array();
    json_object_set_new(doc, "origin", json_string(origin_names[c->origin]));
    for (int i = 0; i < notes->n; i++)
        json_array_append_new(list, json_string(notes->text[i]));
    json_object_set_new(doc, "notes", list);
    json_object_set_new(doc, "record", blas_record_json(&c->record));
    char *text = json_dumps(doc, JSON_COMPACT);
    json_decref(doc);
    errno = ENOMEM;
    if (text && setenv(BLAS_RESTART_VARIABLE, text, 1) == 0 && setenv("OPENBLAS_CORETYPE", c->core, 1) == 0)
        execve(self, argv, environ);
    notes_add(notes, "cannot start again with OPENBLAS_CORETYPE=%s, which would be faster: %s", c->core,
              strerror(errno));
    unsetenv(BLAS_RESTART_VARIABLE);
    unsetenv("OPENBLAS_CORETYPE");
    free(text);
}

/* Each candidate twice, in two rounds: a burst of other work on this node then spoils one of its chances only. */
static void measure(struct blas_record *record, const char *pretend)
{
    for (int i = 0; i < record->n; i++)
        blas_child_try(&record->candidate[i], self, pretend, BLAS_CHILD_LIMIT_SECONDS);
    for (int i = 0; i < record->n; i++) {
        struct blas_candidate *c = &record->candidate[i], again = *c;
        if (c->status != BLAS_OK)
            continue;
        blas_child_try(&again, self, pretend, BLAS_CHILD_LIMIT_SECONDS);
        if (again.status != BLAS_OK || again.gflops > c->gflops)
            *c = again;
    }
}

/* From the cache if it is there and speaks of the kernel that is loaded, else measured and stored. */
static void fill_record(struct blas_facts *f, struct blas_record *record, struct notes *notes)
{
    struct err e = {0};
    blas_record_init(record, &f->cpu, f->version, f->pretend, f->user ? f->active : NULL);
    f->origin = BLAS_CACHED;
    if (blas_cache_load(record)) {
        const struct blas_candidate *first = &record->candidate[0];
        if (f->user || !first->active[0] || strcasecmp(first->active, f->active) == 0)
            return;
    }
    f->origin = BLAS_CHOSEN;
    measure(record, f->pretend);
    if (!f->user && !record->candidate[0].active[0]) /* it died before it could say its name, which is known here */
        snprintf(record->candidate[0].active, sizeof record->candidate[0].active, "%s", f->active);
    if (!blas_record_final(record))
        notes_add(notes, "not every matrix kernel could be timed; the next run will try again");
    else if (blas_cache_store(record, &e))
        notes_add(notes, "the choice of the matrix kernel is not remembered: %s", e.text);
}

int blas_choice_apply(struct blas_choice *c, char **argv, struct notes *notes, struct err *e)
{
    struct blas_facts f = {.active = gemm_core(),
                           .version = gemm_version(),
                           .user = variable("OPENBLAS_CORETYPE"),
                           .pretend = variable(BLAS_PRETEND_VARIABLE),
                           .restarted = getenv(BLAS_RESTART_VARIABLE) != NULL};
    struct blas_record record;
    if (check_build(e))
        return -1;
    blas_cpu_read(&f.cpu);
    bool ours = read_restart(&f, &record, notes);
    if (ours) {
        f.user = NULL;
        prctl(PR_SET_NAME, program_invocation_short_name); /* exec of /proc/self/exe has made it "exe" */
    } else if (f.pretend && !f.user) {
        f.active = f.pretend;
    }
    enum blas_action action = blas_choice_decide(&f, ours ? &record : NULL, c, notes, e);
    if (action == BLAS_MEASURE) {
        fill_record(&f, &record, notes);
        action = blas_choice_decide(&f, &record, c, notes, e);
    }
    if (action == BLAS_RESTART) {
        restart(c, argv, notes);
        snprintf(c->core, sizeof c->core, "%s", f.active);
        c->class = blas_core_class(f.active);
        c->origin = BLAS_DEFAULT;
        c->chosen_gflops = c->default_gflops;
        c->gain = c->chosen_gflops / c->default_gflops;
    }
    return action == BLAS_REFUSE ? -1 : check_numbers(c, e);
}

json_t *blas_choice_json(const struct blas_choice *c)
{
    json_t *o = json_object();
    json_object_set_new(o, "core", json_string(c->core));
    json_object_set_new(o, "class", json_string(blas_class_name(c->class)));
    json_object_set_new(o, "cpu_class", json_string(blas_class_name(c->offered)));
    json_object_set_new(o, "origin", json_string(blas_origin_name(c->origin)));
    json_object_set_new(o, "version", json_string(c->version));
    json_object_set_new(o, "gflops", json_num(c->chosen_gflops));
    json_object_set_new(o, "default_core", c->default_core[0] ? json_string(c->default_core) : json_null());
    json_object_set_new(o, "default_gflops", json_num(c->default_gflops));
    json_object_set_new(o, "gain", json_num(c->gain));
    json_object_set_new(o, "relative_error", json_num(c->relative_error));
    json_object_set_new(o, "reason", json_string(c->text));
    json_object_set_new(o, "candidates", blas_candidates_json(&c->record));
    return o;
}
