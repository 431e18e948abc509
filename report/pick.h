/*
 * report/pick.h - a word that names one result or several: a file, a name in the results folder, `last`, a list of those divided by
 * commas, or `label:NAME`, all complete runs of that label.
 *
 * Errors: 66 if there is no such file or no run of the label; 65 if a file is no result.
 */
#ifndef REPORT_PICK_H
#define REPORT_PICK_H

#include "report/compare.h"
#include "report/history.h"

/* Reads them. folder: the results folder. The side is to be freed with pick_free() also after a failure. */
int pick_read(struct compare_side *side, const char *folder, const char *word, struct err *e);
void pick_free(struct compare_side *side);

#endif
