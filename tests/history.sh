# ddpbench history: lists, checks, formats, the index that nothing depends on, many runs, many writers.
. "$TOP_SRCDIR/tests/lib.sh"
not_under "asan tsan" "its subject is many files; check_shift and check_store run"
. "$TOP_SRCDIR/tests/saved.sh"
. "$TOP_SRCDIR/tests/json_kit.sh"

# try FOLDER ARGUMENT...
try()
{
    folder=$1
    shift
    status=0
    "$DDPBENCH" history --results-dir "$folder" "$@" >out 2>err || status=$?
}

# at NAME... - a member of the document
at() { (IFS=.; "$json_at" out "$*") 2>/dev/null; }

# nth FOLDER N - the name of its Nth result, the oldest first; $ for the newest
nth() { find "$1" -name '*.json' | sort | sed -n "$2"'s|.*/||p'; }

# ---- without a history ----
mkdir empty
try empty --check
is 'no run: no baseline, no failure' $status 0
holds 'is said' grep -q 'no baseline' out
try empty --check --last 3
is 'fewer runs than the check would take' $status 64
try empty --check --require-baseline
is 'a baseline was required' $status 66
try missing --check
is 'a folder that is not there' $status 66
status=0
"$DDPBENCH" history >out 2>err || status=$?
is 'the default folder need not be there' $status 0

# ---- lists ----
saved r 12 0.100 floor=0.09 label=v1 version=1.0
try r
is 'a list' $status 0
is 'has a line per run' "$(grep -c 'mlp-768 ' out)" 12
saved r 2 0.300 threads=1 label=other
try r --label other
is 'a label' "$(grep -c '\.json' out)" 2
try r --node nobody
holds 'a node that took part in none' grep -q 'no run in r' out
try r --model mlp-768 --node host --last 3 --json
is 'the newest three of a model and a node' "$(at runs 0 file) $(at runs 2 label) $(at runs 3 file)" \
    "$(nth r 12) other "

# ---- checks ----
try r --check --json
is 'nothing happened' "$status $(at verdict)" '0 no regression'
cp -r r slower
saved slower 6 0.120 floor=0.09 label=v2 version=1.1
try slower --check --json
is 'a step of 20 %' "$status $(at verdict)" '1 regression'
is 'ratios come first' "$(at groups 0 metrics 0 path) $(at groups 0 metrics 0 verdict)" 'floor.ratio regression'
is 'since when' "$(at groups 0 metrics 0 since label)" v2
try slower --check
holds 'is told with its cause' grep -q 'regression.*since .*(v2)' out
cp -r r machine
saved machine 6 0.120 floor=0.108 label=v2
try machine --check --json
is 'a slower machine is no regression' "$status $(at groups 0 metrics 1 verdict)" '0 machine'
cp -r r odd
saved odd 1 0.3 floor=0.09
try odd --check
is 'nor is one odd run' $status 0
cp -r r aborted
saved aborted 6 0.3 floor=0.09 status=interrupted
try aborted --check --json
is 'nor are runs that did not end' "$status $(at left_out)" '0 6'
cp -r slower mended
saved mended 12 0.112 floor=0.09 label=v3
try mended --check --json
is 'what is mended in part is still a regression' "$status $(at groups 0 metrics 0 verdict) $(at groups 0 metrics 0 since label)" \
    '1 regression v2'
saved mended 12 0.100 floor=0.09 label=v4
try mended --check --json
is 'until it is mended' "$status $(at groups 0 metrics 0 verdict)" '0 improvement'
cp -r r faster
saved faster 6 0.08 floor=0.09
try faster --check --json
is 'nor is an improvement' "$status $(at groups 0 metrics 0 verdict)" '0 improvement'

# ---- what is no result ----
cp -r r bad
mkdir bad/20270101T000000Z-mlp-768.json
mkfifo bad/20270101T000002Z-mlp-768.json
head -c 200 "r/$(nth r 1)" >bad/20270101T000001Z-mlp-768.json
sum=$(cksum bad/20270101T000001Z-mlp-768.json)
try bad
is 'a list goes on' $status 0
holds 'counts what it skips' grep -q 'skipped     3 files' out
holds 'and names it' grep -q '20270101T000001Z-mlp-768.json is no complete JSON' out
try bad --check --json
is 'a check says that the history may lack something' "$status $(at error code) $(at skipped 1 file)" \
    '65 65 20270101T000001Z-mlp-768.json'
is 'nothing is touched' "$(cksum bad/20270101T000001Z-mlp-768.json)" "$sum"
cp -r slower worse
cp bad/20270101T000001Z-mlp-768.json worse
try worse --check
is 'a regression is 1 all the same' $status 1

# ---- the index is only a cache ----
try r --json
cp out whole
for damage in 'rm -f' 'truncate -s 300' 'truncate -s 0'; do
    $damage r/.history.jsonl
    try r --json
    holds "index after $damage" cmp -s out whole
done
echo nonsense >r/.history.jsonl
try r --json
holds 'an index of nonsense' cmp -s out whole
sed -i '3s/..$//' r/.history.jsonl
try r --json
holds 'a line of the index that is cut' test "$(grep -c '"file"' out)" = 14
newest="r/$(nth r '$')"
sed -i 's/"label": "other"/"label": "change"/' "$newest"
try r --json --last 1
is 'a file that changed is read again' "$(at runs 0 label)" change
rm "$newest"
try r --json
is 'one that is gone is gone' "$(grep -c '"file"' out)" 13
if [ "$(id -u)" -ne 0 ]; then
    rm r/.history.jsonl
    chmod a-w r
    try r --json
    is 'a folder that cannot be written to' "$status $(grep -c '"file"' out)" '0 13'
    chmod u+w r
else
    skip 'a folder that cannot be written to' 'root can write everywhere'
fi

# ---- formats ----
try slower --format csv
is 'csv: a line per run and the names' "$status $(wc -l <out)" '0 21'
is 'csv: as many columns everywhere' "$(awk -F, '{ print NF }' out | sort -u | wc -l)" 1
try slower --format openmetrics
holds 'OpenMetrics ends as it has to' test "$(tail -1 out)" = '# EOF'
is 'OpenMetrics: a step per group' "$(grep -c '^ddpbench_history_step_seconds{' out)" 2
try slower --format github-action-benchmark
is 'github-action-benchmark: an array' "$(at 0 unit)" ratio
value=$(at 1 value)
holds 'the newest version, the median of its runs' awk "BEGIN { exit !($value > 0.117 && $value < 0.123) }"
try slower --format bencher
holds 'Bencher: nanoseconds' awk "BEGIN { v = $(at 'mlp-768 64x1, threads 2' latency value); exit !(v > 1.17e8 && v < 1.23e8) }"
try slower --format xml
is 'another format' $status 64
try slower --check --format csv
is 'two answers' $status 64

# ---- drawings ----
try slower --plot term --label v2
is 'in the terminal' $status 0
try slower --plot term
holds 'names versions or labels, and the step' grep -q 'from here on' out
try slower --plot picture.svg
is 'to a file' $status 0
holds 'which is SVG' grep -q '</svg>' picture.svg
is 'with a mark per run' "$(grep -c '<circle' picture.svg)" 18
holds 'says how far the level moved' grep -q 'from here on 1[12][0-9.]* ms, before [0-9.]* ms' picture.svg
try slower --plot picture.bmp
is 'or to nothing else' $status 64
saved evil 3 0.1 'label=<script>&'
try evil --plot evil.svg
is 'labels are text' "$(grep -c '<script' evil.svg)" 0

# ---- locales ----
if localedef -i de_DE -f UTF-8 "$scratch/de_DE.UTF-8" >/dev/null 2>&1; then
    for answer in '--json' '--check --json' '--format csv' '--format openmetrics' '--plot term'; do
        # shellcheck disable=SC2086 # several arguments
        try slower $answer
        cp out plain
        status=0
        # shellcheck disable=SC2086
        LOCPATH="$scratch" LC_ALL=de_DE.UTF-8 "$DDPBENCH" history --results-dir slower $answer >out 2>err || status=$?
        holds "the same with a decimal comma: $answer" cmp -s plain out
    done
else
    skip 'the same with a decimal comma' 'localedef cannot make de_DE here'
fi

# ---- many writers, many readers ----
pids=
for _ in 1 2 3 4; do
    "$DDPBENCH" --model linear-10x2 --steps 1 --warmup 0 --no-floor --threads 1 --results-dir many >/dev/null 2>&1 &
    pids="$pids $!"
    "$DDPBENCH" history --results-dir many >/dev/null 2>&1 &
    pids="$pids $!"
done
# shellcheck disable=SC2086 # several
wait $pids
try many --json
is 'four runs at once with readers between' "$status $(grep -c '"file"' out) $(at skipped 0 file)" '0 4 '

# ---- ten thousand runs ----
saved big 9990 0.1 floor=0.09 steps=2
saved big 10 0.12 floor=0.09 steps=2 label=new
try big --last 1
now() { date +%s%N; }
if [ -z "${SANITIZER:-}" ]; then
    begin=$(now)
    try big --check
    listed=$status
    try big --json
    took=$((($(now) - begin) / 1000000))
    is 'of ten thousand runs the last ten are slower' $listed 1
    is 'all are listed' "$(grep -c '"file"' out)" 10000
    echo "# listed and checked in $took ms"
else
    skip 'ten thousand runs' 'sanitizers take their time'
fi
finish
