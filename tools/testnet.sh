#!/bin/sh
# tools/testnet.sh - two or more hosts on this machine, to see what a network or a slow node does to a run.
#
#   tools/testnet.sh up [--hosts N] [--net 10.77.0] [--rate [HOST=]RATE]... [--congestion NAME]
#   tools/testnet.sh run HOST COMMAND...      as if typed on that host
#   tools/testnet.sh rate HOST RATE           of what the host sends: 984.4mbit, 50mbit, ...; none
#   tools/testnet.sh link HOST up|down        the cable
#   tools/testnet.sh slow HOST SHARE% [PID]   a CPU quota for what is run there from now on, or for the compute threads of PID
#   tools/testnet.sh slow HOST busy|off       a loop that takes half of the host's CPU; neither
#   tools/testnet.sh down
#   tools/testnet.sh with [OPTIONS OF up] -- COMMAND...   up, the command (not on a host), down, whatever happens
#   tools/testnet.sh check                    why there can be no such network here (status 77), or nothing
#   tools/testnet.sh cores                    of each core that may be used here one CPU: hosts get them in turns
#   tools/testnet.sh folder                   where hosts.HOST and home.HOST are
#
# Hosts are called a, b, c, ...: each is a network namespace at NET.1, NET.2, ... with the name laptopHOST, a hosts file, a
# home and a CPU of its own. Two are joined by one cable, va to vb; more by a switch. A rate is that of one direction, what
# its host sends, so links may be asymmetric; the shaper counts Ethernet headers, so 984.4mbit carries the 941.5 Mbit/s that
# TCP reaches on Gigabit Ethernet. --congestion names what TCP between the hosts uses where a program does not choose: cubic is
# what nearly all systems have. Without it it is this kernel's default. A quota has a period of 10 ms, short against a step; with PID the threads that move data
# (named ddp-*) are left alone, as the network card of a slow computer is not slow. TESTNET names the network, so that
# several can be there at once. up, down and slow may be repeated. Needs root, iproute2 and util-linux; nothing leaves the
# machine.
set -u
id=${TESTNET:-ddp}
folder=/run/ddpbench-testnet.$id
period_us=10000

fail()
{
    echo "testnet.sh: $1" >&2
    exit "${2:-64}"
}

missing()
{
    if [ "$(id -u)" -ne 0 ]; then
        echo 'network namespaces need root'
    elif ! command -v ip >/dev/null 2>&1; then
        echo 'there is no ip program (iproute2)'
    elif ! command -v unshare >/dev/null 2>&1; then
        echo 'there is no unshare program (util-linux)'
    elif ! ip netns add "$id-try" 2>/dev/null; then
        echo 'network namespaces cannot be made here'
    elif ! ip -n "$id-try" link add x type veth peer name y 2>/dev/null; then
        ip netns del "$id-try"
        echo 'this kernel has no veth devices'
    elif ! ip netns exec "$id-try" tc qdisc add dev x root tbf rate 1mbit burst 16kb latency 10ms 2>/dev/null; then
        ip netns del "$id-try"
        echo 'links cannot be shaped here: there is no tc program (iproute2), or this kernel has no sch_tbf'
    else
        ip netns del "$id-try"
    fi
}

hosts()
{
    cat "$folder/hosts" 2>/dev/null
}

known()
{
    case " $(hosts) " in
    *" $1 "*) ;;
    *) fail "there is no host '$1'; there are: $(hosts)" ;;
    esac
}

# number HOST - 0 for a, 1 for b, ...
number()
{
    hosts | tr ' ' '\n' | awk -v host="$1" '$1 == host { print NR - 1 }'
}

# cores - one CPU of each core that this process may use, a line each
cores()
{
    seen=
    sed -n 's/^Cpus_allowed_list:[[:blank:]]*//p' /proc/self/status | tr ',' '\n' | awk -F- '
        { for (i = $1; i <= ($2 == "" ? $1 : $2); i++) print i }' | while read -r cpu; do
        siblings=$(cat "/sys/devices/system/cpu/cpu$cpu/topology/thread_siblings_list" 2>/dev/null || echo "$cpu")
        case "$seen " in
        *" $siblings "*) ;;
        *) echo "$cpu" ;;
        esac
        seen="$seen $siblings"
    done
}

# cpu HOST - of those, in turns
cpu()
{
    cores | awk -v n="$(number "$1")" '{ cpu[count++] = $1 } END { print cpu[n % count] }'
}

# --- the network ---

shape()
{
    ip netns exec "$id-$1" tc qdisc del dev "v$1" root 2>/dev/null
    [ "$2" = none ] || ip netns exec "$id-$1" tc qdisc add dev "v$1" root tbf rate "$2" burst 256kb latency 20ms ||
        fail "the rate '$2' of host $1 cannot be set" 69
}

join()
{
    if [ "$1" = 2 ]; then
        ip link add va netns "$id-a" type veth peer name vb netns "$id-b"
        return
    fi
    ip netns add "$id-switch" && ip -n "$id-switch" link add br0 type bridge && ip -n "$id-switch" link set br0 up || return 1
    for host in $(hosts); do
        ip link add "v$host" netns "$id-$host" type veth peer name "p$host" netns "$id-switch" &&
            ip -n "$id-switch" link set "p$host" master br0 up || return 1
    done
}

make_host()
{
    ip netns add "$id-$1" && ip -n "$id-$1" link set lo up && mkdir -p "$folder/home.$1" || return 1
    printf '127.0.0.1 localhost\n' >"$folder/hosts.$1"
}

# congest NAME - by their routes, since a network namespace may not be allowed to have a default of its own
congest()
{
    i=0
    for host in $(hosts); do
        i=$((i + 1))
        ip -n "$id-$host" route replace "$net.0/24" dev "v$host" src "$net.$i" congctl "$1" || return 1
    done
}

# With their names, for those who do not write their own hosts files.
introduce()
{
    i=0
    for host in $(hosts); do
        i=$((i + 1))
        ip -n "$id-$host" addr add "$net.$i/24" dev "v$host" && ip -n "$id-$host" link set "v$host" up || return 1
        for other in $(hosts); do
            echo "$net.$i laptop$host" >>"$folder/hosts.$other"
        done
    done
}

up()
{
    n=2 net=10.77.0 rates='' congestion=
    while [ $# -gt 0 ]; do
        [ $# -ge 2 ] || fail "option $1 wants a value"
        case $1 in
        --hosts) n=$2 ;;
        --net) net=$2 ;;
        --rate) rates="$rates $2" ;;
        --congestion) congestion=$2 ;;
        *) fail "unknown option $1" ;;
        esac
        shift 2
    done
    case $n in
    [2-9] | 1[0-6]) ;;
    *) fail "2 to 16 hosts, not $n" ;;
    esac
    why=$(missing)
    [ -z "$why" ] || fail "$why" 77
    down
    trap 'down; exit 130' INT TERM HUP
    mkdir -m 700 "$folder" || fail "cannot make $folder" 73
    echo a b c d e f g h i j k l m n o p | cut -d' ' -f"1-$n" >"$folder/hosts"
    made=yes
    for host in $(hosts); do
        make_host "$host" || made=
    done
    if [ -z "$made" ] || ! join "$n" || ! introduce; then
        down
        fail 'the network cannot be made' 69
    fi
    if [ -n "$congestion" ] && ! congest "$congestion"; then
        down
        fail "this kernel has no congestion control called $congestion" 69
    fi
    for rate in $rates; do
        case $rate in
        *=*) (known "${rate%%=*}" && shape "${rate%%=*}" "${rate#*=}") ;;
        *) for host in $(hosts); do (shape "$host" "$rate") || break; done ;;
        esac || {
            down
            exit 69
        }
    done
    trap - INT TERM HUP
}

down()
{
    for host in $(hosts); do
        slow "$host" off
        ip netns pids "$id-$host" 2>/dev/null | while read -r pid; do kill "$pid" 2>/dev/null; done
        ip netns del "$id-$host" 2>/dev/null
    done
    ip netns del "$id-switch" 2>/dev/null
    rm -rf "$folder"
}

# --- slow nodes ---

# group HOST - where its control group is; empty: there are none here
group()
{
    name=ddpbench-testnet.$id.$1
    if [ -w /sys/fs/cgroup/cpu/tasks ]; then
        echo "/sys/fs/cgroup/cpu/$name"
    elif grep -qsw cpu /sys/fs/cgroup/cgroup.controllers && [ -w /sys/fs/cgroup/cgroup.subtree_control ]; then
        echo "/sys/fs/cgroup/$name"
    fi
}

limit()
{
    quota_us=$((period_us * $2 / 100))
    dir=$(group "$1")
    [ -n "$dir" ] || fail 'no control group for CPU time can be made here; there is "slow HOST busy"' 77
    [ "$dir" = "/sys/fs/cgroup/${dir##*/}" ] && echo +cpu >/sys/fs/cgroup/cgroup.subtree_control
    mkdir -p "$dir" || fail "cannot make $dir" 77
    if [ -e "$dir/cpu.max" ]; then
        echo "$quota_us $period_us" >"$dir/cpu.max"
    else
        echo "$period_us" >"$dir/cpu.cfs_period_us" && echo "$quota_us" >"$dir/cpu.cfs_quota_us"
    fi || fail "the quota of $2 % is refused" 69
}

# Those of its threads that compute; one that moves data and was made by a slow thread is slow no more. Control groups of the
# second version move processes only, unless they are made for threads.
move_threads()
{
    dir=$(group "$1")
    [ -e "$dir/tasks" ] || fail 'single threads can be slowed with control groups of version 1 only; leave the PID out' 77
    for task in "/proc/$2/task"/*; do
        case $(cat "$task/comm" 2>/dev/null) in
        '') ;;
        ddp-*) ! grep -qx "${task##*/}" "$dir/tasks" || echo "${task##*/}" >"${dir%/*}/tasks" ;;
        *) echo "${task##*/}" >"$dir/tasks" ;;
        esac
    done
}

unlimit()
{
    dir=$(group "$1")
    if [ -n "$dir" ] && [ -d "$dir" ]; then
        above=${dir%/*}
        while read -r pid; do echo "$pid" >"$above/cgroup.procs"; done <"$dir/cgroup.procs" 2>/dev/null
        rmdir "$dir" 2>/dev/null
    fi
    if [ -e "$folder/busy.$1" ]; then
        kill "$(cat "$folder/busy.$1")" 2>/dev/null
        rm -f "$folder/busy.$1"
    fi
}

slow()
{
    case $2 in
    off) unlimit "$1" ;;
    busy)
        unlimit "$1"
        cpu=$(cpu "$1")
        setsid taskset -c "$cpu" sh -c 'while :; do :; done' >/dev/null 2>&1 </dev/null &
        echo $! >"$folder/busy.$1"
        ;;
    *%)
        share=${2%\%}
        case $share in
        [1-9][0-9] | 100) ;;
        *) fail "a share of 10% to 100%, not $2" ;;
        esac
        limit "$1" "$share"
        [ $# -lt 3 ] || move_threads "$1" "$3"
        [ $# -ge 3 ] || : >"$folder/slow.$1"
        return
        ;;
    *) fail "a share such as 25%, busy or off, not $2" ;;
    esac
    rm -f "$folder/slow.$1"
}

# --- commands ---

# Becomes the command, so that a background run is the command's own process.
run()
{
    host=$1
    shift
    [ ! -e "$folder/slow.$host" ] || echo $$ >"$(group "$host")/cgroup.procs" || fail "host $host cannot be slow" 77
    # shellcheck disable=SC2016 # the inner shell's arguments
    exec ip netns exec "$id-$host" taskset -c "$(cpu "$host")" unshare --uts --mount sh -c '
        mount --bind "$1/hosts.$2" /etc/hosts && hostname "laptop$2" && export HOME="$1/home.$2" XDG_STATE_HOME= &&
        shift 2 && exec "$@"' sh "$folder" "$host" "$@"
}

with()
{
    options=
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        options="$options $1"
        shift
    done
    [ $# -ge 2 ] || fail 'with: -- and a command are missing'
    shift
    # shellcheck disable=SC2086 # several words
    up $options
    trap down EXIT
    trap 'exit 130' INT TERM HUP
    "$@"
}

command=${1-}
[ $# -eq 0 ] || shift
case $command in
up) up "$@" ;;
down) down ;;
check)
    why=$(missing)
    [ -z "$why" ] || {
        echo "$why"
        exit 77
    }
    ;;
cores) cores ;;
folder) echo "$folder" ;;
with) with "$@" ;;
run | rate | link | slow)
    [ $# -ge 2 ] || fail "$command wants a host and what to do"
    known "$1"
    case $command in
    run) run "$@" ;;
    rate) shape "$1" "$2" ;;
    slow) slow "$@" ;;
    link) ip -n "$id-$1" link set "v$1" "$2" || fail "link up or down, not $2" ;;
    esac
    ;;
*)
    sed -n '3,15s/^# \{0,1\}//p' "$0"
    exit 64
    ;;
esac
