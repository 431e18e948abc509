libddpbench_a_SOURCES +=
KERNEL_LIBS =
