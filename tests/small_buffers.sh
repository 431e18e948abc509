# Two hosts whose kernels take a page at a time: every send is cut short, and what arrives is right all the same.
. "$TOP_SRCDIR/tests/lib.sh"
not_under "asan tsan" "frames in small pieces are in check_ring"
. "$TOP_SRCDIR/tests/net.sh"
. "$TOP_SRCDIR/tests/fault_kit.sh"

missing=$(net_missing)
[ -z "$missing" ] || skip_all "$missing"
# shellcheck disable=SC2119
net_up
for host in a b; do
    ip netns exec "$net_id-$host" sh -c 'echo 4096 4096 4096 >/proc/sys/net/ipv4/tcp_wmem' ||
        skip_all 'the sizes of socket buffers cannot be set here'
done
on b "$DDPBENCH" serve --key-file "$scratch/key" --threads 1 2>host.log &
mine="$mine $!"
until_holds grep -q 'on port 27124' host.log

# the bits of ranks that share a socket pair on this host
status=0
(call --spawn 2 --steps 3) >here 2>err || status=$?
is 'ranks here' $status 0
for how in '' --encrypt; do
    status=0
    # shellcheck disable=SC2086 # several words, or none
    (on a "$DDPBENCH" $quick --steps 3 --peers 10.77.0.2 --key-file "$scratch/key" --results-dir "$scratch/cut" --json $how) >there 2>err ||
        status=$?
    is "two hosts $how" $status 0
    [ $status -eq 0 ] || sed 's/^/# /' err
    for step in 0 1 2; do
        is "two hosts $how: the loss of step $step" "$(value there samples.$step.loss)" "$(value here samples.$step.loss)"
    done
    is "two hosts $how: the parameters" "$(value there parameter_checksum)" "$(value here parameter_checksum)"
done

# sums whose result is known, from 4 bytes to megabytes
status=0
(on a "$DDPBENCH" link 10.77.0.2 --allreduce --duration 3 --key-file "$scratch/key" --threads 1 --results-dir "$scratch/cut" --json) >sums \
    2>err || status=$?
is 'sums' $status 0
lines=$(value sums link.allreduce)
holds 'several sizes' test "$lines" -ge 5
for line in $(seq 0 $((lines - 1))); do
    is "a sum of $(value sums "link.allreduce.$line.bytes") bytes: wrong elements" "$(value sums "link.allreduce.$line.wrong")" 0
done
finish
