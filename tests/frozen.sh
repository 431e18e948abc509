# Ranks of this node that are stopped: silence is warned of after 3 s and ends the run at --peer-timeout, whichever process it is; a
# short one only marks the step.
. "$TOP_SRCDIR/tests/lib.sh"
. "$TOP_SRCDIR/tests/net.sh"
. "$TOP_SRCDIR/tests/fault_kit.sh"

# --- ranks on this node ---
patience_s=5
begin --spawn 3 --steps 100000
worker=$(worker_of "$caller")
frozen "$worker" 'a stopped rank' \
    'rank [12] is lost at step [0-9]+: no sign of life for ([5-9]|[1-9][0-9]+) s: it is stopped or frozen'
holds 'nobody is left' until_holds test ! -d "/proc/$worker"

patience_s=60
begin --spawn 2 --steps 150
worker=$(worker_of "$caller")
kill -STOP "$worker"
sleep 4
kill -CONT "$worker"
since
ended
is 'a rank stopped for four seconds' $status 0
stood_still 'a rank stopped for four seconds'
is 'all steps are kept' "$(value out samples)" 150
finish
