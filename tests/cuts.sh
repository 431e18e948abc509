# Connections that end in mid frame, either of them and in either direction: the run is over at once, with peer and step, and
# the server takes the next one.
. "$TOP_SRCDIR/tests/lib.sh"
not_under "tsan" "the same threads as in peers.sh"
. "$TOP_SRCDIR/tests/net.sh"
. "$TOP_SRCDIR/tests/fault_kit.sh"

serves b

# --- the connection ends in mid frame ---
fault 'data up cut +50000 fin' 'an end in mid frame'
says 75 '127.0.0.1.*(at|at warm-up) step [0-9]+' 'an end in mid frame'
in_time 'an end in mid frame' 0 4800
fault 'data down cut +50000 rst' 'a reset in mid frame'
says 75 '127.0.0.1.*(at|at warm-up) step [0-9]+' 'a reset in mid frame'
in_time 'a reset in mid frame' 0 4800
fault 'data up close +50000' 'one direction closed'
says 75 '127.0.0.1.*(at|at warm-up) step [0-9]+' 'one direction closed'
in_time 'one direction closed' 0 4800
fault 'control down cut +1 fin' 'the control connection ends'
says 75 '127.0.0.1.*without a word' 'the control connection ends'
in_time 'the control connection ends' 0 4800
tidy 'ends'
finish
