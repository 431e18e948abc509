#!/bin/sh
# tools/variant.sh - builds a flavour of the program in a folder of its own and runs the tests there.
#
#   tools/variant.sh asan|tsan|coverage SOURCE_FOLDER BUILD_FOLDER
#
# SOURCE_FOLDER may be relative to BUILD_FOLDER, which is created.
#
# asan      address and undefined behaviour, leaks included; any finding fails the test.
# tsan      data races. GCC's OpenMP library is not instrumented and would look like one big race, so this
#           flavour is built with clang and LLVM's libomp, whose archer tool tells the sanitizer about barriers (libomp
#           loads it by itself). OpenBLAS's calls end in the same libomp, since the program names it first.
# coverage  lines and functions that the tests reach; the report is in BUILD_FOLDER/coverage/.
#
# Tests see SANITIZER=asan|tsan and may leave out what cannot work there (address space limits, for one).
set -eu
flavour=$1
source=$2
mkdir -p "$3"
cd "$3"
if [ "$source" = . ] || [ -f "$source/config.status" ]; then
    echo "$flavour: the sources are configured in their own folder; run: make distclean && ./bootstrap" >&2
    exit 78
fi

# need PROGRAM - fails in a sentence when a maintainers' tool is not installed.
need()
{
    command -v "$1" >/dev/null 2>&1 && return
    echo "$flavour: $1 is missing; run in $(pwd): $source/tools/install.sh $source/tools/packages-maintainer.debian" >&2
    exit 78
}

case $flavour in
asan)
    flags='-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all'
    set -- CC=gcc CXX=g++ CFLAGS="$flags" CXXFLAGS="$flags"
    # Not detect_stack_use_after_return: GCC 12 aligns 64-byte vectors wrongly on the stack it makes for that.
    export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=0:check_initialization_order=1
    export UBSAN_OPTIONS=print_stacktrace=1
    export SANITIZER=asan
    ;;
tsan)
    need clang
    flags='-O1 -g -fno-omit-frame-pointer -fsanitize=thread'
    set -- CC=clang CXX=clang++ CFLAGS="$flags" CXXFLAGS="$flags"
    export TSAN_OPTIONS=ignore_noninstrumented_modules=1:second_deadlock_stack=1
    # libomp would undo the binding that a test gave its thread.
    export KMP_AFFINITY=disabled
    # In one process: the child of a fork that uses no OpenMP itself dies in archer when it exits.
    export CK_FORK=no
    export SANITIZER=tsan
    ;;
coverage)
    need lcov
    set -- CC=gcc CXX=g++ CFLAGS='-O0 -g --coverage' CXXFLAGS='-O0 -g --coverage'
    ;;
*)
    echo "variant: unknown flavour $flavour" >&2
    exit 64
    ;;
esac

if [ ! -f Makefile ]; then
    "$source/configure" --quiet HELP2MAN=: "$@"
fi

export TEST_TIMEOUT_S="${TEST_TIMEOUT_S:-2700}"
export CK_TIMEOUT_MULTIPLIER="${CK_TIMEOUT_MULTIPLIER:-15}"
make -s --no-print-directory all
# Counts of earlier runs, and what configure's own trial programs left.
[ "$flavour" != coverage ] || find . \( -name '*.gcda' -o -name '*conftest.gc*' \) -exec rm -f {} +
make --no-print-directory check

if [ "$flavour" = coverage ]; then
    mkdir -p coverage
    cd coverage
    # From the notes of every object too, so that a file no test reaches counts with 0 instead of not at all.
    lcov --quiet --capture --initial --directory .. --base-directory .. --output-file none.info 2>lcov.log
    lcov --quiet --capture --directory .. --base-directory .. --output-file some.info 2>>lcov.log
    lcov --quiet --add-tracefile none.info --add-tracefile some.info --output-file all.info
    lcov --quiet --remove all.info '/usr/*' '*/tests/*' --output-file project.info
    genhtml --quiet --output-directory . project.info
    lcov --list project.info
    echo "coverage: $(pwd)/index.html"
fi
