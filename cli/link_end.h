/*
 * cli/link_end.h - what each end of a link is: the interface and its nominal speed, TCP's own figures, the cores that compute.
 *
 * Read at one end, sent as a message "end", read again at the other one, where its texts are cut and cleaned.
 */
#ifndef CLI_LINK_END_H
#define CLI_LINK_END_H

#include "base/json.h"
#include "comm/link_socket.h"
#include "comm/peer_text.h"
#include "probe/netif.h"
#include "probe/probe.h"

enum { LINK_END_THREADS_MAX = 4096 };

struct link_end {
    int threads; /* that compute when all of them do */
    char cpu[PEER_TEXT_BYTES], blas[PEER_TEXT_BYTES];
    char interface[IF_NAMESIZE], owner[IF_NAMESIZE]; /* see link_socket.h */
    char address[ADDRESS_TEXT_BYTES];
    char kind[16], duplex[16], congestion[16];
    char backends[64];          /* of all-reduce, that can be opened: "tcp gloo" */
    char why[96];               /* reason for an unknown speed */
    double nominal_bytes_per_s; /* NaN: unknown; so are the others below */
    double mtu_bytes, segment_bytes, retransmits;
};

/* fd: the socket on which this end sends payload. */
void link_end_read(struct link_end *end, int fd, const struct probe *probe);

json_t *link_end_message(const struct link_end *end);
void link_end_hear(struct link_end *end, const json_t *message);

/* Whether the list of back-ends has this name. */
bool link_end_has(const struct link_end *end, const char *backend);

/* For the document; reasons go to root under path. before: as it was at the start, for what TCP counts. */
json_t *link_end_json(json_t *root, const char *path, const struct link_end *end, const struct link_end *before);

#endif
