/* probe/sysroot.c - see sysroot.h. */
#include "probe/sysroot.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int sysroot_init(struct sysroot *root, const char *dir, struct err *e)
{
    struct stat st;
    memset(root, 0, sizeof *root);
    root->live = !dir;
    if (!dir)
        return 0;
    size_t n = strlen(dir);
    if (n == 0 || n >= sizeof root->prefix)
        return err_set(e, ERR_USAGE, "--sysroot: the folder's name is %s", n ? "too long" : "empty");
    if (stat(dir, &st) != 0)
        return err_set(e, ERR_NO_INPUT, "--sysroot %s: %s", dir, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return err_set(e, ERR_NO_INPUT, "--sysroot %s: not a folder", dir);
    memcpy(root->prefix, dir, n + 1);
    while (n > 1 && root->prefix[n - 1] == '/')
        root->prefix[--n] = '\0';
    return 0;
}

/* Full path of a relative one; -1 with ENAMETOOLONG if it does not fit. */
static int full_path(const struct sysroot *root, char path[static PATH_MAX], const char *fmt, va_list ap)
{
    size_t n = strlen(root->prefix);
    memcpy(path, root->prefix, n);
    path[n++] = '/';
    int m = vsnprintf(path + n, PATH_MAX - n, fmt, ap);
    if (m >= 0 && (size_t)m < PATH_MAX - n)
        return 0;
    errno = ENAMETOOLONG;
    return -1;
}

int sysroot_open(const struct sysroot *root, const char *fmt, ...)
{
    char path[PATH_MAX];
    va_list ap;
    va_start(ap, fmt);
    int ret = full_path(root, path, fmt, ap);
    va_end(ap);
    return ret ? -1 : open(path, O_RDONLY | O_CLOEXEC);
}

FILE *sysroot_fopen(const struct sysroot *root, const char *fmt, ...)
{
    char path[PATH_MAX];
    va_list ap;
    va_start(ap, fmt);
    int ret = full_path(root, path, fmt, ap);
    va_end(ap);
    return ret ? NULL : fopen(path, "re");
}

static int read_text(const struct sysroot *root, char *text, size_t size, const char *fmt, va_list ap)
{
    char path[PATH_MAX];
    *text = '\0';
    if (full_path(root, path, fmt, ap))
        return -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    size_t n = 0;
    ssize_t got;
    while (n < size - 1 && ((got = read(fd, text + n, size - 1 - n)) > 0 || (got < 0 && errno == EINTR)))
        n += got > 0 ? (size_t)got : 0;
    int error = n < size - 1 && got < 0 ? errno : 0;
    close(fd);
    text[n] = '\0';
    while (n > 0 && isspace((unsigned char)text[n - 1]))
        text[--n] = '\0';
    if (error) {
        *text = '\0';
        errno = error;
        return -1;
    }
    return (int)n;
}

int sysroot_text(const struct sysroot *root, char *text, size_t size, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = read_text(root, text, size, fmt, ap);
    va_end(ap);
    return n;
}

int sysroot_number(const struct sysroot *root, int64_t *value, const char *fmt, ...)
{
    char text[64], *end;
    va_list ap;
    va_start(ap, fmt);
    int n = read_text(root, text, sizeof text, fmt, ap);
    va_end(ap);
    if (n < 0)
        return -1;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    if (errno || end == text || (*end && !isspace((unsigned char)*end))) {
        errno = EINVAL;
        return -1;
    }
    *value = v;
    return 0;
}

bool sysroot_exists(const struct sysroot *root, const char *fmt, ...)
{
    char path[PATH_MAX];
    va_list ap;
    va_start(ap, fmt);
    int ret = full_path(root, path, fmt, ap);
    va_end(ap);
    return ret == 0 && access(path, F_OK) == 0;
}

static DIR *open_folder(const struct sysroot *root, const char *folder)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", root->prefix, folder);
    return n > 0 && (size_t)n < sizeof path ? opendir(path) : NULL;
}

static int by_number(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

int sysroot_numbered(const struct sysroot *root, const char *folder, const char *stem, int *number, int max)
{
    DIR *d = open_folder(root, folder);
    size_t stem_n = strlen(stem);
    int n = 0;
    if (!d)
        return 0;
    for (struct dirent *entry; n < max && (entry = readdir(d));) {
        const char *digits = entry->d_name + stem_n;
        if (strncmp(entry->d_name, stem, stem_n) != 0 || !*digits || digits[strspn(digits, "0123456789")] ||
            strlen(digits) > 6)
            continue;
        number[n++] = atoi(digits);
    }
    closedir(d);
    qsort(number, (size_t)n, sizeof *number, by_number);
    return n;
}

/* Lengths first, so that hwmon2 comes before hwmon10. */
static int by_name(const void *a, const void *b)
{
    size_t x = strlen(a), y = strlen(b);
    return x != y ? (x > y) - (x < y) : strcmp(a, b);
}

int sysroot_names(const struct sysroot *root, const char *folder, char (*name)[64], int max)
{
    DIR *d = open_folder(root, folder);
    int n = 0;
    if (!d)
        return 0;
    for (struct dirent *entry; n < max && (entry = readdir(d));)
        if (entry->d_name[0] != '.' && strlen(entry->d_name) < sizeof *name)
            strcpy(name[n++], entry->d_name);
    closedir(d);
    qsort(name, (size_t)n, sizeof *name, by_name);
    return n;
}

const char *sysroot_why(int error)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
        return "not there";
    case EACCES:
    case EPERM:
        return "permission denied";
    case EINVAL:
        return "not a number";
    default:
        return strerror(error);
    }
}
