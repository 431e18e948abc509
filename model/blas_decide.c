/*
 * model/blas_decide.c - which kernel to use, from what is known (blas_choice.h). Start at blas_choice_decide().
 *
 * No environment, no clock, no process: everything comes in as facts and a record, so that every machine can
 * be a test.
 */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "model/blas_choice.h"

static void copy(char to[static BLAS_CORE_MAX], const char *from)
{
    snprintf(to, BLAS_CORE_MAX, "%s", from);
}

/* Rates out of the record: entry 0 is the default, in_use the kernel that will run (-1: not among them). */
static void take_record(struct blas_choice *c, const struct blas_record *record, int in_use)
{
    const struct blas_candidate *fallback = &record->candidate[0];
    c->measured = true;
    c->record = *record;
    if (fallback->active[0])
        copy(c->default_core, fallback->active);
    if (fallback->status == BLAS_OK)
        c->default_gflops = fallback->gflops;
    if (in_use >= 0)
        c->chosen_gflops = record->candidate[in_use].gflops;
    c->gain = c->chosen_gflops / c->default_gflops;
}

static enum blas_action refuse_wrong(const struct blas_candidate *k, const struct blas_facts *f, struct err *e)
{
    err_set(e, ERR_WRONG_RESULT,
            "OpenBLAS %s computes wrong numbers with its %s kernel (relative error %.2g in a matrix product)%s",
            f->version, k->active, k->relative_error,
            f->user ? "; unset OPENBLAS_CORETYPE" : ", and no other kernel works");
    return BLAS_REFUSE;
}

static bool is_illegal(const struct blas_candidate *k)
{
    return k->status == BLAS_DIED && k->signal == SIGILL;
}

/* The user's kernel stays; the note says what it costs. */
static enum blas_action decide_user(const struct blas_facts *f, const struct blas_record *record, struct blas_choice *c,
                                    struct notes *notes, struct err *e)
{
    int mine = blas_record_find(record, f->active), best = blas_record_best(record);
    take_record(c, record, mine);
    if (mine >= 0 && record->candidate[mine].status == BLAS_WRONG)
        return refuse_wrong(&record->candidate[mine], f, e);
    for (int i = 1; i < record->n; i++)
        if (strcasecmp(record->candidate[i].core, f->active) == 0 && is_illegal(&record->candidate[i])) {
            err_set(e, ERR_CONFIG,
                    "OPENBLAS_CORETYPE=%.40s: this kernel dies of SIGILL on this CPU; unset OPENBLAS_CORETYPE",
                    f->user);
            return BLAS_REFUSE;
        }
    if (mine < 0 || best < 0)
        return BLAS_KEEP;
    const struct blas_candidate *k = &record->candidate[mine], *b = &record->candidate[best];
    if (k->gflops < BLAS_EQUAL_SHARE * b->gflops)
        notes_add(notes, "OPENBLAS_CORETYPE=%.40s is set: %.0f GFLOP/s per core; %s would give %.0f", f->user,
                  k->gflops, b->active, b->gflops);
    return BLAS_KEEP;
}

static enum blas_action decide_default(const struct blas_facts *f, const struct blas_record *record,
                                       struct blas_choice *c, struct notes *notes, struct err *e)
{
    const struct blas_candidate *fallback = &record->candidate[0];
    int best = blas_record_best(record);
    if (best < 0) {
        take_record(c, record, fallback->status == BLAS_OK ? 0 : -1);
        if (fallback->status == BLAS_WRONG)
            return refuse_wrong(fallback, f, e);
        if (is_illegal(fallback)) {
            err_set(e, ERR_WRONG_RESULT,
                    "the kernel OpenBLAS %s picks on this CPU, %s, dies of SIGILL, and no other works", f->version,
                    f->active);
            return BLAS_REFUSE;
        }
        notes_add(
            notes, "the matrix kernel %s is %s and this CPU offers %s, but no kernel could be timed (default: %s)",
            f->active, blas_class_name(c->class), blas_class_name(c->offered), blas_status_name(fallback->status));
        snprintf(c->text, sizeof c->text, "OpenBLAS's own choice; no other kernel could be timed");
        return BLAS_KEEP;
    }
    const struct blas_candidate *b = &record->candidate[best];
    take_record(c, record, best);
    if (strcasecmp(b->active, f->active) == 0) {
        snprintf(c->text, sizeof c->text, "OpenBLAS's own choice, the fastest of those measured");
        return BLAS_KEEP;
    }
    copy(c->core, b->core);
    c->class = blas_core_class(b->core);
    c->origin = f->origin;
    if (fallback->status == BLAS_OK)
        snprintf(c->text, sizeof c->text, "OpenBLAS %s picks %s on this CPU: %.0f GFLOP/s per core; %s gives %.0f",
                 f->version, f->active, fallback->gflops, b->core, b->gflops);
    else
        snprintf(c->text, sizeof c->text, "OpenBLAS %s picks %s on this CPU, which does not work (%s); %s does",
                 f->version, f->active, blas_status_name(fallback->status), b->core);
    if (fallback->status == BLAS_WRONG)
        notes_add(notes, "%s; its relative error is %.2g", c->text, fallback->relative_error);
    return BLAS_RESTART;
}

/* The second process: it was started with the best of the record, and what is loaded must be that. */
static enum blas_action decide_restarted(const struct blas_facts *f, const struct blas_record *record,
                                         struct blas_choice *c, struct notes *notes, struct err *e)
{
    struct blas_facts first = *f;
    first.active = record->candidate[0].active[0] ? record->candidate[0].active : "another kernel";
    enum blas_action action = decide_default(&first, record, c, notes, e);
    if (action == BLAS_RESTART && strcasecmp(c->core, f->active) == 0)
        return BLAS_KEEP;
    notes_add(notes, "started again for the matrix kernel %s, but OpenBLAS runs %s", c->core, f->active);
    copy(c->core, f->active);
    c->class = blas_core_class(f->active);
    c->origin = BLAS_DEFAULT;
    c->chosen_gflops = c->gain = NAN;
    snprintf(c->text, sizeof c->text, "OpenBLAS's own choice, against what it was asked for");
    return BLAS_KEEP;
}

static void begin(const struct blas_facts *f, struct blas_choice *c)
{
    *c = (struct blas_choice){.origin = f->user ? BLAS_USER : BLAS_DEFAULT,
                              .class = blas_core_class(f->active),
                              .offered = blas_cpu_class(&f->cpu),
                              .chosen_gflops = NAN,
                              .default_gflops = NAN,
                              .gain = NAN,
                              .relative_error = NAN};
    copy(c->core, f->active);
    copy(c->default_core, f->user || f->restarted ? "" : f->active);
    snprintf(c->version, sizeof c->version, "%s", f->version);
}

enum blas_action blas_choice_decide(const struct blas_facts *f, const struct blas_record *record, struct blas_choice *c,
                                    struct notes *notes, struct err *e)
{
    begin(f, c);
    if (f->pretend)
        notes_add(notes, BLAS_PRETEND_VARIABLE " is set (a test hook): %.23s stands for the kernel OpenBLAS picks",
                  f->pretend);
    if (f->restarted && record)
        return decide_restarted(f, record, c, notes, e);
    if (f->user && strcasecmp(f->user, f->active) != 0)
        notes_add(notes, "OPENBLAS_CORETYPE=%.40s is set, but OpenBLAS %s runs %s", f->user, f->version, f->active);
    if (f->user)
        snprintf(c->text, sizeof c->text, "OPENBLAS_CORETYPE=%.40s was set by the user", f->user);
    else if (c->class == BLAS_CLASS_UNKNOWN)
        snprintf(c->text, sizeof c->text, "OpenBLAS's own choice, not compared: %s is of no class known here", c->core);
    else
        snprintf(c->text, sizeof c->text, "OpenBLAS's own choice, of the best class this CPU offers (%s)",
                 blas_class_name(c->offered));
    /* a kernel beyond what the CPU offers: as a default it gets its trial, from the user it would be SIGILL */
    if (f->user && c->class > c->offered) {
        err_set(e, ERR_CONFIG, "OPENBLAS_CORETYPE=%.40s needs %s, and this CPU offers %s: unset OPENBLAS_CORETYPE",
                f->user, blas_class_name(c->class), blas_class_name(c->offered));
        return BLAS_REFUSE;
    }
    if (c->class == BLAS_CLASS_UNKNOWN || c->class == c->offered || (f->restarted && !f->user))
        return BLAS_KEEP;
    if (!record)
        return BLAS_MEASURE;
    return f->user ? decide_user(f, record, c, notes, e) : decide_default(f, record, c, notes, e);
}
