/*
 * cli/child.h - this program once more, for one of its own commands whose document is wanted.
 *
 * The child talks on the terminal as usual; its standard output comes back as JSON. It dies with its parent. The first interrupt
 * is left to the child, which saves what it has and ends with 130. Main thread only.
 */
#ifndef CLI_CHILD_H
#define CLI_CHILD_H

#include "base/err.h"
#include "base/json.h"

/* argv[0] is the command's word, NULL at the end; --json is added. Returns the document of a child that ended with 0 (or with
 * `accepted`), to be freed; else NULL with the child's own code and sentence. */
json_t *child_run(const char *const *argv, int accepted, struct err *e);

#endif
