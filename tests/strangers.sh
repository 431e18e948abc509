# Strangers at the port of a serving node: silent ones in great number, garbage, words that were recorded from a real data
# socket, wrong keys in a row. None of them keeps a peer out, gets anywhere, or leaves anything behind.
. "$TOP_SRCDIR/tests/lib.sh"
not_under "tsan" "the same threads as in serve.sh"
. "$TOP_SRCDIR/tests/net.sh"
. "$TOP_SRCDIR/tests/fault_kit.sh"

# check - a session without training, through the peers' own command; its time in $took_ms
check()
{
    status=0
    since
    XDG_STATE_HOME="$scratch/state" "$DDPBENCH" peers check "$peer" --test-this-host --key-file "${1:-key}" >out 2>err || status=$?
    took_ms=$(($(now_ms) - since))
}

rss_bytes()
{
    awk '/^VmRSS/ { print 1024 * $2 }' "/proc/$server/status"
}

serves b
check
is 'a peer' $status 0
alone_ms=$took_ms
tidy 'a peer'

# --- two hundred who say nothing, and as many who talk nonsense; the real one comes while they are there ---
rss_first=$(rss_bytes)
head -c 20000 /dev/urandom >noise
printf 'GET / HTTP/1.1\r\nHost: here\r\n\r\n' >request
"$knock" 127.0.0.1 "$port" 60 200 >silent.out &
silent=$!
"$knock" 127.0.0.1 "$port" 60 200 noise >noise.out &
noisy=$!
"$knock" 127.0.0.1 "$port" 60 20 request >request.out &
asking=$!
mine="$mine $silent $noisy $asking"
sleep 0.3
check
is 'a peer among four hundred strangers' $status 0
[ $status -eq 0 ] || sed 's/^/# /' err
in_time 'a peer among four hundred strangers' 0 $((alone_ms + 4000)) # strangers are held for five seconds
rss_most=$(rss_bytes)
holds 'they cost less than 8 MiB' test $((rss_most - rss_first)) -lt 8388608
wait $silent $noisy $asking
for of in silent:200 noise:200 request:20; do
    is "${of%:*}: all sent away, none answered" "$(cat "${of%:*}.out")" "0 answered, ${of#*:} closed, 0 bytes"
done
holds 'which is told' grep -q 'turned away 127.0.0.1: .*does not speak this' "$log"
tidy 'strangers'

# --- the words of a real data socket, recorded and said again ---
wire 'data up record greeting 104' 'control up record handshake 600'
begin --steps 12 --peers "$peer" --test-this-host --key-file key
# intro (32 bytes) and hello (72) of each of the run's data sockets
# shellcheck disable=SC2016 # the inner shell's
until_holds sh -c 'test "$(stat -c %s greeting)" -ge 104'
head -c 104 greeting >one
"$knock" 127.0.0.1 "$port" 30 1 one >during.out
ended
is 'the run during which that happens' $status 0
unwire
is 'said again during the run: greeted, then sent away' "$(cat during.out)" '1 answered, 1 closed, 64 bytes'
"$knock" 127.0.0.1 "$port" 30 1 one >after.out
is 'and after it' "$(cat after.out)" '1 answered, 1 closed, 64 bytes'
holds 'which is told' grep -q 'a data socket that belongs to no session' "$log"
head -c 600 handshake >other
"$knock" 127.0.0.1 "$port" 30 1 other >control.out
holds 'a control connection said again gets nowhere' grep -Eq '^1 answered, 1 closed' control.out
is 'and is no session' "$(grep -c 'session with .*: rank' "$log")" 3
tidy 'recorded words'

# --- the same many times: ten at once, then two a second ---
since
for _ in $(seq 14); do
    "$knock" 127.0.0.1 "$port" 30 1 one >>burst.out
done
took_ms=$(($(now_ms) - since))
# 14 permits are 10 and what comes in the time: (14 - 10 - 1) / 2 s at least, the one because two were used just before
in_time 'fourteen that prove nothing' 1400 9000
is 'all are sent away' "$(grep -c '1 closed, 64 bytes' burst.out)" 14
(umask 077 && od -An -N32 -tx1 /dev/urandom | tr -d ' \n' >wrong)
check wrong
is 'a wrong key' $status 77
check
is 'the right one after all of that' $status 0
in_time 'the right one after all of that' 0 $((alone_ms + 4000))
tidy 'a flood'

# --- what a caller does with a server that is none ---
wire 'any down cut 4 fin'
train --steps 1
says 69 '127.0.0.1' 'a server that sends four bytes and ends'
unwire
wire 'any down stall 4'
since
train --steps 1
took_ms=$(($(now_ms) - since))
says 69 '127.0.0.1' 'a server that sends four bytes and then nothing'
in_time 'a server that sends four bytes and then nothing' 4000 9000
unwire
tidy 'half a hello'
finish
