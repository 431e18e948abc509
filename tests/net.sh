# tests/net.sh - sourced after lib.sh: tools/testnet.sh under a name of the test's own.
#
#   net_up [OPTION...]         hosts a and b at 10.77.0.1 and .2, called laptopa, laptopb; options as of testnet.sh up
#   on a COMMAND...            runs it there, with a state folder and a home of its own
#   testnet COMMAND...         anything else
#   net_down
#
# Names and the hosts files ($net/hosts.a, $net/hosts.b) are those of the commands. net_missing prints what is missing.
# shellcheck shell=sh
net_id=ddp$$
export TESTNET="$net_id"

testnet()
{
    "$TOP_SRCDIR/tools/testnet.sh" "$@"
}

net_missing()
{
    testnet check
}

net_up()
{
    # shellcheck disable=SC2034 # for the test
    net=$(testnet folder)
    testnet up "$@"
}

# Becomes the command, so that $! of a background on is the command's own process.
on()
{
    exec "$TOP_SRCDIR/tools/testnet.sh" run "$@"
}

net_down()
{
    testnet down
}
