/* tests/check_store.c - results are whole, never overwritten, and their folder is found as documented. */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "report/store.h"

static char scratch[] = "/tmp/check_store.XXXXXX";

static void enter_scratch(void)
{
    strcpy(scratch + sizeof scratch - 7, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(scratch));
    ck_assert_int_eq(chdir(scratch), 0);
}

static int count(const char *folder, bool hidden)
{
    DIR *d = opendir(folder);
    ck_assert_ptr_nonnull(d);
    int n = 0;
    for (struct dirent *f; (f = readdir(d));)
        if (strcmp(f->d_name, ".") && strcmp(f->d_name, ".."))
            n += hidden ? f->d_name[0] == '.' : f->d_name[0] != '.';
    closedir(d);
    return n;
}

static void remove_tree(const char *folder)
{
    char command[PATH_MAX + 16];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

static void leave_scratch(void)
{
    ck_assert_int_eq(chdir("/"), 0);
    remove_tree(scratch);
}

/* Two processes with the same stem (the same second, the same model), 20 results each: 40 files that parse,
 * every content present once, no temporary file left. */
START_TEST(two_writers_at_once)
{
    enum { WRITERS = 2, EACH = 20, FILLER = 20000 };
    for (int w = 0; w < WRITERS; w++) {
        pid_t pid = fork();
        ck_assert_int_ge(pid, 0);
        if (pid)
            continue;
        static char text[FILLER + 100];
        for (int i = 0; i < EACH; i++) {
            int n = snprintf(text, sizeof text, "{\"id\": %d, \"filler\": \"%0*d\"}\n", w * EACH + i, FILLER, 0);
            char path[PATH_MAX];
            struct err e;
            if (store_write(path, sizeof path, scratch, "20261130T120000Z-model", ".json", text, (size_t)n, &e))
                _exit(1);
        }
        _exit(0);
    }
    for (int w = 0; w < WRITERS; w++) {
        int status;
        ck_assert_int_gt(wait(&status), 0);
        ck_assert_int_eq(status, 0);
    }
    ck_assert_int_eq(count(scratch, false), WRITERS * EACH);
    ck_assert_int_eq(count(scratch, true), 0);
    int seen[WRITERS * EACH] = {0};
    for (int i = 1; i <= WRITERS * EACH; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, i == 1 ? "%s/20261130T120000Z-model.json" : "%s/20261130T120000Z-model-%d.json",
                 scratch, i);
        json_t *d = json_load_file(path, 0, NULL);
        ck_assert_msg(d != NULL, "%s does not parse", path);
        ck_assert_uint_eq(json_string_length(json_object_get(d, "filler")), FILLER);
        seen[json_integer_value(json_object_get(d, "id"))]++;
        json_decref(d);
    }
    for (int i = 0; i < WRITERS * EACH; i++)
        ck_assert_int_eq(seen[i], 1);
}
END_TEST

/* A write that fails in the middle (a file size limit stands for a full disk: both come from write()) is
 * 74, and neither the earlier result nor the folder has changed. */
START_TEST(full_disk_damages_nothing)
{
    char path[PATH_MAX], second[PATH_MAX];
    struct err e;
    ck_assert_int_eq(store_write(path, sizeof path, scratch, "run", ".json", "{\"old\": 1}\n", 11, &e), 0);
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit = {4096, RLIM_INFINITY}, before;
    getrlimit(RLIMIT_FSIZE, &before);
    setrlimit(RLIMIT_FSIZE, &limit);
    static char big[100000];
    memset(big, 'x', sizeof big);
    int failed = store_write(second, sizeof second, scratch, "run", ".json", big, sizeof big, &e);
    setrlimit(RLIMIT_FSIZE, &before);
    ck_assert_int_eq(failed, -1);
    ck_assert_int_eq(e.code, ERR_IO);
    ck_assert_ptr_nonnull(strstr(e.text, scratch));
    ck_assert_int_eq(count(scratch, false), 1);
    ck_assert_int_eq(count(scratch, true), 0);
    char text[32] = "";
    FILE *f = fopen(path, "r");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fread(text, 1, sizeof text - 1, f), 11);
    fclose(f);
    ck_assert_str_eq(text, "{\"old\": 1}\n");
}
END_TEST

/* /proc takes no new files, not even from root. */
START_TEST(unwritable_folder)
{
    char path[PATH_MAX], folder[PATH_MAX];
    struct err e;
    ck_assert_int_eq(store_write(path, sizeof path, "/proc", "run", ".json", "{}", 2, &e), -1);
    ck_assert_int_eq(e.code, ERR_CANNOT_CREATE);
    ck_assert_ptr_nonnull(strstr(e.text, "/proc"));
    ck_assert_int_eq(store_folder(folder, sizeof folder, "/proc/nothing/here", &e), -1);
    ck_assert_int_eq(e.code, ERR_CANNOT_CREATE);
    int fd = creat("file", 0666);
    ck_assert_int_ge(fd, 0);
    close(fd);
    ck_assert_int_eq(store_folder(folder, sizeof folder, "file", &e), -1);
    ck_assert_int_eq(e.code, ERR_CANNOT_CREATE);
    ck_assert_ptr_nonnull(strstr(e.text, strerror(ENOTDIR)));
}
END_TEST

START_TEST(folder_is_found)
{
    char folder[PATH_MAX], want[PATH_MAX];
    struct err e;
    struct stat st;
    setenv("HOME", scratch, 1);
    unsetenv("XDG_DATA_HOME");
    snprintf(want, sizeof want, "%s/.local/share/ddpbench/results", scratch);
    ck_assert_int_eq(store_folder(folder, sizeof folder, NULL, &e), 0);
    ck_assert_str_eq(folder, want);
    ck_assert(stat(folder, &st) == 0 && S_ISDIR(st.st_mode));

    setenv("XDG_DATA_HOME", "relative", 1); /* to be ignored */
    ck_assert_int_eq(store_folder(folder, sizeof folder, NULL, &e), 0);
    ck_assert_str_eq(folder, want);

    snprintf(want, sizeof want, "%s/data", scratch);
    setenv("XDG_DATA_HOME", want, 1);
    strcat(want, "/ddpbench/results");
    ck_assert_int_eq(store_folder(folder, sizeof folder, NULL, &e), 0);
    ck_assert_str_eq(folder, want);

    ck_assert_int_eq(mkdir("results", 0777), 0);
    ck_assert_int_eq(store_folder(folder, sizeof folder, NULL, &e), 0);
    ck_assert_str_eq(folder, "results");
    ck_assert_int_eq(store_folder(folder, sizeof folder, "a/b/c", &e), 0);
    ck_assert_str_eq(folder, "a/b/c");
    ck_assert(stat("a/b/c", &st) == 0 && S_ISDIR(st.st_mode));

    unsetenv("HOME");
    unsetenv("XDG_DATA_HOME");
    ck_assert_int_eq(rmdir("results"), 0);
    ck_assert_int_eq(store_folder(folder, sizeof folder, NULL, &e), -1);
    ck_assert_int_eq(e.code, ERR_CANNOT_CREATE);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("store");
    TCase *t = tcase_create("store");
    tcase_add_checked_fixture(t, enter_scratch, leave_scratch);
    tcase_add_test(t, two_writers_at_once);
    tcase_add_test(t, full_disk_damages_nothing);
    tcase_add_test(t, unwritable_folder);
    tcase_add_test(t, folder_is_found);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
