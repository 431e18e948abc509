# ddpbench doctor on recorded machines and on this one; completion; every command has its page.
. "$TOP_SRCDIR/tests/lib.sh"
not_under "tsan" "no threads beyond those of the Check programs"
. "$TOP_SRCDIR/tests/json_kit.sh"

machines="$TOP_SRCDIR/tests/fixtures/machines"

# matches VALUE PATTERN
# shellcheck disable=SC2317 # called by holds
matches()
{
    # shellcheck disable=SC2254 # a pattern
    case $1 in
    $2) ;;
    *)
        echo "$1"
        return 1
        ;;
    esac
}

# look ROOT - status, out
look()
{
    status=0
    "$DDPBENCH" doctor --sysroot "$1" --json >out 2>err || status=$?
}

# finding NAME MEMBER
finding()
{
    i=0
    while name=$("$json_at" out findings.$i.name 2>/dev/null) && [ -n "$name" ]; do
        [ "$name" = "$1" ] && { "$json_at" out "findings.$i.$2"; return; }
        i=$((i + 1))
    done
    echo none
}

look "$machines/laptop"
is 'a laptop can measure' $status 0
is 'its battery is a reason to mend something' "$(finding power state)" attention
is 'with the remedy' "$(finding power remedy)" 'plug in the power supply'
is 'its quota too' "$(finding 'CPU quota' state)" attention
is 'what it does not tell is unknown' "$(finding load state)" unknown
is 'a recorded machine has no programs' "$(finding ssh state)" none

look "$machines/server"
is 'a server' $status 0
holds 'a CPU quota with its file' matches "$(finding 'CPU quota' text)" '2.50 CPUs for *cpu.cfs_quota_us*'

# a machine of our own
cp -r "$machines/laptop" m && chmod -R u+w m
mkdir -p m/sys/class/net/eth0/device m/sys/class/net/wlan0/wireless m/sys/devices/system/clocksource/clocksource0
for name in eth0 wlan0; do
    echo 1 >m/sys/class/net/$name/type
    echo 1 >m/sys/class/net/$name/ifindex
    echo 1 >m/sys/class/net/$name/carrier
done
echo 100 >m/sys/class/net/eth0/speed
echo full >m/sys/class/net/eth0/duplex
echo hpet >m/sys/devices/system/clocksource/clocksource0/current_clocksource
echo '1.70 0.2 0.1 1/100 1' >m/proc/loadavg
printf 'MemTotal: 16000000 kB\nMemAvailable: 8000000 kB\nSwapTotal: 4000000 kB\nSwapFree: 3000000 kB\n' >m/proc/meminfo
look m
is 'a slow cable' "$(finding cable state)" attention
holds 'is told with its rate' matches "$(finding cable text)" 'eth0: 100 Mbit/s*'
is 'a slow clock' "$(finding 'clock source' state)" attention
is 'another program' "$(finding load state)" attention
is 'memory on the disk' "$(finding swap state)" attention
echo 1000 >m/sys/class/net/eth0/speed
look m
holds 'a cable beside the air: which one is asked' matches "$(finding cable remedy)" '*--iface eth0,wlan0*'
echo 0 >m/sys/class/net/eth0/carrier
look m
is 'a cable that is not in' "$(finding cable remedy)" 'put a cable into eth0'
printf 'MemTotal: 60000 kB\nMemAvailable: 40000 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n' >m/proc/meminfo
look m
is 'memory for nothing at all' "$status $(finding memory state)" '78 impossible'
is 'nothing is said of how TCP shares a link' "$(finding congestion state)" unknown
mkdir -p m/proc/sys/net/ipv4
echo bbr >m/proc/sys/net/ipv4/tcp_congestion_control
look m
is 'BBR' "$(finding congestion state)" attention
echo cubic >m/proc/sys/net/ipv4/tcp_congestion_control
look m
is 'cubic' "$(finding congestion state) $(finding congestion text)" 'fine cubic'
look nowhere
is 'no such machine' $status 66

# this one
status=0
"$DDPBENCH" doctor --json >out 2>err || status=$?
is 'this machine can be measured' $status 0
i=0 silent=0
while state=$("$json_at" out findings.$i.state 2>/dev/null) && [ -n "$state" ]; do
    [ "$state" != attention ] || [ "$("$json_at" out findings.$i.remedy)" != null ] || silent=$((silent + 1))
    i=$((i + 1))
done
is 'whatever asks for attention has a remedy' $silent 0
holds 'more than a dozen things are looked at' test $i -gt 12
status=0
PATH=/nowhere "$DDPBENCH" doctor --json >out 2>err || status=$?
is 'no ssh: measuring goes on' $status 0
is 'and the package is named' "$(finding ssh remedy)" 'sudo apt-get install openssh-client'

# all_completed - every option in `listed` is among the words of the completion
# shellcheck disable=SC2317 # called by holds
all_completed()
{
    while read -r option; do
        grep -q -- "[ ']${option}[ ']" complete.sh || { echo "$option"; return 1; }
    done <listed
}

# completion
"$DDPBENCH" completion bash >complete.sh
if command -v bash >/dev/null; then
    # shellcheck disable=SC2016 # bash's own
    complete='source ./complete.sh; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _ddpbench; echo "${COMPREPLY[@]}"'
    is 'a command' "$(bash -c "$complete" - ddpbench hist)" history
    is 'an option of a command' "$(bash -c "$complete" - ddpbench history --form)" --format
    is 'an option of run without the word' "$(bash -c "$complete" - ddpbench --glob)" --global-batch
    is 'a value' "$(bash -c "$complete" - ddpbench --schedule s)" split
    is 'formats of a report' "$(bash -c "$complete" - ddpbench report --format m)" md
    is 'nor those of another command' "$(bash -c "$complete" - ddpbench report --format benc)" ''
    is 'nothing that does not belong' "$(bash -c "$complete" - ddpbench history --glob)" ''
    for command in $("$DDPBENCH" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
        "$DDPBENCH" "$command" --help | sed -n 's/^ \{2,6\}\(-[a-zA-Z], \)\{0,1\}\(--[a-z0-9-]*\).*/\2/p' | sort >listed
        holds "$command: every option is completed" all_completed
        # Builds with a sanitizer make no pages.
        [ "$command" = help ] || [ -n "${SANITIZER:-}" ] || holds "$command has a manual page" test -e "$TOP_SRCDIR/doc/ddpbench-$command.1" -o \
            -e "$(dirname "$DDPBENCH")/doc/ddpbench-$command.1"
    done
else
    skip 'completion' 'no bash here'
fi
status=0
"$DDPBENCH" completion csh >out 2>err || status=$?
is 'another shell' $status 64
finish
