#!/bin/sh
# tools/man.sh - a manual page from the program's --help.
#
#   HELP2MAN=help2man tools/man.sh PAGE [INCLUDE]
#
# PAGE is doc/ddpbench.1, or doc/ddpbench-COMMAND.1. Runs in the build folder, with the program there. help2man takes what it
# describes for one program, so a command is given to it as a script of the name of its page.
page=$1
include=$2
name=$(basename "$page" .1)
folder=$(mktemp -d ./man.XXXXXX) || exit # not in /tmp, where programs may not be started 73
trap 'rm -rf "$folder"' EXIT
cp ddpbench "$folder" || exit
folder=$(cd "$folder" && pwd)
PATH="$folder:$PATH"
if [ "$name" = ddpbench ]; then
    $HELP2MAN --no-info --section=1 --include="$include" --output="$page" ddpbench
    exit
fi
command=${name#ddpbench-}
printf '#!/bin/sh\nexec ddpbench %s "$@"\n' "$command" >"$folder/$name"
chmod +x "$folder/$name" || exit
what=$("ddpbench" --help | sed -n "s/^  $command  *//p")
{
    printf '[name]\n%s \\- %s\n\n' "$name" "$what"
    printf '[>see also]\n.BR ddpbench (1)\n'
} >"$folder/include"
$HELP2MAN --no-info --section=1 --include="$folder/include" --output="$page" "$name"
