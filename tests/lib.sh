# tests/lib.sh - sourced by shell tests; prints TAP, one line per statement.
#
#   . "$TOP_SRCDIR/tests/lib.sh"
#   is    "exit status of an unknown model" "$status" 64
#   holds "the sentence names the file"     grep -q missing.bin "$scratch/err"
#   works "$process" 1
#   soon  "ended at once" "$took_ms" 2000
#   calm  "takes what the rate says" COMMAND...
#   until_holds COMMAND...
#   since=$(now_ms)
#   finish
#
# $scratch is a folder of the test's own, removed at its end. A test that cannot run here says why and stops
# with skip_all. Failures show the values on "# " lines.
# shellcheck shell=sh
lib_count=0
lib_failed=0
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ddpbench-test.XXXXXX") || exit 99
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM HUP

lib_report()
{
    lib_count=$((lib_count + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $lib_count - $2"
    else
        echo "not ok $lib_count - $2"
        lib_failed=$((lib_failed + 1))
    fi
}

# is DESCRIPTION VALUE EXPECTED
is()
{
    if [ "$2" = "$3" ]; then
        lib_report 0 "$1"
    else
        lib_report 1 "$1"
        printf '%s\n' "is $2" "expected $3" | sed 's/^/# /'
    fi
}

# holds DESCRIPTION COMMAND... - the command ends with 0.
holds()
{
    lib_what=$1
    shift
    lib_status=0
    "$@" >"$scratch/.holds" 2>&1 || lib_status=$?
    lib_report $lib_status "$lib_what"
    [ $lib_status -eq 0 ] || {
        echo "# status $lib_status from: $*"
        sed 's/^/# /' "$scratch/.holds"
    }
}

# skip DESCRIPTION REASON - counts a statement that cannot be tested here.
skip()
{
    lib_count=$((lib_count + 1))
    echo "ok $lib_count - $1 # SKIP $2"
}

# not_under "FLAVOUR..." REASON - this script adds nothing under these sanitizers that others do not run there as well.
not_under()
{
    case " $1 " in
    *" ${SANITIZER:-none} "*) skip_all "under ${SANITIZER}: $2" ;;
    esac
}

# skip_all REASON - nothing in this test can be tested here.
skip_all()
{
    echo "1..0 # SKIP $1"
    exit 0
}

# works PROCESS SECONDS - until it has used so much processor time from now on, however busy the machine is; three times as
# much under a sanitizer. False if it ends before, or has not done so within two minutes.
works()
{
    lib_ticks=$(echo "$2" | awk '{ print int(100 * $1) }')
    [ -z "${SANITIZER-}" ] || lib_ticks=$((3 * lib_ticks))
    lib_first=$(lib_ticks_of "$1")
    lib_tries=0
    while lib_now=$(lib_ticks_of "$1") && [ -n "$lib_now" ] && [ $lib_tries -lt 1200 ]; do
        [ $((lib_now - lib_first)) -lt "$lib_ticks" ] || return 0
        lib_tries=$((lib_tries + 1))
        sleep 0.1
    done
    return 1
}

lib_ticks_of()
{
    lib_stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 0
    # shellcheck disable=SC2086 # its words, after the name, which may have blanks
    set -- ${lib_stat##*) }
    echo $((${12} + ${13}))
}

# turn PROCESS SECONDS - continues a stopped process for so long, or until it has worked, which takes longer where others work
# too; then stops it again. False if it is gone.
turn()
{
    lib_first=$(lib_ticks_of "$1")
    kill -CONT "$1" 2>/dev/null || return 1
    sleep "$2"
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        [ "$(lib_ticks_of "$1")" = "$lib_first" ] || break
        sleep 0.03
    done
    kill -STOP "$1" 2>/dev/null
}

# until_holds COMMAND... - waits for it; false after two minutes, which is far more than anything here takes.
until_holds()
{
    lib_until=$(($(date +%s) + 120))
    until "$@" >/dev/null 2>&1; do
        [ "$(date +%s)" -lt $lib_until ] || return 1
        sleep 0.05
    done
}

# stepping - waits for the first timed step of a run that was started with --live 9 and 9>live
stepping()
{
    until_holds grep -q '^step 0 ' live
}

# soon DESCRIPTION TOOK_MS MOST_MS - it did not take longer than that, or not by more than other work holds this machine up:
# times lib_slowness. MOST_MS lies below the time-out that would have ended it otherwise.
soon()
{
    if [ -n "${SANITIZER-}" ]; then
        skip "$1: in time" 'a sanitizer is slower'
    elif [ "$2" -lt "$3" ]; then
        lib_report 0 "$1: within $3 ms"
    else
        lib_slow=$(lib_slowness)
        holds "$1: within $3 ms, $lib_slow times as long here: $2 ms" awk -v took="$2" -v most="$3" -v slow="$lib_slow" \
            'BEGIN { exit !(took < most * slow) }'
    fi
}

# calm DESCRIPTION COMMAND... - a statement about times that only a machine with nothing else to do can show: as holds, and
# where it fails while other work holds this machine up, skipped.
calm()
{
    lib_what=$1
    shift
    lib_status=0
    "$@" >"$scratch/.calm" 2>&1 || lib_status=$?
    lib_slow=1
    [ $lib_status -eq 0 ] || lib_slow=$(lib_slowness)
    if [ $lib_status -ne 0 ] && awk -v slow="$lib_slow" 'BEGIN { exit !(slow > 1.2) }'; then
        skip "$lib_what" "other work holds this machine up: $lib_slow times as long, $(tr '\n' ' ' <"$scratch/.calm")"
    else
        lib_report $lib_status "$lib_what"
        [ $lib_status -eq 0 ] || sed 's/^/# /' "$scratch/.calm"
    fi
}

# held_up - whether other work holds this machine up
held_up()
{
    awk -v slow="$(lib_slowness)" 'BEGIN { exit !(slow > 1.2) }'
}

# How many times as long something takes here as on a machine that has nothing else to do, 1 to 20: the largest of what the
# kernel tells about a loop (for how long it ran, and for how long it could have), of the processes that there are for each
# processor in the last minute, and of what the hypervisor gave to others since this test began.
lib_slowness()
{
    # shellcheck disable=SC2016 # the inner shell's
    {
        sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done; read -r ran waited others <"/proc/$$/schedstat" || exit
            echo "$ran $((ran + waited))"'
        echo "$(getconf _NPROCESSORS_ONLN) $(cut -d' ' -f1 /proc/loadavg)"
        echo "$lib_stolen $(lib_stolen)" | awk '{ stolen = $3 - $1; busy = $4 - $2; print busy - stolen, busy }'
    } 2>/dev/null | awk '$1 > 0 && $2 / $1 > slow { slow = $2 / $1 } END { print (slow > 20 ? 20 : slow > 1 ? slow : 1) }'
}

# Ticks that the hypervisor gave to others, and those in which somebody here wanted a processor.
lib_stolen()
{
    awk '$1 == "cpu" { print $9 + 0, $2 + $3 + $4 + $7 + $8 + $9; exit }' /proc/stat 2>/dev/null
}
lib_stolen=$(lib_stolen)

now_ms()
{
    echo $(($(date +%s%N) / 1000000))
}


finish()
{
    echo "1..$lib_count"
    [ $lib_failed -eq 0 ]
    exit
}
