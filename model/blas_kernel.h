/*
 * model/blas_kernel.h - OpenBLAS's kernels by the instructions they use, and what this CPU offers.
 *
 * OpenBLAS names a kernel after a CPU ("Haswell"); what decides its speed is the widest vectors it uses. The
 * two are compared as classes. A name this table does not have is newer than the table or of another
 * architecture: its class is unknown and nobody second-guesses it. Pure but for blas_cpu_read(); no
 * function here can fail.
 */
#ifndef MODEL_BLAS_KERNEL_H
#define MODEL_BLAS_KERNEL_H

enum { BLAS_CORE_MAX = 24, BLAS_CANDIDATES_MAX = 8 };

enum blas_class {
    BLAS_CLASS_UNKNOWN,
    BLAS_CLASS_SSE, /* 128 bits: Prescott, what OpenBLAS falls back to, and the like */
    BLAS_CLASS_AVX, /* 256 bits without AVX2: Sandybridge, Bulldozer and its successors */
    BLAS_CLASS_AVX2,
    BLAS_CLASS_AVX512,
};

enum blas_feature {
    BLAS_AVX = 1 << 0,
    BLAS_AVX2 = 1 << 1,
    BLAS_FMA = 1 << 2,
    BLAS_AVX512F = 1 << 3,
    BLAS_AVX512DQ = 1 << 4,
    BLAS_AVX512CD = 1 << 5,
    BLAS_AVX512BW = 1 << 6,
    BLAS_AVX512VL = 1 << 7,
    BLAS_AVX512_BF16 = 1 << 8,
};

struct blas_cpu {
    char brand[49]; /* as the CPU spells it, "" if it does not */
    int family, model, stepping;
    unsigned features; /* of enum blas_feature: what CPU and operating system both support */
};

/* This CPU; all zero where there is no cpuid instruction. */
void blas_cpu_read(struct blas_cpu *cpu);

/* "avx avx2 fma ..." into text, cut at bytes. */
void blas_cpu_flags(const struct blas_cpu *cpu, char *text, int bytes);

enum blas_class blas_cpu_class(const struct blas_cpu *cpu);
enum blas_class blas_core_class(const char *core);  /* letter case does not matter, as in OpenBLAS */
const char *blas_class_name(enum blas_class class); /* "AVX-512" */

/* Kernels of the best class this CPU can run and of the one below, most preferred first; returns how many. */
int blas_cpu_candidates(const struct blas_cpu *cpu, const char *core[static BLAS_CANDIDATES_MAX]);

#endif
