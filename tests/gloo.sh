# Gradients by gloo: the same training as over the ring, bit for bit at two ranks, between processes and between nodes, and
# nulls with a reason where gloo tells nothing.
. "$TOP_SRCDIR/tests/lib.sh"
not_under "asan tsan" "gloo is not instrumented; check_backends runs"
. "$TOP_SRCDIR/tests/run_kit.sh"

[ -f "$(dirname "$DDPBENCH")/ddpbench-gloo.so" ] || skip_all 'the gloo back-end is not built'
mkdir results
export XDG_DATA_HOME="$scratch/data" XDG_STATE_HOME="$scratch/state" NO_COLOR=1

short='--seq 32 --steps 3 --warmup 1 --no-floor --no-baseline --threads 1 --json'

# --- between processes ---
for schedule in ddp split; do
    trains gloo.$schedule --spawn 2 --global-batch 6 --schedule $schedule --comm gloo
    trains tcp.$schedule --spawn 2 --global-batch 6 --schedule $schedule
    for value in samples.0.loss samples.1.loss samples.2.loss parameter_checksum; do
        is "$schedule: the same $value" "$(value gloo.$schedule $value)" "$(value tcp.$schedule $value)"
    done
    holds "$schedule: a checksum" test "$(value gloo.$schedule parameter_checksum)" != null
done
trains three --spawn 3 --global-batch 7 --comm gloo
trains one --global-batch 7
for step in 0 1 2; do
    holds "three ranks have one's loss in step $step" awk -v a="$(value three samples.$step.loss)" \
        -v b="$(value one samples.$step.loss)" \
        'BEGIN { d = a - b; if (d < 0) d = -d; print a, b; exit !(a > 3 && d <= 1e-5 * b) }'
done

# --- what the result says ---
at gloo.ddp communication.transport gloo
at gloo.ddp communication.bytes_per_step null
for part in first_byte_s wait_s move_s sum_s check_s; do
    at gloo.ddp communication.buckets.0.$part null
    holds "$part: with a reason" grep -q "\"communication.buckets\[\].$part\": \"gloo says" gloo.ddp
done
at gloo.ddp summary.wait_s.median null
at gloo.ddp nodes.1.summary.wait_s.median null
at gloo.ddp wire clear
at gloo.ddp integrity null
holds 'start and end are known' awk -v a="$(value gloo.ddp communication.buckets.0.start_s.median)" \
    -v b="$(value gloo.ddp communication.buckets.0.end_s.median)" 'BEGIN { exit !(b > a && a > 0) }'
"$DDPBENCH" --spawn 2 --seq 32 --batch 1 --steps 2 --warmup 0 --no-floor --no-baseline --threads 1 --comm gloo >table 2>err
holds 'the table names it' grep -q 'over gloo' table
holds 'and knows no number that is none' sh -c '! grep -qi nan table'

# --- a rank that dies ---
: >live
"$DDPBENCH" --live 9 --spawn 2 --seq 32 --batch 1 --steps 9999 --warmup 0 --no-floor --no-baseline --threads 1 --comm gloo \
    --results-dir cut >out 2>err 9>live &
run=$!
stepping
pkill -KILL -P $run
status=0
wait $run || status=$?
is 'a killed rank' $status 75
is 'one sentence' "$(grep -c 'rank 1 was ended by SIGKILL at step' err)" 1
set -- cut/*.json
holds 'what was measured is saved' test -f "$1"

# --- between nodes ---
od -An -tx1 -N32 /dev/urandom | tr -d ' \n' >key
chmod 600 key
XDG_STATE_HOME="$scratch/state.b" "$DDPBENCH" serve --port 0 --key-file key --threads 1 2>log &
server=$!
until_holds grep -q 'on port' log
port=$(sed -n 's/.*on port \([0-9]*\)$/\1/p' log)
trains peers --peers "127.0.0.1:$port" --key-file key --test-this-host --global-batch 6 --comm gloo
kill $server
wait $server
for value in samples.2.loss parameter_checksum; do
    is "peers: the same $value" "$(value peers $value)" "$(value tcp.ddp $value)"
done
at peers communication.transport gloo

finish
