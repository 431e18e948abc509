# Connections between nodes in clear and sealed: the same losses to the last bit, and nobody's private data or weights travel
# in clear unless both ends say so.
. "$TOP_SRCDIR/tests/lib.sh"
. "$TOP_SRCDIR/tests/net.sh"
. "$TOP_SRCDIR/tests/serve_kit.sh"

short='--model shakespeare-char --seq 32 --warmup 1 --threads 1 --batch 2 --steps 3 --no-baseline --no-floor'
here='--test-this-host --key-file key'

# --- the same numbers, sealed ---
serves b
two=127.0.0.1:$port
serves c
three=$two,127.0.0.1:$port
train spawn2 --spawn 2
# shellcheck disable=SC2086
{
    train clear --peers $two $here
    train sealed --encrypt --peers $two $here
}
same_run clear spawn2 3
same_run sealed spawn2 3
at clear wire clear
at clear integrity crc32c
at clear communication.seal_s 0.0
is 'which cipher' "$(value sealed wire | cut -d' ' -f1)" tls1.3
holds 'with its name' sh -c "$json_at sealed wire | grep -Eq '^tls1.3 TLS_(AES_128_GCM|CHACHA20_POLY1305)_SHA256$'"
at sealed integrity aead
at sealed communication.buckets.0.check_s.median 0.0
holds 'sealing took time' awk -v x="$(value sealed communication.seal_s)" 'BEGIN { exit !(x > 0 && x < 10) }'
holds 'on the peer too' awk -v x="$(value sealed nodes.1.summary.seal_s.median)" 'BEGIN { exit !(x > 0 && x < 10) }'
# a ring of two sends each byte of the gradient once: 2 (N - 1) / N = 1
payload=$(value clear communication.payload_bytes_per_step)
is 'the payload is the gradient' "$payload" "$(value clear model.gradient_bytes)"
is 'sealed or not' "$(value sealed communication.payload_bytes_per_step)" "$payload"
# 22 bytes for each record of at most 16,384: 0.13 %, and a little for records that are not full
holds 'what sealing adds to the bytes' awk -v c="$(value clear communication.bytes_per_step)" \
    -v s="$(value sealed communication.bytes_per_step)" 'BEGIN { x = s / c - 1; print x; exit !(x >= 0.0013 && x < 0.002) }'
status=0
# shellcheck disable=SC2086
XDG_STATE_HOME="$scratch/state" "$DDPBENCH" $short --results-dir saved --encrypt --peers $two $here >table 2>err || status=$?
is 'a table' $status 0
holds 'says so' grep -q 'encrypted$' table
holds 'with the cost' grep -q '^  sealing' table
status=0
# shellcheck disable=SC2086
XDG_STATE_HOME="$scratch/state" "$DDPBENCH" peers check $three $here --encrypt --seconds 0.1 >out 2>err || status=$?
is 'peers check, sealed' $status 0

# --- who has to say clear ---
# shellcheck disable=SC2086
{
    train out --save x.bin --clear --peers $two $here
    says 76 'clear here only' 'travel in clear only if both ends say so'
    serves e --clear
    train out --save x.bin --peers "127.0.0.1:$port" $here
    is 'clear there only: sealed' "$(value out wire | cut -d' ' -f1)" tls1.3
    train out --save x.bin --clear --peers "127.0.0.1:$port" $here
    is 'clear at both ends' $status 0
    at out wire clear
    serves f --require-encrypt
    train out --peers "127.0.0.1:$port" $here
    says 76 'a node that takes part only encrypted' 'takes part with --encrypt only'
    train out --encrypt --peers "127.0.0.1:$port" $here
    is 'which it does' $status 0
}
serves g --test-plan wire=clear --once
# shellcheck disable=SC2086
train out --encrypt --peers "127.0.0.1:$port" $here
says 76 'plans that differ in it' 'wire tls here, clear on 127'

# --- three hosts that know each other in different ways ---
missing=$(net_missing)
if [ -n "$missing" ]; then
    skip 'three hosts' "$missing"
    finish
fi
i=0
while [ $i -lt 3000 ]; do
    echo "The $i. line tells of $((i * i % 977)) grey cats & <$((i % 13))> dogs, älter als wir."
    i=$((i + 1))
done >cats.txt
net_up --hosts 3
mkdir bin
ln -s "$DDPBENCH" bin/ddpbench
cat >bin/ssh <<END
#!/bin/sh
while [ "\$1" != -- ]; do shift; done
exec "$TOP_SRCDIR/tools/testnet.sh" run c sh -c "PATH='$scratch/bin':\$PATH; \$3"
END
chmod +x bin/ssh
export PATH="$scratch/bin:$PATH"
# shellcheck disable=SC2086
on b "$DDPBENCH" serve --key-file "$scratch/key" --threads 1 2>host.log &
servers="$servers $!"
until_holds grep -q 'on port 27124' host.log
status=0
# shellcheck disable=SC2086
(on a "$DDPBENCH" $short --schedule split --data "$scratch/cats.txt" --peers laptopb,ssh:laptopc --results-dir "$scratch/saved" --key-file "$scratch/key" --json) \
    >hosts3 2>err || status=$?
is 'one by a key file, one by ssh' $status 0
[ $status -eq 0 ] || sed 's/^/# /' err
train spawn3 --data cats.txt --spawn 3 --schedule split
same_run hosts3 spawn3 3
is 'all of it sealed' "$(value hosts3 wire | cut -d' ' -f1)" tls1.3
at hosts3 nodes.2.host laptopc
finish
