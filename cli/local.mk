ddpbench_SOURCES = cli/main.c cli/commands.h \
	cli/options.c cli/options.h \
	cli/output.c cli/output.h \
	cli/progress.c cli/progress.h \
	cli/record.c cli/record.h
