libddpbench_a_SOURCES += \
	report/runs.c report/runs.h \
	report/store.c report/store.h \
	report/table_predict.c report/table_predict.h report/table_score.c \
	report/table.c report/table.h report/table_parts.h report/table_link.c report/table_link.h report/table_health.c report/table_ranks.c \
	report/trace.c report/trace.h
EXTRA_DIST += results/README.md
