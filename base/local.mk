libddpbench_a_SOURCES += \
	base/arena.c base/arena.h \
	base/clock.c base/clock.h \
	base/err.c base/err.h \
	base/footprint.c base/footprint.h \
	base/json.c base/json.h \
	base/notes.c base/notes.h \
	base/ranksum.c base/ranksum.h \
	base/resample.c base/resample.h \
	base/rng.c base/rng.h \
	base/shift.c base/shift.h \
	base/stats.c base/stats.h \
	base/step_word.h \
	base/suggest.c base/suggest.h \
	base/units.c base/units.h
