libddpbench_a_SOURCES += \
	report/advice.c report/advice.h \
	report/bundle.c report/bundle.h \
	report/clean.c report/clean.h \
	report/export.c report/export.h \
	report/fields.c report/fields.h \
	report/gnuplot.c report/gnuplot.h \
	report/outlook.c report/outlook.h \
	report/page.c report/page.h report/page_compare.c report/page_compare.h report/page_parts.c report/page_parts.h report/page_style.h \
	report/plot.c report/plot.h report/plot_pen.h \
	report/plot_buckets.c report/plot_health.c report/plot_link.c report/plot_outlook.c report/plot_step.c \
	report/compare.c report/compare.h report/digest.c report/digest.h report/pick.c report/pick.h \
	report/history.c report/history.h report/history_check.c report/history_check.h report/history_export.c report/history_export.h \
	report/history_plot.c report/history_plot.h report/table_compare.c report/table_compare.h report/table_history.c \
	report/runs.c report/runs.h \
	report/skim.c report/skim.h \
	report/store.c report/store.h \
	report/svg.c report/svg.h \
	report/table_predict.c report/table_predict.h report/table_score.c \
	report/table.c report/table.h report/table_parts.c report/table_parts.h report/table_link.c report/table_link.h report/table_health.c report/table_ranks.c \
	report/term.c report/term.h \
	report/trace.c report/trace.h \
	report/verdict.c report/verdict.h \
	report/ways.c report/ways.h
EXTRA_DIST += results/README.md \
	results/reference/gpt2-124m-1G/buckets.svg results/reference/gpt2-124m-1G/report.html \
	results/reference/gpt2-124m-1G/run.json \
	results/reference/shakespeare-char-300M/breakdown.svg results/reference/shakespeare-char-300M/report.html \
	results/reference/shakespeare-char-300M/run.json
