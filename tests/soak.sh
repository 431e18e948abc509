# A soak: the load for so many minutes, what it says of drift, and predictions that take it.
. "$TOP_SRCDIR/tests/lib.sh"
not_under "asan tsan" "a sampled series and its fit are in check_health and check_drift"
. "$TOP_SRCDIR/tests/json_kit.sh"

mkdir results

# refused STATUS TEXT ARGUMENT... - one sentence that has the text
refused()
{
    want=$1 text=$2
    shift 2
    status=0
    "$DDPBENCH" "$@" >out 2>err || status=$?
    is "$*: refused" $status "$want"
    holds "$*: names $text" grep -q -- "$text" err
    is "$*: in one sentence" "$(wc -l <err)" 1
}

status=0
"$DDPBENCH" soak --minutes 0.1 --batch 1 --seq 32 --warmup 1 --threads 1 --json >soak.json 2>err || status=$?
is 'a soak of six seconds' $status 0
is 'is a document of its own kind' "$(value soak.json kind)" soak
is 'trains without floor passes' "$(value soak.json floor.n)" 0
is 'for so long' "$(value soak.json plan.time_s)" 6.0
saved=$(value soak.json saved)
holds 'its file is named so' expr "$saved" : '.*Z-soak.json$'
if [ "$(value soak.json soak)" = null ]; then # on a machine that is too slow for twenty steps
    holds 'why there is no fit' grep -q 'fewer than twenty timed steps' soak.json
else
    holds 'it says what it would have seen' awk -v x="$(value soak.json soak.smallest_change)" 'BEGIN { exit !(x >= 0.02) }'
    holds 'in words' grep -q '"finding": "\(no drift seen over\|a step took\)' soak.json
    holds 'the duration is about that' awk -v x="$(value soak.json soak.duration_s)" 'BEGIN { exit !(x >= 5.9) }'
    status=0
    "$DDPBENCH" predict --step-s 1 --bytes 1000000 --soak "$saved" --json >predicted 2>err || status=$?
    is 'a prediction takes it' $status 0
    is 'and starts at the beginning' "$(value predicted heat.0.factor)" 1.0
fi

# A soak that somebody else made: 1.0 at first, 1.25 after ten minutes.
cat >results/20990101T000000Z-soak.json <<EOF
{"schema_version": 1, "kind": "soak", "soak": {"drift_seen": true, "trajectory": [
 {"time_s": 60, "factor": 1.1}, {"time_s": 600, "factor": 1.25}]}}
EOF
status=0
"$DDPBENCH" predict --step-s 2 --bytes 117700000 --link 117.7MB/s --rtt 0 --soak last --json >predicted 2>err || status=$?
is 'the newest soak' $status 0
is 'has a point at the start and its own two' "$(value predicted heat)" 3
is 'after ten minutes' "$(value predicted heat.2.time_s)" 600.0
is 'a step alone takes 2 s x 1.25' "$(value predicted heat.2.alone_s)" 2.5
holds 'what is computed longer hides no communication of a stated step, but its share falls' awk \
    -v cold="$(value predicted heat.0.speedup.median)" -v hot="$(value predicted heat.2.speedup.median)" \
    'BEGIN { print cold, hot; exit !(hot > cold) }'

# --- what is no soak ---
echo '{"schema_version": 1, "model": {}}' >run.json
echo '{"schema_version": 1, "soak": null, "reasons": {"soak": "fewer than twenty timed steps"}}' >short.json
echo '{"schema_version": 1, "soak": {"trajectory": [{"time_s": 9, "factor": 1}, {"time_s": 3, "factor": 1}]}}' >back.json
echo '{"schema_version": 1, "soak": {"trajectory": [{"time_s": 9, "factor": 1e99}]}}' >hot.json
echo '{"schema_version": 1, "soak": {"traj' >torn.json
stated='predict --step-s 1 --bytes 1000'
# shellcheck disable=SC2086
{
    refused 66 nowhere.json $stated --soak nowhere.json
    refused 65 'is no soak' $stated --soak ./run.json
    refused 65 'fewer than twenty' $stated --soak ./short.json
    refused 65 'ascending' $stated --soak ./back.json
    refused 65 'factors from 0.1' $stated --soak ./hot.json
    refused 65 torn.json $stated --soak ./torn.json
    refused 64 'give one of the two' $stated --soak ./run.json --heat 60s:1.1
    refused 66 'makes one' $stated --soak last --results-dir "$scratch/empty"
}
refused 64 'option --minutes' soak --minutes 0
refused 64 'option --minutes' soak --minutes ten
refused 64 'unknown option' soak --peers b
refused 64 'unknown option' soak --steps 5
finish
