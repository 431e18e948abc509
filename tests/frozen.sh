# Processes that are stopped: silence is warned of after 3 s and ends the run at --peer-timeout, whichever process it is; a
# short one only marks the step.
. "$TOP_SRCDIR/tests/lib.sh"
. "$TOP_SRCDIR/tests/net.sh"
. "$TOP_SRCDIR/tests/fault_kit.sh"

# frozen PROCESS WHAT PATTERN [TEXT] - of a run that has begun; with --peer-timeout 5
frozen()
{
    mine="$mine $1"
    since
    kill -STOP "$1"
    ended
    says 75 "$3" "$2"
    in_time "$2" 4000 8500
    holds "$2: warned of before" grep -q "warning: ${4:-no sign of life}.* for [34] s; giving up after 5 s" err
    is "$2: failed" "$(value out status)" failed
    holds "$2: what was measured is kept" test "$(value out saved)" != null
}

# --- ranks on this node ---
begin --spawn 3 --steps 100000
worker=$(worker_of "$caller")
frozen "$worker" 'a stopped rank' 'rank [12] is lost at step [0-9]+: no sign of life for [56] s: it is stopped or frozen'
holds 'nobody is left' until_holds test ! -d "/proc/$worker"

begin --spawn 2 --steps 40
worker=$(worker_of "$caller")
kill -STOP "$worker"
sleep 2
kill -CONT "$worker"
since
ended
is 'a rank stopped for two seconds' $status 0
is 'one step stood still' "$(value out stalls)" 1
# rank 0 stands still in the exchange, or right after the step
holds 'rank 0 waited for that long' awk -v a="$(value out stalls.0.exposed_s)" -v b="$(value out stalls.0.agree_s)" \
    'BEGIN { print a, b; exit !(a + b > 1.5 && a + b < 6) }'
holds 'it is told' grep -q 'warning: step [0-9]* stood still' err
is 'all steps are kept' "$(value out samples)" 40

# --- nodes that serve ---
serves b --peer-timeout 5
begin_with_peer --seed 1
worker=$(worker_of "$server")
frozen "$worker" 'a stopped worker' '127.0.0.1.*rank 1.*at step [0-9]+: .*no sign of life from (what works|the worker)' \
    'no sign of life from what works on 127.0.0.1'
holds 'its worker is gone' until_holds test ! -d "/proc/$worker"
tidy 'a stopped worker'

begin_with_peer --seed 1
frozen "$server" 'a stopped server' '127.0.0.1.*rank 1.*at step [0-9]+: no sign of life from 127.0.0.1.* for [56] s'
kill -CONT "$server"
tidy 'a stopped server'

begin --steps 40 --peers "$peer" --test-this-host --key-file key
kill -STOP "$server" "$(worker_of "$server")"
sleep 2
kill -CONT "$server" "$(worker_of "$server")"
ended
is 'a peer stopped for two seconds' $status 0
is 'one step stood still there' "$(value out stalls)" 1
tidy 'a peer stopped for two seconds'

begin_with_peer --seed 1
worker=$(worker_of "$server")
kill -STOP "$caller"
since
holds 'a stopped rank 0: the worker is ended' until_holds test ! -d "/proc/$worker"
holds 'the server says why' until_holds grep -q 'ended: no sign of life from .* for [56] s' "$log"
tidy 'a stopped rank 0'
train --steps 2
is 'the next run is served meanwhile' $status 0
kill -CONT "$caller"
since
wait "$caller"
is 'rank 0, woken: status' $? 75

finish
