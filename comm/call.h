/*
 * comm/call.h - one collective operation from the caller's side: where in the run it belongs, and what it cost.
 *
 * The caller fills step and bucket; they travel in every frame and are named in every error. The operation fills the
 * rest, also when it fails. Instants are clock_now_ns(). Durations add up: wait + move + sum + check + seal = end - start,
 * unless the operation is opaque: a foreign library did it and tells no more than that it began and ended. Then first_byte_ns,
 * the durations wait, upstream, move, sum, check and seal and the two counts are 0 and mean nothing.
 */
#ifndef COMM_CALL_H
#define COMM_CALL_H

#include <stdbool.h>
#include <stdint.h>

struct call {
    uint32_t step; /* of the training */
    uint32_t bucket;
    bool opaque;

    uint64_t start_ns;
    uint64_t first_byte_ns; /* first byte from the previous rank; 0 if nothing was to be received */
    uint64_t end_ns;
    /* Asleep while the previous rank had nothing to give: before that first byte (or one way of the link), and after it
     * as long as that rank waited in the same sense. The latter is upstream_ns: some rank before it is late. */
    uint64_t wait_ns, upstream_ns;
    uint64_t move_ns;        /* system calls, and otherwise asleep: the link is what is waited for */
    uint64_t sum_ns;         /* adding */
    uint64_t check_ns;       /* checksums of what was sent and received */
    uint64_t seal_ns;        /* encrypting and decrypting */
    uint64_t cpu_ns;         /* of the calling thread */
    uint64_t sent_bytes;     /* payload handed to the kernel */
    uint64_t received_bytes; /* payload received and verified */
};

#endif
