libddpbench_a_SOURCES += \
	comm/call.h \
	comm/crc32c.c comm/crc32c.h \
	comm/flow.c comm/flow.h \
	comm/frame.c comm/frame.h \
	comm/ring.c comm/ring.h \
	comm/sum.c comm/sum.h
