/*
 * probe/reasons.h - why a value is unknown, by the value's path in the JSON document.
 *
 * A missing sensor is a null with a reason, never 0 and never an error. Entries past the capacity are left
 * out: their values are still null.
 */
#ifndef PROBE_REASONS_H
#define PROBE_REASONS_H

enum { REASONS_MAX = 48 };

struct reasons {
    int n;
    struct {
        char path[48];
        char text[240];
    } entry[REASONS_MAX];
};

/* The first reason given for a path stays. */
void reasons_add(struct reasons *reasons, const char *path, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* NULL if there is none. */
const char *reasons_find(const struct reasons *reasons, const char *path);

#endif
