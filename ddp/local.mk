libddpbench_a_SOURCES += \
	ddp/run.c ddp/run.h
