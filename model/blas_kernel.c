/* model/blas_kernel.c - see blas_kernel.h. */
#include "model/blas_kernel.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#define HAVE_CPUID 1
#endif

static const struct {
    const char *core;
    enum blas_class class;
} cores[] = {
    {"Katmai", BLAS_CLASS_SSE},        {"Coppermine", BLAS_CLASS_SSE},
    {"Northwood", BLAS_CLASS_SSE},     {"Prescott", BLAS_CLASS_SSE},
    {"Banias", BLAS_CLASS_SSE},        {"Atom", BLAS_CLASS_SSE},
    {"Core2", BLAS_CLASS_SSE},         {"Penryn", BLAS_CLASS_SSE},
    {"Dunnington", BLAS_CLASS_SSE},    {"Nehalem", BLAS_CLASS_SSE},
    {"Athlon", BLAS_CLASS_SSE},        {"Opteron", BLAS_CLASS_SSE},
    {"Opteron_SSE3", BLAS_CLASS_SSE},  {"Barcelona", BLAS_CLASS_SSE},
    {"Bobcat", BLAS_CLASS_SSE},        {"Nano", BLAS_CLASS_SSE},
    {"Sandybridge", BLAS_CLASS_AVX},   {"Bulldozer", BLAS_CLASS_AVX},
    {"Piledriver", BLAS_CLASS_AVX},    {"Steamroller", BLAS_CLASS_AVX},
    {"Excavator", BLAS_CLASS_AVX},     {"Haswell", BLAS_CLASS_AVX2},
    {"Zen", BLAS_CLASS_AVX2},          {"SkylakeX", BLAS_CLASS_AVX512},
    {"Cooperlake", BLAS_CLASS_AVX512}, {"SapphireRapids", BLAS_CLASS_AVX512},
};

static const struct {
    const char *name;
    unsigned feature;
} features[] = {
    {"avx", BLAS_AVX},           {"avx2", BLAS_AVX2},         {"fma", BLAS_FMA},
    {"avx512f", BLAS_AVX512F},   {"avx512dq", BLAS_AVX512DQ}, {"avx512cd", BLAS_AVX512CD},
    {"avx512bw", BLAS_AVX512BW}, {"avx512vl", BLAS_AVX512VL}, {"avx512_bf16", BLAS_AVX512_BF16},
};

static const char *const class_names[] = {
    [BLAS_CLASS_UNKNOWN] = "unknown", [BLAS_CLASS_SSE] = "SSE",        [BLAS_CLASS_AVX] = "AVX",
    [BLAS_CLASS_AVX2] = "AVX2",       [BLAS_CLASS_AVX512] = "AVX-512",
};

void blas_cpu_read(struct blas_cpu *cpu)
{
    *cpu = (struct blas_cpu){0};
#ifdef HAVE_CPUID
    unsigned a, b, c, d;
    if (__get_cpuid(1, &a, &b, &c, &d)) {
        /* the extended fields count only where the basic ones have run out (Intel SDM vol. 2, CPUID) */
        cpu->family = (int)(a >> 8 & 15);
        cpu->model = (int)(a >> 4 & 15);
        cpu->stepping = (int)(a & 15);
        if (cpu->family == 6 || cpu->family == 15)
            cpu->model |= (int)(a >> 16 & 15) << 4;
        if (cpu->family == 15)
            cpu->family += (int)(a >> 20 & 255);
    }
    for (unsigned i = 0; i < 3; i++) {
        unsigned word[4];
        if (!__get_cpuid(0x80000002u + i, &word[0], &word[1], &word[2], &word[3]))
            break;
        memcpy(cpu->brand + 16 * i, word, sizeof word);
    }
    for (char *s = cpu->brand; *s; s++) /* hypervisors may put anything there, and it goes into JSON */
        if (*s < ' ' || *s > '~')
            *s = '?';
    /* the builtin takes literals only; it also asks whether the system saves the wide registers */
    __builtin_cpu_init();
#define TAKE(name, feature) cpu->features |= __builtin_cpu_supports(name) ? (unsigned)(feature) : 0u
    TAKE("avx", BLAS_AVX);
    TAKE("avx2", BLAS_AVX2);
    TAKE("fma", BLAS_FMA);
    TAKE("avx512f", BLAS_AVX512F);
    TAKE("avx512dq", BLAS_AVX512DQ);
    TAKE("avx512cd", BLAS_AVX512CD);
    TAKE("avx512bw", BLAS_AVX512BW);
    TAKE("avx512vl", BLAS_AVX512VL);
    TAKE("avx512bf16", BLAS_AVX512_BF16);
#undef TAKE
#endif
}

void blas_cpu_flags(const struct blas_cpu *cpu, char *text, int bytes)
{
    int used = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < sizeof features / sizeof *features; i++)
        if (cpu->features & features[i].feature && used < bytes)
            used += snprintf(text + used, (size_t)(bytes - used), "%s%s", used ? " " : "", features[i].name);
}

static int has(const struct blas_cpu *cpu, unsigned wanted)
{
    return (cpu->features & wanted) == wanted;
}

enum blas_class blas_cpu_class(const struct blas_cpu *cpu)
{
    if (has(cpu, BLAS_AVX512F | BLAS_AVX512DQ | BLAS_AVX512CD | BLAS_AVX512BW | BLAS_AVX512VL))
        return BLAS_CLASS_AVX512;
    if (has(cpu, BLAS_AVX2 | BLAS_FMA))
        return BLAS_CLASS_AVX2;
    return has(cpu, BLAS_AVX) ? BLAS_CLASS_AVX : BLAS_CLASS_SSE;
}

enum blas_class blas_core_class(const char *core)
{
    for (unsigned i = 0; i < sizeof cores / sizeof *cores; i++)
        if (strcasecmp(cores[i].core, core) == 0)
            return cores[i].class;
    return BLAS_CLASS_UNKNOWN;
}

const char *blas_class_name(enum blas_class class)
{
    return class_names[class];
}

int blas_cpu_candidates(const struct blas_cpu *cpu, const char *core[static BLAS_CANDIDATES_MAX])
{
    enum blas_class class = blas_cpu_class(cpu);
    int n = 0;
    if (class == BLAS_CLASS_AVX512) {
        if (has(cpu, BLAS_AVX512_BF16))
            core[n++] = "Cooperlake";
        core[n++] = "SkylakeX";
    }
    /* wide vectors lower the clock of some CPUs, so the class below takes part too */
    if (class >= BLAS_CLASS_AVX2 && has(cpu, BLAS_AVX2 | BLAS_FMA)) {
        core[n++] = "Haswell";
        core[n++] = "Zen";
    }
    if (class == BLAS_CLASS_AVX)
        core[n++] = "Sandybridge";
    return n;
}
