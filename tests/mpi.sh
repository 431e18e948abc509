# Ranks that mpirun starts: they train what --spawn trains, bit for bit, they say what MPI does not tell, and rank 0 says in
# one sentence why a run has ended. What mpirun itself has to say is not looked at.
. "$TOP_SRCDIR/tests/lib.sh"
. "$TOP_SRCDIR/tests/json_kit.sh"

[ -f "$(dirname "$DDPBENCH")/ddpbench-mpi.so" ] || skip_all 'the mpi back-end is not built'
command -v mpirun >/dev/null 2>&1 || skip_all 'no mpirun'
mpirun --version 2>/dev/null | grep -q 'Open MPI' || skip_all 'mpirun is not that of Open MPI'
# shellcheck disable=SC2154 # the sanitizers' makefile sets it
case ${SANITIZER-} in
asan) skip_all 'MPI leaks what it has allocated' ;;
tsan) skip_all 'MPI is not built for ThreadSanitizer' ;;
esac
mkdir results
export XDG_DATA_HOME="$scratch/data" NO_COLOR=1 TMPDIR="$scratch"

# launch ARGUMENT... - mpirun, also for root and on fewer CPUs than ranks
launch()
{
    status=0
    timeout -k 5 300 mpirun --allow-run-as-root --oversubscribe "$@" >out 2>err || status=$?
}

same()
{
    is "$1 and $2: the same $3" "$(value "$1" "$3")" "$(value "$2" "$3")"
}

short='--seq 32 --steps 3 --warmup 1 --no-floor --no-baseline --threads 1 --json'

# --- two ranks train what two ranks train ---
for schedule in ddp split; do
    # shellcheck disable=SC2086 # options
    launch -n 2 "$DDPBENCH" --comm mpi $short --global-batch 6 --schedule $schedule
    is "two ranks, $schedule" $status 0
    mv out mpi.$schedule
    # shellcheck disable=SC2086
    "$DDPBENCH" --spawn 2 $short --global-batch 6 --schedule $schedule >tcp.$schedule 2>err || sed 's/^/# /' err
    for value in samples.0.loss samples.1.loss samples.2.loss parameter_checksum; do
        same mpi.$schedule tcp.$schedule $value
    done
    holds "$schedule: they are numbers" test "$(value mpi.$schedule parameter_checksum)" != null
done

# --- what the result says ---
at mpi.ddp world 2
at mpi.ddp same_host true
at mpi.ddp nodes 2
at mpi.ddp nodes.1.rank 1
at mpi.ddp nodes.1.summary.step_s.n 3
at mpi.ddp communication.transport mpi
at mpi.ddp communication.bytes_per_step null
at mpi.ddp communication.buckets.0.wait_s null
at mpi.ddp communication.buckets.0.sum_s null
at mpi.ddp summary.wait_s.median null
at mpi.ddp wire null
at mpi.ddp integrity null
at mpi.ddp local_addr null
holds 'with a reason' grep -q '"communication.buckets\[\].wait_s": "MPI says' mpi.ddp
holds 'the exchange took time' awk -v s="$(value mpi.ddp communication.total_s)" 'BEGIN { exit !(s > 0) }'

# --- three ranks: unequal batches, and the losses of one rank that has them all ---
# shellcheck disable=SC2086
launch -n 3 "$DDPBENCH" --comm mpi $short --global-batch 7
is 'three ranks' $status 0
mv out three
# shellcheck disable=SC2086
"$DDPBENCH" $short --global-batch 7 >one 2>err || sed 's/^/# /' err
for step in 0 1 2; do
    holds "three ranks have one's loss in step $step" awk -v a="$(value three samples.$step.loss)" \
        -v b="$(value one samples.$step.loss)" \
        'BEGIN { d = a - b; if (d < 0) d = -d; print a, b; exit !(a > 3 && d <= 1e-5 * b) }'
done
at three nodes.2.batch 2

# --- one rank is a run of one node ---
# shellcheck disable=SC2086
launch -n 1 "$DDPBENCH" --comm mpi $short --batch 1
is 'one rank' $status 0
at out world 1

# --- a run that knows nothing of its launcher says so ---
launch -n 2 "$DDPBENCH" --model linear-10x2 --steps 1 --no-floor --threads 1 --results-dir results
is 'two runs' $status 0
is 'each warned' "$(grep -c 'one of 2 processes that Open MPI started' err)" 2

# --- what cannot be ---
# refused CODE TEXT PART_OF_COMMAND... - sentence is said once, whoever else fails with it
refused()
{
    code=$1
    text=$2
    shift 2
    launch "$@"
    is "refused: $text" $status "$code"
    is 'once' "$(grep -c -- "$text" err)" 1
}

status=0
env -i PATH="$PATH" HOME="$HOME" "$DDPBENCH" --comm mpi >out 2>err || status=$?
is 'no launcher' $status 64
holds 'the command is told' grep -q 'mpirun -n 2' err
is 'in one sentence' "$(grep -c . err)" 1
refused 64 'leave out --spawn' -n 2 "$DDPBENCH" --comm mpi --spawn 2
# rank 0 is late: it is heard all the same
# shellcheck disable=SC2016 # a rank's own variable
refused 64 'leave out --spawn' -n 2 sh -c \
    '[ "$OMPI_COMM_WORLD_RANK" -gt 0 ] || sleep 0.5; exec "$@"' sh "$DDPBENCH" --comm mpi --spawn 2
refused 64 'leave out --peers' -n 2 "$DDPBENCH" --comm mpi --peers 127.0.0.1
refused 64 'iface is about the connections of --peers' -n 2 "$DDPBENCH" --comm mpi --iface lo
# the first rank is well, and would wait for a second one that will not come
# shellcheck disable=SC2086
refused 64 "rank 1: unknown option '--bogus'" -n 1 "$DDPBENCH" --comm mpi $short : -n 1 "$DDPBENCH" --comm mpi --bogus
refused 64 "unknown option '--bogus'" -n 2 "$DDPBENCH" --comm mpi --bogus
refused 66 '/missing: No such file' -n 2 "$DDPBENCH" --comm mpi --steps 1 --threads 1 --data /missing
# only the second rank fails; the first one says so
refused 66 'rank 1 on .*/missing: No such file' -n 1 "$DDPBENCH" --comm mpi --steps 1 --threads 1 : \
    -n 1 "$DDPBENCH" --comm mpi --steps 1 --threads 1 --data /missing

# --- a run that ends early ---
train="--comm mpi --seq 32 --batch 1 --warmup 0 --no-floor --no-baseline --threads 1 --results-dir results"
# shellcheck disable=SC2086
refused 70 'the parameters of rank 1 differ' -n 2 "$DDPBENCH" $train --steps 3 --test-alter-step 1

# rank NUMBER - the process that is this rank of the run
rank()
{
    for process in $(pgrep -f "results-dir results --steps 9999"); do
        tr '\0' '\n' <"/proc/$process/environ" 2>/dev/null | grep -qx "OMPI_COMM_WORLD_RANK=$1" || continue
        [ "$(readlink "/proc/$process/exe")" = "$(readlink -f "$DDPBENCH")" ] && echo "$process"
    done
}

# stop SIGNAL RANK - the signal in the middle of a run
stop()
{
    rm -f results/*
    # shellcheck disable=SC2086
    timeout -k 5 300 mpirun --allow-run-as-root --oversubscribe -n 2 "$DDPBENCH" $train --steps 999999 >out 2>err &
    mpirun=$!
    # two lines are the plan; then there are steps to interrupt
    until_holds grep -q '^plan:' err
    works "$(rank 0)" 2
    for process in $(rank "$2"); do
        kill -s "$1" "$process"
    done
    status=0
    wait $mpirun || status=$?
    for _ in $(seq 300); do
        [ -n "$(rank 0)$(rank 1)" ] || break
        sleep 0.1
    done
    is "SIG$1 to rank $2: no process is left" "$(rank 0)$(rank 1)" ''
}

stop INT 0
is 'the status of an interruption' $status 130
# the ranks may agree to stop before mpirun, which has seen the signal too, ends them
is 'one sentence' "$(grep -Ec '(ended by a signal|interrupted) after [0-9]+ timed step' err)" 1
set -- results/*.json
holds 'what was measured is saved' test -f "$1"
at "$1" status interrupted
at "$1" error.code 130
holds 'steps are in it' test "$(value "$1" samples.0.loss)" != null
stop KILL 1
holds 'a lost rank is no success' test $status -ne 0
set -- results/*.json
holds 'what was measured is saved then, too' test -f "$1"

finish
