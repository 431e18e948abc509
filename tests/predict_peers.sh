# A run with a peer is predicted before it starts, from a run of this node alone and the measured link, and scored afterwards.
# Over the loopback, so without root; how near the prediction is says nothing here and is not asked.
. "$TOP_SRCDIR/tests/lib.sh"
not_under "asan tsan" "its subject is time"
. "$TOP_SRCDIR/tests/net.sh"
. "$TOP_SRCDIR/tests/link_kit.sh"

short='--model shakespeare-char --batch 1 --seq 16 --steps 4 --warmup 1 --no-floor --no-baseline --threads 1'

serves b
peer="127.0.0.1:$port"

# --- nothing is known yet ---
train doc --peers "$peer" --test-this-host --key-file key
is 'trains without a prediction' $status 0
at doc prediction null
holds 'and says why' grep -q '"prediction": "the link to .* was not measured before' doc
measure link.json "$peer" --test-this-host --key-file key --duration 3 --no-compute --json
is 'measures the link' $status 0
train doc --peers "$peer" --test-this-host --key-file key
at doc prediction null
holds 'a run alone is missing too' grep -q '"prediction": "there is no saved run of this node alone' doc

# --- now it is ---
train doc
is 'trains alone' $status 0
alone=$("$json_at" doc saved)
train doc --peers "$peer" --test-this-host --key-file key
is 'trains with the peer' $status 0
holds 'the prediction is told first' grep -q 'predicted: step ' err
at doc prediction.run "$alone"
at doc prediction.nodes 2
at doc prediction.link.origin measured
holds 'the rate is the one that was measured' awk -v x="$("$json_at" doc prediction.link.rate_bytes_per_s)" \
    -v y="$("$json_at" link.json link.rate_bytes_per_s)" 'BEGIN { d = x / y - 1; exit !(d < 1e-9 && d > -1e-9) }'
holds 'with a step' awk -v x="$("$json_at" doc prediction.step_s.median)" 'BEGIN { exit !(x > 0) }'
loss=$("$json_at" doc loss.last)
measured=$("$json_at" doc summary.period_s.median)
predicted=$("$json_at" doc prediction.step_s.median)
status=0
"$DDPBENCH" predict --score --results-dir saved --json >score 2>err || status=$?
is 'the ledger' $status 0
at score score.n 1
at score ledger.0.measured_step_s "$measured"
at score ledger.0.predicted_step_s "$predicted"
holds 'the error is predicted over measured, less 1' awk -v e="$("$json_at" score ledger.0.error)" -v p="$predicted" \
    -v m="$measured" 'BEGIN { d = e - (p / m - 1); exit !(d < 1e-9 && d > -1e-9) }'
status=0
"$DDPBENCH" predict "$alone" --link-run "$("$json_at" link.json saved)" --results-dir saved --json >out 2>err || status=$?
is 'predict with the same run and link' $status 0
at out nodes.0.step_s.median "$predicted"

# --- the same peer, reached from another address of this node: another link ---
link=$("$json_at" link.json saved)
sed 's/"local_addr": *"127.0.0.1"/"local_addr": "192.0.2.1"/' "$link" >elsewhere
holds 'there is an address to change' test "$(cmp -s "$link" elsewhere; echo $?)" = 1
cp elsewhere "$link"
train doc --peers "$peer" --test-this-host --key-file key
at doc prediction null
holds 'a link from elsewhere is not this one' grep -q '"prediction": "the link to .* was not measured before from 127.0.0.1' doc

# --- with each rank's steps alone: rehearsed over the session, before the first distributed step ---
short=$(echo "$short" | sed 's/ --no-baseline//')
train doc --peers "$peer" --test-this-host --key-file key
is 'rehearses and trains' $status 0
holds 'that prediction is told first, too' grep -q 'predicted: step ' err
at doc prediction.link.name 'by this run, before its first step'
holds 'from at least three steps of each alone' test "$("$json_at" doc prediction.rehearsal.steps_alone)" -ge 3
holds 'both ends computed beside it' awk -v a="$("$json_at" doc prediction.rehearsal.slowdown.0)" \
    -v b="$("$json_at" doc prediction.rehearsal.slowdown.1)" 'BEGIN { exit !(a > 0 && b > 0) }'
# the largest bucket or 16 MiB, unless a call takes too long: then a quarter, and so on
holds 'with as many bytes as it says' awk -v x="$("$json_at" doc prediction.rehearsal.bytes)" 'BEGIN { exit !(x >= 65536 && x <= 16777216) }'
holds 'the run ends with the loss of one that did not rehearse' test "$("$json_at" doc loss.last)" = "$loss"
train doc --peers "$peer" --test-this-host --key-file key --no-predict
is 'trains without' $status 0
at doc prediction null
holds 'as asked' grep -q '"prediction": "--no-predict"' doc
finish
