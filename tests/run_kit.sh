# tests/run_kit.sh - sourced after lib.sh by tests that train on this node; has json_kit.sh too.
#
#   short='--seq 32 --json'         what all runs of the test have in common
#   trains OUTPUT ARGUMENT...       a statement: a run with these that ends well; its document in OUTPUT, what it said in err
#
# shellcheck shell=sh
. "$TOP_SRCDIR/tests/json_kit.sh"
short=

trains()
{
    to=$1
    shift
    status=0
    # shellcheck disable=SC2086 # several words
    "$DDPBENCH" $short "$@" >"$to" 2>err || status=$?
    is "trains: $*" $status 0
    [ $status -eq 0 ] || sed 's/^/# /' err
}
