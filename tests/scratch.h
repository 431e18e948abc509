/*
 * tests/scratch.h - a folder of its own for each test, and whole files in it.
 *
 * scratch_open and scratch_close are a checked fixture. Paths are returned in a static buffer that the next
 * call of the same function overwrites. Failing system calls end the test.
 */
#ifndef TESTS_SCRATCH_H
#define TESTS_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>

void scratch_open(void);
void scratch_close(void);

/* FOLDER/name. */
const char *scratch_path(const char *name);

/* Writes a file and returns its path. */
const char *scratch_write(const char *name, const void *bytes, size_t n);

/* A file of that size that occupies no room; NULL if the file system refuses. */
const char *scratch_sparse(const char *name, long long bytes);

/* The whole file, n bytes (owned by the caller), or NULL if there is none. */
unsigned char *scratch_read(const char *path, size_t *n);

/* How many files the folder has. */
int scratch_count(void);

#endif
