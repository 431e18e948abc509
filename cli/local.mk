ddpbench_SOURCES = cli/main.c cli/commands.h \
	cli/options.c cli/options.h \
	cli/output.c cli/output.h
