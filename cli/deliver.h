/*
 * cli/deliver.h - how a command that measured something ends: its document becomes a file, then a table or JSON on stdout, and what
 * went wrong a sentence on stderr.
 *
 * A result that cannot be saved is printed all the same, with the reason in `saved`'s place and in the exit code.
 */
#ifndef CLI_DELIVER_H
#define CLI_DELIVER_H

#include <stdbool.h>

#include "base/err.h"
#include "base/json.h"
#include "cli/commands.h"
#include "report/table.h"

struct delivery {
    const struct invocation *in;
    const struct err *err;      /* what ended the measurement; ERR_OK: nothing did */
    const char *results_dir;    /* NULL: the usual place */
    const char *started, *name; /* the file is called 20261130T173121Z-NAME.json */
    bool worth;                 /* there is something to save */
    char *(*render)(const json_t *document, const struct table_style *style);
};

/* Takes the document (NULL: there was no memory for it) and returns the exit code. */
int deliver(const struct delivery *d, json_t *document);

#endif
