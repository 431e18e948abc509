/*
 * report/trace.h - the timeline of a run as a file for trace viewers (Perfetto, chrome://tracing).
 *
 * The format is Chrome's Trace Event Format, JSON object form. A rank is a process; its lanes are steps, compute,
 * communication, optimizer and waiting. Slices on compute, optimizer and waiting that have the category "part" are the
 * step, without gap or overlap; layers lie inside them. Every bucket is a slice with its bytes and times, an arrow
 * leads to it from the instant at which it was ready, and another one to the same bucket of the next rank. Timestamps are
 * microseconds with three decimals, from the first kept step on, in order.
 *
 * Ranks' clocks are brought together by the offset that was measured (nodes[].clock_offset_s and so on); for a rank
 * without one each step is put where rank 0's begins, and the metadata ("otherData") says so. Durations are of one clock.
 */
#ifndef REPORT_TRACE_H
#define REPORT_TRACE_H

#include "base/err.h"
#include "base/json.h"

/* The text, to be freed. ERR_DATA names what is missing or impossible in the run; ERR_MEMORY. */
char *trace_render(const json_t *run, struct err *e);

#endif
