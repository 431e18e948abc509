# Training with nodes that serve: the numbers of --spawn, a plan that differs, and every way in which one end can go while
# the other has to say so and be ready for the next run. Servers end with the test.
. "$TOP_SRCDIR/tests/lib.sh"
. "$TOP_SRCDIR/tests/net.sh"
. "$TOP_SRCDIR/tests/serve_kit.sh"

# a processor each, if there are two of these
if taskset -c 0 true 2>/dev/null && taskset -c 1 true 2>/dev/null; then
    first='taskset -c 0' second='taskset -c 1'
fi

short='--model shakespeare-char --seq 32 --warmup 1 --threads 1'

# --- refused before anything takes time ---
since=$(now_ms)
train out --peers laptopb,laptopb
says 64 'a name twice' 'twice'
train out --peers ''
says 64 'no name' 'empty'
train out --peers 127.0.0.1
says 64 'this host' 'peer is this host'
train out --peers 192.0.2.1 --spawn 2
says 64 'two ways at once' '--spawn does not go with --peers'
train out --encrypt
says 64 'encryption for nobody' '--encrypt is about the connections of --peers'
train out --peers 192.0.2.1 --encrypt --clear
says 64 'two ways to travel' '--clear and --encrypt contradict each other'
train out --peers 192.0.2.1 --iface nosuch0
says 64 'an interface that is not there' "no network interface 'nosuch0' here; there are .*lo"
soon 'all of that' $(($(now_ms) - since)) 8000

# --- the run of --spawn, on nodes that only share a key ---
serves b
two=127.0.0.1:$port
serves c
three=$two,127.0.0.1:$port
here='--test-this-host --key-file key'
# shellcheck disable=SC2086
train peers --batch 2 --steps 4 --peers $two $here
is 'trains' $status 0
[ $status -eq 0 ] || sed 's/^/# /' err
train spawn --batch 2 --steps 4 --spawn 2 --no-baseline --no-floor
same_run peers spawn 4
at peers world 2
at peers local_addr 127.0.0.1
at peers same_host true
at peers nodes 2
at peers nodes.0.name "$(hostname)"
at peers nodes.1.name "$two"
at peers nodes.1.address 127.0.0.1
at peers nodes.1.host "$(hostname)"
at peers nodes.1.threads 1
at peers nodes.1.summary.step_s.n 4
at peers wire clear
at peers communication.transport tcp
holds 'with a speed-up' awk -v x="$(value peers speedup.measured)" 'BEGIN { print x; exit !(x > 0 && x < 4) }'
holds 'the processor of the peer' test "$(value peers nodes.1.cpu)" != null
holds 'its own readings while it trained' test "$(value peers nodes.1.health.sampler.readings)" -ge 2
holds 'in a series' awk -v t="$(value peers nodes.1.health.series.t_s.1)" 'BEGIN { exit !(t > 0) }'
quick='--no-baseline --no-floor --steps 2'
# shellcheck disable=SC2086
{
    train peers $quick --global-batch 6 --shares 2:1 --schedule split --seed 7 --lr 0.001 --peers $two $here
    train spawn $quick --global-batch 6 --shares 2:1 --schedule split --seed 7 --lr 0.001 --spawn 2
    same_run peers spawn 2
    at peers nodes.1.batch 2
    train peers $quick --batch 1 --bucket-mb 5 --clip 1 --accum 2 --verify --peers $three $here
    train spawn $quick --batch 1 --bucket-mb 5 --clip 1 --accum 2 --verify --spawn 3
    same_run peers spawn 2
    at peers nodes.2.name "${three#*,}"
    status=0
    XDG_STATE_HOME="$scratch/state" $first "$DDPBENCH" $short $quick --batch 1 --results-dir saved --peers $two $here >table 2>err ||
        status=$?
    is 'a table' $status 0
    holds 'with the names of the peers' grep -q "^rank 1  *$two" table
    is 'nothing is wider than a terminal' "$(awk 'length > 100' table)" ''
    # the model of random vectors, and of another optimizer
    train peers --model linear-10x2 --seq 1 --steps 3 --no-baseline --peers $two $here
    is 'another model' $status 0
}

# --- work that this node would not do ---
differs()
{
    serves d --once --wait 30 --test-plan "$1"
    since=$(now_ms)
    # shellcheck disable=SC2086
    train out --batch 1 --steps 5 --peers "127.0.0.1:$port" $here
    took=$(($(now_ms) - since))
    says 76 "$1" "$2"
    soon "$1" $took 4500 # a handshake may take five seconds
    at out error.code 76
    status=0
    wait $server || status=$?
    is "$1: the other end" $status 76
    holds "$1: $3" grep -Eq -- "$3" d.log
}
differs model=mlp-768 'model shakespeare-char here, mlp-768 on 127' 'model mlp-768 here, shakespeare-char on'
differs steps=4 'steps 5 here, 4 on 127' 'steps 4 here, 5 on'
differs dtype=bf16 'dtype fp32 here, bf16 on 127' 'dtype bf16 here, fp32 on'
differs bucket_mb=1 'bucket mb null here, 1 on 127' 'bucket mb 1 here, null on'
differs buckets=99 'buckets [0-9]+ here, 99 on 127' 'buckets 99 here, [0-9]+ on'

# --- a run that ends before its time ---
# begin COMMAND... - a long run; its process in $caller
patience_s=20
begin()
{
    : >err
    : >live
    # shellcheck disable=SC2086
    "$@" $first "$DDPBENCH" --live 9 $short --peer-timeout $patience_s --batch 1 --warmup 0 --steps 100000 --no-baseline --no-floor --results-dir "$scratch/cut" --json \
        --peers $peer --key-file "$scratch/key" $hidden >out 2>err 9>live &
    caller=$!
}

training()
{
    begin "$@"
    stepping
}

worker_of()
{
    ps -o pid= --ppid "$1" | awk 'NR == 1 { print $1 }'
}

# shellcheck disable=SC2317 # called by until_holds
has_worker()
{
    [ -n "$(worker_of "$1")" ]
}

# shellcheck disable=SC2317
gone()
{
    ! ps -p "$1" >/dev/null
}

ended()
{
    status=0
    wait "$1" || status=$?
    took=$(($(now_ms) - since))
}

# ends_badly SERVER CALL... - on the two hosts or on the loopback; one server for all of it
ends_badly()
{
    server=$1
    shift
    training "$@"
    worker=$(worker_of "$server")
    holds 'there is a worker' test -n "$worker"
    since=$(now_ms)
    kill -9 "$worker"
    ended $caller
    says 75 'a killed worker' "$address.* at step [0-9]+: worker died: SIGKILL"
    soon 'a killed worker' $took 4500 # --peer-timeout is 20
    at out error.code 75
    at out status failed
    holds 'what was measured is kept' test "$(value out saved)" != null
    holds 'the server says so' until_holds grep -q 'worker died: SIGKILL' "$log"

    begin "$@"
    until_holds has_worker "$server"
    since=$(now_ms)
    kill -9 "$(worker_of "$server")"
    ended $caller
    # it is the first that it does, but this script may be late
    says 75 'killed as soon as it is there' "$address.* (during [a-z]+|at step [0-9]+): worker died: SIGKILL"
    soon 'killed as soon as it is there' $took 4500

    training "$@"
    worker=$(worker_of "$server")
    # while it runs nobody else gets in
    status=0
    # shellcheck disable=SC2086
    ("$@" "$DDPBENCH" $short --steps 1 --peers $peer --key-file "$scratch/key" $hidden) >out2 2>err2 || status=$?
    is 'a second caller' $status 69
    holds 'is told' grep -q 'busy' err2
    holds 'what the peer says of its steps comes with its heartbeat' until_holds grep -Eq '^step 1 [0-9]+ [0-9.]+ [0-9.]+ [0-9.]+$' live
    since=$(now_ms)
    kill -INT $caller
    ended $caller
    is 'Ctrl-C' $status 130
    at out status interrupted
    holds 'the steps until then are kept' test "$(value out saved)" != null
    holds 'from the peer too' test "$(value out nodes.1.summary.step_s.n)" -gt 0
    holds 'its worker has gone' until_holds gone "$worker"
    holds 'and its session ended well' until_holds grep -q 'ended well' "$log"

    training "$@"
    worker=$(worker_of "$server")
    kill -9 $caller
    wait $caller 2>/dev/null
    holds 'rank 0 is killed: the worker goes too' until_holds gone "$worker"
}

missing=$(net_missing)
if [ -n "$missing" ]; then
    skip 'two hosts' "$missing"
    serves e
    peer=127.0.0.1:$port address=127.0.0.1 hidden=--test-this-host log=e.log
    ends_badly "$server" env XDG_STATE_HOME="$scratch/state"
    finish
fi

# --- two hosts; a's own name leads to its loopback ---
net_up --hosts 2
printf '127.0.0.1 localhost\n127.0.1.1 laptopa\n10.77.0.2 laptopb\n' >"$net/hosts.a"
# shellcheck disable=SC2086
on b $second "$DDPBENCH" serve --key-file "$scratch/key" --threads 1 2>host.log &
host=$!
servers="$servers $host"
until_holds grep -q 'on port 27124' host.log
# refuses WHO STATUS PATTERN MILLISECONDS - no run, and told why in that time
refuses()
{
    status=0
    since=$(now_ms)
    # shellcheck disable=SC2086
    (on a "$DDPBENCH" $short --steps 1 --key-file "$scratch/key" --peers "$1") >out 2>err || status=$?
    took=$(($(now_ms) - since))
    says "$2" "$1" "$3"
    soon "$1" $took "$4"
}
refuses laptopa 64 'peer is this host' 2000
refuses nosuchname 68 'nosuchname' 8000
refuses laptopb,10.77.0.9 69 'cannot reach 10.77.0.9' 8000 # it is called for 3.5 s, where the kernel would for minutes
is 'only who is missing is named' "$(grep -c laptopb err)" 0
# both hosts have this machine's clock, and the program cannot know that: what it measures must be 0 within the error it tells
# shellcheck disable=SC2086
(on a "$DDPBENCH" $short --steps 3 --key-file "$scratch/key" --peers laptopb --no-floor --no-baseline --json) >clock 2>err
at clock nodes.0.clock reference
at clock nodes.1.clock measured
holds 'the clocks differ by no more than the error' awk -v o="$(value clock nodes.1.clock_offset_s)" \
    -v e="$(value clock nodes.1.clock_offset_error_s)" 'BEGIN { print o, e; if (o < 0) o = -o; exit !(e > 0 && e < 1 && o <= e) }'
holds 'nor does the drift' awk -v d="$(value clock nodes.1.clock_drift)" -v e="$(value clock nodes.1.clock_drift_error)" \
    'BEGIN { print d, e; if (d < 0) d = -d; exit !(e > 0 && d <= e) }'
"$DDPBENCH" trace clock >traced 2>err
holds 'and the trace says how ranks are brought together' grep -q 'by the offset and drift of its clock' traced
peer=laptopb address='laptopb .10.77.0.2.' hidden='' log=host.log
ends_badly $host on a

# the network goes without a word
peer=10.77.0.2
patience_s=5
training on a
holds 'after all of that the same server trains' has_worker $host
worker=$(worker_of $host)
since=$(now_ms)
ip -n "$net_id-b" link set vb down
ended $caller
says 75 'a cable pulled' '10.77.0.2.* at step [0-9]+: no sign of life'
calm "not before five seconds of silence ($took ms)" test $took -ge 4000
soon 'after five seconds' $took 8000
holds 'the worker goes too' until_holds gone "$worker"
ip -n "$net_id-b" link set vb up
status=0
# shellcheck disable=SC2086
(on a $first "$DDPBENCH" $short $quick --batch 2 --peers laptopb --results-dir "$scratch/saved" --key-file "$scratch/key" --json) >two 2>err ||
    status=$?
is 'plugged in again: the same server' $status 0
at two local_addr 10.77.0.1
at two same_host false
at two nodes.0.name laptopa
at two nodes.1.name laptopb
at two nodes.1.address 10.77.0.2
at two nodes.1.host laptopb
# shellcheck disable=SC2086
train spawn $quick --batch 2 --spawn 2
same_run two spawn 2

# the serving process is killed
training on a
worker=$(worker_of $host)
since=$(now_ms)
kill -9 $host
ended $caller
says 75 'a killed server' '10.77.0.2.* at step [0-9]+'
soon 'a killed server' $took 4500
holds 'its worker does not outlive it' until_holds gone "$worker"
finish
