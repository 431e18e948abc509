libddpbench_a_SOURCES += \
	model/attention.c model/attention.h \
	model/buffers.h \
	model/gemm.c model/gemm.h \
	model/gpt.c \
	model/kernels.c model/kernels.h \
	model/kernels_reference.c \
	model/mlp.c \
	model/net.c model/net.h \
	model/ops.c model/ops.h \
	model/spec.c model/spec.h \
	model/update.c

# The vector kernels: one object a width, each with its own flags; kernels_best() picks at run time.
EXTRA_DIST += model/kernels_simd.h model/simd.h
KERNEL_LIBS =
if X86_64
KERNEL_LIBS += libkernels_avx2.a libkernels_avx512.a
noinst_LIBRARIES += libkernels_avx2.a libkernels_avx512.a
libkernels_avx2_a_SOURCES = model/kernels_avx2.c
libkernels_avx2_a_CFLAGS = $(AM_CFLAGS) -mavx2 -mfma
libkernels_avx512_a_SOURCES = model/kernels_avx512.c
libkernels_avx512_a_CFLAGS = $(AM_CFLAGS) -mavx512f -mavx512vl -mavx512dq -mavx512bw -mfma -mprefer-vector-width=512
endif

# data, checkpoints and the files they are read from and written to
libddpbench_a_SOURCES += \
	model/checkpoint.c model/checkpoint.h \
	model/data.c model/data.h model/data_source.h \
	model/data_builtin.c \
	model/data_text.c \
	model/data_tokens.c \
	model/infile.c model/infile.h \
	model/outfile.c model/outfile.h \
	model/sampler.c

# OpenBLAS's kernel: compared with the CPU, measured in child processes, remembered
libddpbench_a_SOURCES += \
	model/blas_cache.c model/blas_cache.h \
	model/blas_child.c model/blas_child.h \
	model/blas_choice.c model/blas_choice.h \
	model/blas_decide.c \
	model/blas_kernel.c model/blas_kernel.h \
	model/blas_record.c model/blas_record.h
