/* comm/wire.c - see wire.h. */
#include "comm/wire.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "comm/crypto.h"
#include "comm/peer_text.h"

enum { HEAD_BYTES = 4 };

int wire_put(struct wire *wire, const void *bytes, size_t n, struct err *e)
{
    if (n == 0)
        return 0;
    if (wire->have + n > wire->capacity) {
        size_t capacity = 2 * (wire->have + n);
        void *data = malloc(capacity); /* realloc() would leave a copy behind */
        if (!data)
            return err_set(e, ERR_MEMORY, "no memory for a message");
        if (wire->have)
            memcpy(data, wire->data, wire->have);
        size_t have = wire->have;
        wire_fini(wire);
        wire->data = data;
        wire->have = have;
        wire->capacity = capacity;
    }
    memcpy(wire->data + wire->have, bytes, n);
    wire->have += n;
    return 0;
}

/* The parser recurses, so the depth is counted before it sees the text. */
static bool too_deep(const unsigned char *text, size_t n)
{
    int depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = text[i];
        if (quoted && c == '\\')
            i++;
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == '{' || c == '['))
            depth++;
        else if (!quoted && (c == '}' || c == ']'))
            depth--;
        if (depth > WIRE_DEPTH_MAX)
            return true;
    }
    return false;
}

static int parse(const unsigned char *text, size_t n, json_t **message, struct err *e)
{
    if (too_deep(text, n))
        return err_set(e, ERR_PROTOCOL, "a message is more than %d levels deep", WIRE_DEPTH_MAX);
    json_t *d = json_loadb((const char *)text, n, JSON_REJECT_DUPLICATES, NULL);
    if (json_is_object(d) && json_is_string(json_object_get(d, "type"))) {
        *message = d;
        return 0;
    }
    json_decref(d);
    return err_set(e, ERR_PROTOCOL, "a message of %zu bytes is none of this program's", n);
}

int wire_take(struct wire *wire, json_t **message, struct err *e)
{
    *message = NULL;
    if (wire->have < HEAD_BYTES)
        return 0;
    const unsigned char *h = wire->data;
    uint32_t n = h[0] | (uint32_t)h[1] << 8 | (uint32_t)h[2] << 16 | (uint32_t)h[3] << 24;
    if (n == 0 || n > WIRE_BYTES_MAX)
        return err_set(e, ERR_PROTOCOL, "a message of %u bytes; 1 to %d are allowed", n, WIRE_BYTES_MAX);
    size_t whole = HEAD_BYTES + (size_t)n;
    if (wire->have < whole)
        return 0;
    int result = parse(wire->data + HEAD_BYTES, n, message, e);
    memmove(wire->data, wire->data + whole, wire->have - whole);
    wire->have -= whole;
    crypto_wipe(wire->data + wire->have, whole); /* what was moved or taken */
    return result;
}

void wire_fini(struct wire *wire)
{
    if (wire->data)
        crypto_wipe(wire->data, wire->capacity); /* an introduction carries a key */
    free(wire->data);
    *wire = (struct wire){0};
}

int wire_encode(json_t *message, unsigned char **bytes, size_t *n, struct err *e)
{
    char *text = json_dumps(message, JSON_COMPACT);
    json_decref(message);
    size_t length = text ? strlen(text) : 0;
    *bytes = NULL;
    int result = 0;
    if (!text)
        result = err_set(e, ERR_MEMORY, "out of memory");
    else if (length > WIRE_BYTES_MAX)
        result = err_set(e, ERR_PROTOCOL, "a message of %zu bytes; at most %d are allowed", length, WIRE_BYTES_MAX);
    else if (!(*bytes = malloc(HEAD_BYTES + length)))
        result = err_set(e, ERR_MEMORY, "out of memory");
    if (*bytes) {
        for (int i = 0; i < HEAD_BYTES; i++)
            (*bytes)[i] = (unsigned char)(length >> 8 * i);
        memcpy(*bytes + HEAD_BYTES, text, length);
        *n = HEAD_BYTES + length;
    }
    if (text)
        crypto_wipe(text, length);
    free(text);
    return result;
}

void wire_free(unsigned char *bytes, size_t n)
{
    if (bytes)
        crypto_wipe(bytes, n);
    free(bytes);
}

const char *wire_type(const json_t *message)
{
    const char *type = json_string_value(json_object_get(message, "type"));
    return type ? type : "";
}

void wire_text(const json_t *message, const char *key, char *out, size_t size)
{
    peer_text_clean(out, size, json_string_value(json_object_get(message, key)));
}
