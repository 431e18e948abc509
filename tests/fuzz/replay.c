/*
 * tests/fuzz/replay.c - runs a fuzzer's corpus without libFuzzer: each file as it is, cut at every length,
 * and with each of its first bytes changed in four ways. A fault ends the process.
 *
 *     replay [FILE...]      without a file: all of FUZZ_CORPUS below the source tree ($TOP_SRCDIR)
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

enum { CHANGED = 48, BYTES_MAX = 65536 };

/* A copy of exactly n bytes, so that a sanitizer sees the first byte read past them. */
static void run(const uint8_t *bytes, size_t n)
{
    uint8_t *copy = malloc(n ? n : 1);
    if (!copy)
        abort();
    memcpy(copy, bytes, n);
    LLVMFuzzerTestOneInput(copy, n);
    free(copy);
}

static int replay(const char *path)
{
    static uint8_t bytes[BYTES_MAX];
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        return 1;
    }
    size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    for (size_t length = 0; length <= n; length++)
        run(bytes, length);
    for (size_t at = 0; at < n && at < CHANGED; at++) {
        uint8_t was = bytes[at];
        const uint8_t values[] = {0, 0xff, was ^ 0x80, (uint8_t)(was + 1)};
        for (size_t i = 0; i < sizeof values; i++) {
            bytes[at] = values[i];
            run(bytes, n);
        }
        bytes[at] = was;
    }
    return 0;
}

static int replay_folder(const char *path)
{
    DIR *d = opendir(path);
    int files = 0, rc = 0;
    if (!d) {
        perror(path);
        return 1;
    }
    for (struct dirent *entry; (entry = readdir(d));) {
        char name[4096 + 256];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        rc |= replay(name);
        files++;
    }
    closedir(d);
    if (!files)
        fprintf(stderr, "%s: no corpus\n", path);
    return rc || !files;
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        int rc = 0;
        for (int i = 1; i < argc; i++)
            rc |= replay(argv[i]);
        return rc;
    }
    char path[4096];
    const char *top = getenv("TOP_SRCDIR");
    snprintf(path, sizeof path, "%s/%s", top ? top : ".", FUZZ_CORPUS);
    return replay_folder(path);
}
