/*
 * cli/predict_source.h - from a saved run, a link document or stated numbers to what predict/ works with.
 *
 * A source owns its profile and plans. Of a run's document are used: every timed step's forward, backward and optimizer, the
 * instants at which gradients were ready (as points of the last backward pass), threads and usable cores, and the model, whose
 * buckets are those that ddp/reduce.h would send. A run of several ranks is refused: its steps contain its communication.
 *
 * Errors: 65 with what is missing; 71.
 */
#ifndef CLI_PREDICT_SOURCE_H
#define CLI_PREDICT_SOURCE_H

#include <limits.h>

#include "base/json.h"
#include "ddp/reduce.h"
#include "predict/heat.h"
#include "predict/link_model.h"
#include "predict/profile.h"

struct predict_source {
    char path[PATH_MAX]; /* of the run; "" if there is none */
    char model[64];      /* "" if none */
    struct profile profile;
    struct plan plan;  /* as asked for */
    struct plan other; /* the other schedule's; n is 0 without one */
    enum reduce_schedule schedule;
    double bucket_mib;
    bool has_steps;        /* false: only bytes are known */
    bool stated;           /* numbers from the command line: no spread */
    bool torch;            /* a job of PyTorch, whose back-end is gloo */
    bool rows;             /* the plan's last bucket depends on the tokens */
    int threads, cores;    /* 0: unknown */
    struct layout *layout; /* NULL: no model */
    json_t *document;      /* NULL: no run */
};

/* The document is kept by the source. whole: nothing overlaps. */
int predict_source_run(struct predict_source *s, json_t *document, const char *path, enum reduce_schedule schedule,
                       double bucket_mib, bool whole, struct err *e);

/* A profile that tools/pytorch_profile.py wrote. The wrapper's own cost is what a group adds. The document is kept. */
int predict_source_torch(struct predict_source *s, json_t *document, const char *path, struct err *e);

/* step_s: NaN if unknown. model may be NULL; then bytes say what is sent. */
int predict_source_stated(struct predict_source *s, double step_s, double bytes, const char *model, struct err *e);

/* The plan of the source's model for a schedule and bucket size. */
int predict_source_plan(const struct predict_source *s, struct plan *plan, enum reduce_schedule schedule,
                        double bucket_mib, struct err *e);

void predict_source_fini(struct predict_source *s); /* accepts a zeroed source */

/* A document of the link command. What the back-end's all-reduce took there, alone and beside computing, if that was measured;
 * else rate and latency fitted to messages with both directions busy, or the rate alone if there are too few, and the
 * processor cost of streams beside computing, if it was measured. backend: "tcp", "gloo". */
int predict_source_link(struct link_model *m, const json_t *document, const char *path, const char *backend,
                        struct err *e);

/* A document of the soak command: how many times longer a step takes as time goes on. */
int predict_source_soak(struct heat_path *heat, const json_t *document, const char *path, struct err *e);

#endif
