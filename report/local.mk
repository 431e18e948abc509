libddpbench_a_SOURCES += \
	report/store.c report/store.h \
	report/table.c report/table.h report/table_parts.h report/table_ranks.c
EXTRA_DIST += results/README.md
