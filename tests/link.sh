# Measuring a link: what is refused, the document on the loopback, every way in which it can end early.
. "$TOP_SRCDIR/tests/lib.sh"
. "$TOP_SRCDIR/tests/net.sh"
. "$TOP_SRCDIR/tests/link_kit.sh"

# --- refused before anybody is called ---
measure out
says 64 'no name' 'needs the name of a node'
measure out ''
says 64 'an empty name' 'empty|name'
measure out laptopb,laptopc
says 64 'two nodes' 'name one node, not 2'
for duration in 0 1.9 3601 1e9 -5 1m nan inf ''; do
    measure out laptopb --duration "$duration"
    says 64 "--duration '$duration'" 'option --duration (takes|needs) a number from 2 to 3600'
done
measure out laptopb --warmup 1
says 64 'half of a stream' 'belong together'
measure out laptopb --warmup 5 --window 5 --duration 20
says 64 'streams longer than all' 'the streams alone take 30 s; --duration 20 is too short for that: 34 would do'
measure out laptopb --iface nosuch0
says 64 'an interface that is not there' "no network interface 'nosuch0' here; there are .*lo"
measure out laptopb --iface lo,lo
says 64 'the same twice' 'names lo twice'
measure out laptopb --iface lo,lo,lo
says 64 'three interfaces' 'one network interface or two'
measure out laptopb --iface lo,
says 64 'half a list' 'no list of network interfaces'
measure out 127.0.0.1
says 64 'this host' 'peer is this host'
measure out --json --duration 0 laptopb
at out error.code 64
measure out 127.0.0.1:9 --test-this-host --key-file key --json
says 69 'nobody there' 'cannot reach 127.0.0.1:9'
at out error.code 69
is 'nothing is saved of nothing' "$(ls saved 2>&1)" ''

# --- on the loopback ---
serves b
here="127.0.0.1:$port --test-this-host --key-file key"
# shellcheck disable=SC2086 # several words
measure doc $here --duration 3 --json --label 'a note'
is 'measures' $status 0
[ $status -eq 0 ] || sed 's/^/# /' err
at doc kind link
at doc schema_version 1
at doc status complete
at doc label 'a note'
at doc world 2
at doc same_host true
at doc wire clear
at doc counted_at receiver
at doc local_addr 127.0.0.1
at doc peer.address 127.0.0.1
at doc peer.name "127.0.0.1:$port"
at doc link.interface lo
at doc link.ends.b.interface lo
at doc link.ends.a.nominal_bytes_per_s null
at doc link.ends.a.threads 1
at doc link.allreduce null
holds 'a reason for every null' grep -q '"link.ends.a.nominal_bytes_per_s": "a loopback has no speed"' doc
calm '200 round trips at least' test "$(value doc link.latency.idle.n)" -ge 200
for path in link.rate_bytes_per_s link.rtt_s link.streams.a_to_b.rate_bytes_per_s.median link.ends.b.mtu_bytes \
    link.streams.b_to_a.rate_bytes_per_s.median link.streams.duplex.a_to_b_rate_bytes_per_s.median \
    link.streams.duplex.b_to_a_rate_bytes_per_s.median link.messages.0.a_to_b.time_s.median \
    link.messages.0.duplex_b_to_a.rate_bytes_per_s link.streams.a_to_b.a_cpu_s_per_gb.median \
    link.streams.a_to_b.b_process_cpu_s_per_gb.median link.samples.0.a.time_s.0; do
    between "$path" "$(value doc $path)" 1e-9 1e12
done
at doc link.messages.0.bytes 4096
at doc link.messages.1.bytes 16384
holds 'the rate is the slower way of both at once' awk -v r="$(value doc link.rate_bytes_per_s)" \
    -v a="$(value doc link.streams.duplex.a_to_b_rate_bytes_per_s.median)" \
    -v b="$(value doc link.streams.duplex.b_to_a_rate_bytes_per_s.median)" 'BEGIN { exit !(r == (a < b ? a : b)) }'
saved=$(value doc saved)
at "$saved" kind link
at "$saved" link.rate_bytes_per_s "$(value doc link.rate_bytes_per_s)"
# shellcheck disable=SC2086
{
    measure table $here --duration 8
    is 'a table' $status 0
    holds 'says that this is no link between machines' grep -q '^same host' table
    holds 'with computing beside it' grep -Eq '^gemm +all +full' table
    is 'nothing is wider than a terminal' "$(awk '{ gsub(/[^ -~]/, "") } length > 112' table | grep -v '^saved')" ''

    measure doc $here --duration 3 --no-compute --allreduce --json
    is 'all-reduce' $status 0
    at doc link.allreduce.0.backend tcp
    at doc link.allreduce.0.bytes 4
    between 'calls of 4 B' "$(value doc link.allreduce.0.latency.n)" 5 200 # 200 unless the machine is very busy
    is 'no sum is wrong' "$(grep '"wrong":' doc | sort -u | tr -d ' ,')" '"wrong":0'
    at doc link.allreduce.0.bus_bytes_per_s "$(value doc link.allreduce.0.algorithm_bytes_per_s)"
    between 'the rate, also with --allreduce' "$(value doc link.rate_bytes_per_s)" 1e6 1e12
    between 'and each way alone' "$(value doc link.streams.b_to_a.rate_bytes_per_s.median)" 1e6 1e12
    is 'latency and streams come first' "$(grep '"kind": "' doc | tail -n +2 | uniq | tr -dc 'a-z\n' | sed 's/^kind//' | paste -sd' ')" 'ping stream allreduce'

    # a slow OpenBLAS kernel is of no interest where nothing is computed
    OPENBLAS_CORETYPE=Prescott measure doc $here --duration 2 --no-compute --json
    is 'with a kernel that the user set' $status 0
    is 'nothing is said of it' "$(grep -h 'Prescott.*slow\|OPENBLAS_CORETYPE' err doc)" ''

    measure doc $here --duration 2 --allreduce --test-alter-element 0 --json
    says 70 'an altered element' 'tcp sums wrongly: 1 element of sums of 4 B'
    at doc error.code 70
    at doc status failed
    at doc link.allreduce.0.wrong 1

    (umask 077 && od -An -N32 -tx1 /dev/urandom | tr -d ' \n' >other)
    measure doc "127.0.0.1:$port" --test-this-host --key-file other --json
    says 77 'another key' 'key'
    at doc error.code 77
}

# --- ended before its time; the server measures on ---
# begin - a long measurement; its process in $caller
begin()
{
    # shellcheck disable=SC2086
    XDG_STATE_HOME="$scratch/state" "$DDPBENCH" link $here --duration 60 --threads 1 --results-dir cut --json >out 2>err &
    caller=$!
    until_holds grep -q "session with .*rank 1 of 2" "$1"
    sleep "$2"
}

# has_pings - of a document that is there
# shellcheck disable=SC2317 # called below
has_pings()
{
    [ "$(value out link.latency.idle.n 2>/dev/null || echo 0)" -ge 200 ] 2>/dev/null
}

# Nothing tells from outside what is measured by now, so a machine that is too busy for the round trips gets more time.
for seconds in 3 6 12 24; do
    : >b.log
    begin b.log $seconds
    kill -INT $caller
    status=0
    wait $caller || status=$?
    ! has_pings || break
done
is 'Ctrl-C' $status 130
at out status interrupted
at out error.code 130
holds 'what was measured is kept' test "$(value out link.latency.idle.n)" -ge 200
at "$(value out saved)" status interrupted
# shellcheck disable=SC2086
measure doc $here --duration 2 --no-compute --json
is 'the server measures on' $status 0

for seconds in 3 6 12 24; do
    serves c
    here="127.0.0.1:$port --test-this-host --key-file key"
    begin c.log $seconds
    kill -9 $server
    status=0
    wait $caller || status=$?
    ! has_pings || break
done
is 'the peer is killed' $status 75
at out status failed
at out error.code 75
holds 'the peer is named' grep -q "127.0.0.1:$port" err
holds 'what was measured before is kept' test "$(value out link.latency.idle.n)" -ge 200
finish
