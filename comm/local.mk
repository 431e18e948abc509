libddpbench_a_SOURCES += \
	comm/address.c comm/address.h \
	comm/backend.c comm/backend.h comm/backend_module.h \
	comm/backlog.c comm/backlog.h \
	comm/bucket.c comm/bucket.h \
	comm/call.h \
	comm/channel.c comm/channel.h \
	comm/clock_offset.c comm/clock_offset.h \
	comm/code.c comm/code.h \
	comm/control.c comm/control.h \
	comm/crc32c.c comm/crc32c.h \
	comm/crypto.c comm/crypto.h \
	comm/data_socket.c comm/data_socket.h \
	comm/datalink.c comm/datalink.h \
	comm/dial.c comm/dial.h \
	comm/emulate.c comm/emulate.h \
	comm/flow.c comm/flow.h \
	comm/frame.c comm/frame.h \
	comm/greeting.c comm/greeting.h \
	comm/guest.c comm/guest.h \
	comm/keystore.c comm/keystore.h \
	comm/loopback.c comm/loopback.h \
	comm/launch.c comm/launch.h \
	comm/link.c comm/link.h comm/link_busy.c comm/link_busy.h comm/link_motion.c comm/link_motion.h \
	comm/link_order.c comm/link_order.h comm/link_reduce.c comm/link_reduce.h \
	comm/link_socket.c comm/link_socket.h \
	comm/link_survey.c comm/link_survey.h \
	comm/overlap.c comm/overlap.h \
	comm/pacer.c comm/pacer.h comm/pacer_lane.c comm/pacer_lane.h \
	comm/peer_list.c comm/peer_list.h \
	comm/peer_text.c comm/peer_text.h \
	comm/ring.c comm/ring.h \
	comm/serve.c comm/serve.h \
	comm/session.c comm/session.h comm/session_connect.c comm/session_join.c \
	comm/ssh_start.c comm/ssh_start.h \
	comm/stream.c comm/stream.h \
	comm/slice.c comm/slice.h \
	comm/sum.c comm/sum.h \
	comm/throttle.c comm/throttle.h \
	comm/tls.c comm/tls.h \
	comm/transport.h comm/transport_null.c comm/transport_tcp.c \
	comm/wait.c comm/wait.h \
	comm/wire.c comm/wire.h

# make tools/bench_ring: how fast the ring is on this machine or between two
EXTRA_PROGRAMS += tools/bench_ring
tools_bench_ring_SOURCES = tools/bench_ring.c

# Back-ends in modules of their own, loaded when they are asked for. The program finds them beside itself or here.
AM_CPPFLAGS += -DMODULE_FOLDER='"$(pkglibexecdir)"'
pkglibexec_PROGRAMS =
EXTRA_DIST += comm/transport_gloo.cc comm/transport_mpi.c
if HAVE_GLOO
pkglibexec_PROGRAMS += ddpbench-gloo.so
ddpbench_gloo_so_SOURCES = comm/transport_gloo.cc base/err.c
# PyTorch is built with this level too; the sum is a template of gloo's and compiled here
ddpbench_gloo_so_CXXFLAGS = -std=c++17 -O3 -fPIC -fvisibility=hidden -Wall -Wextra
ddpbench_gloo_so_CFLAGS = $(AM_CFLAGS) -fPIC -fvisibility=hidden
ddpbench_gloo_so_LDFLAGS = -shared
ddpbench_gloo_so_LDADD = -lgloo
endif
if HAVE_MPI
pkglibexec_PROGRAMS += ddpbench-mpi.so
ddpbench_mpi_so_SOURCES = comm/transport_mpi.c base/err.c
ddpbench_mpi_so_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS) -fPIC -fvisibility=hidden
ddpbench_mpi_so_LDFLAGS = -shared
ddpbench_mpi_so_LDADD = $(MPI_LIBS)
endif
