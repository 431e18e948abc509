libddpbench_a_SOURCES += \
	comm/crc32c.c comm/crc32c.h \
	comm/frame.c comm/frame.h \
	comm/sum.c comm/sum.h
