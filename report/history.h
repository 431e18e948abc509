/*
 * report/history.h - all results of a folder, oldest first, without reading them all again.
 *
 * The results are the history: one file each, which nobody changes. What listing and checking need of them (report/digest.h)
 * is kept in FOLDER/.history.jsonl beside the size and the time of the file it was taken from. That index is only a cache: an entry
 * whose file is gone, has another size or time, or that cannot be read, is made anew from the file; a folder that cannot be written
 * to has none; two writers replace each other's, and what is missing is made next time. It may be deleted at any time. A file is
 * read through report/skim.h: that one was cut is noticed, what stands in members that no digest needs is not looked at.
 *
 * Files that are no results of this program have a sentence in `bad` and no digest: they are told and otherwise left alone.
 *
 *     history_open(&h, folder, &e)
 *     for (int i = 0; i < h.n; i++)
 *         if (history_wanted(&h.rows[i], &filter)) ...
 *     history_close(&h)
 */
#ifndef REPORT_HISTORY_H
#define REPORT_HISTORY_H

#include <limits.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/json.h"

#define HISTORY_INDEX ".history.jsonl"

struct history_row {
    char *file;     /* its name in the folder */
    json_t *digest; /* NULL: bad */
    char *bad;      /* NULL: a result */
};

struct history {
    char folder[PATH_MAX];
    int n;
    struct history_row *rows;
    int bad;     /* rows that are no results */
    int indexed; /* rows that were taken from the index */
};

struct history_filter { /* NULL: any */
    const char *model;
    const char *node; /* one of the nodes */
    const char *label;
};

/* ERR_NO_INPUT if the folder cannot be read. */
int history_open(struct history *h, const char *folder, struct err *e);
void history_close(struct history *h); /* accepts a zeroed one */

/* A run that the filter lets through, whether or not it is fit for a history (digest_unfit). */
bool history_wanted(const struct history_row *row, const struct history_filter *filter);

/* Paths of the complete runs with a label, oldest first, to be freed with runs_names_free(); returns how many. */
int history_labelled(char ***paths, const struct history *h, const char *label, struct err *e);

/* {folder, runs[], skipped[]}: digests of what is wanted, each with its file, the newest `last` of them (0: all). */
json_t *history_list(const struct history *h, const struct history_filter *filter, int last);

#endif
