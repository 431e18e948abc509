#!/bin/sh
# tools/install.sh - sees to it that the Debian packages of a list are installed.
#
#   tools/install.sh LIST
#
# Nothing missing: silent, exit 0, about 20 ms. Something missing and this is root or `sudo -n` works: apt-get
# installs it, with an update only if the first try fails, and never at the cost of a package that is there. Otherwise one
# sentence with the command to run, exit 78. Of gnuplot any flavour will do.
# On a system without dpkg it says so and leaves the judgement to configure.
set -u
list=$1
packages=$(sed 's/#.*//' "$list" | tr '\n' ' ')

if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "install: this is not a Debian system, so packages are not checked; $list names what is needed" >&2
    exit 0
fi

# Prints the packages of the list that are not installed.
missing()
{
    # shellcheck disable=SC2086 # one word per package
    dpkg-query -W -f '${db:Status-Status} ${Package}\n' $packages 2>/dev/null |
        awk -v want="$packages" '$1 == "installed" { have[$2] = 1 }
            END { n = split(want, p, " "); for (i = 1; i <= n; i++) if (!(p[i] in have)) print p[i] }' |
        while read -r package; do
            [ "$package" = gnuplot-nox ] && command -v gnuplot >/dev/null 2>&1 || printf '%s ' "$package"
        done
}

need=$(missing)
need=${need% }
[ -n "$need" ] || exit 0
command="apt-get install --no-install-recommends $need"

if [ "$(id -u)" -eq 0 ]; then
    as_root=
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    as_root='sudo -n'
else
    echo "install: these packages are missing and only root can install them; run: sudo $command" >&2
    exit 78
fi

log=$(mktemp "${TMPDIR:-/tmp}/ddpbench-apt.XXXXXX") || exit 73
trap 'rm -f "$log"' EXIT
trap 'exit 130' INT TERM HUP

# apt ARGUMENT... - apt-get without questions, its talk in the log.
apt()
{
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -y -q --no-remove -o DPkg::Lock::Timeout=120 "$@" >>"$log" 2>&1 </dev/null
}

echo "install: $command" >&2
# shellcheck disable=SC2086
if ! apt install --no-install-recommends $need; then
    echo "install: that failed; trying again after apt-get update" >&2
    apt update || :
    # shellcheck disable=SC2086
    if ! apt install --no-install-recommends $need; then
        grep '^E:' "$log" >&2 || tail -n 5 "$log" >&2
        echo "install: apt-get could not install them (its last words are above); when it can, run: ${as_root:+sudo }$command" >&2
        exit 78
    fi
fi
need=$(missing)
if [ -n "$need" ]; then
    echo "install: apt-get ended well but these are still missing: $need" >&2
    exit 78
fi
