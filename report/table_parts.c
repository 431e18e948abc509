/* report/table_parts.c - what the sections of the tables share: see table_parts.h, and table.h for what others use too. */
#include "report/table_parts.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "report/clean.h"

/* ---- the page ---- */

bool table_open(struct table_page *p, const json_t *d, const struct table_style *style)
{
    *p = (struct table_page){.d = d, .bold = "", .dim = "", .alert = "", .plain = "", .unit = table_unit_for(1)};
    p->f = open_memstream(&p->text, &p->size);
    if (p->f && style->colour) {
        p->bold = "\033[1m";
        p->dim = "\033[2m";
        p->alert = "\033[33m";
        p->plain = "\033[0m";
    }
    return p->f != NULL;
}

char *table_close(struct table_page *p)
{
    if (fclose(p->f) == 0)
        return p->text;
    free(p->text);
    return NULL;
}

void table_put(struct table_page *p, const char *text)
{
    clean_put(p->f, text ? text : "?");
}

void table_label(struct table_page *p, const char *text)
{
    fprintf(p->f, "%s%-*s%s", p->bold, TABLE_LABEL_WIDTH, text, p->plain);
}

void table_duration(struct table_page *p, double seconds, int width)
{
    if (isfinite(seconds))
        fprintf(p->f, "%*.*f", width, p->unit.decimals, seconds * p->unit.per_second);
    else
        fprintf(p->f, "%*s", width, "-");
}

/* ---- the document ---- */

json_t *table_at(const json_t *o, ...)
{
    va_list ap;
    va_start(ap, o);
    json_t *value = (json_t *)o;
    for (const char *key; value && (key = va_arg(ap, const char *));)
        value = json_object_get(value, key);
    va_end(ap);
    return value;
}

double table_value(const json_t *value)
{
    return json_is_number(value) ? json_number_value(value) : NAN;
}

double table_num(const json_t *o, const char *a, const char *b)
{
    return table_value(table_at(o, a, b, NULL));
}

const char *table_text(const json_t *o, const char *key, const char *otherwise)
{
    const char *value = json_string_value(json_object_get(o, key));
    return value ? value : otherwise;
}

/* ---- figures ---- */

const char *table_number(char *buf, size_t size, double x)
{
    int decimals = 0;
    if (x != 0 && isfinite(x))
        decimals = 3 - (int)floor(log10(fabs(x)));
    if (decimals < 0)
        decimals = 0;
    snprintf(buf, size, "%.*f", decimals > 9 ? 9 : decimals, x);
    return buf;
}

const char *table_bytes(char *buf, size_t size, double bytes)
{
    static const char *const names[] = {"B", "kB", "MB", "GB", "TB"};
    int i = 0;
    while (i < 4 && bytes >= 999.5) {
        bytes /= 1000;
        i++;
    }
    char digits[48];
    snprintf(buf, size, "%s %s",
             i ? table_number(digits, sizeof digits, bytes) : (snprintf(digits, sizeof digits, "%.0f", bytes), digits),
             names[i]);
    return buf;
}

struct table_unit table_unit_for(double seconds)
{
    if (seconds >= 10)
        return (struct table_unit){"s", 1, 2};
    if (seconds >= 1)
        return (struct table_unit){"ms", 1e3, 1};
    if (seconds >= 1e-3)
        return (struct table_unit){"ms", 1e3, seconds >= 0.01 ? 2 : 3};
    return (struct table_unit){"µs", 1e6, seconds >= 1e-4 ? 1 : 2};
}

const char *table_seconds(char *buf, size_t size, double seconds)
{
    char digits[48];
    if (seconds >= 59.5) {
        long s = lround(seconds);
        if (s >= 3600)
            snprintf(buf, size, "%ld h %ld min", s / 3600, s % 3600 / 60);
        else if (s % 60 == 0)
            snprintf(buf, size, "%ld min", s / 60);
        else
            snprintf(buf, size, "%ld min %ld s", s / 60, s % 60);
        return buf;
    }
    if (seconds == floor(seconds)) { /* a plan, not a measurement */
        snprintf(buf, size, "%.0f s", seconds);
        return buf;
    }
    if (seconds >= 1) {
        snprintf(buf, size, "%s s", table_number(digits, sizeof digits, seconds));
        return buf;
    }
    struct table_unit u = table_unit_for(seconds);
    snprintf(buf, size, "%s %s", table_number(digits, sizeof digits, seconds * u.per_second), u.name);
    return buf;
}

const char *table_time(char *buf, double seconds)
{
    char digits[TABLE_CELL / 2];
    if (!isfinite(seconds))
        snprintf(buf, TABLE_CELL, "-");
    else if (seconds >= 1 || seconds <= 0)
        snprintf(buf, TABLE_CELL, "%s s", table_number(digits, sizeof digits, seconds));
    else
        snprintf(buf, TABLE_CELL, "%s ms", table_number(digits, sizeof digits, seconds * 1e3));
    return buf;
}

const char *table_rate(char *buf, size_t size, double x)
{
    char bits[48], bytes[48];
    if (!isfinite(x)) {
        snprintf(buf, size, "-");
        return buf;
    }
    if (x * 8 >= 9.995e9)
        snprintf(buf, size, "%s Gbit/s (%s/s)", table_number(bits, sizeof bits, x * 8e-9),
                 table_bytes(bytes, sizeof bytes, x));
    else
        snprintf(buf, size, "%s Mbit/s (%s/s)", table_number(bits, sizeof bits, x * 8e-6),
                 table_bytes(bytes, sizeof bytes, x));
    return buf;
}
