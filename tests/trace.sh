# The trace of a run: it adds up, and whatever is no run is refused. And which rank is slow, among three and four.
. "$TOP_SRCDIR/tests/lib.sh"
. "$TOP_SRCDIR/tests/run_kit.sh"

look="$(dirname "$DDPBENCH")/tests/trace_look"
[ -x "$look" ] || skip_all 'tests/trace_look is not built'

short='--seq 32 --batch 1 --warmup 1 --no-floor --no-baseline --threads 1 --results-dir saved --json'

# trace ARGUMENT... - its status in $status
trace()
{
    status=0
    "$DDPBENCH" trace "$@" >out 2>err || status=$?
}

# counts RUN RANKS STEPS LAYERS BUCKETS ARROWS - a trace that a viewer can rely on, with so many of each, and so many layers at
# least: with several ranks an update or a pass may come in pieces
counts()
{
    trace "$1"
    is "trace of $1" $status 0
    "$look" out >looked
    is "$1 as a viewer sees it" "$(sed 's/ layers [0-9]*//; s/ worst .*//' looked)" "ranks $2 steps $3 buckets $5 arrows $6"
    holds "$1: layers" test "$(sed 's/.* layers \([0-9]*\) .*/\1/' looked)" -ge "$4"
    # shellcheck disable=SC2016 # awk's own
    holds "$1: parts are the step" awk '{ exit !($NF <= 0.01) }' looked
}

# 6 blocks, embedding and head: 8 layers, three times each, and the final norm's backward; three buckets, one arrow to each from where it was ready and one
# between ranks
trains one --steps 3
counts one 1 3 75 0 0
holds 'one node: no lane for communication' sh -c '! grep -q "\"communication\"" out'
trains two --spawn 2 --steps 4
counts two 2 8 200 24 48
# the exchange of token ids comes first, and nothing makes it ready
trains split --spawn 2 --steps 1 --schedule split
n=$("$json_at" split communication.buckets)
counts split 2 2 48 $((2 * n + 2)) $((4 * n + 2))
# two of three micro-batches in detail: 8 layers x 5
trains accum --spawn 2 --steps 1 --accum 3
counts accum 2 2 80 6 12
# 40 steps: the first and the last 4, and 8 of those between at most
trains long --spawn 3 --steps 40 --model linear-10x2 --seq 1
trace long
"$look" out >looked
# shellcheck disable=SC2016
holds 'a long run keeps 12 to 16 steps of each rank' awk '{ exit !($4 >= 36 && $4 <= 48) }' looked
is 'bytes taken in timed steps' "$("$json_at" long memory.allocated_in_timed_region_bytes)" 0

# --- where it goes ---
trace last --results-dir saved -o trace.json
is 'into a file' $status 0
holds 'says so' grep -q '^trace .*trace.json, of saved/' out
holds 'and it is there' "$look" trace.json
echo '{"schema_version": 1, "kind": "link"}' >saved/99990101T000000Z-link.json
trace last --results-dir saved -o trace.json
is 'the newest result is a link: the newest run is meant' $status 0
rm saved/99990101T000000Z-link.json
trace last --results-dir saved --output=trace.json --json
is 'over a file' "$status $("$json_at" out saved)" '0 trace.json'
trace last --results-dir saved -o nosuch/trace.json
is 'into no folder' $status 73

# --- what is no run ---
refused()
{
    is "$2" $status "$1"
    # shellcheck disable=SC2016 # the inner shell's
    holds "$2: one sentence, with $3" sh -c 'test "$(wc -l <err)" -eq 1 && grep -Eq -- "$1" err' sh "$3"
}
trace
refused 64 'no run named' "needs a run"
trace nosuch.json
refused 66 'a file that is not there' nosuch.json
trace last --results-dir empty
refused 66 'no run yet' empty
head -c 5000 one >cut.json
trace cut.json
refused 65 'a file that was cut' 'cut.json is no complete JSON document: line'
echo '{"schema_version": 1}' >other.json
trace other.json
refused 65 'another document' 'other.json: this is no run: it has no tool'
"$DDPBENCH" info --json >info.json
trace info.json
refused 65 'not a run' 'this is no run: it has no'
trace "$scratch"
refused 65 'a folder' 'is no file'
trace one --json
refused 64 'two documents on stdout' '-o FILE'
"$DDPBENCH" --steps 0 --model linear-10x2 --json >none 2>err
trace none
refused 65 'no step' 'no timed step'

# --- the slow rank, which is stopped most of the time; ranks have little of two CPUs, so it must stand out ---
slow()
{
    ranks=$1 victim=$2
    "$DDPBENCH" --seq 64 --batch 4 --warmup 1 --steps 4 --no-floor --no-baseline --threads 1 --spawn "$ranks" --json >slow 2>err &
    pid=$!
    until worker=$(pgrep -P $pid -f -- "--worker=$victim:") || ! kill -0 $pid 2>/dev/null; do
        sleep 0.05
    done
    works "$worker" 0.3 # until it has said that it is there
    kill -STOP "$worker" 2>/dev/null
    while sleep 0.24 && turn "$worker" 0.03; do
        :
    done
    status=0
    wait $pid || status=$?
    is "$ranks ranks, rank $victim slow" $status 0
    calm "$ranks ranks: the slow one is named" test "$("$json_at" slow communication.straggler.rank)" = "$victim"
    for rank in $(seq 0 $((ranks - 1))); do
        for member in holds_up_s summary.wait_s.median summary.compute_s.median; do
            "$json_at" slow "nodes.$rank.$member"
        done | tr '\n' ' '
        echo
    done >told
    # shellcheck disable=SC2016 # awk's own
    calm "$ranks ranks: it waits least, holds the others up most, and works longest" awk -v v="$victim" '
        NR == v + 1 { held = $1; wait = $2; work = $3 }
        { print; h[NR] = $1; w[NR] = $2; c[NR] = $3 }
        END { for (i = 1; i <= NR; i++) if (i != v + 1 && (h[i] >= held || w[i] <= wait || c[i] >= work)) exit 1 }' told
}
if command -v pgrep >/dev/null 2>&1; then
    slow 3 1
    slow 4 2
else
    skip 'the slow rank' 'no pgrep'
fi
finish
