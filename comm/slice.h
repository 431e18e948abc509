/*
 * comm/slice.h - how long this thread computes at a stretch, told to the kernel.
 *
 * A thread that sleeps on a socket and then works for some tens of microseconds loses little by short turns, and with them
 * the scheduler lets it run sooner when it wakes beside a thread that computes without pause (Linux 6.12 and later, EEVDF:
 * a shorter slice is an earlier deadline). Its share of the processor stays the same, so no permission is needed. Elsewhere
 * nothing happens. The calling thread only.
 */
#ifndef COMM_SLICE_H
#define COMM_SLICE_H

#include <stdint.h>

enum { SLICE_NS = 100000 }; /* the shortest that Linux grants */

/* Asks for it and returns the slice that the thread then has; 0: the kernel does not say, or the thread is not scheduled by
 * slices. */
uint64_t slice_shorten(void);

#endif
