# Data connections on which nothing moves any more, while both ends say that they live: a short stall marks its step, one
# for good ends the run once it has lasted max(60 s, 10 median steps), here with less than the minute.
. "$TOP_SRCDIR/tests/lib.sh"
not_under "asan tsan" "its subject is time"
. "$TOP_SRCDIR/tests/net.sh"
. "$TOP_SRCDIR/tests/fault_kit.sh"

serves b

# --- for three seconds ---
wire 'any up delay 0'
begin --steps 150 --peers "$peer" --test-this-host --key-file key
echo 'data up stall +50000 3' >rules
ended
is 'a stall of three seconds: status' $status 0
is 'a stall of three seconds: all steps are kept' "$(value out samples)" 150
stood_still 'a stall of three seconds'
unwire
tidy 'a stall of three seconds'

# --- for good; --peer-timeout is 5, so this is not silence ---
patience_s=5
fault 'data up stall +50000' 'a stall for good' --test-patience 8
says 75 '127.0.0.1.* has neither sent nor taken a byte for [0-9.]+ s at step [0-9]+, bucket [0-9]+' 'a stall for good'
# shellcheck disable=SC2016 # awk's own
is 'a stall for good: that is 8 s, or more where steps are slow' "$(awk -v step="$(value out summary.step_s.median)" '
    match($0, /a byte for [0-9.]+ s/) { s = substr($0, RSTART + 11) + 0; d = s / (step * 10 > 8 ? step * 10 : 8)
        print ((s > 7.99 && (d < 1.01 || step > 0.5)) ? "yes" : s " s"); exit }' err)" yes
in_time 'a stall for good' 7500 25000
is 'a stall for good: nothing is said of silence' "$(grep -c 'no sign of life' err)" 0
holds 'a stall for good: what was measured is kept' test "$(value out saved)" != null
tidy 'a stall for good'
train --steps 2
is 'the next run is served' $status 0
finish
