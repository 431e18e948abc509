# tests/demo_kit.sh - sourced by the tests of demonstrations: plays one short on two ranks, and holds its numbers against the
# documents that its runs have saved.
. "$TOP_SRCDIR/tests/json_kit.sh"
escape=$(printf '\033')
# The mark finds every process of ours, whatever its parent.
export XDG_STATE_HOME="${scratch:?}/state" DDPBENCH_DEMO_TEST="$scratch"
# shellcheck disable=SC2034 # used by those who source this
scale='--test-scale 0.1'

# shellcheck disable=SC2317 # called by holds
near()
{
    awk -v a="$1" -v b="$2" -v off="$3" 'BEGIN { print a, b; d = a > b ? a - b : b - a; exit !(a > 0 && d <= off * b) }'
}

# ours - the processes that carry the mark, this shell and its children that only look left out.
ours()
{
    for lib_process in /proc/[0-9]*; do
        tr '\0' '\n' <"$lib_process/environ" 2>/dev/null | grep -qx "DDPBENCH_DEMO_TEST=$scratch" || continue
        [ "$(readlink "$lib_process/exe" 2>/dev/null)" = "$(readlink -f "$DDPBENCH")" ] && echo "${lib_process#/proc/}"
    done
}

# shellcheck disable=SC2317 # called by holds
nobody_left()
{
    tries=0
    while [ -n "$(ours)" ]; do
        tries=$((tries + 1))
        [ $tries -lt 300 ] || { ours; return 1; }
        sleep 0.1
    done
}

# plays NAME PARTS MODEL - leaves the document in NAME.json.
plays()
{
    status=0
    # shellcheck disable=SC2086 # two words
    timeout -k 5 400 "$DDPBENCH" demo "$1" --spawn 2 $scale --threads 1 --results-dir results --json >"$1.json" 2>err </dev/null ||
        status=$?
    is "plays $1" $status 0
    [ $status -eq 0 ] || {
        sed 's/^/# /' err
        return 1
    }
    is "$1: complete" "$(value "$1.json" status)" complete
    is "$1: rows" "$(value "$1.json" parts)" "$2"
    is "$1: emulated, and says so" "$(value "$1.json" emulated)" true
    folder=$(value "$1.json" folder)
    is "$1: nobody was asked" "$(value "$1.json" questions.0.answer)" null
    holds "$1: no prompt without a terminal" sh -c '! grep -q "or Enter" err'
    holds "$1: and no escape sequences" test "$(grep -c "$escape" err)" = 0
    holds "$1: the table is kept" test -s "$folder/demo.txt"
    holds "$1: the document is kept" test -s "$folder/demo.json"
    holds "$1: what is emulated is told" grep -q 'What is emulated' "$folder/demo.txt"
    holds "$1: a page about the last run" test -s "$(value "$1.json" report)"
    i=0
    while [ $i -lt "$2" ]; do
        row "$1.json" $i "$3"
        i=$((i + 1))
    done
    holds "$1: no process is left" nobody_left
}

# row DOCUMENT NUMBER MODEL - against the run's own document.
row()
{
    run=$(value "$1" "parts.$2.run")
    name=$(value "$1" "parts.$2.name")
    is "$name: the model" "$(value "$run" model.name)" "$3"
    is "$name: the step" "$(value "$1" "parts.$2.step_s")" "$(value "$run" summary.step_s.median)"
    ranks=$(value "$run" world)
    if [ "$ranks" = 1 ]; then
        alone=$(value "$run" summary.step_s.median)
        is "$name: alone it stands still never" "$(value "$1" "parts.$2.exposed_s")" 0.0
        is "$name: not predicted" "$(value "$1" "parts.$2.predicted")" null
        return
    fi
    is "$name: the ranks" "$ranks" 2
    is "$name: stands still" "$(value "$1" "parts.$2.exposed_s")" "$(value "$run" communication.exposed_s)"
    holds "$name: emulated" test "$(value "$run" emulated.rate_bytes_per_s)" != null
    # equal tokens on all ranks: the speed-up is ranks x step alone / step
    [ -z "$alone" ] || holds "$name: the speed-up" near "$(value "$1" "parts.$2.speedup")" \
        "$(echo "$alone $(value "$run" summary.step_s.median)" | awk '{ printf "%.9f", 2 * $1 / $2 }')" 1e-6
    holds "$name: predicted before it was measured" near "$(value "$1" "parts.$2.predicted.ratio")" \
        "$(echo "$(value "$1" "parts.$2.step_s") $(value "$1" "parts.$2.predicted.step_s.median")" |
            awk '{ printf "%.9f", $1 / $2 }')" 1e-6
}
