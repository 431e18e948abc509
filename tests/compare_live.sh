# compare --iface: two cables of different speed between two hosts, measured in turns; and what is refused before that.
. "$TOP_SRCDIR/tests/lib.sh"
not_under "asan tsan" "runs and links are measured in peers.sh and link.sh"
. "$TOP_SRCDIR/tests/net.sh"
. "$TOP_SRCDIR/tests/link_kit.sh"
. "$TOP_SRCDIR/tests/page_kit.sh"

for bad in '--iface a,b' '--peers laptopb' '--iface a --peers laptopb' '--iface a,b --peers x,y' 'x --iface a,b --peers y'; do
    status=0
    # shellcheck disable=SC2086 # several arguments
    "$DDPBENCH" compare $bad >out 2>err || status=$?
    is "refused: $bad" $status 64
done

missing=$(net_missing)
if [ -n "$missing" ]; then
    skip 'two cables' "$missing"
    finish
fi
net_up --rate 200mbit
printf '127.0.0.1 localhost\n127.0.1.1 laptopa\n10.77.0.2 laptopb\n10.78.0.2 laptopb\n' >"$net/hosts.a"
ip link add vc netns "$net_id-a" type veth peer name vd netns "$net_id-b"
ip -n "$net_id-a" addr add 10.78.0.1/24 dev vc
ip -n "$net_id-b" addr add 10.78.0.2/24 dev vd
for end in a:vc b:vd; do
    ip -n "$net_id-${end%:*}" link set "${end#*:}" up
    ip netns exec "$net_id-${end%:*}" tc qdisc add dev "${end#*:}" root tbf rate 900mbit burst 256kb latency 20ms
done
on b "$DDPBENCH" serve --key-file "$scratch/key" --threads 1 2>host.log &
servers="$servers $!"
until_holds grep -q 'on port 27124' host.log
status=0
(on a "$DDPBENCH" compare --iface va,vc --peers laptopb --key-file "$scratch/key" --threads 1 --model mlp-768 --batch 64 \
    --warmup 1 --steps 2 --duration 14 --results-dir "$scratch/saved" -o page.html --json) >out 2>err || status=$?
is 'a slow and a fast cable' $status 0
[ $status -eq 0 ] || sed 's/^/# /' err
calm 'the fast one is faster' test "$(value out verdict)" = faster
at out ways.0.interface va
at out ways.1.interface vc
near 'the rate of the slow one' "$(value out ways.0.rate_bytes_per_s)" 12e6 25e6
near 'of the fast one' "$(value out ways.1.rate_bytes_per_s)" 35e6 115e6
between 'what communication takes from computing' "$(value out ways.0.compute_slowdown)" 0.5 5
between 'on the other one' "$(value out ways.1.compute_slowdown)" 0.5 5
near 'four of each against four: 2 of 70' "$(value out p)" 0.028 0.029
between 'the slow one is predicted' "$(value out ways.0.predicted_speedup)" 0.001 2
between 'and measured' "$(value out ways.0.measured_speedup)" 0.001 2
calm 'the fast one brings more' awk "BEGIN { exit !($(value out ways.1.measured_speedup) > $(value out ways.0.measured_speedup)) }"
same page.html out 15
figures page.html 2
is 'every run is saved' "$(find "$scratch/saved" -name '*-mlp-768*.json' | wc -l)" 9
net_down
finish
