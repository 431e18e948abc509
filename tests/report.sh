# Reports from outside: of every kind of document a page that holds the document's numbers, whatever gnuplot does; hostile and broken
# documents; formats.
# shellcheck disable=SC2016,SC2094,SC2238 # scripts in quotes are for other shells; files have short names
. "$TOP_SRCDIR/tests/lib.sh"
not_under "tsan" "no threads beyond those of the Check programs"
. "$TOP_SRCDIR/tests/json_kit.sh"
. "$TOP_SRCDIR/tests/page_kit.sh"

# report ARGUMENT... - its status in $status
report()
{
    status=0
    "$DDPBENCH" report "$@" >out 2>err || status=$?
}

refused()
{
    code=$1 pattern=$2
    shift 2
    report "$@"
    is "status of: $*" $status "$code"
    is 'one sentence' "$(wc -l <err)" 1
    holds "which says: $pattern" grep -q -- "$pattern" err
}

"$DDPBENCH" --spawn 2 --seq 32 --batch 1 --warmup 1 --steps 6 --threads 1 --results-dir saved --json >two 2>err ||
    skip_all 'a run of two ranks failed'
"$DDPBENCH" --model linear-10x2 --steps 4 --threads 1 --results-dir saved --json >one 2>err || skip_all 'a run of one node failed'
"$DDPBENCH" predict one --nodes 1-4 --json --results-dir saved >foretold 2>err || skip_all 'a prediction failed'

# --- the page, and that its numbers are the document's ---
drawn=0
if gnuplot -d -e "set terminal svg" >/dev/null 2>&1; then
    drawn=1
fi
report two -o two.d --plot-timeout 200
is 'two ranks' "$status $(cat out)" '0 report      two.d/report.html, of two'
same two.d/report.html two 40
for figure in breakdown buckets scaling bandwidth health distribution layers; do
    holds "$figure: script and data" test -s two.d/$figure.gp -a -s two.d/$figure.dat
done
holds 'numbers with a point' sh -c '! grep -E "[0-9],[0-9]" two.d/*.dat'
if [ $drawn -eq 1 ]; then
    is 'no warning' "$(cat err)" ''
    figures two.d/report.html 7
    holds 'a script draws by itself' sh -c 'cd two.d && rm scaling.svg && gnuplot scaling.gp && grep -q "</svg>" scaling.svg'
    report two -o png.d --plot png --json --plot-timeout 200
    is 'pictures in pixels' "$status $(head -c 8 png.d/breakdown.png | od -An -tx1 | tr -d ' \n')" '0 89504e470d0a1a0a'
    is 'told as JSON' "$("$json_at" out saved) $("$json_at" out figures.0.png)" 'png.d/report.html true'
else
    skip 'pictures' 'no gnuplot here'
fi
report one --results-dir saved --plot-timeout 200
is 'one node' "$status $(cat out)" '0 report      saved/one-report/report.html, of one'
same saved/one-report/report.html one 15
[ $drawn -eq 0 ] || figures saved/one-report/report.html 6
holds 'no bucket of one rank' grep -q 'no data: one rank communicates with nobody' saved/one-report/report.html
report last --results-dir saved --plot none
is 'the newest' $status 0
report foretold -o foretold.d --plot-timeout 200
is 'a prediction' $status 0
same foretold.d/report.html foretold 20
[ $drawn -eq 0 ] || figures foretold.d/report.html 2

# --- the reports that are kept as examples ---
for example in gpt2-124m-1G shakespeare-char-300M; do
    cp "$TOP_SRCDIR/results/reference/$example/report.html" $example.html
    cp "$TOP_SRCDIR/results/reference/$example/run.json" $example.json
    same $example.html $example.json 40
    [ $drawn -eq 0 ] || figures $example.html 7
    holds "$example: no path of the machine that made it" sh -c '! grep -Eq "/(tmp|home|root)/" "$1".*' sh $example
done

# --- decimal comma ---
if command -v localedef >/dev/null 2>&1 && mkdir locales && localedef -i de_DE -f UTF-8 locales/de_DE.UTF-8 2>/dev/null; then
    LOCPATH="$scratch/locales" LC_ALL=de_DE.UTF-8 "$DDPBENCH" report two -o german.d >out 2>err
    holds 'under a decimal comma the same files' diff -r -x '*.svg' two.d german.d
else
    skip 'a decimal comma' 'no such locale can be made here'
fi

# --- whatever gnuplot does ---
# with NAME SCRIPT [TIME-OUT] - report with a gnuplot that does that; warnings counted
with()
{
    mkdir -p "$1.bin"
    printf '#!/bin/sh\n%s\n' "$2" >"$1.bin/gnuplot"
    chmod +x "$1.bin/gnuplot"
    status=0
    PATH="$scratch/$1.bin:$PATH" "$DDPBENCH" report two -o "$1.d" --plot-timeout "${3:-60}" >out 2>err || status=$?
    is "gnuplot $1: status" $status 0
    is "gnuplot $1: one warning" "$(grep -c ': warning: ' err) $(wc -l <err)" '1 1'
    holds "gnuplot $1: tables, scripts and data are there" grep -q 'not drawn: ' "$1.d/report.html"
    holds "gnuplot $1: data" test -s "$1.d/scaling.dat" -a -s "$1.d/scaling.gp"
    same "$1.d/report.html" two 40
}
with fails 'exit 1'
with dumb 'case "$*" in *dumb*) exit 0 ;; esac; echo "line 0: unknown or ambiguous terminal type; type just \"set terminal\" for a list" >&2; exit 1'
holds 'and what it said' grep -q 'unknown or ambiguous terminal type' err
with hangs 'sleep 300' 2
with lies 'exit 0'
with strange 'shift 3; for s; do printf "<svg viewBox=\"0 0 1 1\"><script>x</script>%80s</svg>" "" >${s%.gp}.svg; done'
holds 'a strange picture stays out' sh -c '! grep -q "<script" strange.d/report.html'
mkdir -p bare.bin
for tool in env sh; do
    ln -s "$(command -v $tool)" bare.bin/$tool
done
status=0
PATH="$scratch/bare.bin" "$DDPBENCH" report two -o bare.d >out 2>err || status=$?
is 'no gnuplot at all' "$status $(grep -c 'gnuplot is not installed' err)" '0 1'

# --- where it cannot go ---
: >file
refused 73 'file' two -o file/below
if [ -c /dev/full ]; then
    ln -sf /dev/full full.html
    mkdir full.d && ln -s /dev/full full.d/report.html
    report two -o full.d --plot none
    is 'a full disk' $status 74
fi

# --- hostile texts ---
hostile='<script>alert(1)</script>\\"`id`$(id)'"'"'\&\\u001b[31m\\u202e=1+2 a_b'
name=$("$json_at" two nodes.0.cpu)
sed "s|\"cpu\": \"$name\"|\"cpu\": \"=$hostile\"|g; s|\"name\": \"shakespeare-char\"|\"name\": \"=$hostile\"|; s|\"name\": \"\([^\"]*\)#\([01]\)\"|\"name\": \"=$hostile\"|" two >hostile
holds 'the document is hostile' sh -c 'test "$("$1" hostile nodes.0.cpu | head -c 2)" = "=<"' sh "$json_at"
report hostile -o hostile.d --plot-timeout 200
is 'a hostile document' $status 0
holds 'no markup' sh -c '! grep -l "<script" hostile.d/report.html hostile.d/*.svg'
holds 'no escape, no mark of direction' sh -c '! grep -l -e "$(printf "\033")" -e "$(printf "\342\200\256")" hostile.d/*'
[ $drawn -eq 0 ] || figures hostile.d/report.html 7
report hostile --format csv
holds 'no formula' sh -c '! grep -q -e "\"=" -e ",=" out'
report hostile --format openmetrics
is 'its end' "$(tail -1 out)" '# EOF'
LC_ALL=C.UTF-8 "$DDPBENCH" report hostile --plot term >out 2>err
holds 'nothing that steers a terminal' sh -c '! grep -q -e "$(printf "\033")" -e "$(printf "\342\200\256")" out'

# --- formats ---
for format in md csv json jsonl openmetrics; do
    report two --format $format
    is "$format" "$status $(wc -c <err)" '0 0'
    cp out two.$format
done
is 'JSON' "$("$json_at" two.json document)" two
n=$("$json_at" two.json fields)
is 'a line for each field, of CSV' "$(wc -l <two.csv)" $((n + 1))
is 'and of JSON lines' "$(wc -l <two.jsonl)" "$n"
head -1 two.jsonl >line
is 'each is one document' "$("$json_at" line path)" status
step=$("$json_at" two summary.step_s.median)
holds 'the step in CSV' grep -q "^summary.step_s.median,step_median_seconds,s,gauge,,$step," two.csv
holds 'and in OpenMetrics' grep -q "^ddpbench_step_median_seconds{run=\"two\"} $step\$" two.openmetrics
report two --format csv -o two.file
holds 'into a file' cmp two.file two.csv

# --- in the terminal ---
report two --plot term
is 'figures in the terminal' $status 0
LC_ALL=C "$DDPBENCH" report two --plot term >out 2>err
holds 'in ASCII where nothing else is spoken' sh -c '! LC_ALL=C grep -q "[^ -~]" out'
holds 'within 80 columns' awk 'length($0) > 80 { print; exit 1 }' out

# --- what is no result ---
refused 64 'needs a result'
refused 64 'did you mean --plot-timeout' two --plot-timeou 3
refused 64 "takes svg, png, term or none, not 'x11'" two --plot x11
refused 64 'takes html, md, csv' two --format pdf
refused 64 'give one of the two' two --format csv --plot term
refused 66 nosuch nosuch
"$DDPBENCH" info --json >info
refused 65 'no result of a run, a link or a prediction' info
"$DDPBENCH" --steps 0 --model linear-10x2 --json --results-dir none >none.json 2>err
report none.json -o none.d
is 'a run without a step' $status 0
holds 'says no data' grep -q 'no data: ' none.d/report.html
size=$(wc -c <one)
cut=1
: >codes
while [ $cut -lt "$size" ]; do
    head -c $cut one >cut
    report cut -o cut.d
    echo "$status $(wc -l <err)" >>codes
    cut=$((cut + 499))
done
is 'a file that was cut, at every 499th byte' "$(sort -u codes)" '65 1'

# --- long runs are thinned, and quick ---
"$DDPBENCH" --model linear-10x2 --steps 20000 --threads 1 --results-dir none --json >long 2>err
report long -o long.d
is '20,000 steps' $status 0
holds 'are thinned' test "$(wc -l <long.d/health.dat)" -lt 1000
finish
