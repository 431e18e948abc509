# --compute replay: recorded steps are slept through. One rank takes what was recorded, four ranks on fewer processors too, sums over
# ranks are real, and results say what they are.
. "$TOP_SRCDIR/tests/lib.sh"
not_under "asan tsan" "its subject is time; check_replay runs"
. "$TOP_SRCDIR/tests/run_kit.sh"

short='--seq 64 --batch 4 --warmup 1 --no-floor --threads 1 --json'

# ratio A B LEAST MOST - A / B lies between
# shellcheck disable=SC2317 # called by holds and calm
ratio()
{
    awk -v a="$1" -v b="$2" -v least="$3" -v most="$4" 'BEGIN { print a, b, a / b; exit !(a >= least * b && a <= most * b) }'
}

trains one --steps 7
at one compute real
at one replay null
at one gradient_ready.first_step 0
at one gradient_ready.us 7

# a sleep never ends early; the upper side has room for a busy machine
trains again --steps 6 --compute replay:one
at again compute replay
at again replay.source one
at again replay.steps 7
at again loss.last null
at again samples.0.loss null
at again layers null
at again floor.step_s null
# warm-up was the first recorded step, so the timed ones are steps 1 to 6
for step in 0 3 5; do
    holds "step $step is no shorter than the recorded one" ratio "$(value again samples.$step.step_s)" \
        "$(value one samples.$((step + 1)).step_s)" 0.999 100
done
sum=0
for step in 0 1 2 3 4 5; do
    sum=$(awk -v a="$sum" -v b="$(value again samples.$step.step_s)" -v c="$(value one samples.$((step + 1)).step_s)" \
        'BEGIN { print a + (b / c < 1.05) }')
done
calm 'and some are within 5 %' test "$sum" -ge 1

# four ranks: each works for as long as one did alone, whatever the processors
trains four --spawn 4 --steps 7 --compute replay:one --no-baseline
trains four_split --spawn 4 --steps 3 --compute replay:one --no-baseline --schedule split
trains slow --spawn 3 --steps 7 --compute replay:one,slow=1:2
recorded=$(value one summary.step_s.median)
for rank in 0 1 2 3; do
    calm "rank $rank of four works as long" ratio "$(value four nodes.$rank.summary.compute_s.median)" "$recorded" 0.7 2
done
calm 'a slowed rank works twice as long' ratio "$(value slow nodes.1.alone_step_s.median)" \
    "$(value slow nodes.0.alone_step_s.median)" 1.5 2.5
calm 'which is told' test "$(value slow communication.straggler.rank)" = 1
at slow replay.slow.0.factor 2.0
holds 'bytes are sent' test "$(value four communication.bytes_per_step)" -gt 42980352
at four gradient_ready null

# without a file each rank records its own
trains own --spawn 2 --steps 3 --compute replay
at own compute replay
holds 'of at least five steps' test "$(value own replay.steps)" -ge 5
calm 'and takes that long' ratio "$(value own nodes.0.summary.compute_s.median)" "$(value own replay.step_s)" 0.7 2

# shellcheck disable=SC2086
"$DDPBENCH" --seq 64 --batch 4 --steps 2 --threads 1 --compute replay:one,slow=0:1.5 >table 2>err
holds 'in the table' grep -q '^replayed .*7 steps of one, rank 0 x 1.5: nothing was computed' table
holds 'and in a warning' grep -q 'warning: --compute replay' err

# --- refused ---
refused()
{
    status=0
    expected=$1
    pattern=$2
    shift 2
    # shellcheck disable=SC2086
    "$DDPBENCH" $short --steps 1 "$@" >out 2>err || status=$?
    is "refused: $*" $status "$expected"
    holds "because: $pattern" grep -q -- "$pattern" err
}
refused 64 'neither real' --compute fast
refused 64 'slow=RANK:FACTOR' --compute replay,slow=1
refused 64 'names rank 2 of 2' --spawn 2 --compute replay,slow=2:2
refused 64 'trains nothing' --compute replay --save weights
refused 66 'No such file' --compute replay:missing.json
refused 65 'batch of 4 x 64 x 1' --compute replay:one --batch 2
refused 65 'mlp-768' --compute replay:one --model mlp-768 --seq 1
refused 65 'only the result of one rank' --compute replay:four
echo '{"schema_version": 1' >"$scratch/cut"
refused 65 'no complete JSON' --compute replay:cut
echo '{"schema_version": 1}' >empty
refused 65 'no result of a run' --compute replay:empty
refused 65 'is no file' --compute "replay:$scratch"
mkfifo fifo
refused 65 'is no file' --compute replay:fifo
sed 's/"us": \["[0-9]*/"us": ["-5/' one >odd
sed -i 's/^\( *\)"\([0-9]* [0-9 ]*\)",*$/\1"x",/' odd
refused 65 '--compute replay:odd' --compute replay:odd
finish
