# ddpbench compare: verdicts, what is refused and how, and that nothing but a slower B is 1.
. "$TOP_SRCDIR/tests/lib.sh"
not_under "tsan" "no threads beyond those of the Check programs"
. "$TOP_SRCDIR/tests/saved.sh"
. "$TOP_SRCDIR/tests/json_kit.sh"
. "$TOP_SRCDIR/tests/page_kit.sh"

# try ARGUMENT... - status, out, err
try()
{
    status=0
    "$DDPBENCH" compare --results-dir r "$@" >out 2>err || status=$?
}

# at NAME... - a member of the document
at() { (IFS=.; "$json_at" out "$*") 2>/dev/null; }

saved r 5 0.100 label=base
saved r 5 0.120 label=slow
saved r 5 0.080 label=fast
saved r 3 0.120 label=three
saved r 5 0.100 label=again seed=2

try label:base label:slow
is 'slower by 20 %: a regression' $status 1
holds 'is said with its ratio' grep -q 'B is slower: its step takes 1\.[12]' out
try label:base label:fast --json
is 'faster' $status 0
is 'in the document' "$(at verdict)" faster
is 'five of each: 2 of 252' "$(at p | cut -c1-7)" 0.00793
try label:base label:again --json
is 'the same' "$(at verdict)" 'no change seen'
is 'is no error' $status 0
# --- the page ---
try label:base label:slow --json -o page.html
is 'with a page' "$status $(at page)" '1 page.html'
same page.html out 3
figures page.html 1
holds 'the page says it first' grep -q '<p class="word">B is slower' page.html
try label:base label:slow --output=nowhere/page.html
is 'a page that cannot be written' $status 73
holds 'is told' grep -q 'the page is not written: ' err
holds 'and so is what was found' grep -q 'B is slower' out

try label:three label:three --json
is 'three of each are too few' "$(at verdict)" 'too few runs'
is 'which is no error either' $status 0

set -- r/*.json
first=$1
try "$first" last --json
is 'two runs of eight steps' "$status $(at unit)" '0 blocks of steps'
saved l 1 0.100 steps=400
saved l 1 0.130 steps=400
set -- l/*.json
try "$1" "$2"
is 'two long runs: slower by 30 %' $status 1
try "$1,$2" "$2,$1" --json
is 'lists' "$status $(at unit)" '0 runs'
try "$1" "$2" --noise-floor 0.5 --json
is 'a floor above the change' "$status $(at verdict)" '0 no change seen'

# unlike runs
saved u 1 0.1 threads=1
saved u 1 0.1 kernel=Prescott
saved u 1 0.1 emulated=rate=100Mbit
saved u 1 0.1 cpu=another threads=4
set -- u/*.json
try "$first" "$1"
is 'other threads' $status 78
holds 'are named' grep -q 'not comparable: threads (2 against 1)' err
try "$first" "$2"
is 'another kernel' $status 78
holds 'is named' grep -q 'not comparable: blas kernel (SkylakeX against Prescott)' err
try "$first" "$3"
holds 'an emulated link is named' grep -q 'emulated link (none against rate=100Mbit)' err
try "$first" "$4"
holds 'every difference is named' grep -q 'machine (a-processor against another), threads (2 against 4)' err
try "$first" "$4" --json
is 'in the document too' "$status $(at not_comparable 1 condition) $(at error code)" '78 threads 78'
try "$first" "$4" --force --json
is 'forced' "$status $(at forced) $(at not_comparable 0 condition)" '0 true machine'

# what is no result
try "$first" missing.json
is 'a missing file' $status 66
try label:nobody label:base
is 'a label that no run has' $status 66
mkdir folder.json
try "$first" folder.json
is 'a folder' $status 65
head -c 300 "$first" >cut.json
try "$first" cut.json
is 'half a document' $status 65
saved v 1 0.1 schema=99
try "$first" v/*.json
is 'another schema' $status 65
holds 'is named' grep -q 'schema version 99' err
saved p 1 0.1 status=interrupted
try "$first" p/*.json
holds 'an interrupted run is warned of' grep -q 'warning: p/.*interrupted' err
try "$first"
is 'one run' $status 64
try a b c
is 'three' $status 64
try "$first" "$first" --steps 5
is 'an option of runs that are made here' $status 64
holds 'is named' grep -q -- '--steps is for runs that are made here' err
try "$first" last --alpha 3
is 'an unknown option' $status 64

# every cut of a document is refused, or is a document: never anything else
bad=0
bytes=$(wc -c <"$first")
cut=1
while [ $cut -lt $((bytes - 1)) ]; do
    head -c $cut "$first" >cut.json
    try "$first" cut.json
    case $status in 65) ;; *) bad=$((bad + 1)) ;; esac
    cut=$((cut + 37))
done
is 'torn documents' $bad 0
finish
