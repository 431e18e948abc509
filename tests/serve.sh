# Nodes meet, from outside: serve, peers, pairing on terminals, peer lists that are wrong, and two hosts with names of
# their own where this may be made. Servers end with the test.
# shellcheck disable=SC2317 # functions are called by run, says and holds
. "$TOP_SRCDIR/tests/lib.sh"
. "$TOP_SRCDIR/tests/net.sh"

json_at="$(dirname "$DDPBENCH")/tests/json_at"
[ -x "$json_at" ] || skip_all 'tests/json_at is not built'
cd "$scratch" || exit 99
servers=
clean_up()
{
    [ -z "$servers" ] || kill "$servers" 2>/dev/null
    wait
    net_down
    rm -rf "$scratch"
}
trap clean_up EXIT

now()
{
    echo $(($(date +%s%N) / 1000000))
}

# met - the server of the two hosts has one session more than when this was called last with an argument
met()
{
    if [ $# -gt 0 ]; then
        sessions=$(grep -c 'session with .*: rank' serve.log)
    else
        until_says serve.log 'session with .*: rank' $((sessions + 1))
        sleep 1 # it is under way
    fi
}

# within DESCRIPTION LEAST MOST FROM - that so many milliseconds have passed
within()
{
    took=$(($(now) - $4))
    [ "$2" -eq 0 ] || holds "$1: not before $2 ms ($took)" test $took -ge "$2"
    soon "$1" $took "$3"
}

# run COMMAND... - output in out and err, status in $status
run()
{
    status=0
    ("$@") >out 2>err || status=$?
}

# until_says FILE PATTERN [TIMES] - waits for a line, or so many
until_says()
{
    # shellcheck disable=SC2016 # the inner shell's
    until_holds sh -c 'test "$(grep -c -- "$2" "$1")" -ge "$3"' sh "$1" "$2" "${3:-1}"
}

# ended PID - its exit status in $status
ended()
{
    status=0
    wait "$1" || status=$?
}

# says STATUS PATTERN DESCRIPTION COMMAND...
says()
{
    expected=$1 pattern=$2 what=$3
    shift 3
    run "$@"
    is "$what: status" $status "$expected"
    holds "$what: $pattern" grep -q -- "$pattern" err
}

client()
{
    XDG_STATE_HOME=$scratch/caller
    export XDG_STATE_HOME
    "$DDPBENCH" "$@"
}

server()
{
    XDG_STATE_HOME=$scratch/server
    export XDG_STATE_HOME
    exec "$DDPBENCH" serve "$@"
}

# --- lists that are wrong, without a network ---
from=$(now)
says 64 'is in the list of peers twice' 'a name twice' client peers check laptopb,laptopb
says 64 'the list of peers is empty' 'an empty list' client peers check ''
says 64 'peer is this host' 'the own name' client peers check "$(hostname)"
says 64 'peer is this host' 'the own address' client peers check 127.0.0.1
says 64 'minus sign' 'an option in disguise' client peers check laptopb,-oProxyCommand=x
says 64 "no network interface 'nosuch0' here; there are .*lo" 'an interface that is not there' \
    client peers check 192.0.2.1 --iface nosuch0
says 64 "no network interface '^lo' here" 'an exclusion mark' client peers check 192.0.2.1 --iface '^lo'
within 'all of that at once' 0 6000 "$from"

# --- serve ---
from=$(now)
says 69 'nobody came within 1 s' 'nobody comes' server --once --wait 1 --port 0
within 'after a second' 1000 2500 "$from"
says 66 'nosuchkey' 'no key file' server --key-file nosuchkey

# --- key files, for scripts ---
(umask 077 && od -An -N32 -tx1 /dev/urandom | tr -d ' \n' >key && od -An -N32 -tx1 /dev/urandom | tr -d ' \n' >other)
server --port 0 --key-file key 2>serve.log &
servers=$!
until_says serve.log 'on port'
port=$(sed -n 's/.*on port \([0-9]*\)$/\1/p' serve.log)
run client peers check "127.0.0.1:$port" --test-this-host --key-file key --json
is 'a shared key file: status' $status 0
is 'world' "$("$json_at" out world)" 2
is 'local_addr' "$("$json_at" out local_addr)" 127.0.0.1
is 'same_host' "$("$json_at" out same_host)" true
says 77 'the key files differ' 'another key' client peers check "127.0.0.1:$port" --test-this-host --key-file other
says 77 'have not met' 'no key' client peers check "127.0.0.1:$port" --test-this-host
exec 9<key
run client peers check "127.0.0.1:$port" --test-this-host --key-file /dev/fd/9
is 'a key on an inherited descriptor' $status 0
exec 9<&-
chmod 644 key
says 77 'others may read it' 'a key for everybody' client peers check "127.0.0.1:$port" --test-this-host --key-file key
chmod 600 key
is 'nothing secret in its arguments' "$(tr '\0' ' ' <"/proc/$servers/cmdline" | grep -c "$(cat key)")" 0
is 'nor in its environment' "$(tr '\0' ' ' <"/proc/$servers/environ" | grep -c "$(cat key)")" 0
kill "$servers"
ended "$servers"
is 'interrupted' $status 130
servers=

# --- other work: both ends say what differs ---
server --once --port 0 --key-file key --test-plan elements=5 2>serve.log &
servers=$!
until_says serve.log 'on port'
port=$(sed -n 's/.*on port \([0-9]*\)$/\1/p' serve.log)
says 76 'elements 100000 here, 5 on 127.0.0.1' 'another plan' \
    client peers check "127.0.0.1:$port" --test-this-host --key-file key
ended "$servers"
is 'the same status at the other end' $status 76
holds 'and the same difference' grep -q 'elements 5 here, 100000 on' serve.log
servers=

# --- pairing on terminals ---
if ! command -v script >/dev/null 2>&1; then
    skip 'pairing with a code' 'there is no script program to make a terminal'
else
    mkfifo keys
    XDG_STATE_HOME=$scratch/server script -qefc "'$DDPBENCH' serve --port 0" serve.tty <keys >/dev/null 2>&1 &
    servers=$!
    exec 8>keys
    until_says serve.tty 'code for pairing'
    code=$(sed -n 's/.*code for pairing: \([-0-9a-z]*\).*/\1/p' serve.tty)
    port=$(sed -n 's/.*on port \([0-9]*\).*/\1/p' serve.tty)
    check="'$DDPBENCH' peers check 127.0.0.1:$port --test-this-host"
    status=0
    (until_says wrong.tty 'Type the code'; sleep 1; echo 0000-0000-0000; sleep 3) | XDG_STATE_HOME=$scratch/caller script -qefc "$check" wrong.tty >/dev/null 2>&1 ||
        status=$?
    is 'a wrong code' $status 77
    holds 'and the server goes on' kill -0 "$servers"
    status=0
    (until_says right.tty 'Type the code'; sleep 1; echo "$code"; sleep 3) | XDG_STATE_HOME=$scratch/caller script -qefc "$check" right.tty >/dev/null 2>&1 ||
        status=$?
    is 'the right code' $status 0
    holds 'which is asked for' grep -q 'have not met' right.tty
    run client peers check "127.0.0.1:$port" --test-this-host
    is 'from then on no terminal is needed' $status 0
    run client peers check --help
    holds 'help is no name' grep -q '^Usage: .* peers' out
    run client peers list
    holds 'the peer is listed' grep -q "127.0.0.1:$port" out
    is 'no key is shown' "$(grep -Ec '[0-9a-f]{64}' out)" 0
    is 'keys are private' "$(find caller/ddpbench server/ddpbench -perm /077 | wc -l)" 0
    run client peers forget "127.0.0.1:$port"
    is 'forgotten' $status 0
    says 77 'shows no code' 'a stranger again, and the code is used up' client peers check "127.0.0.1:$port" --test-this-host
    echo >&8
    until_says serve.tty 'code for pairing' 2
    is 'a key press brings a new code' "$(grep 'code for pairing' serve.tty | sort -u | wc -l)" 2
    exec 8>&-
    kill "$servers"
    wait "$servers" 2>/dev/null
    servers=
fi

# --- two hosts ---
missing=$(net_missing)
if [ -n "$missing" ]; then
    skip 'two hosts' "$missing"
    finish
fi
net_up --hosts 2
# a's own name leads to its loopback, as Debian has it
printf '127.0.0.1 localhost\n127.0.1.1 laptopa\n10.77.0.2 laptopb\n' >"$net/hosts.a"
for host in a b; do # one bridge with the same address on both, as container software makes it
    ip -n "$net_id-$host" link add dk0 type bridge
    ip -n "$net_id-$host" addr add 172.17.0.1/16 dev dk0
    ip -n "$net_id-$host" link set dk0 up
done
on b "$DDPBENCH" serve --key-file "$scratch/key" 2>serve.log &
servers=$!
until_says serve.log 'on port 27124'
run on a "$DDPBENCH" peers check laptopb --key-file "$scratch/key" --json
is 'by name: status' $status 0
is 'the address of the route is announced' "$("$json_at" out local_addr)" 10.77.0.1
is 'not the same host' "$("$json_at" out same_host)" false
holds 'as the other end sees it' grep -q 'session with laptopa (10.77.0.1)' serve.log
run on a "$DDPBENCH" peers check 10.77.0.2 --iface va --key-file "$scratch/key" --json
is 'by an interface' "$("$json_at" out local_addr)" 10.77.0.1
says 64 "no network interface 'nosuch0' here; there are lo.*va.*dk0" 'the interfaces are listed' \
    on a "$DDPBENCH" peers check 10.77.0.2 --iface nosuch0
says 64 'peer is this host' 'the address that every machine has' on a "$DDPBENCH" peers check 172.17.0.1
says 64 'peer is this host' 'the own name again' on a "$DDPBENCH" peers check laptopa
from=$(now)
says 69 '10.77.0.9' 'one of two is missing' on a "$DDPBENCH" peers check laptopb,10.77.0.9 --key-file "$scratch/key"
within 'known in seconds' 0 8000 "$from" # it is called for 3.5 s, where the kernel would for minutes
is 'and only that one is named' "$(grep -c laptopb err)" 0
run on a "$DDPBENCH" peers check laptopb --key-file "$scratch/key"
is 'the other takes a session at once' $status 0
# a cable pulled: no packet says so; both ends give up, and the server takes the next session
met before
on a "$DDPBENCH" peers check 10.77.0.2 --seconds 60 --peer-timeout 5 --key-file "$scratch/key" >out 2>err &
client=$!
met
from=$(now)
ip -n "$net_id-b" link set vb down
ended $client
is 'link down: status' $status 75
calm "link down: not before five seconds of silence ($(($(now) - from)) ms)" test $(($(now) - from)) -ge 4000
within 'link down: known in time' 0 8000 "$from"
calm 'link down: warned before' grep -Eq 'warning: no sign of life from 10.77.0.2 for [0-9]+ s; giving up' err
holds 'link down: said' grep -q '10.77.0.2.*stopped or frozen, or the network' err
sleep 1
ip -n "$net_id-b" link set vb up
# shellcheck disable=SC2317 # called by holds
again()
{
    (on a "$DDPBENCH" peers check 10.77.0.2 --key-file "$scratch/key")
}
holds 'link up again: the same server' until_holds again # it may not have done with the lost session yet, and is busy then

# Ctrl-C: the other end hears it
met before
on a "$DDPBENCH" peers check 10.77.0.2 --seconds 60 --key-file "$scratch/key" >out 2>err &
client=$!
met
kill -INT $client
ended $client
is 'interrupted: status' $status 130
holds 'interrupted: told' until_says serve.log 'laptopa gave up: stopped at step'

# the other process is killed: known at once
met before
on a "$DDPBENCH" peers check 10.77.0.2 --seconds 60 --key-file "$scratch/key" >out 2>err &
client=$!
met
from=$(now)
kill -9 "$servers"
ended $client
is 'killed: status' $status 75
within 'killed: at once' 0 8000 "$from" # silence would be for twenty seconds
holds 'killed: named' grep -q '10.77.0.2' err
ended "$servers"
on b "$DDPBENCH" serve --key-file "$scratch/key" 2>serve.log &
servers=$!
until_says serve.log 'on port 27124'
printf '127.0.0.1 localhost\n127.0.1.1 laptopb\n' >"$net/hosts.a"
from=$(now)
says 68 "laptopb leads to this host's loopback" 'a name that leads to the loopback' on a "$DDPBENCH" peers check laptopb
within 'at once' 0 3000 "$from"

# public addresses are strangers by default
net_down
kill "$servers"
ended "$servers"
net_up --net 203.0.113
on b "$DDPBENCH" serve --key-file "$scratch/key" 2>serve.log &
servers=$!
until_says serve.log 'on port 27124'
says 69 'no bench peer there' 'from outside the local networks' \
    on a "$DDPBENCH" peers check 203.0.113.2 --key-file "$scratch/key"
holds 'which the server tells' grep -q 'outside the local networks' serve.log
kill "$servers"
ended "$servers"
on b "$DDPBENCH" serve --any-source --key-file "$scratch/key" 2>serve.log &
servers=$!
until_says serve.log 'on port 27124'
run on a "$DDPBENCH" peers check 203.0.113.2 --key-file "$scratch/key"
is 'unless it may' $status 0
kill "$servers"
ended "$servers"
servers=
finish
