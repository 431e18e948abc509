/*
 * cli/record_link.h - the document of a link's measurement; results/README.md describes it.
 *
 * Made of what was measured until then, so that an interrupted measurement is told as far as it went: what is missing is
 * null with a reason. Pure.
 */
#ifndef CLI_RECORD_LINK_H
#define CLI_RECORD_LINK_H

#include "base/json.h"
#include "base/notes.h"
#include "cli/link_end.h"
#include "comm/link_survey.h"

enum { LINK_WAYS_MAX = 2 };

/* One way to the peer: an interface of this node. */
struct link_way {
    const char *interface;  /* as asked for; NULL: by the route */
    bool ends_known, ended; /* both ends have told what they are; told it again after the last measurement */
    struct link_end first[2], last[2];
    struct link_survey survey;
};

struct record_link {
    const struct err *err; /* what ended it; code 0: it is complete */
    const char *started, *label;
    int argc;
    char *const *argv;
    const char *peer, *peer_address, *local_addr; /* the latter two "" until known */
    bool same_host;
    double duration_s, took_s;
    uint64_t seed;
    bool allreduce, work;
    int ways;
    const struct link_way *way;
    const struct notes *notes;
};

/* To be freed with json_decref(). */
json_t *record_link_json(const struct record_link *r);

#endif
