/*
 * comm/link_reduce.h - one line of an all-reduce table: checked once with inputs whose sum is exact, then timed, then
 * checked again.
 *
 * Rank r brings small whole numbers, so every sum is a whole number that single precision holds, whatever the order of
 * adding. The timed calls sum zeros, so that nothing grows from call to call; they move the same bytes. Works on any
 * transport. A back-end (backend.h) is opened by its first order and stays open until the link is closed.
 */
#ifndef COMM_LINK_REDUCE_H
#define COMM_LINK_REDUCE_H

#include "comm/link.h"
#include "comm/transport.h"

struct backend;

/* Whether two nodes that a session has joined can use this back-end: it exchanges something, and needs no launcher. */
bool link_reduce_can(const struct backend *backend);

/* LINK_REDUCE: order->work names the back-end. window_ns becomes what was timed, for link_busy_end(). With order->beside the
 * calls are those of training (overlap.h): from "ready" on the computing thread to the end on the communication thread. */
int link_reduce(struct link *link, const struct link_order *order, struct link_result *result, uint64_t window_ns[2],
                struct err *e);

void link_reduction_free(struct link *link);

/* On an open transport, for link_reduce and its tests. data: order->bytes. alter: an element that is changed before the
 * first check, to see that a wrong sum is noticed; -1: none. */
int link_reduce_on(struct transport *t, float *data, const struct link_order *order, int alter,
                   struct link_result *result, uint64_t window_ns[2], struct err *e);

#endif
