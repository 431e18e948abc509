/*
 * probe/cpu.h - which processor this is: name, instruction sets, hypervisor.
 *
 * The only door to libcpuid, which is asked on a live x86 machine; the rest, and every recorded machine, comes
 * from proc/cpuinfo. An instruction set counts only if the system saves its registers (XCR0) too. The numbers
 * of cores and threads that CPUID claims are hints: a hypervisor may say 0. Nothing counts by them.
 */
#ifndef PROBE_CPU_H
#define PROBE_CPU_H

#include <stdbool.h>

#include "probe/sysroot.h"

/* What training kernels may ask for; names as in proc/cpuinfo. */
enum cpu_isa {
    ISA_AVX,
    ISA_F16C,
    ISA_FMA,
    ISA_AVX2,
    ISA_AVX_VNNI,
    ISA_AVX512F,
    ISA_AVX512DQ,
    ISA_AVX512BW,
    ISA_AVX512VL,
    ISA_AVX512_VNNI,
    ISA_AVX512_BF16,
    ISA_AVX512_FP16,
    ISA_AMX_TILE,
    ISA_AMX_BF16,
    ISA_AMX_INT8,
    CPU_ISAS
};

extern const char *const cpu_isa_name[CPU_ISAS];

struct cpu {
    char name[128];              /* brand, inner white space single; "" unknown */
    char vendor[32];             /* "GenuineIntel", "AuthenticAMD", ...; "" unknown */
    int family, model, stepping; /* -1 unknown */
    bool isa_known;
    bool isa[CPU_ISAS];
    int hypervisor; /* 1 runs under one, 0 does not say so, -1 unknown */
    char hypervisor_name[32];
    int hint_cores, hint_threads; /* per package as CPUID claims; 0: it claims nothing usable */
    char source[24];              /* "CPUID", "proc/cpuinfo"; "" neither */
};

void cpu_read(struct cpu *cpu, const struct sysroot *root);

/* Takes name, vendor, flags ... of the first processor in a cpuinfo file; *cpu has been cleared by cpu_clear(). */
void cpu_clear(struct cpu *cpu);
void cpu_parse_cpuinfo(struct cpu *cpu, FILE *f);

#endif
