# tests/page_kit.sh - sourced after json_kit.sh by tests of pages: their numbers against the document, and that they need nothing else.
# shellcheck shell=sh disable=SC2016,SC2094,SC2154 # scripts in quotes are for other shells; json_at is json_kit's
# same PAGE DOCUMENT - every number of the page stands in the document under its path, digit by digit, and what is shown is it to four
# digits
same()
{
    grep -o '<span data-value="[^"]*" data-path="[^"]*">[^<]*' "$1" | sed 's/<span data-value="//; s/" data-path="/\t/; s/">/\t/' >numbers
    holds "$1 has numbers" test "$(wc -l <numbers)" -gt "$3"
    tab=$(printf '\t')
    while IFS=$tab read -r value path _; do
        at=$("$json_at" "$2" "$(printf '%s' "$path" | sed 's/\[\([0-9]*\)\]/.\1/g')")
        [ "$at" = "$value" ] || echo "$path: $value, but the document has $at"
    done <numbers >differ
    is "$1: numbers are the document's" "$(cat differ)" ''
    awk -F '\t' '
        BEGIN {
            unit["s"] = 1; unit["ms"] = 1e-3; unit["µs"] = 1e-6; unit["B"] = 1; unit["kB"] = 1e3; unit["MB"] = 1e6
            unit["GB"] = 1e9; unit["Mbit/s"] = 1e6 / 8; unit["Gbit/s"] = 1e9 / 8; unit["GFLOP/s"] = unit["G/s"] = 1e9; unit["%"] = 0.01; unit[""] = 1
        }
        {
            split($3, part, " ")
            off = part[1] * unit[part[2]] - $1
            if (off < 0) off = -off
            size = $1 < 0 ? -$1 : $1
            if (!(part[2] in unit) || off > 0.0006 * size + 1e-9) print $0
        }' numbers >rounded
    is "$1: what is shown is what is meant" "$(cat rounded)" ''
}

# figures PAGE N - so many pictures are in it, and nothing from outside
figures()
{
    is "$1: pictures" "$(grep -c '<div class="plot"><svg' "$1")" "$2"
    holds "$1: no script, nothing from outside" sh -c '! grep -Eiq "<script|<link|<img|<iframe|@import|url\(http|src=| on[a-z]+=|href=\"[^#]" "$1"' sh "$1"
    holds "$1: says so to the browser" grep -q "Content-Security-Policy\" content=\"default-src 'none'" "$1"
    is "$1: names are unique" "$(grep -o ' id="[^"]*"' "$1" | sort | uniq -d)" ''
    if command -v tidy >/dev/null 2>&1; then
        tidy -q -e "$1" 2>said
        holds "$1: tidy finds no fault" test $? -eq 0
        grep -q . said && sed 's/^/# /' said
    else
        skip "$1: tidy" 'not installed'
    fi
}
