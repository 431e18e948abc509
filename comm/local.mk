libddpbench_a_SOURCES += \
	comm/bucket.c comm/bucket.h \
	comm/call.h \
	comm/crc32c.c comm/crc32c.h \
	comm/flow.c comm/flow.h \
	comm/frame.c comm/frame.h \
	comm/ring.c comm/ring.h \
	comm/sum.c comm/sum.h

# make tools/bench_ring: how fast the ring is on this machine or between two
EXTRA_PROGRAMS += tools/bench_ring
tools_bench_ring_SOURCES = tools/bench_ring.c
