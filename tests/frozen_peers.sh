# Processes of either end that are stopped: silence is warned of after 3 s and ends the run at --peer-timeout, whichever process it is; a
# short one only marks the step.
. "$TOP_SRCDIR/tests/lib.sh"
not_under "asan tsan" "its subject is time; frozen.sh runs"
. "$TOP_SRCDIR/tests/net.sh"
. "$TOP_SRCDIR/tests/fault_kit.sh"

# --- nodes that serve ---
patience_s=5
serves b --peer-timeout 5
begin_with_peer --seed 1
worker=$(worker_of "$server")
frozen "$worker" 'a stopped worker' '127.0.0.1.*rank 1.*at step [0-9]+: .*no sign of life from (what works|the worker)' \
    'no sign of life from what works on 127.0.0.1'
holds 'its worker is gone' until_holds test ! -d "/proc/$worker"
tidy 'a stopped worker'

begin_with_peer --seed 1
frozen "$server" 'a stopped server' \
    '127.0.0.1.*rank 1.*at step [0-9]+: no sign of life from 127.0.0.1.* for ([5-9]|[1-9][0-9]+) s'
kill -CONT "$server"
tidy 'a stopped server'

begin --steps 150 --peers "$peer" --test-this-host --key-file key
kill -STOP "$server" "$(worker_of "$server")"
sleep 2
kill -CONT "$server" "$(worker_of "$server")"
ended
is 'a peer stopped for two seconds' $status 0
stood_still 'a peer stopped for two seconds'
tidy 'a peer stopped for two seconds'

begin_with_peer --seed 1
worker=$(worker_of "$server")
kill -STOP "$caller"
since
holds 'a stopped rank 0: the worker is ended' until_holds test ! -d "/proc/$worker"
holds 'the server says why' until_holds grep -Eq 'ended: no sign of life from .* for ([5-9]|[1-9][0-9]+) s' "$log"
tidy 'a stopped rank 0'
train --steps 2
is 'the next run is served meanwhile' $status 0
kill -CONT "$caller"
since
wait "$caller"
is 'rank 0, woken: status' $? 75

finish
