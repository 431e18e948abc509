# Data and weights that only one of the nodes has: losses are those of --spawn with the same file to the last bit, and files
# that differ are told.
. "$TOP_SRCDIR/tests/lib.sh"
not_under "tsan" "the same threads as in peers.sh"
. "$TOP_SRCDIR/tests/serve_kit.sh"

short='--model shakespeare-char --seq 32 --warmup 1 --threads 1 --batch 2 --steps 3 --no-baseline --no-floor'
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
same_run data2 spawn2 3
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
same_run data2 spawn2 3
short=$even

# --- a node that has the file itself ---
cp cats.txt same.txt
sed 's/grey/gray/' cats.txt >other.txt
serves d --data same.txt
# shellcheck disable=SC2086
train mixed --data cats.txt --peers "127.0.0.1:$port,$two" $here
train spawn3 --data cats.txt --spawn 3
same_run mixed spawn3 3
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
same_run again spawn2 3

finish
