/*
 * cli/judge.h - what a run's steps and its node's readings say together: marks on steps, from where on it was steady, and a
 * grade of the node with reasons and remedies. The rules are in doc/METHOD.md.
 *
 * No step is dropped: a mark says what happened while it ran. Pure functions of what was measured.
 *
 *     judge_run(&judgement, &run, &health, &known, e);
 *     judge_fini(&judgement);
 */
#ifndef CLI_JUDGE_H
#define CLI_JUDGE_H

#include "ddp/run.h"
#include "probe/health.h"

enum judge_mark { MARK_THROTTLED, MARK_STALLED, MARK_NOISY, MARK_SUSPENDED, JUDGE_MARKS };
extern const char *const judge_mark_names[JUDGE_MARKS];

enum { JUDGE_FINDINGS_MAX = 12, JUDGE_STEPS_MIN = 5, JUDGE_STEADY_STEPS_MIN = 10 };

struct judge_finding {
    char grade; /* what this alone would make of the node */
    char reason[200];
    const char *remedy;
};

struct judgement {
    int n;               /* timed steps */
    unsigned char *mark; /* [n] bits by enum judge_mark; owned */
    int count[JUDGE_MARKS];
    int hot, slow_clock; /* steps marked as throttled because heat was counted; because of their clock alone */
    int steady_from;     /* first step from which on it was steady; -1: it was not, or too few steps */
    const char *unsteady_why;
    struct summary steady; /* of the steps from there on: step less what it waited for communication */
    char grade;            /* 'A' to 'D'; 0: not graded */
    const char *ungraded_why;
    int findings; /* worst first */
    struct judge_finding finding[JUDGE_FINDINGS_MAX];
};

/* What else is known of a run. */
struct judge_known {
    bool alone_here; /* no other rank shares the node: other processes can be told from ranks */
    bool unsteady;   /* the halves differ */
    double stall_limit_s;
};

/* health NULL: this rank took no readings; marks are then of the times alone and there is no grade. ERR_MEMORY. */
int judge_run(struct judgement *j, const struct run *run, const struct health *health, const struct judge_known *known,
              struct err *e);
void judge_fini(struct judgement *j); /* accepts a zeroed one */

/* Private to cli/judge_*.c: the grade, once steps are marked. */
void judge_node(struct judgement *j, const struct run *run, const struct health *health,
                const struct judge_known *known);

/* CPUs of other processes beyond those that the run leaves free, over an interval; NaN: unknown. */
double judge_crowding(const struct run *run, const struct health *health, const struct judge_known *known,
                      uint64_t from_ns, uint64_t to_ns);

/* A step less what it stood still for communication. */
double judge_work_s(const struct run *run, int step);

#endif
