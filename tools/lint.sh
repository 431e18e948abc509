#!/bin/sh
# tools/lint.sh - everything about the sources that a program can judge without running them.
#
# Layout (clang-format), C mistakes (cppcheck), shell mistakes (shellcheck), direction of knowledge (check_layers.sh),
# on the tracked files. Prints the findings and one line per check; exit 1 if one failed, 78 if a tool is missing.
cd "$(dirname "$(readlink -f "$0")")/.." || exit 66

for tool in clang-format cppcheck shellcheck; do
    if ! command -v $tool >/dev/null 2>&1; then
        echo "lint: $tool is missing; run: tools/install.sh tools/packages-maintainer.debian" >&2
        exit 78
    fi
done

# list PATTERN... - tracked files, or all of them in an unpacked tarball.
list()
{
    if [ -e .git ]; then
        git ls-files -- "$@"
    else
        for pattern; do
            find . -path './build*' -prune -o -name "${pattern##*/}" -print | sed 's|^\./||'
        done
    fi
}

c_files=$(list '*.c' '*.h' '*.cc')
c_sources=$(list '*.c')
sh_files="$(list '*.sh') bench bootstrap .ci/run"
[ -e .ci/run ] || sh_files=${sh_files% .ci/run}
passed=0
failed=0

# judge NAME COMMAND...
judge()
{
    name=$1
    shift
    if "$@"; then
        echo "lint: $name passed"
        passed=$((passed + 1))
    else
        echo "lint: $name FAILED"
        failed=$((failed + 1))
    fi
}

# shellcheck disable=SC2086 # our own file names have no blanks
{
    judge layout clang-format --dry-run --Werror $c_files
    # Style remarks are left out: they contradict the house style more often than they help.
    judge cppcheck cppcheck --quiet --std=c11 --language=c --enable=warning,performance,portability \
        --inline-suppr --suppressions-list=tools/cppcheck.supp --error-exitcode=1 -I. -DHAVE_CONFIG_H \
        -D__x86_64__ $c_sources
    judge shellcheck shellcheck --shell=sh $sh_files
}
judge layers sh tools/check_layers.sh
echo "lint: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
