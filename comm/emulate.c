/* comm/emulate.c - see emulate.h. */
#include "comm/emulate.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"

/* Faster than this is no user-space pacing any more, and slower is no link to train over. */
#define RATE_MIN_BYTES_PER_S 1250.0 /* 10 kbit/s */
#define RATE_MAX_BYTES_PER_S 1.25e9 /* 10 Gbit/s */
#define TIME_MAX_S 10.0

enum { TEXT_MAX = 160, RATE, RTT, JITTER, HALF_DUPLEX, PARTS };

static const char *const names[PARTS] = {
    [RATE] = "rate", [RTT] = "rtt", [JITTER] = "jitter", [HALF_DUPLEX] = "half-duplex"};

static int find(const char *part, size_t length)
{
    for (int i = RATE; i < PARTS; i++)
        if (strlen(names[i]) == length && strncmp(names[i], part, length) == 0)
            return i;
    return -1;
}

static int parse_time_of(const char *name, const char *value, double *seconds, struct err *e)
{
    if (units_parse_time(value, seconds, e))
        return err_context(e, "%s", name);
    if (*seconds > TIME_MAX_S)
        return err_set(e, ERR_USAGE, "%s: '%.60s' is longer than %g s", name, value, TIME_MAX_S);
    return 0;
}

static int parse_part(struct emulate *m, int which, const char *value, struct err *e)
{
    switch (which) {
    case RATE:
        if (units_parse_rate(value, &m->rate_bytes_per_s, e))
            return err_context(e, "rate");
        if (m->rate_bytes_per_s < RATE_MIN_BYTES_PER_S || m->rate_bytes_per_s > RATE_MAX_BYTES_PER_S)
            return err_set(e, ERR_USAGE, "rate: '%.60s' is outside 10kbit to 10Gbit", value);
        return 0;
    case RTT:
        return parse_time_of("rtt", value, &m->rtt_s, e);
    case JITTER:
        return parse_time_of("jitter", value, &m->jitter_s, e);
    default:
        m->half_duplex = true;
        return 0;
    }
}

/* Rules that join the parts. */
static int settle(const struct emulate *m, const bool *given, struct err *e)
{
    if (!given[RATE] && !given[RTT] && !given[JITTER])
        return err_set(e, ERR_USAGE, "it needs at least rate=, rtt= or jitter=, as in rate=100Mbit,rtt=2ms");
    if (m->half_duplex && !given[RATE])
        return err_set(e, ERR_USAGE, "half-duplex divides a rate: give rate= too");
    double flight = m->rate_bytes_per_s * (m->rtt_s / 2 + m->jitter_s);
    if (flight > EMULATE_FLIGHT_MAX_BYTES)
        return err_set(e, ERR_USAGE, "such a link holds %.0f MB on its way, more than the %.0f MB that are kept here",
                       flight * 1e-6, EMULATE_FLIGHT_MAX_BYTES * 1e-6);
    return 0;
}

int emulate_parse(struct emulate *m, const char *text, struct err *e)
{
    char copy[TEXT_MAX];
    bool given[PARTS] = {false};
    *m = (struct emulate){0};
    if (strlen(text) >= sizeof copy)
        return err_set(e, ERR_USAGE, "more than %zu characters", sizeof copy - 1);
    strcpy(copy, text);
    for (char *part = copy, *next; part; part = next) {
        next = strchr(part, ',');
        if (next)
            *next++ = '\0';
        size_t length = strcspn(part, "=");
        int which = find(part, length);
        if (which < 0)
            return err_set(e, ERR_USAGE, "'%.60s' is none of rate=RATE, rtt=TIME, jitter=TIME, half-duplex", part);
        if ((which == HALF_DUPLEX) != !part[length])
            return err_set(e, ERR_USAGE,
                           which == HALF_DUPLEX ? "half-duplex takes no value" : "%s needs a value: %s=...",
                           names[which], names[which]);
        if (given[which])
            return err_set(e, ERR_USAGE, "%s is given twice", names[which]);
        given[which] = true;
        const char *value = part[length] ? part + length + 1 : "";
        double whole;
        if (next && *next >= '0' && *next <= '9' && units_parse_number(value, &whole))
            return err_set(e, ERR_USAGE, "%s: '%.40s,%.40s' has a comma, and a decimal has a point", names[which],
                           value, next);
        if (parse_part(m, which, value, e))
            return -1;
    }
    return settle(m, given, e);
}

const char *emulate_describe(char *buf, size_t size, const struct emulate *m)
{
    char rate[64] = "no limit of rate", rtt[32] = "", jitter[32] = "";
    if (m->rate_bytes_per_s > 0)
        units_format_rate(rate, sizeof rate, m->rate_bytes_per_s);
    if (m->rtt_s > 0)
        snprintf(rtt, sizeof rtt, ", rtt %.4g ms", m->rtt_s * 1e3);
    if (m->jitter_s > 0)
        snprintf(jitter, sizeof jitter, ", jitter %.4g ms", m->jitter_s * 1e3);
    snprintf(buf, size, "%s%s%s%s", rate, rtt, jitter, m->half_duplex ? ", half-duplex" : "");
    return buf;
}
