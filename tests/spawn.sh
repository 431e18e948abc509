# Several ranks on this node: they train what one rank trains, they say what communication cost, and none of them stays
# behind, however a run ends.
. "$TOP_SRCDIR/tests/lib.sh"
. "$TOP_SRCDIR/tests/run_kit.sh"

# three steps of 6 sequences of the character model
short='--seq 32 --steps 3 --warmup 1 --no-floor --no-baseline --threads 1 --json'

# close FILE FILE - the losses of all steps agree to 1e-5 of their value
same_losses()
{
    for step in 0 1 2; do
        holds "$1 has the loss of $2 in step $step" awk -v a="$(value "$1" samples.$step.loss)" \
            -v b="$(value "$2" samples.$step.loss)" \
            'BEGIN { d = a - b; if (d < 0) d = -d; print a, b; exit !(a > 3 && d <= 1e-5 * b) }'
    done
}

# --- N ranks with B/N sequences each are one rank with B ---
trains one --spawn 1 --global-batch 6
trains two --spawn 2 --global-batch 6 --bucket-mb 1
trains large --spawn 2 --global-batch 6 --bucket-mb 25
trains split --spawn 2 --global-batch 6 --schedule split
trains late --spawn 2 --global-batch 6 --schedule split --optimizer-per-bucket no
trains shares --spawn 2 --global-batch 6 --shares 2:1
trains three --spawn 3 --global-batch 6
trains accum --spawn 2 --global-batch 12 --accum 2 --schedule split
trains big --spawn 1 --global-batch 12 --accum 2
for ranks in two large split shares three; do
    same_losses $ranks one
done
same_losses accum big
# two numbers have one sum, whatever travels together
is 'two ranks: the same bits for any bucket size' "$(value two parameter_checksum)" "$(value large parameter_checksum)"
is 'the optimizer per bucket: the bits of the one at the end' "$(value split parameter_checksum)" \
    "$(value late parameter_checksum)"
at split communication.optimizer_per_bucket true
at two communication.optimizer_per_bucket false # as a PyTorch loop has it
at late communication.hidden_optimizer_s 0.0
at shares nodes.0.batch 4
at shares nodes.1.batch 2
at two model.global_batch 6
at two model.batch 3
at two model.tokens_per_step 192
# seven sequences for three ranks: one has more
trains seven --spawn 3 --global-batch 7 --steps 1
at seven nodes.0.batch 3
at seven nodes.2.batch 2

# --- what the result says ---
at two world 2
at two same_host true
at one same_host false
at two nodes 2
at two nodes.1.rank 1
at two wire clear
at two integrity crc32c
at two communication.schedule ddp
at two communication.bucket_mb 1.0
at two speedup.measured null
at split communication.schedule split
# what is sent is the gradient and less than 0.1 % around it: 2 (N-1)/N of it for N = 2
holds 'bytes per step' awk -v b="$(value two communication.bytes_per_step)" \
    'BEGIN { print b; exit !(b > 42980352 && b < 42980352 * 1.001) }'
# the parts of a step are the step, also if the optimizer runs while buckets travel
for run in two split; do
    for part in step_s forward_s backward_s exposed_s optimizer_s; do
        value $run samples.1.$part
    done >parts
    # shellcheck disable=SC2016 # awk's own
    holds "$run: forward + backward + exposed + optimizer is the step, within 1 %" awk \
        'NR == 1 { step = $1; next } { sum += $1 } END { print step, sum; d = step - sum; exit !(d * d <= 1e-4 * step * step) }' parts
done
# what the plan allows: 2 buckets of 4 MB or more give a rate; without steps alone there is no step to start from
# shellcheck disable=SC2016
holds 'the arithmetic has a rate' awk -v x="$(value large communication.arithmetic.rate_bytes_per_s)" 'BEGIN { exit !(x > 0) }'
at large communication.arithmetic.step_s null

# buckets FILE - bytes and times of each
buckets()
{
    for bucket in $(seq 0 $(($(value "$1" communication.buckets) - 1))); do
        for member in bytes start_s.median end_s.median wait_s.median move_s.median sum_s.median check_s.median; do
            value "$1" "communication.buckets.$bucket.$member"
        done | tr '\n' ' '
        echo
    done
}
buckets large >large.buckets
# shellcheck disable=SC2016
holds 'the buckets are the gradient' awk '{ sum += $1 } END { print sum; exit sum != 42980352 }' large.buckets
buckets seven >seven.buckets # one step, so that medians are values
# shellcheck disable=SC2016
holds 'wait + move + sum + check is all of a bucket' awk \
    '{ took = $3 - $2; d = took - $4 - $5 - $6 - $7; if (d * d > 1e-4 * took * took) exit 1; n++ } END { exit !n }' seven.buckets

# --- one step, and none: strict JSON with nulls where nothing is defined ---
for steps in 0 1; do
    status=0
    "$DDPBENCH" --spawn 2 --batch 1 --seq 32 --steps $steps --warmup 0 --json >out$steps 2>err || status=$?
    is "$steps steps" $status 0
    at out$steps schema_version 1
    at out$steps nodes.1.summary.step_s.n $steps
done
at out0 communication.total_s null
at out0 communication.buckets null
at out0 speedup.measured null
at out0 nodes.1.alone_step_s.median null
holds 'one step has a speed-up' test "$(value out1 speedup.measured)" != null
holds 'and a baseline' test "$(value out1 speedup.baseline_step_s)" != null
if command -v python3 >/dev/null 2>&1; then
    for file in out0 out1 two; do
        holds "$file is strict JSON" python3 -c 'import json, sys
def refuse(x): raise ValueError(x)
json.load(open(sys.argv[1]), parse_constant=refuse)' $file
    done
else
    skip 'a second opinion on the JSON' 'no python3'
fi
# the CPUs are divided, at least one thread for each rank
alone=$("$DDPBENCH" --model linear-10x2 --steps 0 --json 2>/dev/null >alone && value alone nodes.0.threads)
at out1 nodes.0.threads $((alone > 1 ? alone / 2 : 1))
at out1 nodes.1.threads $((alone > 1 ? alone / 2 : 1))
if [ "$alone" -ge 2 ] && [ "$(value out1 nodes.0.cpus)" != null ]; then
    holds 'each on its own' test "$(value out1 nodes.0.cpus.0)" != "$(value out1 nodes.1.cpus.0)"
else
    skip 'each on its own' 'one CPU, or threads cannot be bound'
fi

# --- the table ---
"$DDPBENCH" --spawn 2 --batch 1 --seq 32 --steps 2 --warmup 0 --no-floor >table 2>err
for row in exchange '  exposed' bucket rank speed-up; do
    holds "the table has a row $row" grep -q "^$row  *" table
done
is 'nothing is wider than a terminal' "$(awk 'length > 100' table)" ''

# --- refused before anything starts ---
refused()
{
    status=0
    pattern=$1
    shift
    "$DDPBENCH" "$@" >out 2>err || status=$?
    is "refused: $*" $status 64
    holds "because: $pattern" grep -q -- "$pattern" err
}
refused 'rank 3' --spawn 4 --global-batch 3
refused 'multiple of --accum' --spawn 2 --global-batch 3 --accum 2
refused '5:3' --spawn 2 --shares 5
refused '5:3' --spawn 2 --shares 5:0
refused 'per rank' --spawn 2 --batch 2 --global-batch 4
refused 'ddp or split' --schedule ring
refused 'when every bucket is there' --spawn 2 --schedule split --clip 1 --optimizer-per-bucket yes
refused 'tied embedding' --spawn 2 --model mlp-768 --schedule split
refused 'tcp, gloo, mpi or null' --comm carrier-pigeon
refused 'set by the program' --spawn 2 --worker 1:2:3:4:5:0

# --- wrong results are noticed on all ranks ---
failing()
{
    status=0
    "$DDPBENCH" --spawn 2 --batch 1 --seq 32 --steps 5 --warmup 0 --no-floor --no-baseline --json "$@" >out 2>err || status=$?
}
failing --test-nan-step 2
is 'a loss that is no number' $status 70
at out error.code 70
at out summary.step_s.n 2
failing --test-alter-step 1
is 'a parameter that differs' $status 70
holds 'names the rank and the step' grep -q 'step 1: the parameters of rank 1 differ' err
# without an exchange each rank trains by itself, and the result says so
failing --comm null
is 'the null back-end' $status 0
at out communication.transport null
holds 'with a warning' grep -q 'warning: --comm null' err

# --- ends ---
workers_of()
{
    ps -o pid= --ppid "$1"
}

# begin RANKS BATCH - a long run; its process in $pid, its workers in $workers
begin()
{
    : >live
    "$DDPBENCH" --live 9 --spawn "$1" --batch "$2" --seq 64 --steps 100000 --warmup 0 --no-floor --no-baseline --results-dir cut \
        --json >out 2>err 9>live &
    pid=$!
    stepping
    workers=$(workers_of $pid)
}

# gone DESCRIPTION PID... - none of them stays
gone()
{
    what=$1
    shift
    tries=0
    left=yes
    while [ -n "$left" ] && [ $tries -lt 300 ]; do
        left=
        for process; do
            state=$(ps -o stat= -p "$process") || continue
            case $state in Z*) ;; *) left="$left $process" ;; esac
        done
        [ -n "$left" ] && sleep 0.1
        tries=$((tries + 1))
    done
    is "$what" "$left" ''
}

# end_by SIGNAL - of the first worker; the run's status in $status, how long it took in $took_ms
end_by()
{
    first=$(echo "$workers" | awk 'NR == 1 { print $1 }')
    since=$(now_ms)
    kill "-$1" "$first"
    status=0
    wait $pid || status=$?
    took_ms=$(($(now_ms) - since))
}
for ranks in 2 3; do
    begin $ranks $((32 / ranks / ranks))
    is "$ranks ranks: workers" "$(echo "$workers" | grep -c .)" $((ranks - 1))
    end_by KILL
    is 'a killed worker' $status 75
    soon 'a killed worker is noticed' $took_ms 8000 # silence would be for twenty seconds
    holds 'the rank and the step are named' grep -Eq 'rank [12] was ended by SIGKILL at step [0-9]+' err
    at out error.code 75
    at out status failed
    step=$(sed -n 's/.*SIGKILL at step \([0-9]*\).*/\1/p' err)
    holds 'steps that were measured are kept' test "$([ "$step" = 0 ] || value out saved)" != null
    # shellcheck disable=SC2086 # several processes
    gone 'and nobody is left' $workers
done
begin 2 2
end_by ILL
is 'an illegal instruction' $status 70
holds 'is named' grep -q 'worker died: SIGILL' err
# shellcheck disable=SC2086
gone 'nobody is left after that' $workers

begin 2 2
# shellcheck disable=SC2086 # as Ctrl-C does, to all of them
kill -INT $pid $workers
status=0
wait $pid || status=$?
is 'Ctrl-C' $status 130
at out status interrupted
holds 'the steps until then are kept' test "$(value out saved)" != null
holds 'from all ranks' test "$(value out nodes.1.summary.step_s.n)" -gt 0
# shellcheck disable=SC2086
gone 'nobody is left after Ctrl-C' $workers

begin 3 1
kill -KILL $pid
wait $pid 2>/dev/null
# shellcheck disable=SC2086
gone 'nobody survives rank 0' $workers
finish
