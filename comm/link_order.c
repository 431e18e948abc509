/* comm/link_order.c - see link_order.h. */
#include "comm/link_order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const link_kind_names[] = {
    [LINK_PING] = "ping", [LINK_MESSAGES] = "messages", [LINK_STREAM] = "stream", [LINK_REDUCE] = "allreduce"};
const char *const link_mode_names[] = {
    [LINK_A_TO_B] = "a_to_b", [LINK_B_TO_A] = "b_to_a", [LINK_DUPLEX] = "duplex", [LINK_IDLE] = "idle"};

json_t *link_order_json(const struct link_order *o)
{
    return json_pack("{s:s, s:s, s:s, s:I, s:i, s:f, s:f, s:f, s:f, s:s, s:s, s:[i, i]}", "type", "order", "kind",
                     link_kind_names[o->kind], "mode", link_mode_names[o->mode], "bytes", (json_int_t)o->bytes,
                     "repeats", o->repeats, "warmup_s", o->warmup_s, "window_s", o->window_s, "rate_bytes_per_s",
                     o->rate_bytes_per_s, "ping_gap_s", o->ping_gap_s, "work", o->work, "beside", o->beside, "threads",
                     o->threads[0], o->threads[1]);
}

static int find(const json_t *value, const char *const *names, int n)
{
    const char *text = json_string_value(value);
    for (int i = 0; i < n; i++)
        if (text && strcmp(text, names[i]) == 0)
            return i;
    return -1;
}

static int read_int(const json_t *value, json_int_t low, json_int_t high, json_int_t *to)
{
    *to = json_integer_value(value);
    return json_is_integer(value) && *to >= low && *to <= high ? 0 : -1;
}

static int read_num(const json_t *o, const char *key, double low, double high, double *to)
{
    const json_t *value = json_object_get(o, key);
    *to = json_number_value(value);
    return json_is_number(value) && *to >= low && *to <= high ? 0 : -1;
}

int link_order_read(struct link_order *o, const json_t *m, struct err *e)
{
    int kind = find(json_object_get(m, "kind"), link_kind_names, LINK_KINDS);
    int mode = find(json_object_get(m, "mode"), link_mode_names, LINK_MODES);
    const char *work = json_string_value(json_object_get(m, "work"));
    const char *beside = json_string_value(json_object_get(m, "beside"));
    const json_t *threads = json_object_get(m, "threads");
    json_int_t bytes, repeats, thread[2];
    *o = (struct link_order){.kind = LINK_PING};
    if (kind < 0 || mode < 0 || !work || strlen(work) >= sizeof o->work || !beside ||
        strlen(beside) >= sizeof o->beside || read_int(json_object_get(m, "bytes"), 0, LINK_BYTES_MAX, &bytes) ||
        read_int(json_object_get(m, "repeats"), 0, LINK_REPEATS_MAX, &repeats) ||
        read_int(json_array_get(threads, 0), 0, LINK_THREADS_MAX, &thread[0]) ||
        read_int(json_array_get(threads, 1), 0, LINK_THREADS_MAX, &thread[1]) ||
        read_num(m, "warmup_s", 0, LINK_WINDOW_MAX_S, &o->warmup_s) ||
        read_num(m, "window_s", 0, LINK_WINDOW_MAX_S, &o->window_s) ||
        read_num(m, "rate_bytes_per_s", 0, 1e15, &o->rate_bytes_per_s) ||
        read_num(m, "ping_gap_s", 0, LINK_WINDOW_MAX_S, &o->ping_gap_s))
        return err_set(e, ERR_PROTOCOL, "an order that no link measurement gives");
    o->kind = (enum link_kind)kind;
    o->mode = (enum link_mode)mode;
    o->bytes = (uint64_t)bytes;
    o->repeats = (int)repeats;
    strcpy(o->work, work);
    strcpy(o->beside, beside);
    o->threads[0] = (int)thread[0];
    o->threads[1] = (int)thread[1];
    if ((kind == LINK_MESSAGES && (bytes == 0 || mode == LINK_IDLE)) || (kind == LINK_REDUCE && bytes % 4 != 0))
        return err_set(e, ERR_PROTOCOL, "an order for messages of %d bytes", (int)bytes);
    return 0;
}

json_t *link_result_json(const struct link_result *r)
{
    json_t *times = json_array();
    for (int i = 0; i < r->n; i++)
        json_array_append_new(times, json_num(r->time_s[i]));
    return json_pack("{s:s, s:o, s:f, s:I, s:f, s:f, s:f, s:I, s:I, s:I, s:f, s:I}", "type", "seen", "time_s", times,
                     "window_s", r->window_s, "window_bytes", (json_int_t)r->window_bytes, "cpu_window_s",
                     r->cpu_window_s, "cpu_s", r->cpu_s, "process_cpu_s", r->process_cpu_s, "sent_bytes",
                     (json_int_t)r->sent_bytes, "received_bytes", (json_int_t)r->received_bytes, "units",
                     (json_int_t)r->units, "units_s", r->units_s, "wrong", (json_int_t)r->wrong);
}

static int read_times(struct link_result *r, const json_t *times, size_t most)
{
    size_t n = json_array_size(times);
    if (!json_is_array(times) || n > most)
        return -1;
    r->time_s = calloc(n ? n : 1, sizeof *r->time_s);
    for (size_t i = 0; r->time_s && i < n; i++) {
        const json_t *value = json_array_get(times, i);
        r->time_s[i] = json_number_value(value);
        if (!json_is_number(value) || r->time_s[i] < 0)
            return -1;
        r->n++;
    }
    return r->time_s ? 0 : -1;
}

int link_result_read(struct link_result *r, const struct link_order *order, const json_t *m, struct err *e)
{
    static const json_int_t most = (json_int_t)1 << 60;
    json_int_t window, sent, received, units, wrong;
    size_t times = order->kind == LINK_STREAM ? LINK_REPEATS_MAX : (size_t)order->repeats;
    *r = (struct link_result){.n = 0};
    if (read_times(r, json_object_get(m, "time_s"), times) || read_num(m, "window_s", 0, 1e9, &r->window_s) ||
        read_num(m, "cpu_window_s", 0, 1e9, &r->cpu_window_s) || read_num(m, "cpu_s", 0, 1e9, &r->cpu_s) ||
        read_num(m, "process_cpu_s", 0, 1e9, &r->process_cpu_s) || read_num(m, "units_s", 0, 1e9, &r->units_s) ||
        read_int(json_object_get(m, "window_bytes"), 0, most, &window) ||
        read_int(json_object_get(m, "sent_bytes"), 0, most, &sent) ||
        read_int(json_object_get(m, "received_bytes"), 0, most, &received) ||
        read_int(json_object_get(m, "units"), 0, most, &units) ||
        read_int(json_object_get(m, "wrong"), 0, most, &wrong)) {
        link_result_fini(r);
        return err_set(e, ERR_PROTOCOL, "an answer that no link measurement gives");
    }
    r->window_bytes = (uint64_t)window;
    r->sent_bytes = (uint64_t)sent;
    r->received_bytes = (uint64_t)received;
    r->units = (uint64_t)units;
    r->wrong = (uint64_t)wrong;
    return 0;
}

void link_result_fini(struct link_result *r)
{
    free(r->time_s);
    *r = (struct link_result){.n = 0};
}
