/* base/units.c - see units.h. The tables are the grammar; parse_scaled() applies one. */
#include "base/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct units_medium units_media[] = {
    {"100M-eth", 100e6}, {"1G-eth", 1e9}, {"2.5G-eth", 2.5e9}, {"10G-eth", 10e9}, {NULL, 0}};

struct unit {
    const char *name;
    double factor;
};

static const struct unit rates[] = {{"kbit", 1e3 / 8},
                                    {"Mbit", 1e6 / 8},
                                    {"Gbit", 1e9 / 8},
                                    {"Tbit", 1e12 / 8},
                                    {"kbit/s", 1e3 / 8},
                                    {"Mbit/s", 1e6 / 8},
                                    {"Gbit/s", 1e9 / 8},
                                    {"Tbit/s", 1e12 / 8},
                                    {"kB/s", 1e3},
                                    {"MB/s", 1e6},
                                    {"GB/s", 1e9},
                                    {"KiB/s", 1024},
                                    {"MiB/s", 1024.0 * 1024},
                                    {"GiB/s", 1024.0 * 1048576},
                                    {NULL, 0}};

static const struct unit times[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {NULL, 0}};

static const char rate_forms[] =
    "a rate with its unit: 100Mbit, 941.5Mbit, 2.5Gbit, 12.5MB/s, or 100M-eth, 1G-eth, 2.5G-eth, 10G-eth";
static const char time_forms[] = "a time with its unit: 250us, 2ms, 1.5s";

/* Digits with at most one point among them; NULL if there is no number. strtod() alone would also take signs, blanks,
 * exponents, hexadecimal, inf and nan. The program never calls setlocale(LC_NUMERIC), so the point is a point. */
static const char *take_number(const char *text, double *value)
{
    size_t whole = strspn(text, "0123456789"), length = whole, fraction = 0;
    if (text[whole] == '.') {
        fraction = strspn(text + whole + 1, "0123456789");
        length += 1 + fraction;
    }
    char digits[64];
    if (whole + fraction == 0 || length >= sizeof digits)
        return NULL;
    memcpy(digits, text, length);
    digits[length] = '\0';
    *value = strtod(digits, NULL);
    return text + length;
}

static int refuse(const char *text, const char *forms, struct err *e)
{
    return err_set(e, ERR_USAGE, "'%.60s' is not %s", text, forms);
}

static int parse_scaled(const char *text, const struct unit *units, const char *forms, double *value, struct err *e)
{
    double number;
    const char *unit = take_number(text, &number);
    if (!unit)
        return refuse(text, forms, e);
    for (int i = 0; units[i].name; i++)
        if (strcmp(unit, units[i].name) == 0) {
            *value = number * units[i].factor;
            return 0;
        }
    return refuse(text, forms, e);
}

bool units_parse_number(const char *text, double *value)
{
    const char *end = take_number(text, value);
    return end && !*end && isfinite(*value);
}

const struct units_medium *units_medium_find(const char *text)
{
    for (const struct units_medium *m = units_media; m->name; m++)
        if (strcmp(text, m->name) == 0)
            return m;
    return NULL;
}

int units_parse_rate(const char *text, double *bytes_per_s, struct err *e)
{
    const struct units_medium *medium = units_medium_find(text);
    double rate = medium ? medium->nominal_bits_per_s / 8 * UNITS_ETHERNET_SHARE : 0;
    if (!medium && parse_scaled(text, rates, rate_forms, &rate, e))
        return -1;
    if (!(rate >= UNITS_RATE_MIN_BYTES_PER_S * (1 - 1e-12) && rate <= UNITS_RATE_MAX_BYTES_PER_S * (1 + 1e-12)))
        return err_set(e, ERR_USAGE, "a rate of '%.60s' is outside 1kbit to 10Tbit", text);
    *bytes_per_s = rate;
    return 0;
}

int units_parse_time(const char *text, double *seconds, struct err *e)
{
    double time = 0;
    if (strcmp(text, "0") != 0 && parse_scaled(text, times, time_forms, &time, e))
        return -1;
    if (!(time <= UNITS_TIME_MAX_S) || (time > 0 && time < 1e-9 * (1 - 1e-12)))
        return err_set(e, ERR_USAGE, "a time of '%.60s' is outside 0 and 1ns to 1000s", text);
    *seconds = time;
    return 0;
}

/* Four digits. */
static int decimals_of(double x)
{
    int decimals = x > 0 ? 3 - (int)floor(log10(x) + 1e-9) : 0;
    return decimals < 0 ? 0 : decimals > 9 ? 9 : decimals;
}

static void format_scaled(char *buf, size_t size, double x, const char *const names[static 4])
{
    int i = 0;
    for (; i < 3 && x >= 999.95; i++)
        x /= 1000;
    snprintf(buf, size, "%.*f", decimals_of(x), x);
    if (strchr(buf, '.')) { /* 100.0 is 100 */
        size_t n = strlen(buf);
        while (buf[n - 1] == '0')
            buf[--n] = '\0';
        if (buf[n - 1] == '.')
            buf[--n] = '\0';
    }
    size_t n = strlen(buf);
    snprintf(buf + n, size - n, " %s", names[i]);
}

const char *units_format_rate(char *buf, size_t size, double bytes_per_s)
{
    static const char *const bits[] = {"kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"};
    static const char *const bytes[] = {"kB/s", "MB/s", "GB/s", "TB/s"};
    char b[32], B[32];
    format_scaled(b, sizeof b, bytes_per_s * 8e-3, bits);
    format_scaled(B, sizeof B, bytes_per_s * 1e-3, bytes);
    snprintf(buf, size, "%s (%s)", b, B);
    return buf;
}
