/* cli/deliver.c - see deliver.h. */
#include "config.h" /* _GNU_SOURCE, for asprintf */

#include "cli/deliver.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/output.h"
#include "report/store.h"

/* 2026-11-30T17:31:21Z as 20261130T173121Z: colons are a nuisance in file names. */
static void file_stem(char *stem, size_t size, const struct delivery *d)
{
    char compact[32];
    size_t n = 0;
    for (const char *c = d->started; *c && n < sizeof compact - 1; c++)
        if (*c != '-' && *c != ':')
            compact[n++] = *c;
    compact[n] = '\0';
    snprintf(stem, size, "%s-%s", compact, d->name);
}

static int save(const struct delivery *d, const json_t *document, char *path, size_t size, struct err *e)
{
    char folder[PATH_MAX], stem[96];
    file_stem(stem, sizeof stem, d);
    char *text = json_dumps(document, JSON_INDENT(1));
    if (!text)
        return err_set(e, ERR_MEMORY, "out of memory while writing the result");
    int result = store_folder(folder, sizeof folder, d->results_dir, e);
    if (result == 0)
        result = store_write(path, size, folder, stem, ".json", text, strlen(text), e);
    free(text);
    return result;
}

static int as_json(const struct delivery *d, json_t *document, const char *path, const struct err *unsaved, int code)
{
    if (*path)
        json_object_set_new(document, "saved", output_string(path));
    else
        json_unknown(document, document, "saved", "saved", unsaved->code ? unsaved->text : "nothing was measured");
    if (unsaved->code && !d->err->code)
        output_set_error(document, unsaved);
    return output_json(d->in, document, code);
}

static int as_table(const struct delivery *d, json_t *document, const char *path, int code)
{
    struct table_style style = {.colour = output_wants_colour(STDOUT_FILENO)};
    char *table = d->render(document, &style), *text = NULL;
    json_decref(document);
    if (!table || asprintf(&text, "%s%s%s%s", table, *path ? "saved       " : "", path, *path ? "\n" : "") < 0) {
        free(table);
        return output_fail(d->in, &(struct err){ERR_MEMORY, "out of memory while drawing the table"});
    }
    code = output_text(d->in, text, code);
    free(table);
    free(text);
    return code;
}

int deliver(const struct delivery *d, json_t *document)
{
    char path[PATH_MAX] = "";
    struct err unsaved = {0};
    if (!document)
        return output_fail(d->in, &(struct err){ERR_MEMORY, "out of memory while writing the result"});
    if (d->worth && save(d, document, path, sizeof path, &unsaved))
        *path = '\0';
    int code = d->err->code ? (int)d->err->code : (int)unsaved.code;
    if (d->err->code)
        output_say("%s: %s", d->in->program, d->err->text);
    if (unsaved.code)
        output_say("%s: the result is not saved: %s", d->in->program, unsaved.text);
    return d->in->json ? as_json(d, document, path, &unsaved, code) : as_table(d, document, path, code);
}
