#!/bin/sh
# tests/blas_choice.sh - the choice of OpenBLAS's kernel end to end: children, cache, and starting again.
#
# Driven through tests/check_blas_choice --apply, which makes the choice and prints it. The fall-back to a weak
# kernel is provoked with DDPBENCH_BLAS_PRETEND. No rates are asserted, only what follows from them on
# any CPU with AVX2: the SSE3 kernel is less than 95 % as fast as the best.
# shellcheck disable=SC2317 # says and silent are called through holds
. "$TOP_SRCDIR/tests/lib.sh"
not_under "asan tsan" "what it starts measures speeds"

program=${DDPBENCH%/*}/tests/check_blas_choice
[ -x "$program" ] || skip_all "tests/check_blas_choice is not built"
for flag in avx2 fma; do
    grep -q "^flags.* $flag " /proc/cpuinfo ||
        skip_all "this CPU has no $flag, so no kernel is much better than another"
done
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE DDPBENCH_BLAS_CHOICE DDPBENCH_BLAS_PRETEND
XDG_CACHE_HOME=$scratch/cache
export XDG_CACHE_HOME

# apply NAME [VARIABLE=VALUE...] - leaves $scratch/NAME and $status
apply()
{
    name=$1
    shift
    status=0
    env "$@" "$program" --apply "two words" >"$scratch/$name" 2>"$scratch/$name.err" || status=$?
}

# field NAME KEY - the first value of that key, without quotes (the document has one member per line)
field()
{
    sed -n "s/^ *\"$2\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" "$scratch/$1" | head -n 1
}

says()
{
    grep -q "$2" "$scratch/$1"
}

silent()
{
    [ ! -s "$scratch/$1.err" ]
}

files()
{
    find "$scratch/cache" -type f 2>/dev/null | wc -l | tr -d ' '
}

# The kernel OpenBLAS picks here may itself be weak (that is what all this is for); either way it ends well.
apply plain
is "as it is: exit status" "$status" 0
holds "as it is: nothing on stderr" silent plain
case $(field plain origin) in
default)
    is "the default is of the best class: no file is written" "$(files)" 0
    holds "nothing was measured" says plain '"candidates": \[\]'
    ;;
*) is "the default was weak: the figures are remembered" "$(files)" 1 ;;
esac
rm -rf "$scratch/cache"

apply first DDPBENCH_BLAS_PRETEND=Prescott
is "weak default: exit status" "$status" 0
is "weak default: another is chosen" "$(field first origin)" chosen
is "the kernel that is reported is the one that runs" "$(field first core)" "$(field first running)"
is "the default is reported" "$(field first default_core)" Prescott
is "the argument survived the new start" "$(field first argument)" "two words"
is "the process has its name back" "$(field first process)" "check_blas_choi"
is "one file is remembered" "$(files)" 1
holds "the gain is above 1" awk "BEGIN { exit !($(field first gain) > 1) }"
holds "the candidates are in the result" says first '"core": "Haswell"'
holds "the reason is given" says first 'picks Prescott on this CPU'
holds "the test hook is named" says first 'DDPBENCH_BLAS_PRETEND is set (a test hook)'
holds "nothing on stderr" silent first

before=$(cksum "$scratch"/cache/ddpbench/*)
apply second DDPBENCH_BLAS_PRETEND=Prescott
is "second run: from the cache" "$(field second origin)" cached
is "second run: the same kernel" "$(field second core)" "$(field first core)"
is "second run: the same gain" "$(field second gain)" "$(field first gain)"
is "second run: the file is as it was" "$(cksum "$scratch"/cache/ddpbench/*)" "$before"

for file in "$scratch"/cache/ddpbench/*; do
    echo '{"key": 1' >"$file"
done
apply broken DDPBENCH_BLAS_PRETEND=Prescott
is "broken cache: measured again" "$(field broken origin)" chosen
apply mended DDPBENCH_BLAS_PRETEND=Prescott
is "broken cache: replaced" "$(field mended origin)" cached

: >"$scratch/file"
apply nowhere DDPBENCH_BLAS_PRETEND=Prescott XDG_CACHE_HOME="$scratch/file"
is "no place for the cache: exit status" "$status" 0
is "no place for the cache: chosen all the same" "$(field nowhere origin)" chosen
holds "no place for the cache: a note that survives the new start" \
    says nowhere "is not remembered: cannot create $scratch/file"

# Whatever is in the variable that says "this is the second process", there is no third.
for junk in '' '{' '[]' '{"origin": "chosen", "record": {}}'; do
    apply junk DDPBENCH_BLAS_PRETEND=Prescott DDPBENCH_BLAS_CHOICE="$junk"
    is "no loop with '$junk': exit status" "$status" 0
    is "no loop with '$junk': goes on with what is loaded" "$(field junk origin)" default
done

apply user OPENBLAS_CORETYPE=Nehalem
is "slow kernel set by the user: exit status" "$status" 0
is "slow kernel set by the user: it stays" "$(field user running)" Nehalem
is "slow kernel set by the user: origin" "$(field user origin)" user
holds "slow kernel set by the user: a note with both rates" \
    says user 'OPENBLAS_CORETYPE=Nehalem is set: [0-9]* GFLOP/s per core; [A-Za-z]* would give [0-9]*"'
apply again OPENBLAS_CORETYPE=Nehalem
is "the second time its rate is remembered" "$(field again gflops)" "$(field user gflops)"

apply quiet OPENBLAS_CORETYPE="$(field first core)"
is "best kernel set by the user: origin" "$(field quiet origin)" user
holds "best kernel set by the user: no note" says quiet '"notes": \[\]'

apply unknown OPENBLAS_CORETYPE=NoSuchCore
holds "a name the library does not know is pointed out" says unknown 'OPENBLAS_CORETYPE=NoSuchCore is set, but OpenBLAS'

# Bulldozer's kernel needs FMA4, which Intel never had and AMD gave up: it dies of SIGILL.
if grep -q '^flags.* fma4 ' /proc/cpuinfo; then
    skip "a kernel that dies" "this CPU has FMA4"
else
    apply fatal DDPBENCH_BLAS_PRETEND=Bulldozer
    is "a default that dies: exit status" "$status" 0
    is "a default that dies: another is chosen" "$(field fatal origin)" chosen
    is "a default that dies: the signal is in the result" "$(field fatal signal_name)" SIGILL
    apply refused OPENBLAS_CORETYPE=Bulldozer
    is "a kernel of the user's that dies: a configuration error" "$status" 78
    holds "a kernel of the user's that dies: named with the signal" says refused 'CORETYPE=Bulldozer: .*SIGILL'
fi

finish
