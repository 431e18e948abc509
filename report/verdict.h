/*
 * report/verdict.h - what a document says, in a word and a sentence or two: the head of a report.
 *
 * Never more than the document holds. A measured speed-up is told as measured and what it is worth: over loopback, an emulated
 * link or with replayed computing it is none between machines, and that is said first. Without a measurement a prediction
 * is told as a prediction; without either the answer is that it is not known, and why.
 */
#ifndef REPORT_VERDICT_H
#define REPORT_VERDICT_H

#include "base/json.h"

enum document_kind { DOCUMENT_RUN, DOCUMENT_LINK, DOCUMENT_PREDICTION, DOCUMENT_OTHER };

/* What a document is by its members. */
enum document_kind document_kind(const json_t *document);

enum verdict_tone { TONE_GOOD, TONE_BAD, TONE_OPEN };

struct report_verdict {
    enum verdict_tone tone;
    char word[48];     /* "helps", "hurts", "undecided", "not known", ... */
    char head[320];    /* one sentence with the figure */
    char detail[1024]; /* what it rests on and what it is worth; may be "" */
};

void report_verdict(struct report_verdict *v, const json_t *document);

#endif
