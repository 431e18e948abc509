libddpbench_a_SOURCES += \
	report/store.c report/store.h
