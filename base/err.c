/* base/err.c - see err.h. Texts that do not fit are cut at the end, never in front. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    enum err_code code;
    const char *name;
} names[] = {
    {ERR_OK, "ok"},
    {ERR_REGRESSION, "regression"},
    {ERR_USAGE, "usage"},
    {ERR_DATA, "bad data"},
    {ERR_NO_INPUT, "missing file"},
    {ERR_NO_HOST, "unknown host"},
    {ERR_UNAVAILABLE, "unavailable"},
    {ERR_WRONG_RESULT, "wrong result"},
    {ERR_MEMORY, "out of memory"},
    {ERR_CANNOT_CREATE, "cannot create"},
    {ERR_IO, "input/output"},
    {ERR_PEER_LOST, "peer lost"},
    {ERR_PROTOCOL, "protocol"},
    {ERR_NOT_PAIRED, "not paired"},
    {ERR_CONFIG, "configuration"},
    {ERR_INTERRUPTED, "interrupted"},
};

int err_set(struct err *e, enum err_code code, const char *fmt, ...)
{
    if (!e)
        return -1;
    e->code = code;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(e->text, sizeof e->text, fmt, ap);
    va_end(ap);
    return -1;
}

int err_context(struct err *e, const char *fmt, ...)
{
    if (!e)
        return -1;
    char old[sizeof e->text];
    memcpy(old, e->text, sizeof old);
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(e->text, sizeof e->text, fmt, ap);
    va_end(ap);
    size_t used = n < 0 ? 0 : (size_t)n < sizeof e->text ? (size_t)n : sizeof e->text - 1, left = sizeof e->text - used;
    const char *const parts[] = {": ", old};
    for (int i = 0; i < 2; i++) {
        size_t length = strnlen(parts[i], left - 1);
        memcpy(e->text + used, parts[i], length);
        used += length;
        left -= length;
    }
    e->text[used] = '\0';
    return -1;
}

const char *err_code_name(enum err_code code)
{
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].code == code)
            return names[i].name;
    return "error";
}
