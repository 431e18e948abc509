/*
 * comm/link_order.h - what two ends of a link do next, and what each of them saw; both travel as messages of a session.
 *
 * An order comes from a peer that has proven its key and is still checked: every number has a range, so no message makes
 * this node take more memory or time than its own program would. Pure, any thread.
 */
#ifndef COMM_LINK_ORDER_H
#define COMM_LINK_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"

enum link_kind {
    LINK_PING,     /* 4 bytes there and back, repeats times, one after the other */
    LINK_MESSAGES, /* messages of so many bytes, each begun when the one before has arrived */
    LINK_STREAM,   /* without a gap: a warm-up that counts nowhere, then a window */
    LINK_REDUCE, /* all-reduce of so many bytes, checked, then timed repeats times, perhaps with computing beside it */
    LINK_KINDS
};

/* Directions of the payload. LINK_IDLE: a stream without any, to compute beside. */
enum link_mode { LINK_A_TO_B, LINK_B_TO_A, LINK_DUPLEX, LINK_IDLE, LINK_MODES };

extern const char *const link_kind_names[], *const link_mode_names[];

enum { LINK_REPEATS_MAX = 2000, LINK_BYTES_MAX = 64 * 1024 * 1024, LINK_WORK_BYTES = 24, LINK_THREADS_MAX = 4096 };
#define LINK_WINDOW_MAX_S 3600.0

struct link_order {
    enum link_kind kind;
    enum link_mode mode;
    uint64_t bytes;               /* of a message */
    int repeats;                  /* pings, messages, all-reduces */
    double warmup_s, window_s;    /* of a stream */
    double rate_bytes_per_s;      /* of a stream, each way; 0: as fast as it goes */
    double ping_gap_s;            /* of a stream: rank 0 pings so long after the last answer; 0: no pings */
    char work[LINK_WORK_BYTES];   /* computed meanwhile, or the back-end of an all-reduce; "": nothing */
    char beside[LINK_WORK_BYTES]; /* computed meanwhile where work names a back-end; "": nothing */
    int threads[2];               /* that rank 0 and rank 1 compute on */
};

/* What one end saw. */
struct link_result {
    int n;
    double *time_s;        /* owned: of each message it received, each ping it sent, each all-reduce */
    double window_s;       /* a stream's receiver, and idle: from the window's first arrival to its last */
    uint64_t window_bytes; /* that arrived in it */
    double cpu_window_s;   /* over which cpu_s and process_cpu_s were taken */
    double cpu_s;          /* of the thread that moved the bytes */
    double process_cpu_s;  /* of all threads, the computing ones too */
    uint64_t sent_bytes, received_bytes; /* in that window */
    uint64_t units;                      /* of work done in units_s; 0: nothing was computed or none fitted */
    double units_s;
    uint64_t wrong; /* elements of the checked sums that were not what they had to be */
};

json_t *link_order_json(const struct link_order *order);
/* ERR_PROTOCOL for whatever is out of range. */
int link_order_read(struct link_order *order, const json_t *message, struct err *e);

json_t *link_result_json(const struct link_result *result);
/* Checked against the order: at most repeats times (or LINK_REPEATS_MAX pings), finite and not negative. */
int link_result_read(struct link_result *result, const struct link_order *order, const json_t *message, struct err *e);
void link_result_fini(struct link_result *result);

#endif
