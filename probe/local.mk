libddpbench_a_SOURCES +=
