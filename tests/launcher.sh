# The launcher finds the program it belongs to from anywhere, and says what to do when there is none.
. "$TOP_SRCDIR/tests/lib.sh"

tree="$scratch/a tree"
mkdir -p "$tree/build" "$scratch/bin" "$scratch/elsewhere"
cp "$TOP_SRCDIR/bench" "$tree/bench"
ln -s "$tree/bench" "$scratch/bin/link"
ln -s link "$scratch/bin/again"
cd "$scratch/elsewhere" || exit 99

status=0
"$tree/bench" probe --json >"$scratch/out" 2>"$scratch/err" || status=$?
is 'nothing built: configuration error' $status 78
holds 'the sentence names the command that builds it' grep -qF "'$tree/bootstrap'" "$scratch/err"
is 'with --json one line on stdout' "$(wc -l <"$scratch/out")" 1
holds 'which carries the code' grep -q '"error": {"code": 78, "name": "configuration", "message": "[^"]*"}}$' "$scratch/out"
"$tree/bench" probe >"$scratch/out" 2>"$scratch/err"
is 'without --json nothing on stdout' "$(cat "$scratch/out")" ''

cat >"$tree/build/ddpbench" <<'END'
#!/bin/sh
printf '<%s>' "$@"
env >"$ENV_SEEN"
exit 70
END
chmod +x "$tree/build/ddpbench"
export ENV_SEEN="$scratch/seen"
for way in "$tree/bench" "$scratch/bin/link" "$scratch/bin/again"; do
    status=0
    said=$("$way" --model 'two words' '' '*') || status=$?
    is "arguments arrive unchanged through ${way##*/}" "$said" '<--model><two words><><*>'
    is "the program's exit status comes back through ${way##*/}" $status 70
done
env | grep -v '^_=' | sort >"$scratch/before"
"$tree/bench" >/dev/null
grep -v '^_=' "$scratch/seen" | sort >"$scratch/after"
holds 'the environment is untouched' cmp "$scratch/before" "$scratch/after"
mv "$tree/build/ddpbench" "$tree/ddpbench"
is 'a program built in the tree itself is found too' "$("$tree/bench" x)" '<x>'
finish
