# What a bad wire does to a run: through a proxy that delays, damages, cuts or stalls the connections of one run after the
# other, against one server that has to take them all. Every fault is named within its deadline, nothing damaged is
# counted, and nothing stays behind.
. "$TOP_SRCDIR/tests/lib.sh"
not_under "tsan" "the same threads as in peers.sh"
. "$TOP_SRCDIR/tests/net.sh"
. "$TOP_SRCDIR/tests/fault_kit.sh"

serves b

# --- late, but right ---
train --steps 3
is 'a good wire' $status 0
[ $status -eq 0 ] || sed 's/^/# /' err
tidy 'a good wire'
mv out straight
wire 'any up delay 3 4' 'any down delay 2'
train --steps 3
is 'a slow one that jitters' $status 0
for step in 0 1 2; do
    is "the same loss in step $step" "$(value out samples.$step.loss)" "$(value straight samples.$step.loss)"
done
is 'the same parameters' "$(value out parameter_checksum)" "$(value straight parameter_checksum)"
calm 'no step stood still' test "$(value out stalls)" = 0
unwire

# --- damaged on the way: the run is void, and both ends say where ---
damaged='damaged on the way: (warm-up step|step) [0-9]+, bucket [0-9]+'
fault 'data up flip +100000' 'a bit on the way there'
says 76 "$damaged" 'a bit on the way there'
in_time 'a bit on the way there' 0 4800
holds 'the other end says it too' grep -Eq "ended: .*$damaged" "$log"
tidy 'a bit on the way there'
# what is kept is what the same steps are without the fault: nothing damaged was summed
step=$(($(value out samples) - 1))
if [ $step -ge 0 ]; then
    [ $step -le 2 ] || step=2
    is 'the steps before it are right' "$(value out samples.$step.loss)" "$(value straight samples.$step.loss)"
else
    skip 'the steps before it are right' 'it came before the first'
fi
is 'no checksum of a run that did not end' "$(value out parameter_checksum)" null
fault 'data down flip +70001' 'a bit on the way back'
says 76 "$damaged" 'a bit on the way back'
fault 'data up drop +3000 7' 'seven bytes lost'
says 76 'damaged on the way|where a frame begins|at another place' 'seven bytes lost'
fault 'control up flip +60' 'a bit of the control connection'
says 76 '127.0.0.1' 'a bit of the control connection'
in_time 'a bit of the control connection' 0 8000
tidy 'damage'
finish
