# tests/fault_kit.sh - sourced after lib.sh and net.sh by tests of faults: a serving node, a run with it, and what must be
# true however that ends.
#
#   serves NAME ARGUMENT...     a serving node on the loopback; $server, $port, NAME.log
#   train ARGUMENT...           a short run; its status in $status, its document in out, what it said in err
#   begin ARGUMENT...           a long one in the background ($caller); begun when it trains
#   ended                       waits for it; $status, $took_ms since the last since
#   says STATUS PATTERN WHAT
#   tidy WHAT                   the server listens and has as many descriptors as at first, and no worker is there
#
# Servers and proxies are killed at the end of the test, one by one.
# shellcheck shell=sh
# shellcheck disable=SC2034 # variables are for the test
. "$TOP_SRCDIR/tests/json_kit.sh"
proxy="$(dirname "$DDPBENCH")/tests/proxy"
knock="$(dirname "$DDPBENCH")/tests/knock"
for program in "$proxy" "$knock"; do
    [ -x "$program" ] || skip_all "$program is not built"
done
mine=
# shellcheck disable=SC2317 # called by the trap
clean_up()
{
    for process in $mine; do
        kill -CONT "$process" 2>/dev/null
        kill "$process" 2>/dev/null
    done
    wait
    [ ! -d "$(testnet folder)" ] || net_down
    rm -rf "$scratch"
}
trap clean_up EXIT
(umask 077 && od -An -N32 -tx1 /dev/urandom | tr -d ' \n' >key)
quick='--model shakespeare-char --batch 1 --seq 32 --warmup 1 --threads 1 --no-baseline --no-floor'

since()
{
    since=$(now_ms)
}

serves()
{
    name=$1
    shift
    : >"$name.log"
    XDG_STATE_HOME="$scratch/state.$name" "$DDPBENCH" serve --port 0 --key-file key --threads 1 "$@" 2>"$name.log" &
    server=$!
    log=$name.log
    mine="$mine $server"
    until_holds grep -q 'on port' "$log"
    port=$(sed -n 's/.*on port \([0-9]*\)$/\1/p' "$log")
    peer=127.0.0.1:$port
    fds_first=
}

# wire RULE... - a proxy to the server, with a control pipe in ./rules; peers are called through it from now on
wire()
{
    [ -p rules ] || mkfifo rules
    rm -f wire.port
    "$proxy" --control rules wire.port 127.0.0.1 "$port" "$@" 2>wire.log &
    wire=$!
    mine="$mine $wire"
    until_holds test -s wire.port
    peer=127.0.0.1:$(cat wire.port)
}

unwire()
{
    kill "$wire"
    wait "$wire" 2>/dev/null
    peer=127.0.0.1:$port
}

# Silence is judged after $patience_s: a minute, which no machine is held up for, or what the subject of a test needs.
patience_s=60
call()
{
    # shellcheck disable=SC2086 # several words
    XDG_STATE_HOME="$scratch/state" exec "$DDPBENCH" $quick --peer-timeout $patience_s --results-dir "$scratch/cut" --json "$@"
}

train()
{
    status=0
    (call --peers "$peer" --test-this-host --key-file key "$@") >out 2>err || status=$?
}

begin()
{
    : >err
    : >live
    call --live 9 "$@" >out 2>err 9>live &
    caller=$!
    mine="$mine $caller"
    stepping
}

begin_with_peer()
{
    begin --steps 100000 --peers "$peer" --test-this-host --key-file key "$@"
}

ended()
{
    status=0
    wait "$caller" || status=$?
    took_ms=$(($(now_ms) - since))
}

says()
{
    is "$3: status" "$status" "$1"
    holds "$3: $2" grep -Eq -- "$2" err
    grep -Eq -- "$2" err || sed 's/^/# /' err
}

# in_time WHAT LEAST MOST - of milliseconds
in_time()
{
    [ "$2" -eq 0 ] || holds "$1: after $2 ms at least ($took_ms)" test "$took_ms" -ge "$2"
    soon "$1" "$took_ms" "$3"
}

# silent_for WHAT LEAST MOST - the same for a silence, which counts from the last sign of life: one a second, and on a machine
# that is held up long ago when the process is stopped.
silent_for()
{
    calm "$1: after $2 ms at least ($took_ms)" test "$took_ms" -ge "$2"
    soon "$1" "$took_ms" "$3"
}

worker_of()
{
    ps -o pid= --ppid "$1" | awk 'NR == 1 { print $1 }'
}

# shellcheck disable=SC2317
idle()
{
    [ -z "$(worker_of "$server")" ] &&
        [ "$(grep -c 'session with .*: rank [0-9]* of' "$log")" -eq "$(grep -c 'session with [^ ]* ended' "$log")" ]
}

fds_of()
{
    # shellcheck disable=SC2012 # names are numbers
    ls "/proc/$1/fd" | wc -l
}

# shellcheck disable=SC2317
no_more_fds()
{
    [ "$(fds_of "$server")" -le "$fds_first" ]
}

# The first call sets the number of descriptors that later ones compare with: what it is after six seconds, when strangers are
# gone, if it has not been the same for one before.
tidy()
{
    holds "$1: no worker stays" until_holds idle
    holds "$1: the server goes on" kill -0 "$server"
    if [ -n "$fds_first" ]; then
        holds "$1: nor a descriptor more than $fds_first" until_holds no_more_fds
        return
    fi
    tries=0 same=0
    while [ $tries -lt 60 ] && [ $same -lt 10 ]; do
        fds=$(fds_of "$server")
        [ "$fds" = "$fds_first" ] && same=$((same + 1)) || same=0
        fds_first=$fds
        tries=$((tries + 1))
        sleep 0.1
    done
}

# frozen PROCESS WHAT PATTERN [TEXT] - of a run that has begun; with patience_s=5
frozen()
{
    mine="$mine $1"
    since
    kill -STOP "$1"
    ended
    says 75 "$3" "$2"
    silent_for "$2" 4000 8500
    calm "$2: warned of before" grep -Eq "warning: ${4:-no sign of life}.* for ([3-9]|[1-9][0-9]+) s; giving up after 5 s" err
    is "$2: failed" "$(value out status)" failed
    holds "$2: what was measured is kept" test "$(value out saved)" != null
}

# stood_still WHAT - one step did, in the exchange or right after it; on a busy machine others may have, too
stood_still()
{
    for i in $(seq 0 $(($(value out stalls) - 1))); do
        echo "$(value out "stalls.$i.exposed_s") $(value out "stalls.$i.agree_s")"
    done >waits
    # shellcheck disable=SC2016 # awk's own
    holds "$1: one step waited for that long" awk '{ print } $1 + $2 > 1.5 { n++ } END { exit !n }' waits
    # shellcheck disable=SC2016
    calm "$1: and no longer than a few seconds" awk '{ print } $1 + $2 > 9 { n++ } END { exit n }' waits
    holds "$1: it is told" grep -q 'warning: step [0-9]* stood still' err
}

# fault RULE WHAT ARGUMENT... - in the middle of a run with these arguments
fault()
{
    rule=$1 what=$2
    shift 2
    wire "any up delay 0"
    begin_with_peer --seed 1 "$@"
    since
    echo "$rule" >rules
    ended
    holds "$what: it happened" grep -Eq 'proxy: connection' wire.log
    is "$what: failed" "$(value out status)" failed
    is "$what: error.code" "$(value out error.code)" $status
    unwire
}
