# Runs over an emulated link: they train what they train without it, they take the time that the link takes, they say that it is
# not real, and they end as they do without it.
. "$TOP_SRCDIR/tests/lib.sh"
not_under "asan tsan" "its subject is time; check_pacer runs"
. "$TOP_SRCDIR/tests/run_kit.sh"

short='--seq 32 --batch 1 --warmup 0 --no-floor --no-baseline --threads 1 --json'

trains plain --spawn 2 --steps 2
trains slow --spawn 2 --steps 2 --emulate rate=200Mbit,rtt=1ms
trains half --spawn 2 --steps 1 --emulate rate=200Mbit,half-duplex
is 'the same training' "$(value slow parameter_checksum)" "$(value plain parameter_checksum)"

# shellcheck disable=SC2317 # called by holds
spans()
{
    awk -v s="$1" -v least="$2" -v most="$3" 'BEGIN { print s; exit !(s >= least && s <= most) }'
}

# exchange DESCRIPTION FILE LEAST MOST - in seconds. Never less, which is exact in the step of the rank that began first: whatever
# it receives was sent after the other one began (that one's own time can be shorter, since some of it was there already). A
# little more where the machine has time.
exchange()
{
    longest=$(for rank in 0 1; do value "$2" "nodes.$rank.summary.step_s.median"; done | sort -g | tail -n 1)
    holds "$1: no step is shorter" spans "$longest" "$3" 1000
    calm "$1" spans "$(value "$2" communication.total_s)" 0 "$4"
}

# two ranks send the gradient once each way: 42.98 MB at 25 MB/s; half-duplex both share that
exchange 'an exchange takes what the rate says' slow 1.70 2.2
exchange 'twice that when both ways share it' half 3.25 4.2

# --- it is told everywhere ---
at plain emulated null
at slow emulated.rate_bytes_per_s 25000000.0
at slow emulated.rtt_s 0.001
at slow emulated.half_duplex false
at half emulated.half_duplex true
at slow emulated.option rate=200Mbit,rtt=1ms
at slow link null
holds 'its cost is known' spans "$(value slow emulated.pacer_cpu_s)" 0.001 100
"$DDPBENCH" --spawn 2 --model linear-10x2 --steps 2 --no-floor --emulate rtt=5ms >table 2>err
holds 'in the table' grep -q '^emulated .*rtt 5 ms: not a real link' table

# --- refused before anything starts ---
refused()
{
    status=0
    pattern=$1
    shift
    "$DDPBENCH" "$@" >out 2>err || status=$?
    is "refused: $*" $status 64
    holds "because: $pattern" grep -q -- "$pattern" err
    is 'in one line' "$(wc -l <err)" 1
}
refused 'unit' --spawn 2 --emulate rate=1000
refused 'has a comma' --spawn 2 --emulate rate=941,5Mbit
refused 'outside' --spawn 2 --emulate rate=0Mbit
refused 'none of' --spawn 2 --emulate bw=1Gbit
refused 'one rank' --emulate rate=1Gbit
refused 'comm tcp' --spawn 2 --comm null --emulate rate=1Gbit

# --- ends ---
begin()
{
    : >live
    "$DDPBENCH" --live 9 --spawn 3 --batch 1 --seq 32 --steps 1000 --warmup 0 --no-floor --no-baseline --results-dir cut --threads 1 \
        --emulate rate=2.5Gbit,rtt=2ms,jitter=1ms --json >out 2>err 9>live &
    pid=$!
    stepping
    workers=$(ps -o pid= --ppid $pid)
}
begin
# shellcheck disable=SC2086 # several processes
kill -INT $pid $workers
status=0
wait $pid || status=$?
is 'Ctrl-C' $status 130
at out status interrupted
holds 'the steps until then are kept' test "$(value out nodes.2.summary.step_s.n)" -gt 0

begin
kill -KILL "$(echo "$workers" | awk 'NR == 1 { print $1 }')"
status=0
wait $pid || status=$?
is 'a killed worker' $status 75
holds 'is named' grep -Eq 'rank [12] was ended by SIGKILL' err
# shellcheck disable=SC2086
holds 'nobody is left' awk -v left="$(ps -o stat= -p "$(echo $workers | tr ' ' ,)" | grep -cv Z)" 'BEGIN { exit left }'

# --- nodes that serve pace their own ends ---
head -c 32 /dev/urandom | od -An -v -tx1 | tr -d ' \n' >key
chmod 600 key
export XDG_STATE_HOME="$scratch/state"
for mode in rate=200Mbit rate=200Mbit,half-duplex; do
    : >log
    "$DDPBENCH" serve --port 0 --once --key-file key --threads 1 2>log &
    server=$!
    until_holds grep -q 'on port' log
    port=$(sed -n 's/.*on port \([0-9]*\)$/\1/p' log)
    trains peers --peers "127.0.0.1:$port" --test-this-host --key-file key --steps 1 --emulate $mode
    [ $status -eq 0 ] || kill $server
    wait $server
    is "the server's end" $? 0
    case $mode in
    *half*) exchange 'both ways share the rate' peers 3.25 4.4 ;;
    *) exchange 'the rate holds between nodes' peers 1.70 2.3 ;;
    esac
done
finish
