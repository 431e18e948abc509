/* model/kernels_avx512.c - sixteen floats a vector; compiled with -mavx512f and its companions. */
#define SIMD_WIDTH 16
#include "model/kernels_simd.h"

const struct kernels kernels_avx512 = KERNELS_TABLE("avx512");
