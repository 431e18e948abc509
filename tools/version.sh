#!/bin/sh
# tools/version.sh - prints the version of the sources it lies among.
#
#   tools/version.sh RELEASE
#
# A tarball carries its version in .tarball-version. In a clone it is `git describe` relative to a tag vX.Y.Z, or
# RELEASE-gCOMMIT while there is none, with -dirty for local changes. Without git it is RELEASE.
release=$1
cd "$(dirname "$(readlink -f "$0")")/.." || exit 1
if [ -f .tarball-version ]; then
    cat .tarball-version
    exit
fi
# A tree that was unpacked inside somebody else's repository is not that repository.
if [ -e .git ] && commit=$(git describe --always --dirty --exclude '*' 2>/dev/null); then
    if tagged=$(git describe --tags --match 'v[0-9]*' --dirty 2>/dev/null); then
        echo "${tagged#v}"
    else
        echo "$release-g$commit"
    fi
else
    echo "$release"
fi
