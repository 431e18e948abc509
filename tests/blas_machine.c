/* tests/blas_machine.c - see blas_machine.h. */
#include "tests/blas_machine.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

struct blas_record machine_record;

struct blas_facts machine(const char *active, unsigned features)
{
    return (struct blas_facts){
        .active = active,
        .version = "0.3.21",
        .cpu = {.brand = "Test CPU", .family = 6, .model = 143, .stepping = 8, .features = features},
        .origin = BLAS_CHOSEN};
}

void machine_prepare(const struct blas_facts *f)
{
    blas_record_init(&machine_record, &f->cpu, f->version, f->pretend, f->user ? f->active : NULL);
}

void machine_measured(const char *core, const char *active, double gflops, double relative_error)
{
    for (int i = 0; i < machine_record.n; i++)
        if (strcmp(machine_record.candidate[i].core, core) == 0) {
            struct blas_candidate *c = &machine_record.candidate[i];
            snprintf(c->active, sizeof c->active, "%s", active);
            c->gflops = gflops;
            c->relative_error = relative_error;
            blas_candidate_judge(c);
            return;
        }
    ck_abort_msg("%s is no candidate", core);
}

void machine_died(const char *core, int signal_number)
{
    for (int i = 0; i < machine_record.n; i++)
        if (strcmp(machine_record.candidate[i].core, core) == 0) {
            machine_record.candidate[i].status = BLAS_DIED;
            machine_record.candidate[i].signal = signal_number;
            return;
        }
    ck_abort_msg("%s is no candidate", core);
}

struct blas_facts machine_fallen_back(void)
{
    struct blas_facts f = machine("Prescott", BF16_CPU);
    machine_prepare(&f);
    machine_measured("", "Prescott", 33, 2e-7);
    machine_measured("Cooperlake", "Cooperlake", 150, 2e-7);
    machine_measured("SkylakeX", "SkylakeX", 149, 2e-7);
    machine_measured("Haswell", "Haswell", 80, 2e-7);
    machine_measured("Zen", "Zen", 81, 2e-7);
    return f;
}
