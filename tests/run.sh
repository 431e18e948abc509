#!/bin/sh
# tests/run.sh - runs one test under a time limit and prints its result in TAP.
#
#   tests/run.sh TEST [ARGUMENT...]
#
# Check programs write TAP themselves (CK_TAP_LOG_FILE_NAME): one line per test function. A shell test may
# do the same (tests/lib.sh counts for it); one that prints no plan counts as a single test by its status:
# 0 passed, 77 skipped, else failed. A test that runs into the limit, or that dies after its plan, is one
# more failure. TEST_TIMEOUT_S changes the limit (sanitizers are slow). Within a Check program each test function has
# a limit too, and CK_TIMEOUT_MULTIPLIER multiplies it. All of these are for tests that hang: a machine that is busy with other
# things may take ten times as long as an idle one.
limit_s=${TEST_TIMEOUT_S:-900}
name=${1##*/}
out=$(mktemp "${TMPDIR:-/tmp}/ddpbench-test.XXXXXX") || exit 99
trap 'rm -f "$out"' EXIT
trap 'exit 130' INT TERM HUP

case $1 in
*.sh) set -- /bin/sh "$@" ;;
esac

export CK_DEFAULT_TIMEOUT="${CK_DEFAULT_TIMEOUT:-60}"
export CK_TIMEOUT_MULTIPLIER="${CK_TIMEOUT_MULTIPLIER:-5}"
# Threads that wait sleep: tests run beside each other, and spinning ones would take the others' time.
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}"

CK_TAP_LOG_FILE_NAME=- timeout -k 5 "$limit_s" "$@" >"$out" 2>&1
status=$?
cat "$out"

planned=$(grep -c '^1\.\.[0-9]' "$out")
failed=$(grep -c '^not ok' "$out")
if [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; then
    reason="did not end within $limit_s s"
else
    reason="exit status $status"
fi
if [ "$planned" -eq 0 ]; then
    done=$(grep -c '^\(not \)\{0,1\}ok' "$out")
    case $status in
    0) line="ok $((done + 1)) - $name" ;;
    77) line="ok $((done + 1)) - $name # SKIP $(tail -n 1 "$out")" ;;
    *) line="not ok $((done + 1)) - $name: $reason" ;;
    esac
    echo "$line"
    echo "1..$((done + 1))"
    exit 0
fi
# The plan is complete and something failed: the driver has counted it, the status adds nothing.
[ "$failed" -gt 0 ] && [ "$status" -lt 124 ] && exit 0
exit "$status"
