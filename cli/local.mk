ddpbench_SOURCES = cli/main.c
