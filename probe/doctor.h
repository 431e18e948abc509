/*
 * probe/doctor.h - what stands between this machine and a good measurement, and what to do about it.
 *
 * One finding per thing that is looked at, from what probe_read() found and a few files more, all below the probe's root. A
 * finding that asks for attention has a remedy: a command or an act, as exact as the machine allows. What cannot be read is
 * `unknown` with the reason, never fine. Nothing is changed and nothing measured.
 */
#ifndef PROBE_DOCTOR_H
#define PROBE_DOCTOR_H

#include "probe/probe.h"

enum doctor_state {
    DOCTOR_FINE,
    DOCTOR_UNKNOWN,
    DOCTOR_ATTENTION,  /* measuring works, figures suffer */
    DOCTOR_IMPOSSIBLE, /* measuring does not work */
};

extern const char *const doctor_state_name[];

struct doctor_finding {
    const char *name;
    enum doctor_state state;
    char text[240];
    char remedy[320]; /* "" if there is nothing to do */
};

enum { DOCTOR_MAX = 40 };

struct doctor {
    int n;
    struct doctor_finding finding[DOCTOR_MAX];
};

/* Adds a finding and returns it, or the last place again if there are too many. */
struct doctor_finding *doctor_add(struct doctor *d, const char *name);

void doctor_say(struct doctor_finding *f, enum doctor_state state, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void doctor_remedy(struct doctor_finding *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Adds what the machine's files say. */
void doctor_examine(struct doctor *d, const struct probe *probe);

/* The gravest state. */
enum doctor_state doctor_worst(const struct doctor *d);

#endif
