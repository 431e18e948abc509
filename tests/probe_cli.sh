# The probe command from outside: one strict document, nulls and warnings where there is no /sys, affinity by the
# system's numbers, quotas and limits from a tree.
. "$TOP_SRCDIR/tests/lib.sh"
not_under "tsan" "no threads beyond those of the Check programs"
. "$TOP_SRCDIR/tests/json_kit.sh"

export XDG_CACHE_HOME="$scratch/cache" NO_COLOR=1

# probe ARGUMENT... - the document in out, warnings in err, exit status in $status; with $under in front
under=
probe()
{
    status=0
    $under "$DDPBENCH" probe --json --seconds 0.05 "$@" >out 2>err || status=$?
}

# at PATH VALUE - of the document in out
at()
{
    is "$1" "$("$json_at" out "$1" 2>&1)" "$2"
}

# tree PATH TEXT [PATH TEXT...] - a new tree with these files
tree()
{
    rm -rf tree
    while [ $# -gt 1 ]; do
        mkdir -p "tree/${1%/*}"
        printf '%b' "$2" >"tree/$1"
        shift 2
    done
}

# --- this machine ---
probe
is 'exit status' $status 0
holds 'a usable CPU' "$json_at" out usable_cpus.0
holds 'a rate of products' "$json_at" out matrix_product.flops_per_s
holds 'a memory rate' "$json_at" out memory.read_bytes_per_s
holds 'threads are pinned' "$json_at" out pinned_cpus.0
mv out whole
"$DDPBENCH" probe --seconds 0.05 >table 2>err
is 'the table says how many threads and why' "$(grep -c '^  threads  *[0-9]*: ' table)" 1

status=0
"$DDPBENCH" probe --json --seconds 0.05 >/dev/full 2>err || status=$?
is 'status when the result cannot be written' $status 74
probe --sysroot "$scratch/nowhere"
is 'status of a missing tree' $status 66
at error.code 66
probe --jsn
is 'status of an unknown option' $status 64
at error.code 64

# --- affinity ---
last=$("$json_at" whole usable_cpus.1 2>/dev/null)
if command -v taskset >/dev/null && [ -n "$last" ]; then
    under="taskset -c $last" probe
    is 'exit status on one CPU' $status 0
    at usable_cpus 1
    at usable_cpus.0 "$last"
    at threads 1
    at pinned_cpus.0 "$last"
    under="taskset -c $last" probe --threads 2
    is 'two threads on one CPU are allowed' $status 0
    holds 'with a warning' grep -q 'warning: 2 threads on 1 CPU' err
    at pinned_cpus null
else
    skip 'affinity' 'needs taskset and two CPUs'
fi

# --- quotas and odd lists, with this process's affinity ---
if [ "$(taskset -c 0,1 nproc 2>/dev/null)" = 2 ]; then
    under='taskset -c 0,1'
    tree sys/fs/cgroup/cpu.max 'max 100000\n'
    probe --sysroot tree
    at threads 2
    tree sys/fs/cgroup/cpu.max '150000 100000\n'
    probe --sysroot tree
    at threads 1
    at limits.cpu_quota 1.5
    tree sys/fs/cgroup/cpu/cpu.cfs_quota_us '-1\n' sys/fs/cgroup/cpu/cpu.cfs_period_us '100000\n'
    probe --sysroot tree
    at threads 2
    is 'nothing to warn of' "$(cat err)" ''

    # online list, usable CPUs, warnings
    while read -r online cpus first warnings; do
        case $online in
        empty) tree sys/devices/system/cpu/online '' ;;
        *,newline) tree sys/devices/system/cpu/online "${online%,*}\n" ;;
        *) tree sys/devices/system/cpu/online "$online" ;;
        esac
        probe --sysroot tree
        is "status with online '$online'" $status 0
        at usable_cpus "$cpus"
        at usable_cpus.0 "$first"
        is "warnings with online '$online'" "$(grep -c 'warning: ' err)" "$warnings"
    done <<'END'
1 1 1 0
0-0,2 1 0 0
empty 2 0 1
0-1,newline 2 0 0
END
    under=
else
    skip 'quotas and odd lists' 'needs taskset and CPUs 0 and 1'
fi

tree sys/fs/cgroup/memory.max '1073741824\n'
probe --sysroot tree
at memory.limit_bytes 1073741824
at memory.cgroup_limit_bytes 1073741824
tree sys/fs/cgroup/memory/memory.limit_in_bytes '1073741824\n'
probe --sysroot tree
at memory.limit_bytes 1073741824
tree sys/fs/cgroup/memory.max 'max\n'
probe --sysroot tree
at memory.cgroup_limit_bytes null

# --- no /sys ---
# shellcheck disable=SC2016
if unshare -m sh -c 'mount -t tmpfs none /sys' 2>/dev/null; then
    for components in '' -x86; do
        status=0
        HIDE=$components unshare -m sh -c 'mount -t tmpfs none /sys; [ -z "$HIDE" ] || export HWLOC_COMPONENTS=$HIDE
            exec "$DDPBENCH" probe --json --seconds 0.05' >out 2>err || status=$?
        is "status without /sys${components:+, components $components}" $status 0
        at usable_cpus "$("$json_at" whole usable_cpus)"
        is 'one line on stderr' "$(wc -l <err | tr -d ' ')" 1
        holds 'which is a warning' grep -q 'warning: /sys is empty' err
        at frequency.governor null
        is 'at least one core' "$([ "$("$json_at" out topology.cores)" -ge 1 ] && echo yes)" yes
    done
else
    skip 'an empty /sys' 'needs the right to mount (root)'
fi

# --- decimal comma ---
if command -v localedef >/dev/null && localedef -i de_DE -f UTF-8 "$scratch/de_DE.UTF-8" 2>/dev/null; then
    LC_ALL=C "$DDPBENCH" probe --json --sysroot "$TOP_SRCDIR/tests/fixtures/machines/laptop" >out.C 2>err
    LOCPATH=$scratch LC_ALL=de_DE.UTF-8 "$DDPBENCH" probe --json \
        --sysroot "$TOP_SRCDIR/tests/fixtures/machines/laptop" >out.de 2>err
    # free memory of this machine moves between the two calls
    holds 'numbers as under LC_ALL=C' sh -c 'sed /limit_bytes/d out.C >c; sed /limit_bytes/d out.de >d; cmp c d'
    holds 'with points' grep -q '"cpu_quota": 3\.5,' out.de
    LOCPATH=$scratch LC_ALL=de_DE.UTF-8 "$DDPBENCH" probe --json --seconds 0.05 >out 2>err
    is 'no decimal comma among what is measured' "$(grep -c '[0-9],[0-9]' out)" 0
else
    skip 'decimal comma' 'needs localedef and the sources of de_DE'
fi
finish
