/*
 * base/err.h - one error: an exit code and one clear sentence.
 *
 * Every function that can fail returns 0 or -1 and fills the struct err given as its last argument.
 * The sentence is made where errno is known; callers add context on the way up with err_context().
 * Codes are the exit codes of the program, so nothing is translated at the top. Nothing below cli/
 * prints an error or exits. A struct err belongs to the thread that passed it.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

enum err_code {
    ERR_OK = 0,
    ERR_REGRESSION = 1,
    ERR_USAGE = 64,
    ERR_DATA = 65,
    ERR_NO_INPUT = 66,
    ERR_NO_HOST = 68,
    ERR_UNAVAILABLE = 69,
    ERR_WRONG_RESULT = 70,
    ERR_MEMORY = 71,
    ERR_CANNOT_CREATE = 73,
    ERR_IO = 74,
    ERR_PEER_LOST = 75,
    ERR_PROTOCOL = 76,
    ERR_NOT_PAIRED = 77,
    ERR_CONFIG = 78,
    ERR_INTERRUPTED = 130,
};

struct err {
    enum err_code code;
    char text[512];
};

/* Fills e (which may be NULL) and returns -1, so that `return err_set(...)` is the idiom. */
int err_set(struct err *e, enum err_code code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Puts "prefix: " before the sentence already in e; returns -1. */
int err_context(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The code's short name as it appears in JSON ("usage", "bad data", ...); never NULL. */
const char *err_code_name(enum err_code code);

#endif
