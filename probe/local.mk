libddpbench_a_SOURCES += \
	probe/affinity.c probe/affinity.h \
	probe/cgroup.c probe/cgroup.h \
	probe/cpu.c probe/cpu.h \
	probe/cpus.c probe/cpus.h \
	probe/doctor.c probe/doctor.h \
	probe/frequency.c probe/frequency.h \
	probe/health.c probe/health.h \
	probe/heat.c probe/heat.h \
	probe/membw.c probe/membw.h \
	probe/memory.c probe/memory.h \
	probe/netif.c probe/netif.h \
	probe/power.c probe/power.h \
	probe/probe.c probe/probe.h probe/probe_json.c probe/threads.c \
	probe/reasons.c probe/reasons.h \
	probe/sysroot.c probe/sysroot.h \
	probe/topology.c probe/topology.h \
	probe/watch.c probe/watch.h
