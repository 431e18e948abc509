libddpbench_a_SOURCES += \
	ddp/plan.c ddp/plan.h \
	ddp/run.c ddp/run.h
