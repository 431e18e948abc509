/*
 * cli/early.c - the one check that cannot wait for main(): is there address space enough for OpenBLAS?
 *
 * OpenBLAS takes a buffer of 128 MB in its constructor and, when that fails, tries again for ever. The loader runs the
 * program's .preinit_array before the constructors of libraries, so this is where a small RLIMIT_AS or RLIMIT_DATA can
 * still be told. Only system calls here: nothing else is initialised yet.
 */
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/err.h"

enum { NEED_BYTES = 512 << 20 }; /* libraries and one buffer; measured: 300 MB hang, 400 MB do not */

__attribute__((no_sanitize("address", "undefined", "thread"))) static void say(int fd, const char *text)
{
    ssize_t unheard = write(fd, text, strlen(text));
    (void)unheard;
}

#define SENTENCE                                                                                                       \
    "the address space or data segment of this process is limited to less than 512 MiB (ulimit -v, ulimit -d), which " \
    "is "                                                                                                              \
    "what OpenBLAS needs before anything is computed; raise the limit"

__attribute__((no_sanitize("address", "undefined", "thread"))) static void check_limits(int argc, char **argv,
                                                                                        char **env)
{
    struct rlimit space, data;
    (void)env;
    if (getrlimit(RLIMIT_AS, &space) || getrlimit(RLIMIT_DATA, &data))
        return;
    if (space.rlim_cur >= NEED_BYTES && data.rlim_cur >= NEED_BYTES)
        return;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--json") == 0) {
            say(STDOUT_FILENO, "{\"schema_version\": 1, \"error\": {\"code\": 71, \"message\": \"" SENTENCE "\"}}\n");
            break;
        }
    say(STDERR_FILENO, "ddpbench: " SENTENCE "\n");
    _exit(ERR_MEMORY);
}

__attribute__((section(".preinit_array"), used)) static void (*const preinit)(int, char **, char **) = check_limits;
