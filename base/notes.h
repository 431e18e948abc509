/*
 * base/notes.h - warnings collected on the way, for the command line to show and the result to keep.
 *
 * Modules below cli/ never print: what the user should know but what is no failure is added here. The
 * same text is kept once; what is past the capacity is counted in dropped. One owner thread.
 */
#ifndef BASE_NOTES_H
#define BASE_NOTES_H

enum { NOTES_MAX = 32 };

struct notes {
    int n;
    int dropped;
    char text[NOTES_MAX][320];
};

void notes_add(struct notes *notes, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
