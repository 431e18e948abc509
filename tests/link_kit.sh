# tests/link_kit.sh - sourced after lib.sh and net.sh by the tests that measure links; servers end with the test.
#
#   serves NAME ARGUMENT...       a serving node: its process in $server, its port in $port, what it says in NAME.log
#   measure OUTPUT ARGUMENT...    link with those arguments; its status in $status, what it says in err
#   at FILE PATH VALUE            a statement about a document; value FILE PATH prints
#   says STATUS WHAT PATTERN      the last one ended so, and err has the pattern
#   between WHAT VALUE LOW HIGH   near WHAT VALUE LOW HIGH   the same where it is a matter of time: calm
#
# The key is in the file key of the scratch folder, which is the current one.
# shellcheck shell=sh
json_at="$(dirname "$DDPBENCH")/tests/json_at"
[ -x "$json_at" ] || skip_all 'tests/json_at is not built'
cd "${scratch:?}" || exit 99
export NO_COLOR=1 XDG_DATA_HOME="$scratch/data"
servers=
# shellcheck disable=SC2317 # called by the trap
clean_up()
{
    # shellcheck disable=SC2086 # several processes
    [ -z "$servers" ] || kill $servers 2>/dev/null
    wait
    net_down >/dev/null 2>&1
    rm -rf "$scratch"
}
trap clean_up EXIT

# serves NAME ARGUMENT... - a serving node with state and log of its own; its process in $server, its port in $port
serves()
{
    name=$1
    shift
    : >"$name.log"
    XDG_STATE_HOME="$scratch/state.$name" "$DDPBENCH" serve --port 0 --key-file key --threads 1 "$@" 2>"$name.log" &
    server=$!
    servers="$servers $server"
    until_holds grep -q 'on port' "$name.log"
    # shellcheck disable=SC2034 # for the test
    port=$(sed -n 's/.*on port \([0-9]*\)$/\1/p' "$name.log")
}

# measure OUTPUT ARGUMENT... - its status in $status
measure()
{
    to=$1
    shift
    status=0
    XDG_STATE_HOME="$scratch/state" "$DDPBENCH" link "$@" --results-dir saved --threads 1 >"$to" 2>err || status=$?
}

at()
{
    is "$1: $2" "$("$json_at" "$1" "$2" 2>&1)" "$3"
}

value()
{
    "$json_at" "$1" "$2"
}

says()
{
    is "$2: status" "$status" "$1"
    holds "$2: $3" grep -Eq -- "$3" err
    grep -Eq -- "$3" err || sed 's/^/# /' err
}

# between WHAT VALUE LOW HIGH
between()
{
    holds "$1 is $2, in $3 .. $4" inside "$2" "$3" "$4"
}

near()
{
    calm "$1 is $2, in $3 .. $4" inside "$2" "$3" "$4"
}

# inside VALUE LOW HIGH
inside()
{
    awk -v x="$1" -v low="$2" -v high="$3" 'BEGIN { exit !(x + 0 >= low && x + 0 <= high) }'
}

(umask 077 && od -An -N32 -tx1 /dev/urandom | tr -d ' \n' >key)
