/* cli/work_link.c - a link under measurement, see work.h: what both ends say first and last, and the serving end's part. */
#include <stdlib.h>

#include "cli/link_end.h"
#include "cli/link_load.h"
#include "cli/work.h"
#include "comm/wait.h"
#include "probe/probe.h"

enum { SAY_S = 60 };

/* Measurements follow orders that are judged one by one (link_order.h); the plan only says that both mean the same. */
json_t *work_link_plan(void)
{
    return json_pack("{s:s, s:i, s:i}", "work", "link", "chunk_bytes", LINK_CHUNK_BYTES, "largest_bytes",
                     LINK_BYTES_MAX);
}

int work_link_accept(const json_t *asked, const struct options *serving, json_t **own, struct err *e)
{
    (void)asked;
    (void)serving;
    *own = work_link_plan();
    return *own ? 0 : err_set(e, ERR_MEMORY, "out of memory");
}

struct serving_link {
    struct probe probe;
    struct notes notes;
    struct link_load load;
    struct link link;
    struct link_end end;
};

static int say_end(struct serving_link *w, struct session *session, struct err *e)
{
    link_end_read(&w->end, w->link.out_fd, &w->probe);
    return session_send(session, 0, link_end_message(&w->end), e);
}

int work_link_serve(struct session *session, const struct options *serving, struct err *e)
{
    struct serving_link *w = calloc(1, sizeof *w);
    if (!w)
        return err_set(e, ERR_MEMORY, "out of memory");
    int result = probe_read(&w->probe, NULL, serving->threads, &w->notes, e);
    link_load_init(&w->load, &w->probe, &w->notes);
    if (result == 0)
        result = link_open(&w->link, session, e);
    w->link.works = w->load.works;
    if (result == 0)
        result = say_end(w, session, e) || link_follow(&w->link, session, e) || say_end(w, session, e) ? -1 : 0;
    link_close(&w->link);
    link_load_fini(&w->load);
    probe_fini(&w->probe);
    free(w);
    return result;
}

int work_link_hear_end(struct session *session, struct link_end *end, struct err *e)
{
    json_t *message;
    if (session_receive(session, 0, "end", &message, wait_deadline(SAY_S), e))
        return -1;
    link_end_hear(end, message);
    json_decref(message);
    return 0;
}
