/*
 * base/step_word.h - what a rank says of its last step while the run goes on, for those who watch: not a measurement.
 */
#ifndef BASE_STEP_WORD_H
#define BASE_STEP_WORD_H

struct step_word {
    int done;       /* timed steps so far; 0: nothing to say yet */
    double work_s;  /* forward + backward + optimizer */
    double still_s; /* stood still for communication */
};

/* It comes from another process or node, which may say anything. */
static inline int step_word_is_sane(const struct step_word *w)
{
    return w->done > 0 && w->work_s >= 0 && w->work_s < 1e6 && w->still_s >= 0 && w->still_s < 1e6;
}

#endif
