# tests/net.sh - sourced after lib.sh: two hosts on this machine, for tests that need more than the loopback.
#
#   net_up                     or net_up NETWORK, default 10.77.0: hosts a and b at .1 and .2, called laptopa, laptopb
#   on a COMMAND...            runs it there, with a state folder and a home of its own
#   net_down
#
# A host is a network namespace; names and the hosts file ($net/hosts.a, $net/hosts.b) are the command's own. Needs
# root and iproute2; net_missing prints what is missing. Nothing leaves the machine.
# shellcheck shell=sh
net_id=ddp$$

net_missing()
{
    if [ "$(id -u)" -ne 0 ]; then
        echo 'network namespaces need root'
    elif ! command -v ip >/dev/null 2>&1; then
        echo 'there is no ip program (iproute2)'
    elif ! ip netns add "$net_id-try" 2>/dev/null; then
        echo 'network namespaces cannot be made here'
    elif ! ip -n "$net_id-try" link add x type veth peer name y 2>/dev/null; then
        ip netns del "$net_id-try"
        echo 'this kernel has no veth devices'
    else
        ip netns del "$net_id-try"
    fi
}

net_up()
{
    net=${scratch:?}/net
    mkdir -p "$net"
    for host in a b; do
        ip netns add "$net_id-$host"
        ip -n "$net_id-$host" link set lo up
        mkdir -p "$net/home.$host"
        printf '127.0.0.1 localhost\n' >"$net/hosts.$host"
    done
    ip link add va netns "$net_id-a" type veth peer name vb netns "$net_id-b"
    ip -n "$net_id-a" addr add "${1:-10.77.0}.1/24" dev va
    ip -n "$net_id-b" addr add "${1:-10.77.0}.2/24" dev vb
    ip -n "$net_id-a" link set va up
    ip -n "$net_id-b" link set vb up
}

# Becomes the command, so that $! of a background on is the command's own process.
on()
{
    net_host=$1
    shift
    # shellcheck disable=SC2016 # the inner shell's arguments
    exec ip netns exec "$net_id-$net_host" unshare --uts --mount sh -c '
        mount --bind "$1/hosts.$2" /etc/hosts && hostname "laptop$2" && export HOME="$1/home.$2" XDG_STATE_HOME= &&
        shift 2 && exec "$@"' sh "$net" "$net_host" "$@"
}

net_down()
{
    for host in a b; do
        ip netns del "$net_id-$host" 2>/dev/null
    done
}
