# tests/lib.sh - sourced by shell tests; prints TAP, one line per statement.
#
#   . "$TOP_SRCDIR/tests/lib.sh"
#   is    "exit status of an unknown model" "$status" 64
#   holds "the sentence names the file"     grep -q missing.bin "$scratch/err"
#   works "$process" 1
#   soon  "ended at once" "$took_ms" 2000
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
# much under a sanitizer. False if it ends before, or is not at work within a minute.
works()
{
    lib_ticks=$(echo "$2" | awk '{ print int(100 * $1) }')
    [ -z "${SANITIZER-}" ] || lib_ticks=$((3 * lib_ticks))
    lib_first=$(lib_ticks_of "$1")
    lib_tries=0
    while lib_now=$(lib_ticks_of "$1") && [ -n "$lib_now" ] && [ $lib_tries -lt 600 ]; do
        [ $((lib_now - lib_first)) -lt "$lib_ticks" ] || return 0
        lib_tries=$((lib_tries + 1))
        sleep 0.1
    done
    return 1
}

lib_ticks_of()
{
    sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | awk '{ print $12 + $13 }'
}

# soon DESCRIPTION TOOK_MS MOST_MS - it did not take longer than that, or not by more than other work holds this machine up:
# then times so much as a loop takes longer than its processor time.
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

# The kernel tells for how long a process ran, and for how long it could have.
lib_slowness()
{
    # shellcheck disable=SC2016 # the inner shell's
    sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done; read -r ran waited others <"/proc/$$/schedstat" || exit
        echo "$ran $waited"' 2>/dev/null | awk '{ slow = ($1 + $2) / $1; print (slow > 20 ? 20 : slow) }'
}

finish()
{
    echo "1..$lib_count"
    [ $lib_failed -eq 0 ]
    exit
}
