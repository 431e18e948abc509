/* predict/heat.c - see heat.h. */
#include "predict/heat.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"

static const char form[] =
    "takes TIME:FACTOR,... with ascending times and factors from 0.1 to 100, such as 60s:1.05,600s:1.2";

int heat_parse(struct heat_path *h, const char *text, struct err *e)
{
    *h = (struct heat_path){0};
    for (const char *at = text; *at;) {
        char item[64], *colon;
        size_t n = strcspn(at, ",");
        double time_s, factor;
        struct err why;
        snprintf(item, sizeof item, "%.*s", (int)(n < sizeof item ? n : sizeof item - 1), at);
        at += n + (at[n] == ',');
        if (h->n == HEAT_POINTS_MAX)
            return err_set(e, ERR_USAGE, "option --heat takes at most %d points", HEAT_POINTS_MAX);
        if (!(colon = strchr(item, ':')))
            return err_set(e, ERR_USAGE, "option --heat %s, not '%.40s'", form, item);
        *colon = '\0';
        if (units_parse_time(item, &time_s, &why) || !units_parse_number(colon + 1, &factor) || !(factor >= 0.1) ||
            !(factor <= 100) || !(time_s > (h->n ? h->time_s[h->n - 1] : 0)))
            return err_set(e, ERR_USAGE, "option --heat %s, not '%.30s:%.20s'", form, item, colon + 1);
        h->time_s[h->n] = time_s;
        h->factor[h->n++] = factor;
    }
    return h->n ? 0 : err_set(e, ERR_USAGE, "option --heat %s", form);
}

double heat_factor(const struct heat_path *h, double time_s)
{
    double t0 = 0, f0 = 1;
    for (int i = 0; i < h->n; i++) {
        if (time_s < h->time_s[i])
            return f0 + (h->factor[i] - f0) * (time_s - t0) / (h->time_s[i] - t0);
        t0 = h->time_s[i];
        f0 = h->factor[i];
    }
    return f0;
}
