# tests/json_kit.sh - sourced after lib.sh by tests that read documents; the current folder is the scratch folder from here on.
#
#   at FILE PATH VALUE      a statement about a document: at out error.code 64
#   value FILE PATH         prints it; "$json_at" is the program that does
#
# Results go to the test's own XDG folder, and nothing is coloured.
# shellcheck shell=sh
json_at="$(dirname "$DDPBENCH")/tests/json_at"
[ -x "$json_at" ] || skip_all 'tests/json_at is not built'
cd "${scratch:?}" || exit 99
export XDG_DATA_HOME="$scratch/data" NO_COLOR=1

at()
{
    is "$1: $2" "$("$json_at" "$1" "$2" 2>&1)" "$3"
}

value()
{
    "$json_at" "$1" "$2"
}
