/*
 * model/data_text.c - a UTF-8 file as characters: the vocabulary is the sorted set of those that occur.
 *
 * Three passes over the bytes: the first checks them and finds the largest code point, the second marks
 * each character that occurs, then ids are given in order of code points, then the third writes them.
 * Strict UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing past U+10FFFF.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/data_source.h"

enum { CODE_POINTS = 0x110000, IDS_MAX = 65536 };

/* Length in bytes of the character at s[0..n), n > 0; 0 if there is none. */
static int decode(const unsigned char *s, uint64_t n, uint32_t *code_point)
{
    static const uint32_t smallest[5] = {0, 0, 0x80, 0x800, 0x10000}; /* by length: less is overlong */
    if (s[0] < 0x80) {
        *code_point = s[0];
        return 1;
    }
    int length = s[0] >= 0xf8 ? 0 : s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0xc0 ? 2 : 0;
    if (!length || (uint64_t)length > n)
        return 0;
    uint32_t c = s[0] & (0x7fu >> length);
    for (int i = 1; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (s[i] & 0x3fu);
    }
    if (c < smallest[length] || c >= CODE_POINTS || (c >= 0xd800 && c <= 0xdfff))
        return 0;
    *code_point = c;
    return length;
}

/* Counts the characters, and finds the largest, which decides how large a table of ids must be. */
static int measure(struct data *data, const char *path, const unsigned char *s, uint64_t bytes, uint32_t *largest,
                   struct err *e)
{
    *largest = 0;
    for (uint64_t at = 0; at < bytes;) {
        uint32_t c;
        int length = decode(s + at, bytes - at, &c);
        if (!length)
            return err_set(e, ERR_DATA, "%s: not UTF-8 text at byte offset %" PRIu64 " (value 0x%02x)", path, at,
                           s[at]);
        *largest = c > *largest ? c : *largest;
        data->n++;
        at += (uint64_t)length;
    }
    return 0;
}

/* Turns id[c] = 1 of each character that occurs into its id, and lists the characters. */
static int number(struct data *data, const char *path, uint32_t *id, uint32_t largest, struct err *e)
{
    for (uint32_t c = 0; c <= largest; c++)
        data->V += (int)id[c];
    if (data->V > IDS_MAX)
        return err_set(e, ERR_DATA, "%s: has %d different characters, this program takes at most %d", path, data->V,
                       IDS_MAX);
    data->symbol = data_alloc(path, (uint64_t)data->V * sizeof *data->symbol, e);
    if (!data->symbol)
        return -1;
    uint32_t next = 0;
    for (uint32_t c = 0; c <= largest; c++)
        if (id[c]) {
            data->symbol[next] = c;
            id[c] = next++;
        }
    return 0;
}

/* Sets id[c] = 1 for each character c of text that measure() has accepted, or writes the tokens id[c]. */
static void walk(const unsigned char *s, uint64_t bytes, uint32_t *id, uint16_t *token)
{
    for (uint64_t at = 0; at < bytes;) {
        uint32_t c = 0;
        at += (uint64_t)decode(s + at, bytes - at, &c);
        if (token)
            *token++ = (uint16_t)id[c];
        else
            id[c] = 1;
    }
}

static int parse(struct data *data, const char *path, const unsigned char *s, uint64_t bytes, struct err *e)
{
    uint32_t largest;
    if (measure(data, path, s, bytes, &largest, e))
        return -1;
    uint64_t table_bytes = ((uint64_t)largest + 1) * sizeof(uint32_t);
    uint32_t *id = data_alloc(path, table_bytes, e);
    data->token = id ? data_alloc(path, data->n * sizeof *data->token, e) : NULL;
    int rc = -1;
    if (data->token) {
        memset(id, 0, table_bytes);
        walk(s, bytes, id, NULL);
        rc = number(data, path, id, largest, e);
        if (!rc)
            walk(s, bytes, id, data->token);
    }
    free(id);
    return rc;
}

int data_read_text(struct data *data, struct infile *in, struct err *e)
{
    uint64_t most = in->bytes > UINT64_MAX / 4 ? UINT64_MAX : 3 * in->bytes; /* the bytes and a token for each */
    if (data_check_room(data, in->path, most, e))
        return -1;
    unsigned char *s = data_alloc(in->path, in->bytes, e);
    int rc = -1;
    if (s && !infile_read(in, s, in->bytes, e) && !infile_finish(in, e))
        rc = parse(data, in->path, s, in->bytes, e);
    free(s);
    return rc;
}
