/* report/skim.c - see skim.h. pass() finds the end of a value, take() copies what is wanted of it; both return NULL where they give up. */
#include "report/skim.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { DEPTH_MAX = 64, PATH_BYTES = 160 };

struct skimmer {
    char *out; /* where the copy goes on */
    enum skim_need (*needs)(const char *path);
    char path[PATH_BYTES];
};

static const char *blank(const char *p)
{
    while (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r')
        p++;
    return p;
}

/* From an opening quote to behind the closing one. */
static const char *pass_string(const char *p)
{
    for (p++; *p != '"'; p++)
        if (!*p || (*p == '\\' && !*++p))
            return NULL;
    return p + 1;
}

/* From an opening bracket to behind its closing one. Runs of numbers, which are most of a document, are one strcspn(). */
static const char *pass_brackets(const char *p)
{
    uint64_t square = 0; /* a bit for each open bracket */
    int depth = 0;
    do {
        p += strcspn(p, "\"[]{}");
        if (*p == '"') {
            if (!(p = pass_string(p)))
                return NULL;
            continue;
        }
        if (*p == '[' || *p == '{') {
            if (++depth > DEPTH_MAX)
                return NULL;
            square = square << 1 | (*p == '[');
        } else if (*p && (*p == ']') == (square & 1)) {
            depth--;
            square >>= 1;
        } else {
            return NULL;
        }
        p++;
    } while (depth > 0);
    return p;
}

static const char *pass(const char *p)
{
    if (*p == '"')
        return pass_string(p);
    if (*p == '[' || *p == '{')
        return pass_brackets(p);
    size_t n = strcspn(p, ",:[]{}\" \n\t\r");
    return n > 0 ? p + n : NULL;
}

static const char *take(struct skimmer *s, const char *p, enum skim_need need, int depth);

static void put(struct skimmer *s, const char *from, const char *to)
{
    memcpy(s->out, from, (size_t)(to - from));
    s->out += to - from;
}

/* Behind a value: its list goes on (the next one's start in *p), or has ended. */
static bool another(const char **p, char close)
{
    *p = blank(*p);
    char c = **p;
    if (c == ',' || c == close) {
        *p = blank(*p + 1);
        return c == ',';
    }
    *p = NULL;
    return false;
}

static const char *take_members(struct skimmer *s, const char *p, int depth)
{
    size_t length = strlen(s->path);
    bool any = false, more = true;
    *s->out++ = '{';
    if (*(p = blank(p + 1)) == '}') {
        *s->out++ = '}';
        return p + 1;
    }
    while (more) {
        const char *key = p, *end = *p == '"' ? pass_string(p) : NULL;
        if (!end || memchr(key, '\\', (size_t)(end - key))) /* another spelling of a name is left to the parser */
            return NULL;
        int n = snprintf(s->path + length, sizeof s->path - length, "%s%.*s", length ? "." : "", (int)(end - key - 2),
                         key + 1);
        if (n < 0 || length + (size_t)n >= sizeof s->path || *(p = blank(end)) != ':')
            return NULL;
        p = blank(p + 1);
        enum skim_need need = s->needs(s->path);
        if (need == SKIM_NOT) {
            p = pass(p);
        } else {
            if (any)
                *s->out++ = ',';
            any = true;
            put(s, key, end);
            *s->out++ = ':';
            p = take(s, p, need, depth + 1);
        }
        s->path[length] = '\0';
        if (!p)
            return NULL;
        more = another(&p, '}');
    }
    *s->out++ = '}';
    return p;
}

static const char *take_elements(struct skimmer *s, const char *p, enum skim_need need, int depth)
{
    bool more = true;
    *s->out++ = '[';
    if (*(p = blank(p + 1)) == ']')
        p++;
    else
        while (more && p) {
            if (need == SKIM_COUNT) {
                *s->out++ = '0';
                p = pass(p);
            } else {
                p = take(s, p, need, depth + 1);
            }
            if (p && (more = another(&p, ']')))
                *s->out++ = ',';
        }
    *s->out++ = ']';
    return p;
}

static const char *take(struct skimmer *s, const char *p, enum skim_need need, int depth)
{
    if (depth > DEPTH_MAX)
        return NULL;
    if (need == SKIM_PART && *p == '{')
        return take_members(s, p, depth);
    if (need != SKIM_WHOLE && *p == '[')
        return take_elements(s, p, need, depth);
    const char *end = pass(p);
    if (end)
        put(s, p, end);
    return end;
}

bool skim(char *out, const char *text, enum skim_need (*needs)(const char *path))
{
    struct skimmer s = {.out = out, .needs = needs};
    const char *p = blank(text);
    if (*p != '{' || !(p = take_members(&s, p, 0)) || *blank(p))
        return false;
    *s.out = '\0';
    return true;
}
