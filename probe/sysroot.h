/*
 * probe/sysroot.h - every read of /sys and /proc goes through a root that can be replaced.
 *
 * The live root is ""; with --sysroot DIR the same relative paths are read below DIR, so a recorded
 * machine is a test fixture. Paths are given without the leading slash ("sys/class/thermal"). A file that
 * is missing or unreadable is no error here: the functions return -1 with errno set, and the caller turns
 * that into "unknown" with a reason. Nothing is cached.
 */
#ifndef PROBE_SYSROOT_H
#define PROBE_SYSROOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

struct sysroot {
    char prefix[1024]; /* "" for the live machine, else the folder without a slash at its end */
    bool live;
};

/* dir NULL: the live machine. 66 if dir is missing or no folder, 64 if its name is empty or too long. */
int sysroot_init(struct sysroot *root, const char *dir, struct err *e);

/* As open() to read. This, sysroot_text and sysroot_number allocate nothing. */
int sysroot_open(const struct sysroot *root, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* As fopen(..., "re"). */
FILE *sysroot_fopen(const struct sysroot *root, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The file's first size - 1 bytes, white space at the end removed; returns the length. */
int sysroot_text(const struct sysroot *root, char *text, size_t size, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* The file's first word as a decimal number; errno EINVAL if it is none. */
int sysroot_number(const struct sysroot *root, int64_t *value, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

bool sysroot_exists(const struct sysroot *root, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Numbers N of the entries of folder that are called stemN ("cpu", 0 1 2 ...), ascending, at most max of
 * them; returns how many, 0 if the folder is missing. */
int sysroot_numbered(const struct sysroot *root, const char *folder, const char *stem, int *number, int max);

/* Names of the entries of folder, sorted, dot files left out, names too long for a slot too. */
int sysroot_names(const struct sysroot *root, const char *folder, char (*name)[64], int max);

/* Why a read failed, for people: "not there", "permission denied", ... */
const char *sysroot_why(int error);

#endif
