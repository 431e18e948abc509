libddpbench_a_SOURCES += \
	comm/backlog.c comm/backlog.h \
	comm/bucket.c comm/bucket.h \
	comm/call.h \
	comm/crc32c.c comm/crc32c.h \
	comm/flow.c comm/flow.h \
	comm/frame.c comm/frame.h \
	comm/overlap.c comm/overlap.h \
	comm/ring.c comm/ring.h \
	comm/sum.c comm/sum.h \
	comm/transport.h comm/transport_null.c comm/transport_tcp.c

# make tools/bench_ring: how fast the ring is on this machine or between two
EXTRA_PROGRAMS += tools/bench_ring
tools_bench_ring_SOURCES = tools/bench_ring.c
