#!/bin/sh
# tools/check_layers.sh - who may know whom, checked on the #include lines.
#
#   tools/check_layers.sh [FOLDER]
#
# cli -> ddp, report, predict, probe, model, comm -> base; ddp -> model, comm; report -> predict. model, comm and probe never
# include one another. Each third-party header is included by one module, so that replacing the library touches one
# file; a header that is in neither list below is reported until somebody decides where it belongs. Nothing below cli/
# prints or exits. Prints each violation as FILE:LINE: sentence; exit 1 if there is one.
cd "${1:-$(dirname "$(readlink -f "$0")")/..}" || exit 66

files=$(find base probe model comm ddp predict report cli \( -name '*.[ch]' -o -name '*.cc' \) 2>/dev/null | sort)
if [ -z "$files" ]; then
    echo "check_layers: no sources here: $PWD" >&2
    exit 66
fi

# shellcheck disable=SC2086 # our own file names have no blanks
awk '
function complain(text) { printf "%s:%d: %s\n", FILENAME, FNR, text; bad = 1 }
function words(list, set,    n, i, w) { n = split(list, w, " "); for (i = 1; i <= n; i++) set[w[i]] = 1 }
BEGIN {
    may["base"] = " base "
    may["probe"] = " probe base "
    may["model"] = " model base "
    may["comm"] = " comm base "
    may["predict"] = " predict base "
    may["ddp"] = " ddp model comm base "
    may["report"] = " report predict base "
    may["cli"] = " cli ddp report predict probe model comm base "

    owner["gloo"] = "comm/transport_gloo"
    owner["mpi.h"] = "comm/transport_mpi"
    owner["jansson.h"] = "base/json"
    owner["cblas.h"] = "model/gemm"
    owner["hwloc.h"] = "probe/topology"
    owner["libcpuid/libcpuid.h"] = "probe/cpu"
    owner["openssl/ssl.h"] = owner["openssl/err.h"] = "comm/tls"
    owner["openssl/core_names.h"] = owner["openssl/crypto.h"] = owner["openssl/evp.h"] = "comm/crypto"
    owner["openssl/kdf.h"] = owner["openssl/params.h"] = "comm/crypto"

    words("alloca.h argp.h arpa/inet.h assert.h ctype.h dirent.h dlfcn.h endian.h errno.h fcntl.h fenv.h float.h " \
          "getopt.h glob.h ifaddrs.h inttypes.h langinfo.h limits.h locale.h malloc.h math.h netdb.h poll.h pthread.h pwd.h " \
          "sched.h semaphore.h signal.h spawn.h stdalign.h stdarg.h stdatomic.h stdbool.h stddef.h stdint.h stdio.h " \
          "stdlib.h string.h strings.h termios.h time.h unistd.h wchar.h " \
          "atomic chrono map memory new string thread vector " \
          "cpuid.h emmintrin.h immintrin.h omp.h x86intrin.h xmmintrin.h", system_header)
}
FNR == 1 { folder = FILENAME; sub(/\/.*/, "", folder); in_comment = 0 }
{
    line = $0
    # Comments are not code; strings are, but none of ours holds the words looked for.
    if (in_comment) { if (!sub(/^.*\*\//, "", line)) next; in_comment = 0 }
    gsub(/\/\*([^*]|\*[^\/])*\*\//, "", line)
    sub(/\/\/.*/, "", line)
    if (sub(/\/\*.*/, "", line)) in_comment = 1
}
line ~ /^[ \t]*#[ \t]*include[ \t]*"/ {
    split(line, part, "\"")
    target = part[2]
    if (target == "config.h" || target == "version.h") next
    if (target !~ /\//) { complain("\"" target "\" is not named from the root of the tree"); next }
    sub(/\/.*/, "", target)
    if (index(may[folder], " " target " ") == 0) complain(folder "/ must not know " target "/ (includes \"" part[2] "\")")
    next
}
line ~ /^[ \t]*#[ \t]*include[ \t]*</ {
    split(line, part, /[<>]/)
    header = part[2]
    module = FILENAME
    sub(/\.(c|h|cc)$/, "", module)
    library = header
    if (library ~ /^hwloc\//) library = "hwloc.h"
    if (library ~ /^gloo\//) library = "gloo"
    if (library in owner) {
        if (owner[library] != module) complain("<" header "> belongs to " owner[library] " alone")
    } else if (!(header in system_header) && header !~ /^(sys|linux|net|netinet)\//)
        complain("<" header "> has no owner yet; see tools/check_layers.sh")
    next
}
folder != "cli" && line ~ /(^|[^_a-zA-Z0-9])(printf|puts|putchar|perror|exit|abort|error|err|errx)[ \t]*\(/ &&
    line !~ /format[ \t]*\([ \t]*printf/ { complain("nothing below cli/ prints or exits") }
folder != "cli" && line ~ /(^|[^_a-zA-Z0-9])(stdout|stderr)([^_a-zA-Z0-9]|$)/ { complain("stdout and stderr belong to cli/") }
END { exit bad }
' $files
