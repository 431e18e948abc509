# The command line from outside: exit codes, one JSON document on stdout whatever happens, results that are
# kept. Runs use the smallest model, so that all of this takes seconds.
. "$TOP_SRCDIR/tests/lib.sh"
not_under "tsan" "no threads beyond those of the Check programs"
. "$TOP_SRCDIR/tests/json_kit.sh"

# run ARGUMENT... - output in out and err, exit status in $status
run()
{
    status=0
    "$DDPBENCH" "$@" >out 2>err || status=$?
}

# refused CODE PATTERN ARGUMENT... - with and without --json
refused()
{
    code=$1 pattern=$2
    shift 2
    run "$@"
    is "status of: $*" $status "$code"
    is 'one sentence on stderr' "$(grep -vc ': warning: ' err)" 1
    holds "which says: $pattern" grep -q -- "$pattern" err
    is 'nothing on stdout' "$(cat out)" ''
    run "$@" --json
    is 'the same status with --json' $status "$code"
    at out error.code "$code"
    holds 'and the same sentence' grep -q -- "$pattern" out
}

# --- requests that cannot be met ---
refused 64 'did you mean info' inof
refused 64 'did you mean run' rnu
refused 64 'did you mean --steps' --stps 3
refused 64 'did you mean gpt2-124m' --model gpt2-124
refused 64 'did you mean gpt2-124m' info --model gpt2-124
refused 64 "0,5" --time 0,5
refused 64 "'nan'" --lr nan
refused 64 'context' --model shakespeare-char --seq 257
refused 64 'fp32' --dtype bf16
refused 66 'nowhere.txt' --data nowhere.txt
refused 65 "$scratch" --data "$scratch"
refused 66 'nowhere.bin' --checkpoint nowhere.bin
refused 66 'nosuchroot' --sysroot nosuchroot
refused 73 '/proc' --save /proc/weights.bin
# what would be ignored without --peers
for option in --encrypt --clear --no-ssh '--remote /bin/ddpbench' '--key-file key' '--iface lo'; do
    # shellcheck disable=SC2086 # an option and its value
    refused 64 "${option%% *} is about the connections of --peers" $option
done
# memory, known before anything is taken
printf 'text\n%.0s' 1 2 3 >short.txt
refused 65 'short.txt' --data short.txt --seq 64
refused 71 'lower --batch' --batch 65000

# --- three sequences for two ranks: the first has two, which are not "each" ---
run --spawn 2 --model linear-10x2 --global-batch 3 --steps 1 --no-floor --no-baseline --results-dir unequal
holds 'the batch of this rank' grep -q '2 ranks, 2 x 1 on this one = 3 tokens per step' out
run --spawn 2 --model linear-10x2 --global-batch 4 --steps 1 --no-floor --no-baseline --results-dir unequal
holds 'the batch of each' grep -q '2 ranks, 2 x 1 each = 4 tokens per step' out

# --- text on request ---
run --version
is 'version' $status 0
holds 'name and number' grep -Eq '^ddpbench [0-9]+\.[0-9]+' out
run --help
is 'help' $status 0
holds 'lists the commands' grep -q '^  info ' out
holds 'and the options of run' grep -q -- '--batch' out
run info --help
holds 'a command has its own help' grep -q '^Usage: .* info \[OPTION...\]' out

# --- the name by which texts call the program: what the user typed, or the launcher of its tree ---
mkdir -p tree/build installed elsewhere
cp "$DDPBENCH" tree/build/ddpbench
cp "$DDPBENCH" installed/ddpbench
cp "$TOP_SRCDIR/bench" tree/bench
: >tree/build/config.status
is 'inside its tree' "$(cd tree && ./bench info --help | head -n 1)" 'Usage: ./bench info [OPTION...]'
is 'from elsewhere' "$(cd elsewhere && ../tree/bench info --help | head -n 1)" \
    "Usage: $(readlink -f tree)/bench info [OPTION...]"
is 'installed' "$(PATH=$scratch/installed:$PATH ddpbench info --help | head -n 1)" 'Usage: ddpbench info [OPTION...]'

# --- how "124M" is counted: 12 blocks, 768 wide; wte 50257 x 768, wpe 1024 x 768 ---
run info --model gpt2-124m --json
at out model.parameters 124439808
at out model.unique_parameters 124439808
at out model.gradient_bytes 497759232
at out model.tensors 148
at out model.without_positions 123653376
at out model.untied 163037184
at out model.padded_vocabulary 50304
at out model.with_padded_vocabulary 124475904
# the buckets of the rule "in reverse order, closed at the limit or above, no tensor divided"; with the default, the first
# has a limit of 1 MiB
at out buckets 13
at out buckets.0.bytes 9446400
at out buckets.1.bytes 28351488
at out buckets.12.bytes 176446464
at out buckets.12.completed_by wte.weight
run info --model gpt2-124m --bucket-mb 25 --json
at out buckets 13
at out buckets.12.bytes 157541376
run info --model gpt2-124m --bucket-mb 1 --json
at out buckets 50
at out buckets.49.bytes 154389504
run info --model gpt2-124m --bucket-mb 1
holds 'buckets are listed' grep -q '^  50  *154389504  with wte.weight$' out
run info --model gpt2-124m --schedule split
holds 'touched rows have no size yet' grep -q ' -  embedding rows' out
refused 64 'has none' info --model linear-10x2 --schedule split
run info --model shakespeare-char --json
at out model.unique_parameters 10745088
at out model.gradient_bytes 42980352
at out model.without_positions 10646784
at out model.with_biases 10770816
run info --model linear-10x2 --json
at out model.unique_parameters 22
at out model.untied null

# --- stdout that takes nothing ---
if [ -w /dev/full ]; then
    status=0
    "$DDPBENCH" info --json >/dev/full 2>err || status=$?
    is 'a full disk under stdout' $status 74
    holds 'is said' grep -q stdout err
fi
# a reader that has gone before the first byte: `| head` is no failure to talk about
mkfifo gone
cat gone >/dev/null &
exec 5>gone
kill $!
wait
status=0
"$DDPBENCH" info >&5 2>err || status=$?
exec 5>&-
is 'a reader that has gone' $status 74
is 'passes without a word' "$(cat err)" ''
status=0
"$DDPBENCH" info >&- 2>err || status=$?
is 'a closed stdout' $status 74
{
    until_holds test -e closed
    "$DDPBENCH" info 2>err
    echo $? >status
} | {
    exec <&-
    : >closed
}
is 'a reader that is gone' "$(cat status)" 74

# --- runs ---
small()
{
    "$DDPBENCH" --model linear-10x2 --no-floor --threads 1 "$@"
}

run_small()
{
    status=0
    small "$@" >out 2>err || status=$?
}
run_small --steps 3 --label 'first try'
is 'a run' $status 0
holds 'prints a table' grep -q '^step  ' out
holds 'and the plan on stderr' grep -q '^plan: linear-10x2' err
path=$(sed -n 's/^saved  *//p' out)
holds 'saved below XDG_DATA_HOME' test "${path#"$scratch/data/ddpbench/results/"}" != "$path"
at "$path" schema_version 1
at "$path" status complete
at "$path" label 'first try'
at "$path" model.name linear-10x2
at "$path" samples 3
at "$path" summary.step_s.n 3
at "$path" nodes.0.threads 1
at "$path" link null
at "$path" reasons.link 'one node: no communication'

mkdir results
run_small --steps 1 --json
is 'one step' $status 0
holds 'results/ of the current folder comes first' test -f "$("$json_at" out saved)"
is 'and its name is relative' "$("$json_at" out saved | cut -d/ -f1)" results
at out summary.step_s.mad 0.0
at out summary.step_s.n 1
holds 'a step takes time' test "$("$json_at" out summary.step_s.median)" != null

run_small --steps 0 --json
is 'no steps' $status 0
for value in summary.step_s.median summary.tokens_per_s.median summary.share_of_product_rate floor.step_s floor.ratio \
    layers gradients stamps.share_of_step loss.first unsteady speedup prediction communication; do
    at out $value null
done
at out summary.step_s.n 0
holds 'with the reason' grep -q '"summary.step_s": "no timed step was run"' out

run_small --steps 5 --test-nan-step 2 --json
is 'a loss that is no number' $status 70
at out error.code 70
at out status failed
at out summary.step_s.n 2
path=$("$json_at" out saved)
at "$path" status failed
at "$path" error.code 70

# --- interrupted: the steps until then are kept ---
# Nothing tells from outside when the first step is in, so a machine that is too busy for it gets more time.
for seconds in 0.5 1 2 4 8 16; do
    rm -rf err cut
    "$DDPBENCH" --model mlp-768 --threads 1 --time 600 --results-dir cut --json >out 2>err &
    pid=$!
    until_holds grep -q '^plan' err
    sleep $seconds
    kill -TERM $pid
    status=0
    wait $pid || status=$?
    [ ! -e "$(echo cut/*.json)" ] || break
done
is 'interrupted' $status 130
at out status interrupted
at out error.code 130
at "$(echo cut/*.json)" status interrupted

# --- results that cannot be kept are still shown ---
run_small --steps 1 --results-dir /proc
is 'a folder that takes nothing' $status 73
holds 'the table is there' grep -q '^step  ' out
run_small --steps 1 --results-dir /proc --json
at out error.code 73
at out saved null
at out summary.step_s.n 1

if [ "${SANITIZER-}" = tsan ]; then
    skip 'a disk that fills up' 'this sanitizer itself starts with a large file'
else
    mkdir full
    echo old >full/old.json
    {
        (
            ulimit -f 1 # blocks: stands for a disk that fills up during the write
            small --steps 50 --results-dir full 2>err
            echo $? >status
        )
    } | cat >out
    is 'a disk that fills up' "$(cat status)" 74
    holds 'the table is there too' grep -q '^step  ' out
    is 'the old result is as it was, and alone' "$(ls -A full) $(cat full/old.json)" 'old.json old'
fi

# --- two at once into one folder ---
for writer in 1 2; do
    for turn in 1 2 3 4; do
        small --steps 1 --results-dir both >/dev/null 2>&1 || echo "writer $writer, turn $turn: $?" >>failures
    done &
done
wait
is 'all of them ended well' "$(cat failures 2>/dev/null)" ''
is 'every result is there' "$(find both -type f | wc -l)" 8
for file in both/*; do
    "$json_at" "$file" status
done >statuses
is 'and complete' "$(sort -u statuses)" complete

# --- a decimal comma is a matter of the terminal, not of this program ---
if localedef -i de_DE -f UTF-8 "$scratch/de_DE.UTF-8" >/dev/null 2>&1; then
    LC_ALL=C "$DDPBENCH" info --model gpt2-124m --json >c
    LOCPATH=$scratch LC_ALL=de_DE.UTF-8 "$DDPBENCH" info --model gpt2-124m --json >de
    holds 'the same bytes under de_DE' cmp c de
    status=0
    LOCPATH=$scratch LC_ALL=de_DE.UTF-8 "$DDPBENCH" --model linear-10x2 --threads 1 --time 0.1 --json >out 2>err || status=$?
    is 'a point is accepted under de_DE' $status 0
    is 'no digit, comma, digit' "$(grep -c '[0-9],[0-9]' out)" 0
else
    skip 'the same bytes under de_DE' 'localedef has no de_DE'
fi

# --- what would hang OpenBLAS, or lose somebody's file, is found first ---
if [ -n "${SANITIZER-}" ]; then
    skip 'too little address space' 'a sanitizer needs more itself'
else
    for limit in 64000 300000; do # with less the loader does not get as far as this program
        status=0
        prlimit --as=$((limit * 1024)) "$DDPBENCH" --json >out 2>err || status=$?
        is "address space of $limit KiB" $status 71
        at out error.code 71
    done
fi
status=0
OMP_THREAD_LIMIT=1 timeout 300 "$DDPBENCH" --model linear-10x2 --steps 2 --threads 2 --results-dir limited --json \
    >out 2>err || status=$?
is 'OMP_THREAD_LIMIT below the threads asked for' $status 0
is 'is kept' "$("$json_at" out nodes.0.threads)" 1
seq 1 3000 >text
cp text text.before
status=0
"$DDPBENCH" --model shakespeare-char --seq 8 --batch 1 --steps 1 --data text --save text >out 2>err || status=$?
is 'weights over a file that is no checkpoint' $status 73
holds 'the file is as it was' cmp text text.before
finish
