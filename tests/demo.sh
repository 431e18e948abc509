# Demonstrations, two of four: a slow rank, Wi-Fi. Their numbers are those of the runs that they save. And what is refused,
# and how they end.
. "$TOP_SRCDIR/tests/lib.sh"
not_under "asan tsan" "its runs are ordinary ones"
. "$TOP_SRCDIR/tests/demo_kit.sh"

# --- refused before anything starts ---
refused()
{
    pattern=$1
    shift
    status=0
    timeout -k 5 100 "$DDPBENCH" demo "$@" >out 2>err </dev/null || status=$?
    is "refused: demo $*" $status 64
    holds "because: $pattern" grep -q -- "$pattern" err
    is 'in one line' "$(wc -l <err)" 1
}
refused 'needs the name'
refused 'did you mean wifi' wfii
refused 'one of the two' wifi --spawn 2 --peers b
refused 'about --peers' wifi --key-file key
refused '2 to 16' bucket --spawn 1
refused 'may stand there' wifi --peers 'a;b'

# --- a slow rank ---
plays straggler 4 mlp-768 && {
    run=$(value straggler.json parts.2.run)
    calm 'the slow rank is named' test "$(value "$run" communication.straggler.rank)" = 1
    # it was asked to take twice as long as it had alone
    calm 'it works twice as long' near "$(value "$run" nodes.1.summary.compute_s.median)" \
        "$(value "$(value straggler.json parts.0.run)" summary.step_s.median | awk '{ print 2 * $1 }')" 0.35
    # all end together: the other one stands still for at least what it works less
    calm 'and the other one stands still' awk -v fast="$(value "$run" nodes.0.summary.compute_s.median)" \
        -v slow="$(value "$run" nodes.1.summary.compute_s.median)" -v still="$(value "$run" nodes.0.summary.exposed_s.median)" \
        'BEGIN { print fast, slow, still; exit !(slow > fast && still >= 0.8 * (slow - fast)) }'
    shares=$(value straggler.json parts.3.run)
    is 'all vectors are shared out' \
        "$(($(value "$shares" nodes.0.batch) + $(value "$shares" nodes.1.batch)))" \
        "$((2 * $(value "$run" nodes.0.batch)))"
    calm 'the slow rank has the smaller share' test "$(value "$shares" nodes.1.batch)" -lt "$(value "$shares" nodes.0.batch)"
}

# --- Wi-Fi: 43 MB from either rank through 30 MB/s is 2.87 s, over 1G-eth 0.365 s ---
plays wifi 3 shakespeare-char && {
    is 'shared' "$(value "$(value wifi.json parts.2.run)" emulated.half_duplex)" true
    is 'the cable is not' "$(value "$(value wifi.json parts.1.run)" emulated.half_duplex)" false
    holds 'at least as long as the bytes take' awk -v s="$(value wifi.json parts.2.step_s)" 'BEGIN { exit !(s >= 2.8) }'
    holds 'the prediction knows that' awk -v s="$(value wifi.json parts.2.predicted.step_s.median)" 'BEGIN { exit !(s >= 2.8) }'
}

# --- Ctrl-C in the middle of a run of several ranks ---
# shellcheck disable=SC2086 # two words
"$DDPBENCH" demo wifi --spawn 2 $scale --threads 1 --results-dir cut >out 2>err </dev/null &
pid=$!
until_holds grep -q '^2 ranks' err
# shellcheck disable=SC2317 # called by holds
processes()
{
    test "$(ours | wc -l)" -ge "$1"
}
holds 'there are processes to be left' until_holds processes 3
kill -INT $pid
status=0
wait $pid || status=$?
is 'Ctrl-C' $status 130
holds 'no process is left' nobody_left
holds 'it says where what was measured is' grep -q 'interrupted; what was measured until then is in cut/demo-wifi' err
is 'nothing on stdout' "$(wc -c <out)" 0

# --- killed outright ---
# shellcheck disable=SC2086
"$DDPBENCH" demo wifi --spawn 2 $scale --threads 1 --results-dir cut2 >out 2>err </dev/null &
pid=$!
until_holds processes 2
kill -KILL $pid
wait $pid 2>/dev/null
holds 'killed: no process is left' nobody_left
finish
