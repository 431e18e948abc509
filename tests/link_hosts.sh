# Measuring a link between two hosts: the rates of a shaped cable, messages that wait for no acknowledgement, two cables
# compared, a cable pulled.
. "$TOP_SRCDIR/tests/lib.sh"
not_under "tsan" "the same threads as in link.sh"
. "$TOP_SRCDIR/tests/net.sh"
. "$TOP_SRCDIR/tests/link_kit.sh"

missing=$(net_missing)
[ -z "$missing" ] || skip_all "$missing"
net_up --rate a=100mbit --rate b=50mbit
printf '127.0.0.1 localhost\n127.0.1.1 laptopa\n10.77.0.2 laptopb\n10.78.0.2 laptopb\n' >"$net/hosts.a"
on b "$DDPBENCH" serve --key-file "$scratch/key" --threads 1 2>host.log &
host=$!
servers="$servers $host"
until_holds grep -q 'on port 27124' host.log
# from_a OUTPUT ARGUMENT...
from_a()
{
    to=$1
    shift
    status=0
    (on a "$DDPBENCH" link "$@" --key-file "$scratch/key" --threads 1 --results-dir "$scratch/saved") >"$to" 2>err || status=$?
    [ $status -eq 0 ] || sed 's/^/# /' err
}

# 95.4 and 47.7 Mbit/s of payload: 1448 of 1514 bytes. A warm-up whose bytes counted would show 143. Wider than the 3 % that
# an idle machine keeps.
for _ in 1 2 3; do # what a receiver that is held up takes in the window may have come before it, or comes after
    from_a two 10.77.0.2 --warmup 1 --window 2 --duration 11 --no-compute --json
    ! { inside "$(value two link.streams.a_to_b.rate_bytes_per_s.median)" 11.2e6 12.3e6 &&
        inside "$(value two link.streams.b_to_a.rate_bytes_per_s.median)" 5.6e6 6.15e6 &&
        inside "$(value two link.rate_bytes_per_s)" 4.8e6 6.15e6; } || break
done
is 'a shaped link' "$status" 0
at two same_host false
at two local_addr 10.77.0.1
at two link.interface va
at two link.ends.b.interface vb
at two link.ends.a.interface_kind virtual
at two link.ends.a.mtu_bytes 1500
near 'A to B' "$(value two link.streams.a_to_b.rate_bytes_per_s.median)" 11.2e6 12.3e6
near 'B to A' "$(value two link.streams.b_to_a.rate_bytes_per_s.median)" 5.6e6 6.15e6
near 'both: A to B' "$(value two link.streams.duplex.a_to_b_rate_bytes_per_s.median)" 7e6 12.3e6
near 'the rate of a ring' "$(value two link.rate_bytes_per_s)" 4.8e6 6.15e6
holds 'a ping passes a busy link' test "$(value two link.latency.loaded.a_to_b.n)" -gt 0

# one cable under two names
ip -n "$net_id-a" addr add 10.79.0.1/24 dev lo
from_a out 10.77.0.2 --iface va,lo
is 'an interface that does not lead there' $status 64
holds 'is named' grep -Eq 'both ways to 10.77.0.2 end on one interface|does not reach' err
ip -n "$net_id-a" link add dk0 type bridge
ip -n "$net_id-a" addr add 10.80.0.1/24 dev dk0
ip -n "$net_id-a" link set dk0 up
from_a out laptopb --iface dk0,va --json
is 'two addresses, one way' $status 64
holds 'told as such' grep -q 'both ways to laptopb end on one interface: .*dk0 .* leaves by va too' err
at out error.code 64

# a second cable, four times as fast
testnet rate a 50mbit
ip link add vc netns "$net_id-a" type veth peer name vd netns "$net_id-b"
ip -n "$net_id-a" addr add 10.78.0.1/24 dev vc
ip -n "$net_id-b" addr add 10.78.0.2/24 dev vd
for end in a:vc b:vd; do
    ip -n "$net_id-${end%:*}" link set "${end#*:}" up
    ip netns exec "$net_id-${end%:*}" tc qdisc add dev "${end#*:}" root tbf rate 200mbit burst 256kb latency 20ms
done
from_a pair laptopb --iface va,vc --warmup 0.4 --window 0.4 --duration 18 --json
is 'two interfaces' $status 0
at pair link.interface va
at pair other_link.interface vc
at pair link.ends.a.address 10.77.0.1
at pair other_link.ends.a.address 10.78.0.1
calm 'the faster one' test "$(value pair comparison.faster)" = vc
at pair comparison.samples 3
near 'a quarter' "$(value pair comparison.rate_ratio)" 0.15 0.4
at pair link.interaction null

# header and payload in one call: nothing waits for a delayed acknowledgement, which takes 40 ms
testnet rate a none
testnet rate b none
from_a small laptopb --allreduce --duration 4 --json
is 'all-reduce on two hosts' $status 0
for line in 0 1 2 3 4; do
    [ "$(value small link.allreduce.$line.backend)" = tcp ] || continue
    near "the median for $(value small link.allreduce.$line.bytes) B" "$(value small link.allreduce.$line.latency.p50)" 0 0.02
done
# shellcheck disable=SC2016 # awk's own
awk '/^ *[0-9.e-]+,?$/ { n++; if ($1 + 0 > 0.038 && $1 + 0 < 0.046) slow++ } END { print n + 0, slow + 0 }' small >count
# shellcheck disable=SC2016
calm 'no cluster of samples at 40 ms' awk '{ print; exit !($1 > 1000 && $2 < $1 / 100) }' count

# the network goes without a word
sessions=$(grep -c 'session with .*: rank' host.log)
(on a "$DDPBENCH" link 10.77.0.2 --key-file "$scratch/key" --threads 1 --peer-timeout 5 --duration 60 --json --results-dir "$scratch/cut") >out 2>err &
caller=$!
# shellcheck disable=SC2016 # the inner shell's
until_holds sh -c 'test "$(grep -c "session with .*: rank" host.log)" -gt "$1"' sh "$sessions"
sleep 1
testnet link b down
status=0
wait $caller || status=$?
is 'a cable pulled' $status 75
at out error.code 75
holds 'no sign of life' grep -q 'no sign of life from 10.77.0.2' err
finish
