/*
 * report/store.h - the results folder: where it is, and how a file gets into it.
 *
 * A file appears whole or not at all and never replaces another: it is written under a temporary name in
 * the same folder, synced, renamed to a name nobody has, and the folder is synced. Any number of processes
 * may write into one folder at once. What could not be finished is removed again, so a full disk leaves the
 * folder as it was.
 *
 *     char folder[PATH_MAX], path[PATH_MAX];
 *     if (store_folder(folder, sizeof folder, asked, &e) ||
 *         store_write(path, sizeof path, folder, "20261130T173121Z-gpt2-124m", ".json", text, bytes, &e))
 *         ...
 *
 * Errors: 73 if the folder cannot be made or written to, 74 if the disk is full or broken, each naming the
 * path.
 */
#ifndef REPORT_STORE_H
#define REPORT_STORE_H

#include <stddef.h>

#include "base/err.h"
#include "base/notes.h"

/* The folder to use, made if it is missing: asked if not NULL; else ./results if that is a writable folder;
 * else $XDG_DATA_HOME/ddpbench/results, with ~/.local/share for an unset or relative XDG_DATA_HOME. */
int store_folder(char *folder, size_t size, const char *asked, struct err *e);

/* A place that takes no result is told before anything is measured for it, and not only afterwards. */
void store_doubt(struct notes *notes, const char *asked);

/* The same place, which may not exist. */
int store_place(char *folder, size_t size, const char *asked, struct err *e);

/* Writes folder/STEM SUFFIX, or folder/STEM-2 SUFFIX and so on if that name is taken; path is what it became. */
int store_write(char *path, size_t size, const char *folder, const char *stem, const char *suffix, const char *text,
                size_t bytes, struct err *e);

/* Writes a file of the user's own choice, which is replaced if it is a file; what is none (a device, a pipe) is written to. */
int store_file(const char *path, const char *text, size_t bytes, struct err *e);

#endif
