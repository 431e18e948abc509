#!/bin/sh
# tools/bench.sh DDPBENCH - what `make bench` runs; the work is in bench.py, which needs Python 3 and nothing else.
command -v python3 >/dev/null || { echo 'bench: python3 is not installed (apt-get install python3)' >&2; exit 78; }
exec python3 "$(dirname "$0")/bench.py" "$@"
