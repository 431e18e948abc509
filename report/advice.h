/*
 * report/advice.h - what to change next, from what a document shows: the most useful first, each with the figures it rests on.
 *
 * Rules look at one thing each and say nothing unless the document shows it. What a change would bring is predicted by the
 * outlook and told as such. Nothing here is certain to help, and the texts do not say so.
 */
#ifndef REPORT_ADVICE_H
#define REPORT_ADVICE_H

#include "base/json.h"
#include "report/outlook.h"

enum { ADVICE = 12 };

struct advice_item {
    char head[160];
    char detail[480];
    char option[96]; /* words for the command line that would try it; "" if there are none */
};

struct advice {
    int n;
    struct advice_item item[ADVICE];
};

void advice_make(struct advice *a, const json_t *document, const struct outlook *outlook);

#endif
