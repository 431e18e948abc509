/*
 * ddp/shares.h - how a batch is divided among ranks.
 *
 * Equal shares as far as the numbers allow, or in given proportions ("5:3"). The rounding is the method of largest
 * remainders: everybody gets the whole part of the exact share, and those who lost most by that get one more, lower
 * ranks first. All ranks compute the same. Pure functions.
 */
#ifndef DDP_SHARES_H
#define DDP_SHARES_H

#include "base/err.h"

enum { SHARE_MAX = 1000000 };

/* Fills weight[world] from "5:3": one whole number from 1 to SHARE_MAX per rank; NULL is equal weights. ERR_USAGE, whose
 * sentence begins with "takes": the caller puts the option's name before it. */
int shares_parse(const char *text, int world, int *weight, struct err *e);

/* part[0 .. world-1] add up to total, each at least 1: ERR_USAGE if that is impossible with these weights. */
int shares_divide(int total, const int *weight, int world, int *part, struct err *e);

#endif
