/*
 * cli/cmd_run.h - the pieces of the run command that are worth testing on their own.
 */
#ifndef CLI_CMD_RUN_H
#define CLI_CMD_RUN_H

#include "ddp/run.h"

/* Expected duration of a planned run in seconds, from the rate of matrix products measured just before it;
 * NaN if that is unknown. A step is taken to need 1.3 times its weight products at that rate: attention and
 * everything that is no product come on top of them. */
double cmd_run_expected_s(const struct run *run, double flops_per_s);

#endif
