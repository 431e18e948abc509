/*
 * cli/doctor_host.h - what doctor asks of the live machine beyond its files in /sys and /proc: programs, names, ports, keys, the
 * matrix library, the results folder. Opens a socket for a moment and resolves the host's own name; changes nothing.
 */
#ifndef CLI_DOCTOR_HOST_H
#define CLI_DOCTOR_HOST_H

#include "base/notes.h"
#include "cli/options.h"
#include "model/blas_choice.h"
#include "probe/doctor.h"

/* blas_failed: why the library cannot be used; NULL: choice and its notes say what runs. */
void doctor_host_examine(struct doctor *d, const struct options *o, const struct blas_choice *choice,
                         const struct notes *blas_notes, const char *blas_failed);

#endif
