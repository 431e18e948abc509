# Runs that are ended by hand on either side, and a node at a tenth of the speed, which is waited for.
. "$TOP_SRCDIR/tests/lib.sh"
not_under "tsan" "the same threads as in serve.sh"
. "$TOP_SRCDIR/tests/net.sh"
. "$TOP_SRCDIR/tests/fault_kit.sh"

serves b
# --- Ctrl-C on either side ---
begin_with_peer --seed 1
kill -INT "$caller"
since
ended
is 'Ctrl-C here' $status 130
is 'interrupted' "$(value out status)" interrupted
holds 'what was measured is kept' test "$(value out saved)" != null
in_time 'Ctrl-C here' 0 4800
tidy 'Ctrl-C here'
begin_with_peer --seed 1
worker=$(worker_of "$server")
kill -INT "$server"
since
server_status=0
wait "$server" || server_status=$?
is 'Ctrl-C there: the server' $server_status 130
ended
says 75 '127.0.0.1.*at step [0-9]+' 'Ctrl-C there'
in_time 'Ctrl-C there' 0 4800
holds 'what was measured is kept here' test "$(value out saved)" != null
holds 'no worker is left there' until_holds test ! -d "/proc/$worker"

# --- a tenth of the speed, in turns of a second: silence of 0.9 s at a time is slowness ---
serves slow --peer-timeout 4
call --peer-timeout 4 --steps 6 --peers "$peer" --test-this-host --key-file key >out 2>err &
caller=$!
mine="$mine $caller"
until_holds grep -q '^plan' err
# shellcheck disable=SC2016 # the inner shell's
until_holds sh -c 'ps -o pid= --ppid "$1" | grep -q .' sh "$server"
worker=$(worker_of "$server")
works "$worker" 0.3 # until it has said that it is there
kill -STOP "$worker" 2>/dev/null
longest_ms=0
while since && sleep 0.9 && turn "$worker" 0.1; do
    took_ms=$(($(now_ms) - since))
    [ $took_ms -le $longest_ms ] || longest_ms=$took_ms
done
since
ended
if [ $longest_ms -lt 2000 ]; then
    is 'a slow node is measured' $status 0
    is 'all its steps' "$(value out nodes.1.summary.step_s.n)" 6
    is 'and nothing is said of silence' "$(grep -c 'no sign of life' err)" 0
else
    skip 'a slow node is measured' "this machine made of a second of silence $longest_ms ms"
fi
tidy 'a slow node'
finish
