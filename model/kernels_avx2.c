/* model/kernels_avx2.c - eight floats a vector; compiled with -mavx2 -mfma. */
#define SIMD_WIDTH 8
#include "model/kernels_simd.h"

const struct kernels kernels_avx2 = KERNELS_TABLE("avx2");
