/*
 * comm/link_motion.h - payload and marks in motion on one end of a link: one message, or a stream. Private to link.c.
 *
 * A mark is four bytes: its kind in the top byte, a number below. Marks of a node travel against the payload that it
 * receives, so they never stand behind its own.
 *
 *     go      the receiver is ready: payload may come
 *     ping    answered by pong at once
 *     done    the receiver has measured enough of a stream: the sender ends with the chunk it is at ...
 *     sent    ... and says how many chunks there were, so that the receiver knows when it has all of them
 *     end     nothing more comes of this node in this motion; both leave it after hearing that
 */
#ifndef COMM_LINK_MOTION_H
#define COMM_LINK_MOTION_H

#include "comm/link.h"

/* One ping-pong; rank 0's time goes to *time_s, rank 1 answers. */
int link_motion_ping(struct link *link, double *time_s, struct err *e);

/* One message in the order's directions; where it is received its time is appended to the result. */
int link_motion_message(struct link *link, const struct link_order *order, struct link_result *result, struct err *e);

/* window_ns becomes the window as this end saw it. */
int link_motion_stream(struct link *link, const struct link_order *order, struct link_result *result,
                       uint64_t window_ns[2], struct err *e);

struct link_cpu {
    uint64_t at_ns;
    double thread_s, process_s;
};

struct link_cpu link_cpu_now(void);
/* Fills cpu_window_s, cpu_s and process_cpu_s. */
void link_cpu_since(const struct link_cpu *from, struct link_result *result);

#endif
