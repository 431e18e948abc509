/*
 * cli/demo_child.h - this program once more, as a child with a document on its standard output.
 *
 *     json_t *d = demo_child(argv, &show, e)
 *
 * The child has a session of its own: no terminal, so it asks nothing, and Ctrl-C reaches only the parent, which ends it. It
 * dies with its parent, and its own processes with it. What it writes on stderr is kept and is the error if there is no
 * document. Its steps (live.h) go to show, if there is one.
 *
 * Errors: the child's own; ERR_INTERRUPTED once demo_stop is set, when no process of the child's is left; ERR_PEER_LOST if it
 * was ended by a signal; ERR_WRONG_RESULT if it took longer than DEMO_CHILD_MAX_S or its output is no document.
 */
#ifndef CLI_DEMO_CHILD_H
#define CLI_DEMO_CHILD_H

#include "base/err.h"
#include "base/json.h"
#include "cli/demo_show.h"

#define DEMO_CHILD_MAX_S 300.0

/* argv[0] is how the program is called and argv ends with NULL. A "--live" "" among the arguments gets the descriptor. */
json_t *demo_child(char **argv, struct demo_show *show, struct err *e);

#endif
