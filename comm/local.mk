libddpbench_a_SOURCES += \
	comm/backlog.c comm/backlog.h \
	comm/address.c comm/address.h \
	comm/bucket.c comm/bucket.h \
	comm/call.h \
	comm/channel.c comm/channel.h \
	comm/code.c comm/code.h \
	comm/control.c comm/control.h \
	comm/crc32c.c comm/crc32c.h \
	comm/crypto.c comm/crypto.h \
	comm/datalink.c comm/datalink.h \
	comm/dial.c comm/dial.h \
	comm/flow.c comm/flow.h \
	comm/frame.c comm/frame.h \
	comm/greeting.c comm/greeting.h \
	comm/guest.c comm/guest.h \
	comm/keystore.c comm/keystore.h \
	comm/overlap.c comm/overlap.h \
	comm/peer_list.c comm/peer_list.h \
	comm/peer_text.c comm/peer_text.h \
	comm/ring.c comm/ring.h \
	comm/serve.c comm/serve.h \
	comm/session.c comm/session.h comm/session_connect.c comm/session_join.c \
	comm/sum.c comm/sum.h \
	comm/throttle.c comm/throttle.h \
	comm/tls.c comm/tls.h \
	comm/transport.h comm/transport_null.c comm/transport_tcp.c \
	comm/wait.c comm/wait.h \
	comm/wire.c comm/wire.h

# make tools/bench_ring: how fast the ring is on this machine or between two
EXTRA_PROGRAMS += tools/bench_ring
tools_bench_ring_SOURCES = tools/bench_ring.c
