/* report/clean.c - see clean.h. */
#include "report/clean.h"

#include <stdbool.h>
#include <string.h>

/* Length of the character at s, by its first byte. What is no character is one byte. */
static size_t length_of(const unsigned char *s)
{
    size_t n = *s < 0xc2 ? 1 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : *s < 0xf5 ? 4 : 1;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 1;
    return n;
}

static unsigned long code_of(const unsigned char *s, size_t n)
{
    unsigned long c = n == 1 ? s[0] : n == 2 ? s[0] & 0x1fu : n == 3 ? s[0] & 0x0fu : s[0] & 0x07u;
    for (size_t i = 1; i < n; i++)
        c = c << 6 | (s[i] & 0x3fu);
    return c;
}

/* What shows nothing of its own, or changes how its neighbours are shown. */
static bool acts(unsigned long c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x61c || (c >= 0x200b && c <= 0x200f) ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
           (c >= 0xfff9 && c <= 0xfffb) || (c >= 0xe0000 && c <= 0xe007f);
}

static bool is_inert(const unsigned char *s, size_t n)
{
    return !(n == 1 && *s >= 0x80) && !acts(code_of(s, n));
}

void clean_put(FILE *f, const char *text)
{
    const unsigned char *s = (const unsigned char *)(text ? text : "");
    for (size_t n; *s; s += n) {
        n = length_of(s);
        if (is_inert(s, n))
            fwrite(s, 1, n, f);
        else
            fputc('?', f);
    }
}

const char *clean_text(char *buf, size_t size, const char *text)
{
    const unsigned char *s = (const unsigned char *)(text ? text : "");
    size_t used = 0;
    while (*s) {
        size_t n = length_of(s);
        bool inert = is_inert(s, n);
        if (used + (inert ? n : 1) >= size)
            break;
        if (inert)
            memcpy(buf + used, s, n);
        else
            buf[used] = '?';
        used += inert ? n : 1;
        s += n;
    }
    buf[used] = '\0';
    return buf;
}

/* Writes the cleaned text with some bytes replaced: to[i] for the byte from[i]. */
static void replace(FILE *f, const char *text, const char *from, const char *const *to)
{
    char clean[CLEAN_MAX];
    for (const char *c = clean_text(clean, sizeof clean, text); *c; c++) {
        const char *at = strchr(from, *c);
        if (at)
            fputs(to[at - from], f);
        else
            fputc(*c, f);
    }
}

void clean_html(FILE *f, const char *text)
{
    static const char *const to[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;", "&#96;"};
    replace(f, text, "&<>\"'`", to);
}

/* A leading apostrophe is what spreadsheets themselves use to mark text. */
void clean_csv(FILE *f, const char *text)
{
    static const char *const to[] = {"\"\""};
    char clean[CLEAN_MAX];
    clean_text(clean, sizeof clean, text);
    const char *first = clean + strspn(clean, " ");
    fputs(*first && strchr("=+-@|%", *first) ? "\"'" : "\"", f);
    replace(f, clean, "\"", to);
    fputc('"', f);
}

void clean_markdown(FILE *f, const char *text)
{
    static const char *const to[] = {"&#92;", "&#124;", "&#96;", "&#42;", "&#95;", "&lt;",  "&gt;",
                                     "&#91;", "&#93;",  "&amp;", "&#35;", "&#33;", "&#126;"};
    replace(f, text, "\\|`*_<>[]&#!~", to);
}

void clean_label(FILE *f, const char *text)
{
    static const char *const to[] = {"\\\\", "\\\""};
    replace(f, text, "\\\"", to);
}

void clean_gnuplot(FILE *f, const char *text)
{
    static const char *const to[] = {"''"};
    fputc('\'', f);
    replace(f, text, "'", to);
    fputc('\'', f);
}

/* Data files know no escape for a quote, and take a backslash for the begin of one. */
void clean_datum(FILE *f, const char *text)
{
    static const char *const to[] = {"'", "/"};
    fputc('"', f);
    replace(f, text, "\"\\", to);
    fputc('"', f);
}
