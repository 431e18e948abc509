libddpbench_a_SOURCES += \
	predict/balance.c predict/balance.h \
	predict/cost.c predict/cost.h \
	predict/drift.c predict/drift.h \
	predict/explain.c predict/explain.h \
	predict/heat.c predict/heat.h \
	predict/inverse.c predict/inverse.h \
	predict/link_model.c predict/link_model.h \
	predict/profile.c predict/profile.h \
	predict/scenario.c predict/scenario.h \
	predict/simulate.c predict/simulate.h
# how fast predictions are
EXTRA_PROGRAMS += tools/bench_predict
tools_bench_predict_SOURCES = tools/bench_predict.c
