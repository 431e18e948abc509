/*
 * cli/compare_live.h - wired against wireless: two network interfaces to one peer, measured in turns.
 *
 * First the link over both (`link --iface A,B`, which takes them in turns), then this node alone, then what each link lets one
 * expect (`predict`), then training over A and B in the order A B B A A B B A, so that what drifts meets both. Runs are saved
 * like any others and judged like any groups of runs (report/compare.h). Each part is this program once more (cli/child.h).
 */
#ifndef CLI_COMPARE_LIVE_H
#define CLI_COMPARE_LIVE_H

#include "base/json.h"
#include "cli/commands.h"
#include "cli/options.h"

/* Fills the document: verdict and metrics[] as of saved runs, A being the first interface; ways[] with `interface`, `kind`,
 * `rate_bytes_per_s`, `rtt_s`, `jitter_s`, `step_s`, `exposed_s`, `exposed_share`, `compute_slowdown`, `predicted_speedup`,
 * `measured_speedup`. options: the command's own options, argv[0] first. */
int compare_live(json_t *document, const struct options *o, char *const *options, struct err *e);

#endif
