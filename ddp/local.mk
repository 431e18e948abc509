libddpbench_a_SOURCES += \
	ddp/plan.c ddp/plan.h \
	ddp/reduce.c ddp/reduce.h \
	ddp/run.c ddp/run.h
