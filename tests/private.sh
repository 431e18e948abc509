# Data and weights that only one of the nodes has: losses are those of --spawn with the same file to the last bit, and files
# that differ are told.
. "$TOP_SRCDIR/tests/lib.sh"
not_under "tsan" "the same threads as in peers.sh"

json_at="$(dirname "$DDPBENCH")/tests/json_at"
[ -x "$json_at" ] || skip_all 'tests/json_at is not built'
cd "$scratch" || exit 99
export NO_COLOR=1 XDG_DATA_HOME="$scratch/data"
servers=
# shellcheck disable=SC2317 # called by the trap
clean_up()
{
    # shellcheck disable=SC2086 # several processes
    [ -z "$servers" ] || kill $servers 2>/dev/null
    wait
    rm -rf "$scratch"
}
trap clean_up EXIT

# serves NAME ARGUMENT... - a serving node with a state of its own; its port in $port
serves()
{
    name=$1
    shift
    : >"$name.log"
    XDG_STATE_HOME="$scratch/state.$name" "$DDPBENCH" serve --port 0 --key-file key --threads 1 "$@" 2>"$name.log" &
    servers="$servers $!"
    until_holds grep -q 'on port' "$name.log"
    port=$(sed -n 's/.*on port \([0-9]*\)$/\1/p' "$name.log")
}

# train OUTPUT ARGUMENT... - its status in $status
short='--model shakespeare-char --seq 32 --warmup 1 --threads 1 --batch 2 --steps 3 --no-baseline --no-floor'
train()
{
    to=$1
    shift
    status=0
    # shellcheck disable=SC2086 # several words
    XDG_STATE_HOME="$scratch/state" "$DDPBENCH" $short --results-dir saved --json "$@" >"$to" 2>err || status=$?
    [ $status -eq 0 ] || cp err "$to.err"
}

value()
{
    "$json_at" "$1" "$2"
}

same_run()
{
    is "$1 and $2: the same parameters" "$(value "$1" parameter_checksum)" "$(value "$2" parameter_checksum)"
    for step in 0 1 2; do
        is "$1 and $2: the same loss in step $step" "$(value "$1" samples.$step.loss)" "$(value "$2" samples.$step.loss)"
    done
    # shellcheck disable=SC2015 # both are said
    [ ! -e "$1.err" ] || sed 's/^/# /' "$1.err"
}

says()
{
    is "$2: status" $status "$1"
    holds "$2: $3" grep -Eq -- "$3" err
    grep -Eq -- "$3" err || sed 's/^/# /' err
}

(umask 077 && od -An -N32 -tx1 /dev/urandom | tr -d ' \n' >key)
here='--test-this-host --key-file key'

serves b
two=127.0.0.1:$port

# --- data that only rank 0 has ---
i=0
while [ $i -lt 3000 ]; do
    echo "The $i. line tells of $((i * i % 977)) grey cats & <$((i % 13))> dogs, älter als wir."
    i=$((i + 1))
done >cats.txt
train spawn2 --data cats.txt --eval 2 --spawn 2
# shellcheck disable=SC2086
train data2 --data cats.txt --eval 2 --peers $two $here
same_run data2 spawn2
is 'private data are sealed' "$(value data2 wire | cut -d' ' -f1)" tls1.3
holds 'the peer did not need the file' test "$(value data2 nodes.1.summary.step_s.n)" = 3
uneven='--data cats.txt --global-batch 6 --shares 2:1 --accum 2'
even=$short
short='--model shakespeare-char --seq 32 --warmup 1 --threads 1 --steps 3 --no-floor'
# shellcheck disable=SC2086
{
    train spawn2 $uneven --spawn 2
    train data2 $uneven --peers $two $here
}
same_run data2 spawn2
short=$even

# --- a node that has the file itself ---
cp cats.txt same.txt
sed 's/grey/gray/' cats.txt >other.txt
serves d --data same.txt
# shellcheck disable=SC2086
train mixed --data cats.txt --peers "127.0.0.1:$port,$two" $here
train spawn3 --data cats.txt --spawn 3
same_run mixed spawn3
# shellcheck disable=SC2086
train out --data other.txt --peers "127.0.0.1:$port" $here
says 76 'another file' 'data sha256:[0-9a-f]{32} here, sha256:[0-9a-f]{32} on 127'
# shellcheck disable=SC2086
train out --peers "127.0.0.1:$port" $here
says 76 'no file here' 'data null here, sha256:[0-9a-f]{32} on 127'

# --- weights from a file, and to one ---
# shellcheck disable=SC2086
train first --save weights.bin --peers $two $here
is 'weights are saved' $status 0
is 'and were sealed' "$(value first wire | cut -d' ' -f1)" tls1.3
train spawn2 --checkpoint weights.bin --spawn 2
# shellcheck disable=SC2086
train again --checkpoint weights.bin --peers $two $here
same_run again spawn2

finish
