/*
 * cli/cmd_peers.c - the nodes this one knows: peers list, peers check NAME,..., peers forget NAME.
 *
 * Start at cmd_peers(). check sets up a whole session, pairing if need be, and has the ring's sockets prove themselves.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/node.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/work.h"

struct request { /* one use of the command */
    const struct invocation *in;
    struct options options;
    struct node node;
    const char *operand; /* NULL: none given */
};

static json_t *peer_json(const unsigned char *node)
{
    char hex[2 * GREETING_NODE_BYTES + 1];
    crypto_hex(hex, node, GREETING_NODE_BYTES);
    return json_pack("{s:s}", "node", hex);
}

/* ---- list ---- */

static int by_name(const void *a, const void *b)
{
    const struct keystore_peer *x = a, *y = b;
    return strcmp(x->names_n ? x->names[0] : "", y->names_n ? y->names[0] : "");
}

static char *list_text(const struct keystore_peer *peers, int n)
{
    char *text = NULL, hex[2 * GREETING_NODE_BYTES + 1];
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return NULL;
    if (n == 0)
        fprintf(f, "no paired nodes\n");
    for (int i = 0; i < n; i++) {
        crypto_hex(hex, peers[i].node, GREETING_NODE_BYTES);
        fprintf(f, "%s  since %s ", hex, peers[i].since);
        for (int k = 0; k < peers[i].names_n; k++)
            fprintf(f, " %s", peers[i].names[k]);
        fprintf(f, "\n");
    }
    return fclose(f) == 0 ? text : (free(text), NULL);
}

static json_t *list_json(const struct keystore_peer *peers, int n)
{
    json_t *d = output_document(), *list = json_array();
    for (int i = 0; i < n; i++) {
        json_t *o = peer_json(peers[i].node), *names = json_array();
        for (int k = 0; k < peers[i].names_n; k++)
            json_array_append_new(names, json_string(peers[i].names[k]));
        json_object_set_new(o, "names", names);
        json_object_set_new(o, "since", json_string(peers[i].since));
        json_array_append_new(list, o);
    }
    json_object_set_new(d, "command", json_string("peers"));
    json_object_set_new(d, "peers", list);
    return d;
}

static int deliver(const struct invocation *in, json_t *document, char *text)
{
    int code;
    if (in->json)
        code = output_json(in, document, ERR_OK);
    else if (text)
        code = output_text(in, text, ERR_OK);
    else
        code = output_fail(in, &(struct err){ERR_MEMORY, "out of memory"});
    free(text);
    return code;
}

static int list(struct request *r)
{
    struct err e;
    struct keystore_peer *peers = calloc(KEYSTORE_PEERS_MAX, sizeof *peers);
    if (!peers)
        return output_fail(r->in, &(struct err){ERR_MEMORY, "out of memory"});
    int n = keystore_list(&r->node.store, peers, KEYSTORE_PEERS_MAX, &e), code;
    if (n >= 0)
        qsort(peers, (size_t)n, sizeof *peers, by_name);
    if (n < 0)
        code = output_fail(r->in, &e);
    else
        code = deliver(r->in, r->in->json ? list_json(peers, n) : NULL, r->in->json ? NULL : list_text(peers, n));
    free(peers);
    return code;
}

/* ---- forget ---- */

static int forget(struct request *r)
{
    struct err e;
    char text[PEER_TEXT_BYTES + 64], name[PEER_TEXT_BYTES];
    if (keystore_forget(&r->node.store, r->operand, &e))
        return output_fail(r->in, &e);
    peer_text_clean(name, sizeof name, r->operand);
    if (!r->in->json) {
        snprintf(text, sizeof text, "forgotten: %s; pairing again takes a new code\n", name);
        return output_text(r->in, text, ERR_OK);
    }
    json_t *d = output_document();
    json_object_set_new(d, "command", json_string("peers"));
    json_object_set_new(d, "forgotten", json_string(name));
    return output_json(r->in, d, ERR_OK);
}

/* ---- check ---- */

static char *check_text(const struct session *s, double barrier_s)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return NULL;
    fprintf(f, "%d nodes, ring closed, sums right; a barrier takes %.0f us\n", s->world, barrier_s * 1e6);
    fprintf(f, "rank 0  this node, %s\n", s->local_addr);
    for (int i = 0; i < s->peers_n; i++)
        fprintf(f, "rank %d  %s, %s\n", i + 1, s->peers[i].name, s->peers[i].address);
    return fclose(f) == 0 ? text : (free(text), NULL);
}

static json_t *check_json(const struct session *s, double barrier_s)
{
    json_t *d = output_document(), *list = json_array();
    json_object_set_new(d, "command", json_string("peers"));
    json_object_set_new(d, "world", json_integer(s->world));
    json_object_set_new(d, "local_addr", json_string(s->local_addr));
    json_object_set_new(d, "same_host", json_boolean(s->same_host));
    json_object_set_new(d, "barrier_s", json_num(barrier_s));
    for (int i = 0; i < s->peers_n; i++) {
        json_t *o = peer_json(s->peers[i].node);
        json_object_set_new(o, "name", json_string(s->peers[i].name));
        json_object_set_new(o, "address", json_string(s->peers[i].address));
        json_array_append_new(list, o);
    }
    json_object_set_new(d, "peers", list);
    return d;
}

static int check(struct request *r)
{
    static struct peer_list peers;
    static struct session session;
    struct err e;
    double barrier_s = NAN;
    const struct options *o = &r->options;
    struct session_options call = node_call(&r->node, o);
    int result = peer_list_parse(&peers, r->operand, o->test_this_host, &e), code;
    call.peers = &peers;
    call.plan = work_check_plan(o->encrypt);
    if (result == 0)
        result = node_connect(&session, &call, &e);
    json_decref(call.plan);
    if (result == 0)
        result = work_check_call(&session, o->seconds, &barrier_s, &e);
    if (result)
        code = output_fail(r->in, &e);
    else
        code = deliver(r->in, r->in->json ? check_json(&session, barrier_s) : NULL,
                       r->in->json ? NULL : check_text(&session, barrier_s));
    session_close(&session, result ? &e : NULL);
    return code;
}

/* ---- the command ---- */

static const struct verb {
    const char *name, *operand; /* operand NULL: takes none */
    int (*function)(struct request *r);
} verbs[] = {{"list", NULL, list}, {"check", "NAME[,NAME...]", check}, {"forget", "NAME", forget}, {NULL, NULL, NULL}};

/* The verb and its operand, which stand before the options; list if there is none. */
static const struct verb *parse(struct request *r, int *words, struct err *e)
{
    const struct invocation *in = r->in;
    const struct verb *v = verbs;
    *words = 0;
    if (in->argc < 2 || in->argv[1][0] == '-')
        return v;
    for (; v->name && strcmp(v->name, in->argv[1]) != 0; v++)
        ;
    *words = 1;
    if (!v->name) {
        err_set(e, ERR_USAGE, "unknown word '%.80s'; peers takes list, check or forget", in->argv[1]);
        return NULL;
    }
    if (!v->operand)
        return v;
    bool help = in->argc > 2 && (strcmp(in->argv[2], "--help") == 0 || strcmp(in->argv[2], "-h") == 0);
    if (help)
        return v;
    if (in->argc < 3 || in->argv[2][0] == '-') {
        err_set(e, ERR_USAGE, "peers %s needs %s", v->name, v->operand);
        return NULL;
    }
    r->operand = in->argv[2];
    *words = 2;
    return v;
}

int cmd_peers(const struct invocation *in)
{
    static struct request r;
    struct err e;
    int words;
    r.in = in;
    const struct verb *v = parse(&r, &words, &e);
    if (!v || options_parse(&r.options, OPTIONS_PEERS, in->argc - words, in->argv + words, &e))
        return output_fail(in, &e);
    if (r.options.help || r.options.version)
        return output_help(in, &r.options, OPTIONS_PEERS,
                           "The nodes this one is paired with.\n\n"
                           "  peers list                   who they are\n"
                           "  peers check NAME[,NAME...]   reach them, pairing if need be, and try a run's sockets\n"
                           "  peers forget NAME            drop a key\n");
    if (node_open(&r.node, in->program, &r.options, &e)) {
        node_close(&r.node);
        return output_fail(in, &e);
    }
    int code = v->function(&r);
    node_close(&r.node);
    return code;
}
