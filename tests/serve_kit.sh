# tests/serve_kit.sh - sourced after lib.sh by tests in which nodes serve; servers end with the test, and its network, if net.sh
# has made one. Has json_kit.sh too.
#
#   serves NAME ARGUMENT...          a serving node with state and log of its own: $server, $port, NAME.log
#   train OUTPUT ARGUMENT...         a run with what $short has; $status, and what it said in err, if it failed in OUTPUT.err too
#   same_run FILE FILE STEPS         statements: the same parameters after so many steps with the same losses
#   says STATUS WHAT PATTERN         statements: the last one ended so, and err has the pattern
#
# $first and $second go before rank 0's command and the servers'. The key is in the file key of the scratch folder.
# shellcheck shell=sh
. "$TOP_SRCDIR/tests/json_kit.sh"
servers=
first='' second='' short=
(umask 077 && od -An -N32 -tx1 /dev/urandom | tr -d ' \n' >key)

# shellcheck disable=SC2317 # called by the trap
clean_up()
{
    # shellcheck disable=SC2086 # several processes
    [ -z "$servers" ] || kill $servers 2>/dev/null
    wait
    ! command -v net_down >/dev/null || net_down >/dev/null 2>&1
    rm -rf "$scratch"
}
trap clean_up EXIT

serves()
{
    name=$1
    shift
    : >"$name.log" # of an earlier one
    # shellcheck disable=SC2086 # several words
    XDG_STATE_HOME="$scratch/state.$name" $second "$DDPBENCH" serve --port 0 --key-file key --threads 1 "$@" 2>"$name.log" &
    server=$!
    servers="$servers $server"
    until_holds grep -q 'on port' "$name.log"
    # shellcheck disable=SC2034 # for the test
    port=$(sed -n 's/.*on port \([0-9]*\)$/\1/p' "$name.log")
}

train()
{
    to=$1
    shift
    status=0
    # shellcheck disable=SC2086 # several words
    XDG_STATE_HOME="$scratch/state" $first "$DDPBENCH" $short --results-dir saved --json "$@" >"$to" 2>err || status=$?
    [ $status -eq 0 ] || cp err "$to.err"
}

same_run()
{
    is "$1 and $2: the same parameters" "$(value "$1" parameter_checksum)" "$(value "$2" parameter_checksum)"
    step=0
    while [ $step -lt "$3" ]; do
        is "$1 and $2: the same loss in step $step" "$(value "$1" samples.$step.loss)" "$(value "$2" samples.$step.loss)"
        step=$((step + 1))
    done
    [ ! -e "$1.err" ] || sed 's/^/# /' "$1.err"
}

says()
{
    is "$2: status" "$status" "$1"
    holds "$2: $3" grep -Eq -- "$3" err
    grep -Eq -- "$3" err || sed 's/^/# /' err
}
