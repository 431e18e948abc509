/*
 * base/footprint.h - what this process holds at an instant: resident memory and open descriptors.
 *
 * Two of them, a thousand steps apart, show whether something leaks. Not for use within a timed part. Any thread.
 */
#ifndef BASE_FOOTPRINT_H
#define BASE_FOOTPRINT_H

#include <stdint.h>

struct footprint {
    int64_t rss_bytes; /* -1: the kernel does not say */
    int fds;           /* -1: likewise */
};

struct footprint footprint_now(void);

#endif
