/*
 * tests/fuzz/fuzz.h - the function that libFuzzer calls, and that tests/fuzz/replay.c calls instead of it.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Always returns 0; a fault is an abort or a sanitizer's report. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

#endif
