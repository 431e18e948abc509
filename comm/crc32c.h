/*
 * comm/crc32c.h - CRC32C (Castagnoli) of memory: what guards a frame's payload against accidents.
 *
 * Reflected polynomial 0x82F63B78, start and final value all ones, as in iSCSI (RFC 3720, appendix B.4):
 * crc32c(0, "123456789", 9) is 0xE3069283. It finds flipped bits, not forgery. Pure functions, any thread; the
 * tables are made once, at the first call.
 */
#ifndef COMM_CRC32C_H
#define COMM_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The CRC of what crc stands for followed by these bytes; crc 0 begins. Takes the best variant this CPU can run. */
uint32_t crc32c(uint32_t crc, const void *data, size_t bytes);

/* Advances the bare register, without the inversions before and after. */
struct crc32c_variant {
    const char *name;
    uint32_t (*run)(uint32_t reg, const unsigned char *data, size_t bytes);
};

enum { CRC32C_VARIANTS_MAX = 3 };

/* Those that this CPU can run, slowest first; returns how many. For tests. */
int crc32c_variants(struct crc32c_variant out[static CRC32C_VARIANTS_MAX]);

#endif
