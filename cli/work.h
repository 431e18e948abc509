/*
 * cli/work.h - what a session can be about. A serving node knows these kinds of work and nothing else: the caller's plan
 * names one, and everything else in it is data that the work's plan function judges. serving: this node's own options.
 */
#ifndef CLI_WORK_H
#define CLI_WORK_H

#include "cli/options.h"
#include "comm/session.h"

struct work {
    const char *name; /* plan["work"] */
    /* What this node would do if asked for that: the same plan, or what it differs in; *own is the caller's. Fails with
     * the reason if it cannot. */
    int (*plan)(const json_t *asked, const struct options *serving, json_t **own, struct err *e);
    /* A rank's part, the same for all of them. */
    int (*run)(struct session *session, const struct options *serving, struct err *e);
};

/* Ends with a row of NULLs; in cmd_serve.c. */
extern const struct work works[];

/* That nodes reach each other: the ring's barrier again and again, and a sum whose right value is known. */
json_t *work_check_plan(bool encrypt);
int work_check_accept(const json_t *asked, const struct options *serving, json_t **own, struct err *e);
int work_check_serve(struct session *session, const struct options *serving, struct err *e);
/* As rank 0, for some seconds: the median of the barriers. */
int work_check_call(struct session *session, double seconds, double *barrier_s, struct err *e);

/* A training run. options and run as rank 0 has planned them; world is in options. The plan is the caller's. */
json_t *work_train_plan(const struct options *options, const struct run *run);
int work_train_accept(const json_t *asked, const struct options *serving, json_t **own, struct err *e);
/* Starts a worker, and passes on what it reports as the message "report". */
int work_train_serve(struct session *session, const struct options *serving, struct err *e);

/* A link's measurement, as a serving node takes part in it. */
struct link_end;
json_t *work_link_plan(void);
int work_link_accept(const json_t *asked, const struct options *serving, json_t **own, struct err *e);
int work_link_serve(struct session *session, const struct options *serving, struct err *e);
/* What the other end says of itself, at the beginning and at the end. */
int work_link_hear_end(struct session *session, struct link_end *end, struct err *e);

#endif
