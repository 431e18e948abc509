/* tests/tree.c - see tree.h. */
#include "tests/tree.h"

#include <check.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/check_probe.XXXXXX";

void tree_open(void)
{
    strcpy(folder + sizeof folder - 7, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

void tree_close(void)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

const char *tree_folder(void)
{
    return folder;
}

void tree_write(const char *path, const char *text)
{
    char full[PATH_MAX];
    int n = snprintf(full, sizeof full, "%s/%s", folder, path);
    ck_assert_int_lt(n, PATH_MAX);
    for (char *slash = full + strlen(folder); (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        mkdir(full, 0755); /* it may be there already; fopen tells if it is not */
        *slash = '/';
    }
    FILE *f = fopen(full, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_ge(fputs(text, f), 0);
    ck_assert_int_eq(fclose(f), 0);
}

const char *tree_machine(const char *name)
{
    static char path[PATH_MAX];
    const char *top = getenv("TOP_SRCDIR");
    snprintf(path, sizeof path, "%s/tests/fixtures/machines/%s", top ? top : ".", name);
    ck_assert_msg(access(path, R_OK) == 0, "no %s: TOP_SRCDIR is to name the source tree", path);
    return path;
}

void tree_probe(struct probe *probe, const char *sysroot, struct notes *notes)
{
    struct err e = {ERR_OK, ""};
    memset(notes, 0, sizeof *notes);
    ck_assert_msg(probe_read(probe, sysroot, 0, notes, &e) == 0, "%s", e.text);
}
