# Demonstrations, the other two of four: sizes of buckets and of batches. And on a terminal: it asks, draws, and gives the
# terminal back.
. "$TOP_SRCDIR/tests/lib.sh"
not_under "asan tsan" "its runs are ordinary ones"
. "$TOP_SRCDIR/tests/demo_kit.sh"

plays bucket 5 shakespeare-char && {
    last=$(value bucket.json parts.4.run)
    is 'everything at once is one bucket' "$(value "$last" communication.buckets)" 1
    is 'a bucket for each tensor' "$(value "$(value bucket.json parts.1.run)" communication.buckets)" \
        "$(value "$(value bucket.json parts.0.run)" gradients)"
    # nothing can be sent before backward ends, so all 42.98 MB at 117.7 MB/s are waited for, 0.365 s, but for what the other rank
    # has sent before this one's backward ended: no more than sockets hold
    holds 'overlap is lost' awk -v s="$(value bucket.json parts.4.exposed_s)" 'BEGIN { print s; exit !(s >= 0.25) }'
}

alone=
plays batch 3 shakespeare-char && {
    # the exchange alone takes 0.365 s whatever the batch
    for i in 0 1 2; do
        calm 'no step is shorter than its exchange' awk -v s="$(value batch.json parts.$i.step_s)" 'BEGIN { exit !(s >= 0.36) }'
    done
    holds 'the batches grow' test "$(value "$(value batch.json parts.0.run)" model.batch)" -lt \
        "$(value "$(value batch.json parts.2.run)" model.batch)"
}

# --- on a terminal ---
if command -v script >/dev/null; then
    command="'$DDPBENCH' demo wifi --spawn 2 $scale --threads 1 --results-dir tty"
    mkfifo keys
    TERM=xterm timeout -k 5 400 script -qefc "$command" tty.out <keys >/dev/null 2>&1 &
    pid=$!
    exec 3>keys
    until_holds grep -q 'or Enter' tty.out
    holds 'it asks' grep -q 'What do you expect' tty.out
    holds 'rows are drawn over' grep -q "$escape\[[0-9]*A" tty.out
    holds 'without colours: NO_COLOR' test "$(grep -c "$escape\[[0-9]*m" tty.out)" = 0
    echo 7 >&3
    # shellcheck disable=SC2016 # the inner shell's
    until_holds sh -c 'test "$(grep -o "or Enter" tty.out | wc -l)" -ge 2'
    is 'it asks again after a number that is none' "$(grep -o 'or Enter' tty.out | wc -l)" 2
    printf '\003' >&3
    status=0
    wait $pid || status=$?
    exec 3>&-
    is 'Ctrl-C at a question' $status 130
    holds 'no process is left' nobody_left
else
    skip 'on a terminal' 'there is no script(1)'
fi
finish
