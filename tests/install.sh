# tools/install.sh against made-up dpkg-query, apt-get, id and sudo: what it installs, and what it says when it may not.
. "$TOP_SRCDIR/tests/lib.sh"

fake="$scratch/fake"
mkdir "$fake"
for tool in awk cat env grep mktemp rm sed sh tail tr; do
    ln -s "$(command -v $tool)" "$fake/$tool"
done
# fake NAME - makes a program of the standard input.
fake()
{
    { echo '#!/bin/sh'; cat; } >"$fake/$1"
    chmod +x "$fake/$1"
}
printf '# comment\none # why\ntwo\n' >"$scratch/list"
echo one >"$scratch/installed"
export scratch
fake dpkg-query <<'END'
sed 's/^/installed /' "$scratch/installed"
echo 'not-installed two'
END
fake id <<'END'
cat "$scratch/uid"
END
# Installs what it is asked for from the third call on; the second is the update.
fake apt-get <<'END'
echo "$DEBIAN_FRONTEND $*" >>"$scratch/calls"
[ "$(grep -c . "$scratch/calls")" -ge "$(cat "$scratch/works_at")" ] || { echo 'E: no such package' >&2; exit 100; }
case "$*" in *' install '*) echo two >>"$scratch/installed" ;; esac
END

# try UID WORKS_AT - one run from a fresh state.
try()
{
    echo one >"$scratch/installed"
    echo "$1" >"$scratch/uid"
    echo "$2" >"$scratch/works_at"
    : >"$scratch/calls"
    status=0
    PATH="$fake" sh "$TOP_SRCDIR/tools/install.sh" "$scratch/list" >"$scratch/out" 2>"$scratch/err" || status=$?
}

try 1000 1
is 'an ordinary user without sudo: configuration error' $status 78
is 'apt-get is not even tried' "$(cat "$scratch/calls")" ''
holds 'the exact command is shown' grep -qF 'run: sudo apt-get install --no-install-recommends two' "$scratch/err"
is 'in one line' "$(wc -l <"$scratch/err")" 1

try 0 1
is 'root: installed' $status 0
is 'without an update' "$(grep -c update "$scratch/calls")" 0
holds 'without questions, and only what is missing' \
    grep -q '^noninteractive -y .* install --no-install-recommends two$' "$scratch/calls"

try 0 3
is 'an outdated package index: installed at the second try' $status 0
is 'after one update' "$(grep -c ' update$' "$scratch/calls")" 1

try 0 99
is 'apt-get fails for good: configuration error' $status 78
holds 'its own words are shown' grep -q '^E: no such package' "$scratch/err"
holds 'and the command to repeat' grep -qF 'run: apt-get install --no-install-recommends two' "$scratch/err"

fake sudo <<'END'
[ "$1" = -n ] || exit 1
shift
exec "$@"
END
fake true </dev/null
try 1000 1
is 'a user whose sudo asks nothing: installed' $status 0
rm "$fake/dpkg-query"
try 0 1
is 'no dpkg: left to configure' $status 0
finish
