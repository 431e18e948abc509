/*
 * cli/run_kind.h - commands that are a run and something more: what is different about them.
 *
 * run_command() in cmd_run.c does all that they have in common.
 */
#ifndef CLI_RUN_KIND_H
#define CLI_RUN_KIND_H

#include "base/json.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "probe/health.h"

struct run_kind {
    enum options_of options;
    const char *purpose;               /* for --help */
    const char *name;                  /* of the file, and "kind" of the document; NULL: an ordinary run */
    void (*settle)(struct options *o); /* after parsing; NULL: nothing */
    /* Adds to the document of a run that has steps; health NULL: no readings. NULL: nothing. */
    int (*add)(json_t *d, const struct run *run, const struct health *health, uint64_t start_ns, struct err *e);
};

int run_command(const struct invocation *in, const struct run_kind *kind);

#endif
