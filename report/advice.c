/* report/advice.c - see advice.h. A rule is a function and a row in rules[]; their order is the order of the page. */
#include "report/advice.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/clean.h"
#include "report/fields.h"
#include "report/table.h"
#include "report/table_parts.h"
#include "report/verdict.h"

/* From here on a part of the step, a difference or a gain is worth a word. */
#define WORTH 1.03
#define LARGE_SHARE 0.25
#define SMALL_RATE_SHARE 0.4
enum { FEW_STEPS = 5 };

static struct advice_item *add(struct advice *a, const char *head)
{
    static struct advice_item spare;
    struct advice_item *item = a->n < ADVICE ? &a->item[a->n++] : &spare;
    *item = (struct advice_item){.head = ""};
    snprintf(item->head, sizeof item->head, "%s", head);
    return item;
}

static void say(struct advice_item *item, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void say(struct advice_item *item, const char *fmt, ...)
{
    size_t n = strlen(item->detail);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(item->detail + n, sizeof item->detail - n, fmt, ap);
    va_end(ap);
}

static double median(const json_t *d, const char *key)
{
    return table_value(table_at(d, "summary", key, "median", NULL));
}

/* ---- what makes the figures less than they seem ---- */

static void disturbed(struct advice *a, const json_t *d, const struct outlook *o)
{
    double n = table_value(table_at(d, "summary", "step_s", "n", NULL)), held = table_num(d, "throttled_periods", NULL);
    (void)o;
    if (held > 0)
        say(add(a, "Give the run the whole processor"),
            "The CPU quota of its group held it back in %.0f periods; figures mix computing with standing still.",
            held);
    if (json_is_true(json_object_get(d, "unsteady")))
        say(add(a, "Measure again when the machine is quiet"),
            "The steps of the second half are not those of the first: %.4g s against %.4g s. Heat, other programs or a "
            "battery "
            "profile do that; the medians are of both.",
            table_num(d, "halves", "second_step_s"), table_num(d, "halves", "first_step_s"));
    if (n >= 1 && n < FEW_STEPS) {
        struct advice_item *item = add(a, "Time more steps");
        say(item, "The medians rest on %.0f step%s.", n, n > 1 ? "s" : "");
        snprintf(item->option, sizeof item->option, "--steps 20");
    }
}

/* What each node was found to lack while it ran, with its remedy. */
static void findings(struct advice *a, const json_t *d, const struct outlook *o)
{
    json_t *nodes = json_object_get(d, "nodes"), *node, *f;
    size_t i, k;
    (void)o;
    json_array_foreach(nodes, i, node)
    {
        json_t *list = table_at(node, "health", "findings", NULL);
        json_array_foreach(list, k, f)
        {
            char name[80], head[120], text[240], rest[200], detail[480];
            const char *remedy = json_string_value(json_object_get(f, "remedy"));
            if (!remedy || k == 3) /* the gravest come first */
                break;
            snprintf(head, sizeof head, "Measure better on %s",
                     clean_text(name, sizeof name, json_string_value(json_object_get(node, "name"))));
            clean_text(text, sizeof text, json_string_value(json_object_get(f, "reason")));
            *text = (char)toupper((unsigned char)*text);
            snprintf(detail, sizeof detail, "%s: %s.", text, clean_text(rest, sizeof rest, remedy));
            struct advice_item *same = NULL; /* was told of another node: one item for both */
            for (int m = 0; m < a->n && !same; m++)
                same = strcmp(a->item[m].detail, detail) == 0 ? &a->item[m] : NULL;
            if (same)
                snprintf(same->head + strlen(same->head), sizeof same->head - strlen(same->head), ", %s", name);
            else
                say(add(a, head), "%s", detail);
        }
    }
}

static void one_host(struct advice *a, const json_t *d, const struct outlook *o)
{
    (void)o;
    double world = table_num(d, "world", NULL);
    if (world > 1 && json_is_true(json_object_get(d, "same_host"))) {
        struct advice_item *item = add(a, "Run it with a second machine");
        say(item,
            "These %.0f ranks divide one host's processors and memory, so their speed-up is not that of %.0f machines.",
            world, world);
        snprintf(item->option, sizeof item->option, "--peers HOST");
    } else if (world < 2) {
        struct advice_item *item = add(a, "Measure the link, then train with the second node");
        say(item, "The speed-up here is predicted from this node alone; a measured link narrows it, and a run with the "
                  "peer settles "
                  "it.");
        snprintf(item->option, sizeof item->option, "--peers HOST");
    }
}

/* ---- who holds up ---- */

static void straggler(struct advice *a, const json_t *d, const struct outlook *o)
{
    const json_t *s = table_at(d, "communication", "straggler", NULL), *nodes = json_object_get(d, "nodes");
    double rank = table_num(s, "rank", NULL), own = table_num(s, "compute_s", NULL),
           others = table_num(s, "others_s", NULL);
    char name[96];
    (void)o;
    if (!(rank >= 0 && rank < (double)json_array_size(nodes)) || !(own > others))
        return;
    const json_t *node = json_array_get(nodes, (size_t)rank);
    struct advice_item *item = add(a, "Give the slowest node less to do");
    say(item, "Rank %.0f (%s) computes %.0f %% longer than the slowest of the others, and all wait for it.", rank,
        clean_text(name, sizeof name, json_string_value(json_object_get(node, "name"))), 100 * (own / others - 1));
    size_t n = json_array_size(nodes), used = (size_t)snprintf(item->option, sizeof item->option, "--shares ");
    double slowest = INFINITY;
    for (size_t i = 0; i < n; i++)
        slowest = fmin(slowest, table_num(json_array_get(nodes, i), "alone_tokens_per_s", NULL));
    bool known = n > 0 && n <= 8 && isfinite(slowest) && slowest > 0;
    for (size_t i = 0; known && i < n; i++) {
        double share = table_num(json_array_get(nodes, i), "alone_tokens_per_s", NULL) / slowest;
        known = isfinite(share) && share < 1000;
        if (known)
            used +=
                (size_t)snprintf(item->option + used, sizeof item->option - used, "%s%.0f", i ? ":" : "", 10 * share);
        if (used >= sizeof item->option)
            known = false;
    }
    if (!known)
        snprintf(item->option, sizeof item->option, "--shares A:B");
}

/* ---- what is not hidden ---- */

/* The embedding of the tokens, which is tied to the head: part of its gradient is there when backward begins. */
static double tied_bytes(const json_t *d)
{
    const json_t *tensor;
    size_t i;
    json_array_foreach(json_object_get(d, "gradients"), i, tensor)
    {
        const char *name = json_string_value(json_object_get(tensor, "name"));
        if (name && strcmp(name, "wte.weight") == 0)
            return table_num(tensor, "bytes", NULL);
    }
    return 0;
}

/* Only where the embedding is most of that bucket: in a model with few symbols it is next to nothing. */
static void last_bucket(struct advice *a, const json_t *d, const struct outlook *o)
{
    const json_t *c = json_object_get(d, "communication"), *list = json_object_get(c, "buckets");
    const char *schedule = json_string_value(json_object_get(c, "schedule"));
    double exposed = table_num(c, "exposed_s", NULL), step = median(d, "step_s");
    size_t n = json_array_size(list);
    char size[48], still[48];
    (void)o;
    if (n < 2 || !schedule || strcmp(schedule, "ddp") != 0 || !(exposed > 0.05 * step))
        return;
    const json_t *last = json_array_get(list, n - 1);
    double bytes = table_num(last, "bytes", NULL), all = table_num(d, "model", "gradient_bytes");
    double end = table_num(last, "end_s", "median"), ready = table_num(last, "ready_s", "median");
    if (!(bytes > LARGE_SHARE * all) || !(end > ready) || !(tied_bytes(d) > bytes / 2))
        return;
    struct advice_item *item = add(a, "Send the tied embedding's gradient in two parts");
    say(item,
        "The last bucket has %s, %.0f %% of all bytes, and is ready only when backward ends; the step stands still for "
        "%s.",
        table_bytes(size, sizeof size, bytes), 100 * bytes / all,
        field_format(still, sizeof still, UNIT_SECONDS, exposed));
    snprintf(item->option, sizeof item->option, "--schedule split");
}

/* A single change in words, and how to try it: with a run where a run can do it, else with a prediction, which starts from a run
 * of one node. */
static void word_change(struct advice_item *item, const char *name, const json_t *d, const struct outlook *o)
{
    const char *value = strchr(name, '=') ? strchr(name, '=') + 1 : "";
    bool run = document_kind(d) == DOCUMENT_RUN, alone = table_num(d, "world", NULL) < 2;
    double times = atof(value), batch = table_num(d, "model", "batch"), accum = table_num(d, "model", "accum");
    double threads = table_num(json_array_get(json_object_get(d, "nodes"), 0), "threads", NULL);
    size_t head = sizeof item->head, option = sizeof item->option;
    double mbit = o->link_bytes_per_s * times * 8e-6;
    if ((!run || alone) && *value) /* the runs below say it better */
        snprintf(item->option, option, "predict --what-if %.60s", name);
    if (strncmp(name, "bw=", 3) == 0) {
        snprintf(item->head, head, "A link %g times as fast", times);
        if (*item->option && mbit > 1e-3 && mbit < 1e6) /* whichever link is assumed there */
            snprintf(item->option, option, "predict --what-if bw=%.6gMbit", mbit);
    } else if (strncmp(name, "tokens=", 7) == 0) {
        snprintf(item->head, head, "%g times the tokens per micro-batch", times);
        if (run && isfinite(batch))
            snprintf(item->option, option, "--batch %.0f", batch * times);
    } else if (strncmp(name, "accum=", 6) == 0) {
        snprintf(item->head, head, "%g times the micro-batches per update", times);
        if (run && isfinite(accum))
            snprintf(item->option, option, "--accum %.0f", accum * times);
    } else if (strcmp(name, "wire=bf16") == 0) {
        snprintf(item->head, head, "Gradients of half the bytes on the wire");
    } else if (strncmp(name, "reserve-core", 12) == 0) {
        snprintf(item->head, head, "A core kept for communication");
        if (run && threads > 1)
            snprintf(item->option, option, "--threads %.0f", threads - 1);
    } else if (strcmp(name, "optimizer=bucket") == 0) {
        snprintf(item->head, head, "The optimizer bucket by bucket");
        if (!*item->option)
            snprintf(item->option, option, "--optimizer-per-bucket yes");
    } else if (strncmp(name, "schedule=", 9) == 0) {
        snprintf(item->head, head, "Schedule %.40s", value);
        snprintf(item->option, option, "--schedule %.40s", value);
    } else {
        snprintf(item->head, head, "%.100s", name);
    }
}

static void change(struct advice *a, const json_t *d, const struct outlook *o)
{
    char rate[96];
    if (o->changes > 0 && o->now < 1 && isfinite(o->even_bytes_per_s) && o->even_bytes_per_s > o->link_bytes_per_s)
        say(add(a, "A faster link"), "%d nodes are predicted to be as fast as one from %s on; this is %s.", o->pair,
            table_rate(rate, sizeof rate, o->even_bytes_per_s), o->link);
    if (o->changes > 0 && o->now < 1 && isfinite(o->even_tokens))
        say(add(a, "More tokens between updates"),
            "%d nodes are predicted to be as fast as one from %.0f tokens per node and step on.", o->pair,
            o->even_tokens);
    for (int i = 0, told = 0; i < o->changes && told < 3; i++) {
        const struct outlook_change *c = &o->change[i];
        if (!(c->speedup.median > o->now * WORTH))
            break;
        struct advice_item *item = add(a, "");
        word_change(item, c->name, d, o);
        say(item, "Predicted for %d nodes: %.2f times as fast as the fastest alone, in place of %.2f%s.", o->pair,
            c->speedup.median, o->now, c->flips ? "; that would turn the verdict" : "");
        told++;
    }
}

/* ---- computing ---- */

static void slow_computing(struct advice *a, const json_t *d, const struct outlook *o)
{
    double share = table_num(d, "summary", "share_of_product_rate"), ratio = table_num(d, "floor", "ratio");
    (void)o;
    const char *core = json_string_value(table_at(d, "blas", "core", NULL)), *best = NULL;
    double rate = 0, now = table_num(d, "blas", "gflops");
    json_t *list = table_at(d, "blas", "candidates", NULL), *c;
    size_t i;
    json_array_foreach(list, i, c)
    {
        if (table_num(c, "gflops", NULL) > rate) {
            rate = table_num(c, "gflops", NULL);
            best = json_string_value(json_object_get(c, "core"));
        }
    }
    char name[48];
    if (core && best && rate > 1.1 * now && strcmp(core, best) != 0)
        say(add(a, "Let the program choose the kernel of matrix products"), "%s was faster: %.0f GFLOP/s against %.0f.",
            clean_text(name, sizeof name, best), rate, now);
    if (share > 0 && share < SMALL_RATE_SHARE && !(ratio < 1.5)) {
        struct advice_item *item = add(a, "Larger batches, if memory allows");
        say(item, "A step reaches %.0f %% of the rate of large matrix products", 100 * share);
        if (isfinite(ratio))
            say(item, " and takes %.2f times as long as its products alone", ratio);
        say(item, ": small matrices and everything between them take the rest.");
        snprintf(item->option, sizeof item->option, "--batch %.0f", 2 * fmax(1, table_num(d, "model", "batch")));
    }
}

/* ---- links ---- */

static void of_link(struct advice *a, const json_t *d)
{
    const json_t *l = json_object_get(d, "link"), *ends = json_object_get(l, "ends");
    static const char *const key[] = {"a", "b"};
    double rate = table_num(l, "rate_bytes_per_s", NULL);
    char text[96];
    for (int i = 0; i < 2; i++) {
        const json_t *e = json_object_get(ends, key[i]);
        double nominal = table_num(e, "nominal_bytes_per_s", NULL), again = table_num(e, "retransmits", NULL);
        const char *kind = json_string_value(json_object_get(e, "interface_kind"));
        if (kind && strcmp(kind, "wireless") == 0)
            say(add(a, i ? "A cable at B" : "A cable at A"), "%s",
                "The interface is wireless: both directions and all nodes share the air, and its rate varies by the "
                "hour.");
        bool virtual = kind && strcmp(kind, "virtual") == 0; /* what it names is nobody's rate */
        if (isfinite(nominal) && !virtual && rate < 0.7 * nominal)
            say(add(a, i ? "Look for what slows B's interface" : "Look for what slows A's interface"),
                "The link gives %.0f %% of the %s that the interface names.", 100 * rate / nominal,
                table_rate(text, sizeof text, nominal));
        if (again > 100)
            say(add(a, i ? "Look at the cable or the switch: B sends again"
                         : "Look at the cable or the switch: A sends again"),
                "%.0f segments had to be sent a second time.", again);
    }
    struct advice_item *item = add(a, "Ask what it brings");
    say(item, "A run of one node and this file say what a second node brings over this link.");
    snprintf(item->option, sizeof item->option, "predict --link-run FILE");
}

void advice_make(struct advice *a, const json_t *d, const struct outlook *o)
{
    static void (*const rules[])(struct advice *, const json_t *, const struct outlook *) = {
        disturbed, findings, straggler, last_bucket, change, slow_computing, one_host};
    *a = (struct advice){0};
    enum document_kind kind = document_kind(d);
    if (kind == DOCUMENT_LINK)
        of_link(a, d);
    if (kind == DOCUMENT_PREDICTION)
        change(a, d, o);
    for (size_t i = 0; kind == DOCUMENT_RUN && i < sizeof rules / sizeof *rules; i++)
        rules[i](a, d, o);
}
