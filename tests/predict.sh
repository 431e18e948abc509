# predict from outside: stated numbers with known answers, a run of one node, what is refused, the ledger.
. "$TOP_SRCDIR/tests/lib.sh"
not_under "tsan" "no threads beyond those of the Check programs"
. "$TOP_SRCDIR/tests/json_kit.sh"

run()
{
    status=0
    "$DDPBENCH" "$@" >out 2>err || status=$?
}

# value PATH - of the document in out
value()
{
    "$json_at" out "$1" 2>&1
}

# near PATH EXPECTED TOLERANCE - absolute
near()
{
    holds "$1 is $2 give or take $3: $(value "$1")" \
        awk -v x="$(value "$1")" -v want="$2" -v by="$3" 'BEGIN { d = x - want; exit !(x ~ /^[0-9]/ && d <= by && -d <= by) }'
}

# refused CODE PATTERN ARGUMENT... - with and without --json
refused()
{
    code=$1 pattern=$2
    shift 2
    run predict "$@"
    is "status of predict $*" $status "$code"
    is 'one sentence on stderr' "$(wc -l <err)" 1
    holds "which says: $pattern" grep -q -- "$pattern" err
    run predict "$@" --json
    is 'the same status with --json' $status "$code"
    is 'and one document' "$(value error.code)" "$code"
}

# --- arithmetic: 4 s and GPT-2's gradients, nothing overlapped: t = 497,759,232 x 8 / rate, 8 / (4 + t), even at 4 s ---
while read -r rate t speedup; do
    run predict --step-s 4.0 --bytes 497759232 --link "$rate" --overlap none --nodes 2 --json
    is "status at $rate" $status 0
    near nodes.0.t_comm_s "$t" "$(echo "$t" | awk '{ print $1 * 2e-4 }')"
    near nodes.0.speedup.median "$speedup" 0.0005
    is 'says plainly that it gets slower' "$(value nodes.0.verdict)" hurts
    is 'no probability without a spread' "$(value nodes.0.p_faster)" null
    holds 'with the reason' grep -q 'stated numbers have no spread' out
    near inverse.rate_bytes_per_s 124439808 12 # 995.5 Mbit/s
done <<EOF
941.5Mbit 4.2295 0.972
625Mbit 6.371 0.771
100Mbit 39.82 0.183
EOF
run predict --step-s 4.0 --bytes 497759232 --link 941.5Mbit
holds 'the table says what breaks even' grep -q '995.5 Mbit/s' out

# --- unequal nodes: 1 s and 2.5 s: 2 / 2.5; with shares of 5:2 the sum of both rates ---
run predict --step-s 1.0,2.5 --bytes 0 --overlap none --json
is 'status of two unequal nodes' $status 0
near nodes.0.speedup.median 0.80 1e-9
near shares.speedup.median 1.40 1e-9
near shares.share.0 0.714286 1e-6
near inverse.partner_slower 2 1e-5
run predict --step-s 1.0,2.5 --bytes 0 --overlap none --what-if shares=5:2 --json
near what_if.nodes.0.step_s.median 1.428571 1e-6 # 2 x 5/7 of 1 s, 2 x 2/7 of 2.5 s
near what_if.nodes.0.speedup.median 1.40 1e-9
run predict --step-s 1.0,2.5 --bytes 0 --overlap none --what-if shares=9:1 --json
near what_if.nodes.0.speedup.median 1.111111 1e-6 # the first one has 1.8 s to do, with twice one's tokens

# --- units: the same rate in two spellings, a medium; what is ambiguous is refused ---
run predict --model gpt2-124m --nodes 2 --link 1Gbit --json
near nodes.0.t_comm_s 3.982073856 1e-9
cp out first
run predict --model gpt2-124m --nodes 2 --link 125MB/s --json
near nodes.0.t_comm_s 3.982073856 1e-9
sed 's/"name": "[^"]*"//' first >a
sed 's/"name": "[^"]*"//' out >b
holds 'identical predictions' cmp a b
run predict --model gpt2-124m --nodes 2 --link 1G-eth --json
near nodes.0.t_comm_s 4.2295 0.0001
is 'the rate in bytes per second' "$(value link.rate_bytes_per_s)" 117687500.0
is 'a speed-up cannot be told without a step' "$(value nodes.0.speedup)" null
near nodes.0.break_even_step_s 4.2295 0.0001
for rate in 1000 1gb 0Mbit -1Mbit 941,5Mbit 1e9Mbit 99999Tbit nanMbit 12 Mbit '' '1 Gbit' 2.5G; do
    case $rate in
    '') refused 64 'option --link' --model gpt2-124m --link "$rate" ;;
    -*) refused 64 'option --link' --model gpt2-124m "--link=$rate" ;;
    *) refused 64 "option --link" --model gpt2-124m --link "$rate" ;;
    esac
done
refused 64 'option --rtt' --model gpt2-124m --link 1G-eth --rtt 5
refused 64 'option --nodes' --model gpt2-124m --nodes 0
refused 64 'option --nodes' --model gpt2-124m --nodes 4-2
refused 64 'option --nodes' --model gpt2-124m --nodes 2,,3
refused 64 'option --nodes' --model gpt2-124m --nodes 1000000
refused 64 'option --nodes' --model gpt2-124m --nodes 1-4000
refused 64 'option --step-s' --step-s 0 --bytes 8
refused 64 'option --step-s' --step-s 1,2,3 --bytes 8
refused 64 'needs --bytes or --model' --step-s 1
refused 64 'unknown key' --step-s 1 --bytes 8 --what-if speed=2
refused 64 'did you mean bw' --step-s 1 --bytes 8 --what-if bv=1Gbit
refused 64 'KEY=VALUE' --step-s 1 --bytes 8 --what-if bw
refused 64 'takes a whole number' --step-s 1 --bytes 8 --what-if accum=1.5
refused 64 'takes a whole factor' --step-s 1 --bytes 8 --what-if accum=1.5x
refused 64 'goes with --nodes 3' --step-s 1 --bytes 8 --nodes 2 --what-if shares=5:2:1
refused 64 'one whole number from 1' --step-s 1 --bytes 8 --nodes 2 --what-if shares=5:0
refused 64 'takes a factor from' --step-s 1 --bytes 8 --what-if bw=0x
refused 64 'rtt: ' --step-s 1 --bytes 8 --what-if rtt=2x
refused 64 'tokens needs a run' --step-s 1 --bytes 8 --what-if tokens=2x
refused 64 'twice' --step-s 1 --bytes 8 --what-if accum=1,accum=2
refused 64 'bw: ' --step-s 1 --bytes 8 --what-if bw=10
refused 64 'option --overlap' --step-s 1 --bytes 8 --overlap half
refused 64 'needs a run' --step-s 1 --bytes 8 --overlap buckets
refused 64 'tells nothing of buckets' --step-s 1 --bytes 8 --bucket-mb 5
refused 64 'tells nothing of buckets' --step-s 1 --bytes 8 --schedule split
refused 64 'tells nothing of buckets' --bytes 8 --bucket-mb 5
refused 64 'buckets of its own job' --profile x.json --bucket-mb 5
refused 64 'give one of the two' x.json --model gpt2-124m
refused 64 'unknown model' --model gpt3
refused 64 'give one of the two' --step-s 1 --bytes 8 --link 1G-eth --link-run x
refused 66 'no run of one node'
refused 66 'no result' nowhere.json
refused 66 'no result' --step-s 1 --bytes 8 --link-run nowhere.json
refused 66 'no measured link' --step-s 1 --bytes 8 --link-run last

# --- from a run: short, but real ---
run --model shakespeare-char --batch 1 --seq 16 --steps 12 --warmup 1 --no-floor --json
is 'a run to predict from' $status 0
is 'ends with what a twin would bring over three media' "$(value prediction.media)" 3
is 'the first is Gigabit Ethernet' "$(value prediction.link.name)" 1G-eth
holds 'with a verdict' grep -qE '"verdict": "(helps|hurts|undecided)"' out
near prediction.media.2.t_comm_s 2.86536 0.0001 # 42,980,352 B twice over a radio cell of 30 MB/s
saved=$(value saved)
holds 'the saved one holds it too' grep -q '"media"' "$saved"
run predict --nodes 1-4,512 --link 2.5G-eth --what-if bw=10Gbit,slow-nic=100Mbit --goal-steps 1000 --json
is 'predict takes the newest run' $status 0
is 'which it names' "$(value source.run)" "$saved"
is 'with its steps' "$(value source.steps)" 12
is 'four numbers and one' "$(value nodes)" 5
is 'one node is as fast as itself' "$(value nodes.0.speedup.median)" 1.0
is 'two have been compared with measurements' "$(value nodes.1.extrapolated)" false
is 'more are labelled' "$(value nodes.2.extrapolated)" true
near nodes.4.t_comm_s 0.291595 0.000001 # 2 x 511/512 x 42,980,352 B at 294.21875 MB/s
near what_if.nodes.4.t_comm_s 6.863427 0.00001 # all wait for the one interface of 12.5 MB/s
is 'seven points of a curve' "$(value curve.points)" 7
holds 'lo <= median <= hi' awk -v l="$(value nodes.1.step_s.lo)" -v m="$(value nodes.1.step_s.median)" \
    -v h="$(value nodes.1.step_s.hi)" 'BEGIN { exit !(0 < l && l <= m && m <= h) }'
near goal.hours_alone "$(awk -v s="$(value nodes.1.alone_s)" 'BEGIN { print s / 3.6 }')" 0.001
holds 'what is assumed is said' grep -q 'nothing was measured' out

# what is told as a change can be typed, and is the same change: medians of 200 draws and of all of them
run predict --nodes 2 --json
cp out told
changes=$("$json_at" told changes)
holds 'changes are told' test "$changes" -ge 8
i=0
while [ "$i" -lt "$changes" ]; do
    name=$("$json_at" told "changes.$i.change")
    run predict --nodes 2 --what-if "$name" --json
    is "--what-if $name" $status 0
    # a quarter of the interval: eight standard errors of a median of 200 draws
    near what_if.nodes.0.speedup.median "$("$json_at" told "changes.$i.speedup.median")" \
        "$(awk -v lo="$("$json_at" told "changes.$i.speedup.lo")" -v hi="$("$json_at" told "changes.$i.speedup.hi")" \
            'BEGIN { print 0.25 * (hi - lo) }')"
    i=$((i + 1))
done
run predict --nodes 2 --link 1G-eth --what-if bw=2x --json
near what_if.nodes.0.t_comm_s "$(awk -v s="$(value nodes.0.t_comm_s)" 'BEGIN { print s / 2 }')" 1e-6
run predict --nodes 2 --what-if tokens=2x,accum=3x --json
# six times forward and backward; the optimizer, which at 16 tokens is much of the step, comes once as before
alone=$(value nodes.0.alone_s) optimizer=$("$json_at" "$saved" summary.optimizer_s.median)
near what_if.nodes.0.alone_s "$(awk -v s="$alone" -v o="$optimizer" 'BEGIN { print 6 * s - 5 * o }')" \
    "$(awk -v s="$alone" -v o="$optimizer" 'BEGIN { print 0.15 * (6 * s - 5 * o) }')" # of medians: they do not add up exactly

run predict last --schedule split
is 'a table, by the other schedule' $status 0
holds 'with the verdict first' grep -q '^verdict' out
holds 'and what was assumed' grep -q '^assumed' out
run predict --seed 7 --json
cp out first
run predict --seed 7 --json
holds 'the same seed gives the same answer' cmp first out

run predict --heat 60s:1.1,600s:1.4 --json
is 'three instants of a job that warms up' "$(value heat)" 3
near heat.2.factor 1.4 1e-9
refused 64 'option --heat' --heat 60:1.1

# --- a job of PyTorch: 1 + 2 + 0.5 s and one bucket of a second at Gigabit Ethernet, complete when backward ends: 4.5 s and
# what an all-reduce costs besides; the middle of the draws for what is left out is 1 ---
sample='{"step_s": 3.5, "forward_s": 1.0, "backward_s": 2.0, "optimizer_s": 0.5, "loss": 2.0, "ready_s": [3.0]}'
cat >torch.json <<EOF
{"schema": "ddpbench-pytorch-profile", "schema_version": 1, "job": "train:make", "node": {"threads": 1},
 "parameters": [{"name": "w", "bytes": 117687500}], "buckets": [{"parameters": [0], "bytes": 117687500}],
 "summary": {"step_s": {"median": 3.5}}, "wrapped": null, "samples": [$sample, $sample, $sample]}
EOF
run predict --profile torch.json --link 1G-eth --json
is 'status of a job of PyTorch' $status 0
near nodes.0.step_s.median 4.5003 0.02
near nodes.0.speedup.median 1.5554 0.01
near nodes.0.exposed_s.median 1.0003 0.001
is 'no curve over tokens that are not known' "$(value curve)" null
refused 64 'give it without' --profile torch.json --step-s 1
refused 65 'no profile of' --profile "$saved"
sed 's/"parameters": \[0\]/"parameters": [7]/' torch.json >wrong.json
refused 65 'not there' --profile wrong.json
refused 66 'cannot open' --profile nowhere.json

# --- documents that are none ---
sed 's/"schema_version": 1/"schema_version": 99/' "$saved" >other.json
refused 65 'schema version 99' other.json
sed 's/"forward_s"/"forward"/' "$saved" >hollow.json
refused 65 'no timed step' hollow.json
head -c 3000 "$saved" >torn.json
refused 65 'no complete JSON' torn.json
echo '{"a": 1}' >thing.json
refused 65 'no schema_version' thing.json
mkdir folder.json
refused 65 'is no file' ./folder.json
mkfifo fifo.json # nobody writes to it, and that must not be waited for
refused 65 'is no file' ./fifo.json
sed 's/"world": 1/"world": 2/' "$saved" >two.json
refused 65 '2 ranks' two.json
refused 65 'no rate of a link' --link-run "$saved"
refused 64 'give one of the two' "$saved" --bytes 8
run --model linear-10x2 --steps 3 --json
cp "$(value saved)" linear.json
refused 64 'has none' linear.json --schedule split
refused 65 'cannot train together' "$saved" --partner linear.json

# --- the ledger: a prediction that was kept, beside what came of it ---
run predict --score --json
is 'status of an empty ledger' $status 0
is 'says so' "$(value score.n)" 0
mkdir kept
for step in 1.00 1.10; do
    cat >"kept/20260101T00000${step#1.}Z-x.json" <<EOF
{"schema_version": 1, "world": 2, "model": {"name": "m"}, "summary": {"step_s": {"median": $step}},
 "speedup": {"measured": 1.5}, "prediction": {"step_s": {"median": 1.0, "lo": 0.95, "hi": 1.05},
 "speedup": {"median": 1.6, "lo": 1.5, "hi": 1.7}, "p_faster": 1.0, "verdict": "helps"}}
EOF
done
run predict --score --results-dir kept --json
is 'two predictions' "$(value score.n)" 2
is 'one inside its interval' "$(value score.inside)" 0.5
is 'both verdicts right' "$(value score.right)" 1.0
near score.median_absolute_error 0.0454545 1e-6 # of 0 and 1 - 1/1.1
run predict --score --results-dir kept
holds 'the table adds up' grep -q '^2 predictions' out
finish
