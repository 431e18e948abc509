# Real machines, recorded by the hwloc project, each come out right: what is in each stands in its name (s packages,
# n memory nodes, p fast cores, co or c cores, t threads).
. "$TOP_SRCDIR/tests/lib.sh"
not_under "tsan" "no threads beyond those of the Check programs"

machines="$TOP_SRCDIR/../shared/data/machines"
json_at="$(dirname "$DDPBENCH")/tests/json_at"
[ -d "$machines" ] || skip_all "no recorded machines in $machines"
[ -x "$json_at" ] || skip_all 'tests/json_at is not built'
command -v bzip2 >/dev/null || skip_all 'needs bzip2 to unpack the recorded machines'
cd "$scratch" || exit 99

# facts ARCHIVE PATH=VALUE...
facts()
{
    archive=$machines/$1.tar.bz2
    shift
    [ -f "$archive" ] || {
        skip "$archive" 'not there'
        return
    }
    rm -rf tree && mkdir tree && tar -xjf "$archive" -C tree || exit 99
    status=0
    "$DDPBENCH" probe --json --sysroot tree/* >out 2>err || status=$?
    is "$archive" $status 0
    for fact in "$@"; do
        is "${archive##*/}: ${fact%%=*}" "$("$json_at" out "${fact%%=*}" 2>&1)" "${fact#*=}"
    done
}

t=topology
facts 16em64t-4s2c2t $t.packages=4 $t.cores=8 $t.cpus=16 $t.online_cpus=16 $t.threads_per_core=2 $t.numa_nodes=1 \
    $t.performance_cores=null 'cpu=Intel(R) Xeon(TM) CPU 2.60GHz' isa.avx2=false warnings=0
# cpu2, 5, 13 and 14 are offline: 12 of 16 CPUs stay, and one core loses both of its threads
facts 16em64t-4s2c2t-offlines $t.packages=4 $t.cores=7 $t.cpus=16 $t.online_cpus=12 $t.threads_per_core=2 $t.numa_nodes=1
facts 20em64t-hybrid-1p6c2t+2ca4co1t $t.packages=1 $t.cores=14 $t.cpus=20 $t.online_cpus=20 $t.threads_per_core=2 \
    $t.numa_nodes=1 $t.performance_cores=6 $t.efficiency_cores=8 'cpu=13th Gen Intel(R) Core(TM) i7-1370P' \
    isa.avx2=true isa.avx512f=false frequency.governor=powersave frequency.driver=intel_pstate frequency.turbo=true \
    memory.total_bytes=33269243904 processor.hypervisor=false
facts 2arm-2c $t.packages=1 $t.cores=2 $t.cpus=2 $t.threads_per_core=1 $t.efficiency_cores=null isa=null $t.caches=null \
    'cpu=ARMv7 Processor rev 1 (v7l)' frequency.governor=ondemand frequency.current_hz=800000000.0
# the job may use 6 of the 32 CPUs (cpuset of its control group)
facts 32amd64-4s2n4c-cgroup2 $t.packages=4 $t.cores=32 $t.cpus=32 $t.threads_per_core=1 $t.numa_nodes=8 limits.cpuset=6 \
    limits.cpuset.5=5 'cpu=AMD Opteron(tm) Processor 6134'
# the firmware lists eight memory nodes, all with the same CPUs: one node, and a warning
facts 8em64t-2s2ca2c-buggynuma $t.packages=2 $t.cores=8 $t.cpus=8 $t.threads_per_core=1 $t.numa_nodes=1 warnings=1 \
    heat.core_throttle_count=0
finish
