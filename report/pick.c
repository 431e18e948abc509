/* report/pick.c - see pick.h. */
#include "config.h" /* _GNU_SOURCE, for strdup */

#include "report/pick.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/digest.h"
#include "report/runs.h"

static int reserve(struct compare_side *side, size_t n, struct err *e)
{
    side->runs = calloc(n + 1, sizeof *side->runs);
    side->paths = calloc(n + 1, sizeof *side->paths);
    side->digests = calloc(n + 1, sizeof *side->digests);
    return side->runs && side->paths && side->digests
               ? 0
               : err_set(e, ERR_MEMORY, "no memory for a comparison of %zu runs", n);
}

static int add(struct compare_side *side, const char *path, struct err *e)
{
    if (side->n == COMPARE_RUNS_MAX)
        return err_set(e, ERR_USAGE, "'%.80s' names more than %d runs", side->name, COMPARE_RUNS_MAX);
    json_t *run = runs_read(path, e);
    if (!run)
        return -1;
    side->runs[side->n] = run;
    side->digests[side->n] = digest_make(run);
    side->paths[side->n] = strdup(path);
    side->n++;
    return side->paths[side->n - 1] ? 0 : err_set(e, ERR_MEMORY, "no memory for %.200s", path);
}

static int read_label(struct compare_side *side, const char *folder, const char *label, struct err *e)
{
    struct history h;
    char **paths = NULL;
    if (history_open(&h, folder, e))
        return -1;
    int n = history_labelled(&paths, &h, label, e), result = n < 0 ? -1 : 0;
    history_close(&h);
    if (n == 0)
        result = err_set(e, ERR_NO_INPUT, "no complete run in %.200s has the label '%.80s'", folder, label);
    if (n > 0)
        result = reserve(side, (size_t)n, e);
    for (int i = 0; i < n && !result; i++)
        result = add(side, paths[i], e);
    if (n >= 0)
        runs_names_free(paths, n);
    return result;
}

static int read_list(struct compare_side *side, const char *folder, const char *word, struct err *e)
{
    char path[PATH_MAX], one[PATH_MAX];
    size_t n = 1;
    for (const char *c = word; *c; c++)
        n += *c == ',';
    if (reserve(side, n, e))
        return -1;
    if (access(word, F_OK) == 0) /* a comma may be part of a name */
        return add(side, word, e);
    while (*word) {
        size_t length = strcspn(word, ",");
        if (length == 0)
            return err_set(e, ERR_USAGE, "'%.80s' has an empty name in its list", side->name);
        snprintf(one, sizeof one, "%.*s", (int)length, word);
        if (runs_find(path, sizeof path, folder, one, e) || add(side, path, e))
            return -1;
        word += length;
        if (*word && !*++word)
            return err_set(e, ERR_USAGE, "'%.80s' has an empty name in its list", side->name);
    }
    return 0;
}

int pick_read(struct compare_side *side, const char *folder, const char *word, struct err *e)
{
    memset(side, 0, sizeof *side);
    side->name = word;
    if (strncmp(word, "label:", 6) == 0)
        return read_label(side, folder, word + 6, e);
    return read_list(side, folder, word, e);
}

void pick_free(struct compare_side *side)
{
    for (size_t i = 0; i < side->n; i++) {
        json_decref(side->runs[i]);
        json_decref(side->digests[i]);
        free(side->paths[i]);
    }
    free(side->runs);
    free(side->paths);
    free(side->digests);
    memset(side, 0, sizeof *side);
}
