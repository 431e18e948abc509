/*
 * base/units.h - rates and times as people write them, with a unit that cannot be misread.
 *
 * A number is plain decimal with a point whatever the locale: no sign, no exponent, no blank. The unit follows at once and is
 * spelled exactly: `Mbit` is 1e6 bits per second, `MB/s` 1e6 bytes per second, `MiB/s` 2^20. A bare number, `1gb`, `100M`
 * or `941,5Mbit` could mean several things and is refused. Rates are payload as TCP delivers it; the name of a medium
 * stands for what TCP gets out of it:
 *
 *     100M-eth  1G-eth  2.5G-eth  10G-eth     0.9415 x nominal
 *
 * 0.9415: of the 1538 bytes that a full Ethernet frame occupies (with preamble and gap) 1448 are payload of TCP over IPv4
 * with time stamps.
 *
 * Errors: ERR_USAGE, one sentence with the text, what is accepted, and no name of an option: the caller puts that before
 * it with err_context(). Pure functions.
 */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define UNITS_ETHERNET_SHARE 0.9415

/* Accepted, ends included: 1 kbit/s to 10 Tbit/s; 1 ns to 1000 s, and 0. */
#define UNITS_RATE_MIN_BYTES_PER_S 125.0
#define UNITS_RATE_MAX_BYTES_PER_S 1.25e12
#define UNITS_TIME_MAX_S 1000.0

struct units_medium {
    const char *name;
    double nominal_bits_per_s;
};

/* NULL-terminated by its last name. */
extern const struct units_medium units_media[];

/* The medium of that name or NULL. */
const struct units_medium *units_medium_find(const char *text);

/* kbit Mbit Gbit Tbit, each also with /s; kB/s MB/s GB/s; KiB/s MiB/s GiB/s; or a medium. */
int units_parse_rate(const char *text, double *bytes_per_s, struct err *e);

/* ns us ms s; a bare 0 needs no unit. */
int units_parse_time(const char *text, double *seconds, struct err *e);

/* A plain decimal number, nothing behind it. Returns whether it is one. */
bool units_parse_number(const char *text, double *value);

/* "941.5 Mbit/s (117.7 MB/s)", "1 Gbit/s (125 MB/s)": four digits each, without zeros at the end. Returns buf. */
const char *units_format_rate(char *buf, size_t size, double bytes_per_s);

#endif
