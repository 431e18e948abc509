libddpbench_a_SOURCES += \
	ddp/arithmetic.c ddp/arithmetic.h \
	ddp/beat.c ddp/beat.h \
	ddp/feed.c ddp/feed.h \
	ddp/patience.c ddp/patience.h \
	ddp/plan.c ddp/plan.h \
	ddp/reduce.c ddp/reduce.h \
	ddp/rehearse.c ddp/rehearse.h \
	ddp/replay.c ddp/replay.h \
	ddp/run.c ddp/run.h \
	ddp/shares.c ddp/shares.h \
	ddp/spawn.c ddp/spawn.h ddp/spawn_place.c \
	ddp/step.c ddp/step.h \
	ddp/team.c ddp/team.h \
	ddp/timeline.c ddp/timeline.h
