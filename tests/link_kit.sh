# tests/link_kit.sh - sourced after lib.sh and net.sh by the tests that measure links; servers end with the test.
#
#   measure OUTPUT ARGUMENT...    link with those arguments; its status in $status, what it says in err
#   between WHAT VALUE LOW HIGH   near WHAT VALUE LOW HIGH   the same where it is a matter of time: calm
#
# Has what serve_kit.sh has.
# shellcheck shell=sh
. "$TOP_SRCDIR/tests/serve_kit.sh"

# measure OUTPUT ARGUMENT... - its status in $status
measure()
{
    to=$1
    shift
    status=0
    XDG_STATE_HOME="$scratch/state" "$DDPBENCH" link "$@" --results-dir saved --threads 1 >"$to" 2>err || status=$?
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
