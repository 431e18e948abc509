# tools/check_layers.sh accepts this tree and finds each kind of violation in a made-up one.
. "$TOP_SRCDIR/tests/lib.sh"

holds 'this tree keeps its layers' sh "$TOP_SRCDIR/tools/check_layers.sh" "$TOP_SRCDIR"

# finds DESCRIPTION FILE LINE PATTERN - a tree whose FILE holds LINE is refused for the reason PATTERN.
finds()
{
    rm -rf "$scratch/tree"
    mkdir -p "$scratch/tree/base" "$scratch/tree/${2%/*}"
    echo '#include <stdio.h>' >"$scratch/tree/base/x.c"
    printf '%s\n' "$3" >>"$scratch/tree/$2"
    status=0
    sh "$TOP_SRCDIR/tools/check_layers.sh" "$scratch/tree" >"$scratch/out" 2>&1 || status=$?
    is "$1: refused" $status 1
    holds "$1: file and reason" grep -q "^$2:[0-9]*: .*$4" "$scratch/out"
}
finds 'base includes model' base/a.c '#include "model/net.h"' 'base/ must not know model/'
finds 'model includes probe' model/a.h '# include "probe/cpu.h"' 'model/ must not know probe/'
finds 'comm includes model' comm/a.c '#include "model/net.h"' 'comm/ must not know model/'
finds 'predict includes report' predict/a.c '#include "report/store.h"' 'predict/ must not know report/'
finds 'a library in the wrong place' report/a.c '#include <jansson.h>' 'belongs to base/json alone'
finds 'part of a library in the wrong place' cli/a.c '#include <hwloc/helper.h>' 'belongs to probe/topology alone'
finds 'cryptography in the wrong place' comm/a.c '#include <openssl/evp.h>' 'belongs to comm/crypto alone'
finds 'an unknown library' comm/a.c '#include <zlib.h>' 'has no owner yet'
finds 'printing below cli' ddp/a.c '    printf("hello");' 'prints or exits'
finds 'exiting below cli' model/a.c '    exit(1);' 'prints or exits'
finds 'the standard error stream below cli' base/a.c '    fputs("x", stderr);' 'belong to cli/'

# allows DESCRIPTION FILE LINE
allows()
{
    rm -rf "$scratch/tree"
    mkdir -p "$scratch/tree/${2%/*}"
    printf '%s\n' "$3" >"$scratch/tree/$2"
    holds "$1" sh "$TOP_SRCDIR/tools/check_layers.sh" "$scratch/tree"
}
allows 'a module includes base' probe/a.c '#include "base/err.h"'
allows 'ddp joins model and comm' ddp/a.c '#include "model/net.h"
#include "comm/ring.h"'
allows 'the owner of a library' base/json.h '#include <jansson.h>'
allows 'comments are not code' model/a.c '/* "exit(1)" and
   printf("x") are fine here */ int x; /* stderr */'
allows 'formatting into memory' base/a.c 'int n = snprintf(buf, size, "x"); _exit(0);'
allows 'cli prints' cli/a.c '    printf("hello");'
finish
