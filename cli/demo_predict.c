/* cli/demo_predict.c - what a demonstration expects before it measures; see demo.h. */
#include <math.h>
#include <stdlib.h>

#include "cli/demo.h"
#include "cli/predict_ask.h"
#include "predict/balance.h"

/* With whole sequences: what a rank can really be given. */
static int divide(struct scenario *s, int total, int *count, double *share, struct err *e)
{
    if (total < s->nodes)
        return err_set(e, ERR_USAGE, "%d sequences cannot be divided among %d ranks", total, s->nodes);
    balance_scenario(s, share);
    balance_whole(share, s->nodes, total, count);
    for (int i = 0; i < s->nodes; i++)
        share[i] = (double)count[i] * s->nodes / total;
    s->share = share;
    return 0;
}

int demo_predict(const struct demo *d, const struct demo_run *run, int *count, struct outcome *out, struct err *e)
{
    struct predict_source source = {0};
    struct predict_ask ask = {.source = &source, .partner_scale = 1, .seed = 1};
    struct scenario s;
    double share[DEMO_RANKS_MAX];
    const char *path = json_string_value(json_object_get(run->alone, "saved"));
    if (predict_source_run(&source, json_incref(run->alone), path ? path : "", SCHEDULE_DDP, run->bucket_mib, false,
                           e)) {
        predict_source_fini(&source);
        return -1;
    }
    ask.link.model = run->link->model;
    predict_scenario(&s, &ask, d->nodes);
    s.optimizer_by_bucket = false; /* as a run with schedule ddp does it */
    if (run->slow > 0)
        s.slow_node_scale = run->slow;
    if (run->token_scale > 0)
        s.token_scale = run->token_scale;
    if (!d->options->peers || run->slow > 0) { /* who sleeps through computing loses nothing to communication */
        s.contention_scale = 0;
        s.link.busy_share = 0;
    }
    int result = count ? divide(&s, run->batch * d->nodes, count, share, e) : 0;
    if (result == 0)
        result = scenario_run(&s, out, e);
    predict_source_fini(&source);
    return result;
}
