/*
 * comm/peer_text.h - words from another machine, made harmless before anybody sees them.
 *
 * Kept are the characters of valid UTF-8 that only stand there: no control characters (escape sequences), no marks that
 * reverse or join what is around them, at most PEER_TEXT_BYTES - 1 bytes, cut between characters. Pure, any thread.
 */
#ifndef COMM_PEER_TEXT_H
#define COMM_PEER_TEXT_H

#include <stddef.h>

enum { PEER_TEXT_BYTES = 64 };

/* text may be NULL. What is left may be the empty text. Each byte that is no UTF-8 becomes '?'. */
void peer_text_clean(char *out, size_t size, const char *text);

#endif
