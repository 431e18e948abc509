/*
 * report/runs.h - results that were saved before: finding them and reading them.
 *
 * A run is named by its path, by its file's name in the results folder with or without .json, or as `last`, the newest one.
 * Names begin with the date, so the order of names is the order of time. Documents are JSON objects with a
 * schema_version that this version knows; anything else is refused with what it is.
 *
 * Errors: 66 if there is no such file, 65 if it is no result or one of another schema, 74 if it cannot be read.
 */
#ifndef REPORT_RUNS_H
#define REPORT_RUNS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/json.h"
#include "report/skim.h"

enum { RUNS_SCHEMA = 1, RUNS_BYTES_MAX = 256 * 1024 * 1024 };

/* The document in a file, to be freed with json_decref(). */
json_t *runs_read(const char *path, struct err *e);

/* The same with nothing in it but `schema_version` and what is needed (report/skim.h), in a tenth of the time. What is left out
 * is not looked at, but for its end. */
json_t *runs_skim(const char *path, enum skim_need (*needs)(const char *path), struct err *e);

/* Where `name` is; folder: the results folder. Says nothing about what is in it. */
int runs_find(char *path, size_t size, const char *folder, const char *name, struct err *e);

/* A kind of document, for `last` to mean the newest of its kind. */
struct runs_kind {
    const char *what, *maker; /* "soak", "./bench soak": for the sentence where there is none */
    bool (*is)(const json_t *document);
};

/* Both at once: the document, to be freed with json_decref(), and where it is. Of a name it may be of another kind. */
json_t *runs_open(char *path, size_t size, const char *folder, const char *name, const struct runs_kind *kind,
                  struct err *e);

/* Goes through the results of a folder, the newest first, until visit() returns false; files that are no results are
 * passed over. The document is borrowed. A folder that is not there has none. Returns 0, or -1 with
 * ERR_NO_INPUT if the folder cannot be read. */
int runs_each(const char *folder, bool (*visit)(void *ctx, const char *path, const json_t *document), void *ctx,
              struct err *e);

/* Names of the results in a folder, the newest first, whatever is in them; returns how many, to be freed with
 * runs_names_free(), or -1 with ERR_NO_INPUT. */
int runs_names(char ***names, const char *folder, struct err *e);
void runs_names_free(char **names, int n);

#endif
