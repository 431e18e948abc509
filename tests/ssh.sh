# Nodes that are started by ssh, with a program of that name in PATH that runs its command on this machine, or fails as ssh
# does. Nothing listens anywhere; whatever is started has to be gone at the end.
. "$TOP_SRCDIR/tests/lib.sh"
not_under "tsan" "the same threads as in peers.sh"
. "$TOP_SRCDIR/tests/net.sh"
. "$TOP_SRCDIR/tests/json_kit.sh"

caller=
# shellcheck disable=SC2317 # called by the trap
clean_up()
{
    [ -z "$caller" ] || kill -9 "$caller" 2>/dev/null
    net_down 2>/dev/null
    rm -rf "$scratch"
}
trap clean_up EXIT

# The ssh of these tests: what it was called with and which environment it had; then what the file "as" says.
cpu=$(taskset -pc $$ | sed 's/.*: *//; s/[-,].*//') # the first that this process may use
mkdir bin 're mote'
ln -s "$DDPBENCH" bin/ddpbench
ln -s "$DDPBENCH" 're mote/ddpbench'
cat >bin/ssh <<END
#!/bin/sh
cd "$scratch"
printf '<%s>' "\$@" >args
env >environment
echo \$\$ >pid
while [ "\$1" != -- ]; do shift; done
host=\$2 command=\$3
case \$(cat as) in
runs)
    echo "Welcome to \$host"
    head -c 3000 /dev/zero | tr '\\\\0' x
    echo
    echo 'ddpbench serves: {"port": "none"}'
    echo 'ddpbench serves: {"port": 99999}'
    echo 'ddpbench serves: not even JSON'
    echo 'no mail' >&2
    case \$host in
    *laptopb) exec "$TOP_SRCDIR/tools/testnet.sh" run b sh -c "PATH='$scratch/bin':\$PATH; \$command" ;;
    esac
    export XDG_STATE_HOME="$scratch/state.b"
    exec taskset -c $cpu sh -c "\$command" # one thread, as the reference has
    ;;
denied) echo "u@\$host: Permission denied (publickey,password)." >&2 && exit 255 ;;
changed)
    printf '@@@@@@@@\\r\\n@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\\r\\n@@@@\\r\\nHost key verification failed.\\r\\n' >&2
    exit 255
    ;;
unknown) echo 'Host key verification failed.' >&2 && exit 255 ;;
refused) echo "ssh: connect to host \$host port 22: Connection refused" >&2 && exit 255 ;;
late) echo "ssh: connect to host \$host port 22: Connection timed out" >&2 && exit 255 ;;
control) printf 'a \\033[31mred\\007 word\\n' >&2 && exit 3 ;;
quits) exit 0 ;;
hangs) exec sleep 1000 ;;
floods) exec yes ddpbench ;;
esac
END
chmod +x bin/ssh
export PATH="$scratch/bin:$PATH"

short='--model shakespeare-char --seq 32 --warmup 1 --threads 1 --batch 2 --steps 2 --no-baseline --no-floor'
# train AS ARGUMENT... - its status in $status
train()
{
    echo "$1" >as
    shift
    status=0
    # shellcheck disable=SC2086 # several words
    XDG_STATE_HOME="$scratch/state" "$DDPBENCH" $short --results-dir saved --test-this-host --json "$@" >out 2>err || status=$?
}

says()
{
    is "$2: status" $status "$1"
    holds "$2: $3" grep -Eq -- "$3" err
    grep -Eq -- "$3" err || sed 's/^/# /' err
}

# shellcheck disable=SC2317 # called by holds
gone()
{
    ! kill -0 "$1" 2>/dev/null
}

ended()
{
    holds "$1: nothing is left of it" until_holds gone "$(cat pid)"
}

# --- a node is started, and trains as one that was there ---
train runs --spawn 2
is 'the reference' $status 0
reference=$("$json_at" out parameter_checksum)
train runs --peers ssh:127.0.0.1
is 'ssh starts it' $status 0
[ $status -eq 0 ] || sed 's/^/# /' err
is 'the same parameters' "$("$json_at" out parameter_checksum)" "$reference"
is 'ssh was called with' "$(cat args)" \
    '<-T><-o><BatchMode=yes><-o><ConnectTimeout=5><-o><ClearAllForwardings=yes><--><127.0.0.1><ddpbench serve --once --key-stdin>'
holds 'no key in its environment' sh -c '! grep -Eq "[0-9a-f]{64}" environment'
ended 'a good run'
holds 'no key was kept' sh -c '! ls state/ddpbench/peers/* state.b/ddpbench/peers/* 2>/dev/null | grep -q .'
train runs --peers ssh:someone@127.0.0.1 --encrypt
is 'as somebody else, and encrypted' $status 0
holds 'the login is for ssh' grep -q '<someone@127.0.0.1>' args
is 'still the same parameters' "$("$json_at" out parameter_checksum)" "$reference"
train runs --peers ssh:127.0.0.1 --remote "$scratch/re mote/ddpbench"
is 'from a path with a blank' $status 0
is 'in quotes' "$(sed 's/.*<//' args)" "'$scratch/re mote/ddpbench' serve --once --key-stdin>"

# --- what could be taken for more than a name or a path ---
# shellcheck disable=SC2016 # nobody is to expand these
for path in "x'; touch owned; '" "\$(touch owned)" '`touch owned`' '-x' 'a;b'; do
    train runs --peers ssh:127.0.0.1 --remote "$path"
    says 64 "--remote $path" 'no path for --remote'
done
# shellcheck disable=SC2016
for name in ssh:-oProxyCommand=x ssh:-x 'ssh:a b' 'ssh:$(x)' ssh: ssh:u@-x; do
    rm -f args
    train runs --peers "$name"
    says 64 "$name" 'no peer|empty name|minus'
    holds "$name: nothing was called" test ! -e args
done
holds 'nothing was run' test ! -e owned
train runs --peers ssh:127.0.0.1:22
says 64 'a port for ssh' 'tells where it listens'
train runs --peers ssh:127.0.0.1 --no-ssh
says 64 'against itself' 'contradict'

# --- failures told apart ---
train denied --peers ssh:127.0.0.1
says 77 denied 'without a password.*Permission denied'
train changed --peers ssh:127.0.0.1
says 77 changed 'another host key than ssh knows.*ssh-keygen -R 127.0.0.1'
train unknown --peers ssh:127.0.0.1
says 77 unknown "does not know 127.0.0.1 yet: run 'ssh 127.0.0.1' once"
train refused --peers ssh:127.0.0.1
says 69 refused 'does not take ssh connections'
train late --peers ssh:127.0.0.1
says 69 late 'does not answer ssh'
train quits --peers ssh:127.0.0.1
says 69 quits 'ended with status 0 before it served'
train control --peers ssh:127.0.0.1
says 69 control 'ended with status 3 before it served .it said: a .31mred word'
escape=$(printf '\033')
is 'what it said is harmless' "$(grep -c "$escape" err)" 0
train floods --peers ssh:127.0.0.1
says 69 floods 'more than 65536 bytes'
ended floods
train runs --peers ssh:127.0.0.1 --remote /nowhere/ddpbench
says 69 'not there' 'ddpbench is not found on 127.0.0.1: say with --remote PATH'
XDG_STATE_HOME="$scratch/state" PATH="$scratch/none" "$DDPBENCH" --peers ssh:127.0.0.1 --test-this-host --steps 0 >out 2>err
status=$?
says 69 'no ssh here' 'cannot start ssh'
XDG_STATE_HOME="$scratch/state" "$DDPBENCH" --peers 127.0.0.1:1 --test-this-host --no-ssh >out 2>err
status=$?
says 69 'forbidden' 'cannot reach 127.0.0.1:1'
train denied --peers 127.0.0.1:1
says 69 'a bare name that ssh does not reach either' \
    "nothing listens on 127.0.0.1:1, port 1, and starting it by ssh failed.*serve' on 127.0.0.1:1, or make 'ssh 127.0.0.1 "
rm -f args
train runs --peers tcp:127.0.0.1:1
says 69 'tcp alone' 'cannot reach 127.0.0.1:1'
holds 'does not call ssh' test ! -e args

# --- interrupted, and killed ---
begin()
{
    echo "$1" >as
    rm -f pid
    : >err
    XDG_STATE_HOME="$scratch/state" "$DDPBENCH" --model shakespeare-char --seq 32 --batch 1 --threads 1 --warmup 0 --steps 100000 --no-baseline \
        --no-floor --results-dir saved --test-this-host --json --peers ssh:127.0.0.1 >out 2>err &
    caller=$!
    until_holds test -s pid
}
begin hangs
sleep 0.5
kill -INT $caller
status=0
wait $caller || status=$?
is 'Ctrl-C while ssh hangs' $status 130
ended 'a hanging ssh'
begin runs
until_holds grep -q '^plan' err
sleep 1
kill -INT $caller
status=0
wait $caller || status=$?
is 'Ctrl-C in a run' $status 130
is 'what was measured is kept' "$("$json_at" out status)" interrupted
ended 'an interrupted run'
begin runs
until_holds grep -q '^plan' err
kill -9 $caller
wait $caller 2>/dev/null
ended 'the line is cut: the node that was started'

# --- the other end by itself ---
serve()
{
    status=0
    XDG_STATE_HOME="$scratch/state.b" timeout 100 "$DDPBENCH" serve --once --key-stdin "$@" >out 2>err || status=$?
}
printf '%064d\n' 0 >key
printf '%063d\n' 0 >short
printf '%065d\n' 0 >long
serve <key
is 'its input ends: so does it' $status 130
holds 'after it said where it was' grep -Eq '^ddpbench serves: \{"port": [0-9]+\}$' out
serve <short
says 65 'a short key' '64 hexadecimal digits'
serve <long
says 65 'a long key' '64 hexadecimal digits'
serve </dev/null
says 65 'no key' '64 hexadecimal digits'
serve --key-file x </dev/null
says 64 'two keys' 'two keys'
mkfifo never
{ cat key && exec sleep 100; } >never &
held=$!
serve --wait 0.5 <never
says 69 'nobody comes' 'nobody came within 0.5 s'
kill $held

# --- two hosts: a bare name, where nothing listens ---
wait # for the one who held that line
missing=$(net_missing)
if [ -n "$missing" ]; then
    skip 'two hosts' "$missing"
    finish
fi
# shellcheck disable=SC2119
net_up
echo runs >as
status=0
# shellcheck disable=SC2086
(on a "$DDPBENCH" $short --peers laptopb --results-dir "$scratch/saved" --json) >out 2>err || status=$?
is 'a bare name is started by ssh' $status 0
[ $status -eq 0 ] || sed 's/^/# /' err
is 'on the other host' "$("$json_at" out nodes.1.host)" laptopb
is 'which has the name it was called by' "$("$json_at" out nodes.1.name)" laptopb
is 'and the same parameters' "$("$json_at" out parameter_checksum)" "$reference"
ended 'the started host'
finish
