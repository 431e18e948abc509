/*
 * comm/link_survey.h - which measurements of a link are taken, in which order and for how long: rank 0's part.
 *
 * Phases share the time that the caller gives: idle latency; streams (each direction alone, then both at once, with pings
 * beside them); messages of 4 KiB to 64 MiB; computing beside the link; all-reduce and computing beside each other, as in training. What is compared is taken in turns: each round has
 * every cell once, in an order drawn anew, so that a drift of the machine or of the link meets all cells alike. Sizes for
 * which the time does not suffice are left out and noted, from the largest down.
 *
 *     struct link_survey survey = {0};
 *     link_survey_run(&survey, &link, session, &options, e)      again for more rounds, over another session too
 *     link_survey_reduce(...)                        the table of all-reduce in place of messages
 *     link_survey_fini(&survey)
 *
 * What was measured before a failure is kept. One owner thread.
 */
#ifndef COMM_LINK_SURVEY_H
#define COMM_LINK_SURVEY_H

#include "base/rng.h"
#include "comm/link.h"

enum { LINK_SIZES = 8, LINK_WORKS_MAX = 4, LINK_PINGS_LEAST = 200 };
extern const uint64_t link_sizes[LINK_SIZES];

enum link_phase {
    LINK_PHASE_LATENCY,
    LINK_PHASE_STREAM,
    LINK_PHASE_MESSAGES,
    LINK_PHASE_WORK,
    LINK_PHASE_REDUCE,
    LINK_PHASE_BESIDE
};

/* Of the last phase: the work alone; then all-reduce of few bytes and of many, alone and beside the work. */
enum link_beside {
    LINK_BESIDE_WORK,
    LINK_BESIDE_SMALL,
    LINK_BESIDE_LARGE,
    LINK_BESIDE_SMALL_BUSY,
    LINK_BESIDE_LARGE_BUSY,
    LINK_BESIDES
};

struct link_trial {
    enum link_phase phase;
    int round;
    bool reserved; /* computing: each end leaves a core to the link */
    double load;   /* computing: 0, 0.5 or 1 of the link's rate */
    enum link_beside beside;
    struct link_order order;
    struct link_result end[2]; /* of rank 0 and rank 1 */
};

struct link_survey_options {
    double duration_s;
    double warmup_s, window_s; /* of a stream; NaN: a share of the duration */
    bool work;                 /* compute beside the link too */
    bool whole;                /* a table of all-reduce goes to its end, also if duration_s does not suffice */
    int threads[2];            /* all that each end computes on */
    const char
        *backends[LINK_WORKS_MAX + 1]; /* of all-reduce: those that both ends have and that matter; ends with NULL */
    void (*progress)(void *ctx, const char *what, double share); /* NULL: nobody looks */
    void *ctx;
};

struct link_survey {
    int n, capacity;
    struct link_trial *trial;
    int rounds; /* begun so far, over all calls */
    struct rng rng;
    double warmup_s, window_s; /* of the streams, as they were in the last call */
    uint64_t largest_bytes;    /* of the messages; 0: there was no time for any */
    double work_window_s;      /* 0: no time for computing */
    double beside_window_s;    /* 0: no time for all-reduce beside it */
};

int link_survey_run(struct link_survey *survey, struct link *link, struct session *session,
                    const struct link_survey_options *options, struct err *e);

/* Latency and streams, then the all-reduce of all back-ends side by side, in turns, from 4 B to 64 MiB, as far as
 * duration_s allows; with `whole` to the end, unless a call would take longer than 20 s. */
int link_survey_reduce(struct link_survey *survey, struct link *link, struct session *session,
                       const struct link_survey_options *options, struct err *e);

void link_survey_fini(struct link_survey *survey);

/* The median of a stream's rates in the direction into the end `to` (0 or 1); NaN if there are none. */
double link_survey_rate(const struct link_survey *survey, enum link_mode mode, int to);

/* The median idle round trip; NaN if there is none. */
double link_survey_rtt(const struct link_survey *survey);

#endif
