libddpbench_a_SOURCES +=
KERNEL_LIBS =

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
