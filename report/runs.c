/* report/runs.c - see runs.h. */
#include "config.h" /* _GNU_SOURCE, for asprintf and scandir */

#include "report/runs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Newest first. `A-2.json` was written after `A.json` and comes before it. */
static int newest_first(const struct dirent **a, const struct dirent **b)
{
    const char *x = (*a)->d_name, *y = (*b)->d_name;
    size_t nx = strlen(x) - strlen(".json"), ny = strlen(y) - strlen(".json"), n = nx < ny ? nx : ny;
    int order = strncmp(y, x, n);
    if (order == 0 && nx != ny)
        return nx > ny ? -1 : 1;
    return order;
}

static int is_result(const struct dirent *d)
{
    size_t n = strlen(d->d_name);
    return d->d_name[0] != '.' && n > 5 && strcmp(d->d_name + n - 5, ".json") == 0;
}

/* As much room again follows the text, for parse_part(): one block that the heap keeps is cheaper than two that it gives back. */
static char *read_file(const char *path, size_t *bytes, struct err *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* a fifo would hold a plain open for ever */
    FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
    struct stat st;
    if (!f) {
        if (fd >= 0)
            close(fd);
        err_set(e, errno == EACCES ? ERR_IO : ERR_NO_INPUT, "cannot open %.300s: %s", path, strerror(errno));
        return NULL;
    }
    char *text = NULL;
    if (fstat(fileno(f), &st) || !S_ISREG(st.st_mode)) {
        err_set(e, ERR_DATA, "%.300s is no file", path);
    } else if (st.st_size > RUNS_BYTES_MAX) {
        err_set(e, ERR_DATA, "%.300s has %lld bytes; a result has at most %d", path, (long long)st.st_size,
                RUNS_BYTES_MAX);
    } else if (!(text = malloc(2 * ((size_t)st.st_size + 1)))) {
        err_set(e, ERR_MEMORY, "no memory for the %lld bytes of %.300s", (long long)st.st_size, path);
    } else {
        *bytes = fread(text, 1, (size_t)st.st_size, f);
        text[*bytes] = '\0';
        if (ferror(f)) {
            err_set(e, ERR_IO, "cannot read %.300s: %s", path, strerror(errno));
            free(text);
            text = NULL;
        }
    }
    fclose(f);
    return text;
}

/* NULL if all of it has to be parsed: it is no result, or an unusual one. */
static json_t *parse_part(char *text, size_t bytes, enum skim_need (*needs)(const char *path))
{
    char *part = text + bytes + 1;
    bool whole = strlen(text) == bytes; /* no zero within */
    return whole && skim(part, text, needs) ? json_loads(part, JSON_REJECT_DUPLICATES, NULL) : NULL;
}

json_t *runs_read(const char *path, struct err *e)
{
    return runs_skim(path, NULL, e);
}

json_t *runs_skim(const char *path, enum skim_need (*needs)(const char *path), struct err *e)
{
    size_t bytes = 0;
    char *text = read_file(path, &bytes, e);
    if (!text)
        return NULL;
    json_error_t why;
    json_t *d = needs ? parse_part(text, bytes, needs) : NULL;
    if (!d)
        d = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &why);
    free(text);
    if (!d) {
        err_set(e, ERR_DATA, "%.200s is no complete JSON document: line %d: %.120s", path, why.line, why.text);
        return NULL;
    }
    const json_t *version = json_object_get(d, "schema_version");
    if (!json_is_object(d) || !json_is_integer(version))
        err_set(e, ERR_DATA, "%.300s is no result of this program: it has no schema_version", path);
    else if (json_integer_value(version) != RUNS_SCHEMA)
        err_set(e, ERR_DATA, "%.300s has schema version %lld; this program reads version %d", path,
                (long long)json_integer_value(version), RUNS_SCHEMA);
    else
        return d;
    json_decref(d);
    return NULL;
}

static int scan(const char *folder, struct dirent ***list, struct err *e)
{
    int n = scandir(folder, list, is_result, newest_first);
    if (n < 0 && errno == ENOENT) { /* nothing was saved yet */
        *list = NULL;
        return 0;
    }
    if (n < 0)
        return err_set(e, ERR_NO_INPUT, "cannot read the results in %.300s: %s", folder, strerror(errno));
    return n;
}

static void free_list(struct dirent **list, int n)
{
    for (int i = 0; i < n; i++)
        free(list[i]);
    free(list);
}

static int find_last(char *path, size_t size, const char *folder, struct err *e)
{
    struct dirent **list;
    int n = scan(folder, &list, e);
    if (n < 0)
        return -1;
    if (n > 0)
        snprintf(path, size, "%s/%s", folder, list[0]->d_name);
    free_list(list, n);
    return n > 0 ? 0 : err_set(e, ERR_NO_INPUT, "there is no result in %.300s", folder);
}

int runs_find(char *path, size_t size, const char *folder, const char *name, struct err *e)
{
    if (strcmp(name, "last") == 0)
        return find_last(path, size, folder, e);
    static const char *const suffix[] = {"", ".json"};
    for (int i = 0; i < 4; i++) { /* as given, then in the folder; each without and with .json */
        bool there = i >= 2;
        int n = snprintf(path, size, "%s%s%s%s", there ? folder : "", there ? "/" : "", name, suffix[i % 2]);
        if (n > 0 && (size_t)n < size && access(path, F_OK) == 0)
            return 0;
    }
    return err_set(e, ERR_NO_INPUT, "there is no result '%.200s', neither by that path nor in %.200s", name, folder);
}

int runs_each(const char *folder, bool (*visit)(void *ctx, const char *path, const json_t *document), void *ctx,
              struct err *e)
{
    struct dirent **list;
    int n = scan(folder, &list, e);
    if (n < 0)
        return -1;
    bool more = true;
    for (int i = 0; i < n && more; i++) {
        char path[PATH_MAX];
        struct err no_result;
        if (snprintf(path, sizeof path, "%s/%s", folder, list[i]->d_name) >= (int)sizeof path)
            continue;
        json_t *d = runs_read(path, &no_result);
        if (d)
            more = visit(ctx, path, d);
        json_decref(d);
    }
    free_list(list, n);
    return 0;
}

/* ---- the newest of a kind ---- */

struct newest {
    const struct runs_kind *kind;
    char *path;
    size_t size;
    json_t *found;
};

static bool first_of_kind(void *ctx, const char *path, const json_t *document)
{
    struct newest *n = ctx;
    if (!n->kind->is(document))
        return true;
    snprintf(n->path, n->size, "%s", path);
    n->found = json_incref((json_t *)document);
    return false;
}

json_t *runs_open(char *path, size_t size, const char *folder, const char *name, const struct runs_kind *kind,
                  struct err *e)
{
    if (strcmp(name, "last") != 0)
        return runs_find(path, size, folder, name, e) ? NULL : runs_read(path, e);
    struct newest n = {kind, path, size, NULL};
    if (runs_each(folder, first_of_kind, &n, e) == 0 && !n.found)
        err_set(e, ERR_NO_INPUT, "there is no %s in %.200s; '%s' makes one", kind->what, folder, kind->maker);
    return n.found;
}

int runs_names(char ***names, const char *folder, struct err *e)
{
    struct dirent **list;
    int n = scan(folder, &list, e);
    if (n < 0)
        return -1;
    *names = calloc((size_t)n + 1, sizeof **names);
    bool failed = !*names;
    for (int i = 0; i < n && !failed; i++)
        failed = !((*names)[i] = strdup(list[i]->d_name));
    free_list(list, n);
    if (!failed)
        return n;
    if (*names)
        runs_names_free(*names, n);
    return err_set(e, ERR_MEMORY, "no memory for the names of %d results", n);
}

void runs_names_free(char **names, int n)
{
    for (int i = 0; names && i < n; i++)
        free(names[i]);
    free(names);
}
