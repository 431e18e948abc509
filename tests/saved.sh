# tests/saved.sh - sourced by tests of saved runs: makes results without running anything.
#
#   saved FOLDER COUNT STEP [KEY=VALUE...]     COUNT runs more, whose steps are STEP seconds with noise of 1 %
#
# KEY: label version threads kernel cpu emulated floor status steps seed schema. Names go on where the last call stopped.
# shellcheck shell=sh
saved_number=0

saved()
{
    saved_folder=$1 saved_count=$2 saved_step=$3
    shift 3
    mkdir -p "$saved_folder"
    awk -v folder="$saved_folder" -v count="$saved_count" -v step="$saved_step" -v first=$saved_number -v settings="$*" '
        function value(key, otherwise) { return key in set ? set[key] : otherwise }
        # Park and Miller 1988: the same series whichever awk this is
        function draw() { state = state * 16807 % 2147483647; return state / 2147483647 }
        function noise() { return exp(0.01 * (draw() + draw() + draw() + draw() - 2) / 0.577) }
        BEGIN {
            n = split(settings, part, " ")
            for (i = 1; i <= n; i++) { at = index(part[i], "="); set[substr(part[i], 1, at - 1)] = substr(part[i], at + 1) }
            state = value("seed", 1) * 100000 + first + 1
            for (i = 0; i < 8; i++) draw() # neighbouring seeds begin alike
            for (i = 0; i < count; i++) {
                stamp = first + i
                date = sprintf("2026%02d%02dT%02d%02d%02dZ", 1 + int(stamp / 86400 / 28) % 12, 1 + int(stamp / 86400) % 28,
                               int(stamp / 3600) % 24, int(stamp / 60) % 60, stamp % 60)
                file = folder "/" date "-mlp-768.json"
                m = step * noise()
                printf "{\"schema_version\": %d, \"tool\": {\"name\": \"ddpbench\", \"version\": \"%s\"}, ", value("schema", 1),
                       value("version", "1.0") >file
                printf "\"status\": \"%s\", \"started\": \"2026-01-01T00:00:%02dZ\", \"label\": %s, ", value("status", "complete"),
                       stamp % 60, "label" in set ? "\"" set["label"] "\"" : "null" >file
                printf "\"model\": {\"name\": \"mlp-768\", \"batch\": 64, \"seq\": 1}, \"world\": 1, " >file
                printf "\"nodes\": [{\"name\": \"host\", \"cpu\": \"%s\", \"threads\": %d, \"blas_kernel\": \"%s\"}], ",
                       value("cpu", "a-processor"), value("threads", 2), value("kernel", "SkylakeX") >file
                if ("emulated" in set) printf "\"emulated\": {\"option\": \"%s\"}, ", set["emulated"] >file
                if ("floor" in set) { f = set["floor"] * noise(); printf "\"floor\": {\"step_s\": %.9f, \"ratio\": %.9f}, ", f, m / f >file }
                printf "\"summary\": {\"step_s\": {\"median\": %.9f, \"mad\": %.9f, \"n\": %d}, ", m, m / 100, value("steps", 8) >file
                printf "\"tokens_per_s\": {\"median\": %.3f}}, \"samples\": [", 64 / m >file
                for (k = 0; k < value("steps", 8) + 0; k++) printf "%s{\"step_s\": %.9f}", k ? ", " : "", m * noise() >file
                printf "]}\n" >file
                close(file)
            }
        }' </dev/null
    saved_number=$((saved_number + saved_count))
}
