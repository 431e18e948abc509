/*
 * cli/demo_show.h - one row per rank: how much of its step it works and how much it stands still.
 *
 *     demo_show_begin(&show, ranks, "all alike")
 *     demo_show_word(&show, &word)         on a terminal the rows are drawn again in place, at most ten times a second
 *     demo_show_end(&show, document)       the rows are replaced by medians out of the run's document
 *
 * On what is no terminal only the medians are printed, one line each. All of it is on stderr; no state of the terminal is
 * changed but the cursor's place, and demo_show_leave() puts that below the rows.
 */
#ifndef CLI_DEMO_SHOW_H
#define CLI_DEMO_SHOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "cli/live.h"

enum { DEMO_RANKS_MAX = 64, DEMO_BAR = 36 };

struct demo_show {
    bool terminal, colour;
    int ranks;
    int drawn; /* lines on the terminal that may be drawn over */
    uint64_t drawn_ns;
    char stage[48];
    struct {
        bool known;
        double step_s, work_s, still_s;
    } row[DEMO_RANKS_MAX];
};

void demo_show_init(struct demo_show *show);
void demo_show_begin(struct demo_show *show, int ranks);
void demo_show_word(struct demo_show *show, const struct live_word *word);
void demo_show_end(struct demo_show *show, const json_t *document);
void demo_show_leave(struct demo_show *show);

/* '#' for work, '.' for standing still, so many of both together as the step's part of the longest one: at most DEMO_BAR
 * characters, in a buffer of DEMO_BAR + 1. */
void demo_show_bar(char *bar, double work_s, double still_s, double longest_s);

#endif
