# Many steps hold no more than few: resident memory and descriptors of every rank before the first and after the last timed
# step, with ranks on this node and with a node that serves.
. "$TOP_SRCDIR/tests/lib.sh"
not_under "asan tsan" "the sanitizer itself looks for leaks, and its memory is not the program's"
. "$TOP_SRCDIR/tests/net.sh"
. "$TOP_SRCDIR/tests/fault_kit.sh"

# A step leaves its sample: 3 times of 8 layers, one of 51 tensors, 10 numbers of each of 5 buckets and a few more, which is
# under 2 KiB; the rest is room for the allocator and the page cache of libraries. A leaked bucket or frame is far more.
steps=40
most=$((steps * 2048 + 2 * 1048576))

holds_no_more()
{
    for rank in 0 1; do
        holds "$1, rank $rank: descriptors" test "$(value out nodes.$rank.fds.end)" -eq "$(value out nodes.$rank.fds.start)"
        holds "$1, rank $rank: at least the standard three" test "$(value out nodes.$rank.fds.start)" -ge 3
        grew=$(($(value out nodes.$rank.memory.end_bytes) - $(value out nodes.$rank.memory.start_bytes)))
        echo "# $1, rank $rank: grew by $grew bytes in $steps steps"
        # the network's weights, gradients and moments alone are 172 MB
        holds "$1, rank $rank: memory is known" test "$(value out nodes.$rank.memory.start_bytes)" -gt 150000000
        if [ -n "${SANITIZER-}" ]; then
            skip "$1, rank $rank: memory" 'a sanitizer keeps what was freed'
        else
            holds "$1, rank $rank: memory" test $grew -lt $most
        fi
    done
}

status=0
(call --spawn 2 --seq 8 --steps $steps) >out 2>err || status=$?
is 'ranks here' $status 0
holds_no_more 'ranks here'
serves b
train --steps 2
tidy 'a short run'
train --seq 8 --steps $steps
is 'a node that serves' $status 0
holds_no_more 'a node that serves'
tidy 'a long run'
finish
