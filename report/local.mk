libddpbench_a_SOURCES += \
	report/store.c report/store.h \
	report/table.c report/table.h
EXTRA_DIST += results/README.md
