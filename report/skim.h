/*
 * report/skim.h - the few members of a document that are wanted, without building all the others.
 *
 * A result has a hundred kilobytes, most of them steps and instants; what a list needs of it has two. skim() copies the text of the
 * wanted members, so that only they have to be parsed:
 *
 *     enum skim_need needs(const char *path);       "nodes.cpu": elements of an array have the array's path
 *     if (skim(out, text, needs))
 *         parse out
 *     else
 *         parse text
 *
 * Brackets and strings of what is left out are followed to their end, so a text that was cut anywhere is not skimmed; what stands
 * between them is not looked at. False is no verdict on the text: it may only be unusual. Pure.
 */
#ifndef REPORT_SKIM_H
#define REPORT_SKIM_H

#include <stdbool.h>

enum skim_need {
    SKIM_NOT,
    SKIM_PART,  /* something below it */
    SKIM_COUNT, /* of an array: how many; its elements become zeros */
    SKIM_WHOLE
};

/* out has room for all of text. Whether the text is an object whose members could be told apart. */
bool skim(char *out, const char *text, enum skim_need (*needs)(const char *path));

#endif
