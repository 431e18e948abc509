/*
 * tests/tree.h - small machines for the probe's tests: the recorded ones, and some made on the spot.
 *
 * tree_open and tree_close are a checked fixture; tree_write fills the folder of the test. Failing system calls
 * end the test.
 */
#ifndef TESTS_TREE_H
#define TESTS_TREE_H

#include "probe/probe.h"

void tree_open(void);
void tree_close(void);

/* The folder made by tree_open. */
const char *tree_folder(void);

/* Writes text to folder/path and makes the folders on the way. */
void tree_write(const char *path, const char *text);

/* tests/fixtures/machines/NAME in the source tree; static buffer. */
const char *tree_machine(const char *name);

/* probe_read, which must succeed; notes starts empty. */
void tree_probe(struct probe *probe, const char *sysroot, struct notes *notes);

#endif
