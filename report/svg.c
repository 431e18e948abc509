/* report/svg.c - see svg.h. A scan over tags: attributes are rewritten one by one, text between tags is passed on. */
#include "config.h" /* _GNU_SOURCE, for memmem and strcasestr */

#include "report/svg.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "report/clean.h"

/* Whether a text holds a word, whatever its case. */
static bool has(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (; *text; text++)
        if (strncasecmp(text, word, n) == 0)
            return true;
    return false;
}

static int check(const char *svg, struct err *e)
{
    static const char *const refused[] = {"<script", "<foreignObject", "<iframe",  "<image", "<a ",
                                          "<style",  "<!ENTITY",       "<animate", "<set "};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (has(svg, refused[i]))
            return err_set(e, ERR_DATA, "the picture holds %s", refused[i] + (refused[i][0] == '<'));
    return 0;
}

struct attribute {
    const char *name, *value;
    size_t name_length, value_length;
    char quote;
};

/* The next attribute at *at, up to the tag's end; false if there is none. */
static bool next_attribute(const char **at, const char *end, struct attribute *a)
{
    const char *p = *at;
    while (p < end && (strchr(" \t\r\n/", *p)))
        p++;
    a->name = p;
    while (p < end && !strchr("= \t\r\n", *p))
        p++;
    a->name_length = (size_t)(p - a->name);
    while (p < end && strchr(" \t\r\n", *p))
        p++;
    if (a->name_length == 0 || p >= end || *p != '=')
        return false;
    p++;
    while (p < end && strchr(" \t\r\n", *p))
        p++;
    if (p >= end || (*p != '"' && *p != '\''))
        return false;
    a->quote = *p++;
    a->value = p;
    while (p < end && *p != a->quote)
        p++;
    a->value_length = (size_t)(p - a->value);
    *at = p < end ? p + 1 : end;
    return p < end;
}

static bool is(const struct attribute *a, const char *name)
{
    return a->name_length == strlen(name) && strncmp(a->name, name, a->name_length) == 0;
}

static bool valued(const struct attribute *a, const char *value)
{
    return a->value_length == strlen(value) && strncmp(a->value, value, a->value_length) == 0;
}

/* false: an attribute that has no place in a picture of ours. */
static bool write_attribute(FILE *f, const struct attribute *a, const char *prefix)
{
    bool paint = is(a, "stroke") || is(a, "fill") || is(a, "color");
    if (a->name_length > 2 && strncasecmp(a->name, "on", 2) == 0)
        return false;
    if (is(a, "id"))
        fprintf(f, " id=\"%s-%.*s\"", prefix, (int)a->value_length, a->value);
    else if (is(a, "xlink:href") || is(a, "href")) {
        if (a->value[0] != '#')
            return false;
        fprintf(f, " href=\"#%s-%.*s\"", prefix, (int)a->value_length - 1, a->value + 1);
    } else if (a->value_length > 6 && strncmp(a->value, "url(#", 5) == 0)
        fprintf(f, " %.*s=\"url(#%s-%.*s\"", (int)a->name_length, a->name, prefix, (int)a->value_length - 5,
                a->value + 5);
    else if (memmem(a->value, a->value_length, "url(", 4))
        return false;
    else if (is(a, "color") && valued(a, "black"))
        return true; /* inherited: the text's */
    else if (paint && (valued(a, "black") || valued(a, "rgb(  0,   0,   0)") || valued(a, "#000000")))
        fprintf(f, " %.*s=\"currentColor\"", (int)a->name_length, a->name);
    else
        fprintf(f, " %.*s=%c%.*s%c", (int)a->name_length, a->name, a->quote, (int)a->value_length, a->value, a->quote);
    return true;
}

/* One tag, from behind its '<' to its '>'; skip: inside <title> or <desc>. */
static bool write_tag(FILE *f, const char *tag, const char *end, const char *prefix)
{
    size_t name = strcspn(tag, " \t\r\n/>");
    const char *at = tag + name;
    struct attribute a;
    fprintf(f, "<%.*s", (int)name, tag);
    while (next_attribute(&at, end, &a))
        if (!write_attribute(f, &a, prefix))
            return false;
    fputs(end[-1] == '/' ? "/>" : ">", f);
    return true;
}

/* The first rectangle is the background. */
static bool is_background(const char *tag, const char *end)
{
    char text[160];
    snprintf(text, sizeof text, "%.*s", (int)(end - tag), tag);
    return strncmp(text, "rect ", 5) == 0 && strstr(text, "x=\"0\" y=\"0\"") && strcasestr(text, "#ffffff");
}

/* Behind the end of a group that holds nothing, of which gnuplot writes hundreds; NULL: it is none. */
static const char *behind_empty(const char *tag, const char *end)
{
    const char *next = end + 1 + strspn(end + 1, " \t\r\n");
    bool group = tag[0] == 'g' && strchr(" \t\r\n>", tag[1]) && end[-1] != '/';
    return group && strncmp(next, "</g>", 4) == 0 ? next + 4 : NULL;
}

static bool body(FILE *f, const char *at, const char *prefix)
{
    bool background = false;
    while (*at) {
        size_t text = strcspn(at, "<");
        if (strspn(at, " \t\r\n") < text)
            fwrite(at, 1, text, f);
        at += text;
        if (!*at)
            return false; /* no </svg> */
        const char *tag = at + 1, *end = strchr(tag, '>');
        if (!end || *tag == '!' || *tag == '?')
            return false;
        if (strncmp(tag, "/svg", 4) == 0) {
            fputs("</svg>\n", f);
            return true;
        }
        at = behind_empty(tag, end);
        if (at)
            continue;
        at = end + 1;
        if (strncmp(tag, "title>", 6) == 0 || strncmp(tag, "desc>", 5) == 0) {
            const char *close = strstr(at, tag[0] == 't' ? "</title>" : "</desc>");
            if (!close)
                return false;
            at = strchr(close, '>') + 1;
        } else if (!background && is_background(tag, end)) {
            background = true;
        } else if (*tag == '/') {
            fprintf(f, "<%.*s>", (int)(end - tag), tag);
        } else if (!write_tag(f, tag, end, prefix)) {
            return false;
        }
    }
    return false;
}

static int view_box(const char *svg, int *width, int *height)
{
    const char *box = strstr(svg, "viewBox=\"0 0 ");
    return box && sscanf(box + strlen("viewBox=\"0 0 "), "%d %d", width, height) == 2 ? 0 : -1;
}

char *svg_inline(const char *svg, const char *prefix, const char *label, struct err *e)
{
    char *text = NULL;
    size_t size = 0;
    int width, height;
    const char *start = strstr(svg, "<svg"), *open = start ? strchr(start, '>') : NULL;
    if (!open || view_box(start, &width, &height)) {
        err_set(e, ERR_DATA, "the picture is no SVG of gnuplot's");
        return NULL;
    }
    if (check(svg, e))
        return NULL;
    FILE *f = open_memstream(&text, &size);
    if (!f) {
        err_set(e, ERR_MEMORY, "no memory for a picture");
        return NULL;
    }
    fprintf(f, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", width, height);
    clean_html(f, label);
    fprintf(f, "\" xmlns=\"http://www.w3.org/2000/svg\">");
    bool good = body(f, open + 1, prefix);
    if (fclose(f) == 0 && good)
        return text;
    free(text);
    err_set(e, ERR_DATA, "the picture is not as gnuplot draws it");
    return NULL;
}
