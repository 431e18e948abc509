/* report/history.c - see history.h. Start at history_open(); load_index() and save_index() are the cache. */
#include "config.h" /* _GNU_SOURCE, for getline and open_memstream */

#include "report/history.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "report/digest.h"
#include "report/runs.h"
#include "report/store.h"

/* What an index was made for: another list of conditions or metrics is another index. */
static json_int_t fingerprint(void)
{
    uint64_t hash = 14695981039346656037u;
    const char *name;
    for (int i = 0; (name = digest_condition_name(i)); i++)
        for (; *name; name++)
            hash = (hash ^ (unsigned char)*name) * 1099511628211u;
    for (const struct digest_metric *m = digest_metrics; m->path; m++)
        for (name = m->path; *name; name++)
            hash = (hash ^ (unsigned char)*name) * 1099511628211u;
    return (json_int_t)(hash >> 1);
}

/* {file: entry}, empty if there is no index that this program can use. */
static json_t *load_index(const char *path)
{
    json_t *known = json_object();
    FILE *f = fopen(path, "re");
    char *line = NULL;
    size_t size = 0;
    ssize_t n;
    bool ours = false;
    while (f && (n = getline(&line, &size, f)) > 0) {
        json_t *o = json_loadb(line, (size_t)n, 0, NULL);
        const char *file = json_string_value(json_object_get(o, "file"));
        if (!ours) {
            ours = json_integer_value(json_object_get(o, "index")) == fingerprint();
            json_decref(o);
            if (!ours)
                break;
        } else if (file) {
            json_object_set_new(known, file, o);
        } else {
            json_decref(o); /* damaged: its file is read again */
        }
    }
    free(line);
    if (f)
        fclose(f);
    return known;
}

/* At best effort: without it everything is read again next time. */
static void save_index(const char *path, const json_t *entries)
{
    char *text = NULL;
    size_t size = 0;
    struct err ignored;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return;
    fprintf(f, "{\"index\": %lld}\n", (long long)fingerprint());
    for (size_t i = 0; i < json_array_size(entries); i++) {
        char *line = json_dumps(json_array_get(entries, i), JSON_COMPACT);
        if (line)
            fprintf(f, "%s\n", line);
        free(line);
    }
    if (fclose(f) == 0)
        store_file(path, text, size, &ignored);
    free(text);
}

/* Whether an entry was taken from the file as it is now. */
static bool current(const json_t *entry, const struct stat *st)
{
    return json_integer_value(json_object_get(entry, "size")) == (json_int_t)st->st_size &&
           json_integer_value(json_object_get(entry, "inode")) == (json_int_t)st->st_ino &&
           json_integer_value(json_object_get(entry, "mtime_s")) == (json_int_t)st->st_mtim.tv_sec &&
           json_integer_value(json_object_get(entry, "mtime_ns")) == (json_int_t)st->st_mtim.tv_nsec;
}

static json_t *read_entry(const char *path, const char *file, const struct stat *st)
{
    struct err why;
    bool plain = S_ISREG(st->st_mode); /* opening a pipe would wait for its other end */
    json_t *name = json_string(file), *document = plain ? runs_skim(path, digest_needs, &why) : NULL,
           *o = json_object();
    if (!plain)
        err_set(&why, ERR_DATA, "%.300s is no file", path);
    json_object_set_new(o, "file", name ? name : json_null());
    json_object_set_new(o, "size", json_integer((json_int_t)st->st_size));
    json_object_set_new(o, "inode", json_integer((json_int_t)st->st_ino));
    json_object_set_new(o, "mtime_s", json_integer((json_int_t)st->st_mtim.tv_sec));
    json_object_set_new(o, "mtime_ns", json_integer((json_int_t)st->st_mtim.tv_nsec));
    if (document) {
        json_object_set_new(o, "digest", digest_make(document));
    } else {
        json_t *text = json_string(why.text);
        json_object_set_new(o, "bad", text ? text : json_string("it cannot be read"));
    }
    json_decref(document);
    return o;
}

/* Takes the name over. */
static void add(struct history *h, char *file, const json_t *entry)
{
    struct history_row *row = &h->rows[h->n++];
    const char *bad = json_string_value(json_object_get(entry, "bad"));
    json_t *digest = json_object_get(entry, "digest");
    row->file = file;
    row->digest = digest ? json_incref(digest) : NULL;
    row->bad = digest ? NULL : strdup(bad ? bad : "it cannot be read");
    h->bad += !digest;
}

int history_open(struct history *h, const char *folder, struct err *e)
{
    char **names, index[PATH_MAX + 32], path[PATH_MAX + 256];
    memset(h, 0, sizeof *h);
    snprintf(h->folder, sizeof h->folder, "%s", folder);
    int n = runs_names(&names, folder, e);
    if (n < 0)
        return -1;
    h->rows = calloc((size_t)n + 1, sizeof *h->rows);
    if (!h->rows) {
        runs_names_free(names, n);
        return err_set(e, ERR_MEMORY, "no memory for a history of %d results", n);
    }
    snprintf(index, sizeof index, "%s/%s", folder, HISTORY_INDEX);
    json_t *known = load_index(index), *entries = json_array();
    for (int i = n - 1; i >= 0; i--) { /* oldest first */
        struct stat st;
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        if (stat(path, &st))
            continue; /* removed since */
        json_t *entry = json_object_get(known, names[i]);
        if (entry && current(entry, &st)) {
            json_array_append(entries, entry);
            h->indexed++;
        } else {
            json_array_append_new(entries, read_entry(path, names[i], &st));
        }
        add(h, names[i], json_array_get(entries, json_array_size(entries) - 1));
        names[i] = NULL;
    }
    if (h->indexed < h->n || json_object_size(known) != (size_t)h->n)
        save_index(index, entries);
    json_decref(known);
    json_decref(entries);
    runs_names_free(names, n);
    return 0;
}

void history_close(struct history *h)
{
    for (int i = 0; i < h->n; i++) {
        free(h->rows[i].file);
        free(h->rows[i].bad);
        json_decref(h->rows[i].digest);
    }
    free(h->rows);
    memset(h, 0, sizeof *h);
}

static bool equal(const json_t *o, const char *key, const char *wanted)
{
    const char *text = json_string_value(json_object_get(o, key));
    return !wanted || (text && strcmp(text, wanted) == 0);
}

bool history_wanted(const struct history_row *row, const struct history_filter *filter)
{
    const json_t *d = row->digest;
    if (!d || !equal(d, "kind", "run") || !equal(d, "model", filter->model) || !equal(d, "label", filter->label))
        return false;
    const json_t *nodes = json_object_get(d, "nodes");
    bool found = !filter->node;
    for (size_t i = 0; i < json_array_size(nodes) && !found; i++) {
        const char *name = json_string_value(json_array_get(nodes, i));
        found = name && strcmp(name, filter->node) == 0;
    }
    return found;
}

int history_labelled(char ***paths, const struct history *h, const char *label, struct err *e)
{
    struct history_filter filter = {.label = label};
    int n = 0;
    *paths = calloc((size_t)h->n + 1, sizeof **paths);
    if (!*paths)
        return err_set(e, ERR_MEMORY, "no memory for %d results", h->n);
    for (int i = 0; i < h->n; i++)
        if (history_wanted(&h->rows[i], &filter) && !digest_unfit(h->rows[i].digest)) {
            if (asprintf(&(*paths)[n], "%s/%s", h->folder, h->rows[i].file) < 0) {
                (*paths)[n] = NULL;
                runs_names_free(*paths, n);
                return err_set(e, ERR_MEMORY, "no memory for %d results", h->n);
            }
            n++;
        }
    return n;
}

json_t *history_list(const struct history *h, const struct history_filter *filter, int last)
{
    json_t *o = json_object(), *runs = json_array(), *skipped = json_array();
    json_t *folder = json_string(h->folder);
    int wanted = 0;
    for (int i = 0; i < h->n; i++)
        wanted += history_wanted(&h->rows[i], filter);
    for (int i = 0, seen = 0; i < h->n; i++) {
        const struct history_row *row = &h->rows[i];
        json_t *file = json_string(row->file);
        if (row->bad) {
            json_array_append_new(skipped, json_pack("{s:o, s:s}", "file", file ? file : json_null(), "why", row->bad));
            continue;
        }
        if (history_wanted(row, filter) && (last == 0 || seen++ >= wanted - last)) {
            json_t *run = json_object();
            json_object_set(run, "file", file);
            json_object_update(run, row->digest);
            json_array_append_new(runs, run);
        }
        json_decref(file);
    }
    json_object_set_new(o, "folder", folder ? folder : json_null());
    json_object_set_new(o, "runs", runs);
    json_object_set_new(o, "skipped", skipped);
    return o;
}
